"""Two habits: rings around clusters, and single lesions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks.fit_readers import (
    PAPER_COUNTS,
    Counts,
    _distractor_mm,
    _mean_counts,
    fit_law,
    simulate_counts,
)
from scipy.stats import norm

from overread.errors import InvalidInputError
from overread.simulate import (
    Nodule,
    NoduleDistribution,
    Reader,
    ReaderModel,
    SeenObject,
    marks_of_image,
    phantom,
    reader_panel,
)
from overread.simulate._backgrounds import phantom_background
from overread.simulate._laws import PAPER_LAW, nodule_counts
from overread.simulate._readers import CONFIDENCES, RING_MARGIN, draw_readings, field_readers, mark_field
from overread.simulate.picture._lesions import Cluster


def nowhere(random: np.random.Generator) -> tuple[float, float]:
    return float(random.uniform(0, 300)), float(random.uniform(0, 300))


def model(*readers: Reader, **settings) -> ReaderModel:
    return ReaderModel(readers, **{"false_marks": 0.0, **settings})


def test_readings_follow_their_shares_and_never_repeat():
    readings = draw_readings(
        [f"i{i}" for i in range(3000)], ReaderModel(reader_panel(8)), np.random.default_rng(0)
    )
    counts = readings.groupby("image_id").size()
    assert (counts == 4).mean() == pytest.approx(0.47, abs=0.03)
    assert (counts == 6).mean() == pytest.approx(0.06, abs=0.02)
    assert not readings.duplicated().any()
    assert readings["reader_id"].value_counts(normalize=True).max() < 0.14


def test_few_readers_read_everything():
    readings = draw_readings(["a", "b"], ReaderModel(reader_panel(2)), np.random.default_rng(0))
    assert len(readings) == 4


@pytest.mark.parametrize(("skill", "threshold"), [(0.0, 0.0), (0.6, 0.0), (0.2, 0.7)])
def test_a_reader_marks_with_the_probability_of_the_formula(skill, threshold):
    readers = model(Reader("R1", skill, threshold))
    seen, random = [SeenObject("N1", 100, 100, 12, 0.3)], np.random.default_rng(1)
    marked = np.mean([bool(marks_of_image(seen, ["R1"], readers, nowhere, random)) for _ in range(4000)])
    assert marked == pytest.approx(norm.cdf(0.3 + skill - threshold), abs=0.025)


def test_the_level_of_a_nodule_is_the_formula():
    readers, random = ReaderModel(reader_panel(8)), np.random.default_rng(2)
    levels = [readers.nodule_level(2.2, 20.0, random) for _ in range(4000)]
    expected = 2.08 * np.log(2.2 / 1.5) + 0.5 * np.log(20 / 14)
    assert np.mean(levels) == pytest.approx(expected, abs=0.03)
    assert np.std(levels) == pytest.approx(0.4, rel=0.05)


def test_bone_lowers_the_level_by_the_share_behind_it():
    def level(share, **settings):
        return model(Reader("R1"), **settings).nodule_level(
            2.2, 20.0, np.random.default_rng(2), behind_bone=share
        )

    assert level(1.0) == level(0.0)
    assert level(0.0, bone_slope=0.8) - level(1.0, bone_slope=0.8) == pytest.approx(0.8)
    assert level(0.0, bone_slope=0.8) - level(0.25, bone_slope=0.8) == pytest.approx(0.2)


def test_false_marks_follow_the_threshold_and_cluster_in_images():
    readers = model(Reader("strict", threshold=0.5), Reader("lax", threshold=-0.5), false_marks=0.4)
    random = np.random.default_rng(3)
    names = [
        m.reader_id
        for _ in range(3000)
        for m in marks_of_image([], ["strict", "lax"], readers, nowhere, random)
    ]
    assert names.count("lax") / names.count("strict") == pytest.approx(np.e, rel=0.15)
    uneven = model(Reader("R1"), false_marks=1.0, image_variance=1.5)
    counts = [len(marks_of_image([], ["R1"], uneven, nowhere, random)) for _ in range(4000)]
    assert np.mean(counts) == pytest.approx(1.0, abs=0.1)
    assert np.var(counts) == pytest.approx(1.0 + 1.5, rel=0.2)


def test_a_splitter_draws_several_small_ellipses_on_a_large_object():
    readers = model(Reader("R1", skill=9.0, splits=1.0))
    random = np.random.default_rng(4)
    large = marks_of_image([SeenObject("N1", 100, 100, 24, 0.0)], ["R1"], readers, nowhere, random)
    small = marks_of_image([SeenObject("N1", 100, 100, 10, 0.0)], ["R1"], readers, nowhere, random)
    assert len(large) in (2, 3)
    assert len(small) == 1
    assert all(mark.semi_major_mm < 9 for mark in large)
    assert all(np.hypot(mark.x_mm - 100, mark.y_mm - 100) < 12 for mark in large)


def test_hands_shake_as_much_as_they_should():
    readers = model(Reader("R1", skill=9.0, size=1.2), place_jitter=0.1, size_jitter=0.15, shape_jitter=0.0)
    random = np.random.default_rng(5)
    drawn = [
        marks_of_image([SeenObject("N1", 50, 60, 20, 0.0)], ["R1"], readers, nowhere, random)[0]
        for _ in range(3000)
    ]
    assert np.std([m.x_mm for m in drawn]) == pytest.approx(1.0, rel=0.06)
    assert np.mean(np.log([m.semi_major_mm for m in drawn])) == pytest.approx(np.log(12.0), abs=0.02)
    assert np.std(np.log([m.semi_major_mm for m in drawn])) == pytest.approx(0.15, rel=0.06)


def test_panels_spread_over_their_ranges():
    readers = reader_panel(8, skills=(-1, 1), thresholds=(0, 0.7))
    assert [reader.skill for reader in readers] == sorted(reader.skill for reader in readers)
    assert sorted(reader.threshold for reader in readers) == pytest.approx(np.linspace(0, 0.7, 8))
    assert len({reader.reader_id for reader in readers}) == 8


def test_senseless_panels_are_refused():
    with pytest.raises(InvalidInputError):
        reader_panel(0)
    with pytest.raises(InvalidInputError):
        ReaderModel(())


CLEAR = {"conspicuity": 50.0}
CLUSTER = Cluster("bright", tuple(Nodule(100.0 + 15 * k, 100.0, 8.0, **CLEAR) for k in range(4)))
ALONE = Cluster("dark", (Nodule(300.0, 200.0, 10.0, **CLEAR),))


def marks(model, seed=0, clusters=(CLUSTER, ALONE), lookalikes=None):
    random = np.random.default_rng(seed)
    return pd.DataFrame(mark_field(clusters, lookalikes or {}, model, lambda _: (10.0, 20.0), random))


@pytest.mark.parametrize(
    ("splits", "objects"), [(0.0, {"C1", "C2-1"}), (1.0, {*(f"C1-{k}" for k in range(1, 5)), "C2-1"})]
)
def test_a_habit_decides_what_is_drawn(splits, objects):
    model = field_readers(2)
    readers = tuple(replace(reader, splits=splits) for reader in model.readers)
    table = marks(replace(model, readers=readers, false_marks=0.0))
    assert set(table["object_id"]) == objects
    assert table.groupby("reader_id").size().tolist() == [len(objects)] * 2


def test_a_ring_holds_its_lesions():
    model = field_readers(2)
    steady = replace(model, place_jitter=0.0, size_jitter=0.0, shape_jitter=0.0, false_marks=0.0)
    readers = tuple(replace(reader, splits=0.0, size=1.0) for reader in model.readers)
    ring = marks(replace(steady, readers=readers)).query("object_id == 'C1'").iloc[0]
    assert (ring["x_mm"], ring["y_mm"]) == pytest.approx((122.5, 100.0), abs=0.1)
    assert ring["semi_major_mm"] == pytest.approx(RING_MARGIN * (45 + 8) / 2, rel=0.01)


def test_labels_and_confidence_go_with_the_marks():
    table = pd.concat([marks(field_readers(4), seed) for seed in range(20)])
    assert set(table["confidence"]) <= set(CONFIDENCES)
    meant = table[table["object_id"].str.startswith("C")]
    assert (meant["label"] == meant["object_id"].str[:2].map({"C1": "bright", "C2": "dark"})).all()
    # What is so clear is sure; what is not there is not.
    assert (meant["confidence"] == 1.0).all()
    nothing = table[table["object_id"] == ""]
    assert len(nothing) > 5
    assert nothing["confidence"].mean() < 0.6


def test_lookalikes_are_marked_less_often_than_lesions():
    spot = Nodule(200.0, 50.0, 12.0)
    model = replace(field_readers(4), false_marks=0.0)
    tables = [marks(model, seed, clusters=(ALONE,), lookalikes={"dark": [spot]}) for seed in range(60)]
    told = pd.concat(tables)["object_id"].value_counts()
    assert told["C2-1" if "C2-1" in told else "C1-1"] == 240
    # Phi(-1.3) with a spread of 0.6 and readers around 0: about one in eight.
    assert 10 < told["D-dark-1"] < 60


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
