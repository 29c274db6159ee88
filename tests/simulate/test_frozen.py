"""Backgrounds of the NIH benchmark: those of the manifest, on its grid."""

import numpy as np
import pytest
from benchmarks.fit_readers import PAPER_COUNTS

from overread.errors import ImageError, InvalidInputError, UsageError
from overread.images import write_png16
from overread.simulate import compare_image, frozen_cohort
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._frozen import block_means, fingerprint, nih_background, nih_files
from overread.simulate._recipes import FrozenRecipe
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


@pytest.mark.parametrize("number", [0, 1, 250, 719])
def test_images_are_those_of_the_manifest(cohort, shared_data, number):
    row = cohort.images.iloc[number]
    recipe = FrozenRecipe(NIH, shared_data / "nih" / "images", shared_data / "nih" / "images.csv")
    agreement = compare_image(cohort, row["image_id"], recipe.make(number).pixels)
    assert agreement.same_to_rounding, agreement


@pytest.mark.slow
def test_all_images_are_those_of_the_manifest(cohort, shared_data):
    recipe = FrozenRecipe(NIH, shared_data / "nih" / "images", shared_data / "nih" / "images.csv")
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


NAME = "phantom-1978"


@pytest.fixture(scope="module")
def frozen_phantoms():
    return frozen_cohort(NAME)


def test_its_marks_merge_to_the_papers_counts(frozen_phantoms):
    assert len(frozen_phantoms.images) == PAPER_COUNTS.n_images
    assert frozen_phantoms.readings["reader_id"].nunique() == 8
    assert frozen_phantoms.readings.groupby("image_id").size().isin([4, 5]).mean() > 0.9
    golden = merge_marks(frozen_phantoms.marks.drop(columns="object_id"), frozen_phantoms.readings)[
        "golden"
    ].sum()
    assert len(frozen_phantoms.marks) == pytest.approx(PAPER_COUNTS.marks, rel=0.05)
    assert frozen_phantoms.marks["image_id"].nunique() == pytest.approx(PAPER_COUNTS.marked_images, rel=0.05)
    assert golden == pytest.approx(PAPER_COUNTS.golden, rel=0.05)
    assert frozen_phantoms.about["counts"]["golden"] == golden


def test_images_are_those_of_the_manifest_of_phantom_1978(frozen_phantoms):
    recipe = FrozenRecipe(NAME)
    assert recipe.n_images == PAPER_COUNTS.n_images
    with_nodules = set(nodules_by_image(frozen_phantoms.nodules))
    first = next(i for i, name in enumerate(frozen_phantoms.images["image_id"]) if name in with_nodules)
    for number in (0, first, 1000, 1977):
        made = recipe.make(number)
        agreement = compare_image(frozen_phantoms, made.image_id, made.pixels)
        assert agreement.same_to_rounding, agreement
        assert len(made.rows["nodules"]) == (frozen_phantoms.nodules["image_id"] == made.image_id).sum()
