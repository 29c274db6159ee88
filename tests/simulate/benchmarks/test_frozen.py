from __future__ import annotations

import numpy as np
import pytest

from overread.images import write_png16
from overread.simulate import compare_image, frozen_cohort
from overread.simulate._frozen import block_means, fingerprint
from overread.simulate._recipes import NihRecipe
from overread.simulate._tables import nodules_by_image
from overread.truth import merge_marks, reader_statistics

NIH = "nih-240x3"


@pytest.fixture(scope="module")
def cohort():
    return frozen_cohort(NIH)


def test_the_tables_count_what_they_say(cohort):
    counts = cohort.about["counts"]
    for name in ("images", "nodules", "distractors", "readings", "marks"):
        assert len(getattr(cohort, name)) == counts[name]
    marks = cohort.marks.drop(columns="object_id")
    truth = merge_marks(marks, cohort.readings)
    assert truth["golden"].sum() == counts["golden"]
    assert counts["golden_on_nodules"] + counts["golden_on_distractors"] <= counts["golden"]
    sensitivity = reader_statistics(marks, cohort.readings).readers["sensitivity"]
    assert [sensitivity.min(), sensitivity.max()] == pytest.approx(counts["reader_sensitivity"], abs=1e-3)


def test_it_is_as_hard_as_it_was_meant_to_be(cohort):
    difficulty = cohort.about["difficulty"]
    assert 0.20 <= difficulty["response"] <= 0.28
    assert 0.92 <= difficulty["recall"] <= 0.96
    assert 0.26 <= difficulty["chance"] <= 0.34


def test_each_background_serves_three_images(cohort):
    assert (cohort.images["background"].value_counts() == 3).all()
    assert cohort.images["background"].nunique() == 240
    assert cohort.images["image_id"].is_unique
    assert cohort.images["sha256"].nunique() == 720 - duplicates(cohort)


def duplicates(cohort) -> int:
    """Count images without nodules beside the first of their background: they are the same pixels."""
    with_nodules = set(nodules_by_image(cohort.nodules))
    bare = cohort.images[~cohort.images["image_id"].isin(with_nodules)]
    return int(bare.duplicated("background").sum())


@pytest.mark.parametrize("number", [0, 1, 250, 719])
def test_images_are_those_of_the_manifest(cohort, shared_data, number):
    row = cohort.images.iloc[number]
    recipe = NihRecipe(shared_data / "nih" / "images", shared_data / "nih" / "images.csv")
    agreement = compare_image(cohort, row["image_id"], recipe.make(number).pixels)
    assert agreement.same_to_rounding, agreement


@pytest.mark.slow
def test_all_images_are_those_of_the_manifest(cohort, shared_data):
    recipe = NihRecipe(shared_data / "nih" / "images", shared_data / "nih" / "images.csv")
    found = [
        compare_image(cohort, image_id, recipe.make(number).pixels)
        for number, image_id in enumerate(cohort.images["image_id"])
    ]
    assert all(agreement.same_to_rounding for agreement in found), max(a.largest_difference for a in found)


def test_a_difference_is_reported(cohort):
    row = cohort.images.iloc[0]
    shape = (int(row["n_rows"]), int(row["n_columns"]))
    flat = compare_image(cohort, row["image_id"], np.zeros(shape, dtype=np.uint16))
    assert not flat.same_to_rounding
    assert flat.largest_difference == pytest.approx(max(map(float, row["block_means"].split())))
    other = compare_image(cohort, row["image_id"], np.zeros((5, 5), dtype=np.uint16))
    assert other.largest_difference == np.inf


def test_a_fingerprint_is_that_of_the_file(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 65536, (20, 30)).astype(np.uint16)
    from overread.images import read_image

    assert fingerprint(pixels) == read_image(write_png16(tmp_path / "a.png", pixels), mm_per_px=1).pixel_hash
    assert len(block_means(pixels)) == 9
    assert np.mean(block_means(np.full((9, 9), 7, dtype=np.uint16))) == 7


def test_nothing_of_the_backgrounds_is_shipped(cohort):
    assert set(cohort.images) == {"image_id", "background", "n_rows", "n_columns", "sha256", "block_means"}
