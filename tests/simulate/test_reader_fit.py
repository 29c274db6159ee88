from __future__ import annotations

import numpy as np
import pytest

from overread.simulate import NoduleDistribution, law_for_readers, phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._reader_fit import (
    PAPER_COUNTS,
    PAPER_LAW,
    Counts,
    _distractor_mm,
    _mean_counts,
    fit_law,
    nodule_counts,
    simulate_counts,
)


@pytest.mark.parametrize("seed", [300, 301, 302])
def test_the_papers_counts_on_seeds_it_was_not_fitted_on(seed):
    counts = simulate_counts(PAPER_LAW, PAPER_COUNTS.n_images, seed)
    assert counts.marks == pytest.approx(PAPER_COUNTS.marks, rel=0.10)
    assert counts.marked_images == pytest.approx(PAPER_COUNTS.marked_images, rel=0.10)
    assert counts.golden == pytest.approx(PAPER_COUNTS.golden, rel=0.10)


@pytest.mark.slow
def test_the_papers_counts_in_the_mean_of_unseen_seeds():
    counts = _mean_counts(PAPER_LAW, PAPER_COUNTS.n_images, range(300, 312))
    assert counts.marks == pytest.approx(PAPER_COUNTS.marks, rel=0.05)
    assert counts.marked_images == pytest.approx(PAPER_COUNTS.marked_images, rel=0.05)
    assert counts.golden == pytest.approx(PAPER_COUNTS.golden, rel=0.05)


def test_the_fit_has_the_distractors_of_phantoms():
    """Their sizes are measured constants of the fit; those of a few phantoms must agree."""
    found = [blob.diameter_mm for seed in range(6) for blob in phantom_background(phantom(seed=seed)).blobs]
    drawn = [_distractor_mm(np.random.default_rng(seed)) for seed in range(2000)]
    assert np.mean(found) == pytest.approx(np.mean(drawn), rel=0.1)
    split_from = PAPER_LAW.readers.split_from_mm
    assert np.mean(np.array(found) >= split_from) == pytest.approx(
        np.mean(np.array(drawn) >= split_from), abs=0.1
    )


def test_counts_are_the_same_for_the_same_seed():
    assert simulate_counts(PAPER_LAW, 60, 5) == simulate_counts(PAPER_LAW, 60, 5)


def test_a_fit_moves_towards_its_counts():
    wanted = Counts(n_images=200, marks=330, marked_images=130, golden=50)
    fitted = fit_law(wanted, seeds=[0], rounds=4)
    start = fit_law(wanted, seeds=[0], rounds=0)
    assert fitted[0] > start[0]


def test_the_number_of_nodules_follows_its_shares_exactly():
    law = NoduleDistribution(counts=(0.25, 0.375, 0.25, 0.125))
    counts = nodule_counts(720, law, 3)
    assert np.bincount(counts).tolist() == [180, 270, 180, 90]
    assert not np.array_equal(counts, nodule_counts(720, law, 4))


def test_any_number_of_readers():
    assert len(law_for_readers(3).readers.readers) == 3
