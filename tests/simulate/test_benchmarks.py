from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.errors import ImageError, InvalidInputError, UsageError
from overread.images import write_png16
from overread.simulate.backgrounds import BackgroundFile
from overread.simulate.benchmarks import compare_image, curvature_spots, frozen_cohort, measure_difficulty
from overread.simulate.benchmarks.frozen import block_means, fingerprint
from overread.simulate.benchmarks.nih import nih_background, nih_files
from overread.simulate.recipes import NihRecipe
from overread.simulate.tables import nodules_by_image
from overread.truth import merge_marks, reader_statistics

NIH = "nih-240x3"


@pytest.fixture(scope="module")
def cohort():
    return frozen_cohort(NIH)


def nih(shared_data, cohort):
    return nih_files(cohort, shared_data / "nih" / "images", shared_data / "nih" / "images.csv")


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


def test_a_patient_keeps_all_images_of_a_background(cohort, shared_data):
    patients = {name: file.patient_id for name, file in nih(shared_data, cohort).items()}
    assert cohort.images.groupby("background")["background"].first().map(patients).notna().all()


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


def test_the_grid_keeps_places_in_mm(tmp_path):
    stored = np.zeros((100, 80), dtype=np.uint16)
    stored[50, 20] = 200
    from PIL import Image

    Image.fromarray(stored.astype(np.uint8)).save(tmp_path / "a.png")
    background = nih_background(BackgroundFile(tmp_path / "a.png", "p", (1.4, 0.7)))
    row, column = np.unravel_index(background.pixels.argmax(), background.pixels.shape)
    assert background.pixels.shape == (100, 160)
    assert (row + 0.5) * 0.7 == pytest.approx(50.5 * 0.7)
    assert (column + 0.5) * 0.7 == pytest.approx(20.5 * 1.4, abs=0.36)


def test_backgrounds_of_another_kind_are_refused(cohort, tmp_path):
    write_png16(tmp_path / "a.png", np.zeros((9, 9), dtype=np.uint16))
    with pytest.raises(ImageError, match="8 bits"):
        nih_background(BackgroundFile(tmp_path / "a.png", "p", (1.0, 1.0)))
    with pytest.raises(InvalidInputError, match="mm_per_px"):
        nih_background(BackgroundFile(tmp_path / "a.png", "p"))
    (tmp_path / "t.csv").write_text("file\na.png\n")
    with pytest.raises(InvalidInputError, match="240 backgrounds"):
        nih_files(cohort, tmp_path, tmp_path / "t.csv")
    with pytest.raises(UsageError, match="nih-240x3"):
        frozen_cohort("nih-241x3")


def test_the_reference_filter_finds_a_spot_and_leaves_a_line():
    y, x = np.mgrid[:200, :200] * 0.7
    image = 50 * np.exp(-((x - 60) ** 2 + (y - 60) ** 2) / (2 * 4**2)) + 50 * np.exp(
        -((x - 110) ** 2) / (2 * 3**2)
    )
    spots = curvature_spots(image, np.ones(image.shape, dtype=bool), 0.7)
    assert (spots["x_mm"][0], spots["y_mm"][0]) == pytest.approx((60, 60), abs=1.0)
    assert (spots["response"][1:] < 0.05 * spots["response"][0]).all()
    # s^2 times the smaller curvature of a Gaussian spot of height h and width w is s^2 h w^2 / (w^2 + s^2)^2
    scales = np.array([2, 3, 4.5, 6.5, 9.0])
    expected = (50 * scales**2 * 4**2 / (4**2 + scales**2) ** 2).max()
    assert spots["response"][0] == pytest.approx(expected, rel=0.05)


def test_difficulty_counts_what_it_says():
    truth = pd.DataFrame(
        {
            "image_id": ["a", "b"], "truth_id": ["1", "2"], "x_mm": [50.0, 50.0], "y_mm": [50.0, 50.0],
            "semi_major_mm": 6.0, "semi_minor_mm": 6.0, "angle_deg": 0.0, "n_readers": 2, "golden": True,
        }
    )  # fmt: skip
    on = pd.DataFrame({"x_mm": [50.0, 90.0], "y_mm": [50.0, 90.0], "response": [2.0, 1.0]})
    off = on.assign(x_mm=[90.0, 120.0])
    difficulty = measure_difficulty([("a", on, off), ("b", off, off)], truth)
    assert (difficulty.n_golden, difficulty.recall, difficulty.chance) == (2, 0.5, 0.0)
    assert difficulty.response == 0.5


def test_nothing_of_the_backgrounds_is_shipped(cohort):
    assert set(cohort.images) == {"image_id", "background", "n_rows", "n_columns", "sha256", "block_means"}
