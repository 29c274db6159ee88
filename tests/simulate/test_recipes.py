"""An image of a cohort depends on the seed and its number alone."""

import json
import pickle
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.images import read_channels, read_source
from overread.simulate import (
    FIELD_LAYOUT,
    PictureDistribution,
    PictureRecipe,
    compare_image,
    frozen_cohort,
    law_for_readers,
    phantom,
    picture_cohort,
)
from overread.simulate._reader_fit import PAPER_LAW
from overread.simulate._recipes import ANATOMY_BITS, FrozenPhantomRecipe, PhantomRecipe
from overread.tables import check_study, read_table
from overread.truth import MergeOptions, merge_marks

GRID = 2.8


@pytest.fixture(scope="module")
def recipe() -> PhantomRecipe:
    return PhantomRecipe(4, PAPER_LAW, 7, GRID)


def test_a_worker_makes_the_same_image(recipe):
    one, other = recipe.make(2), pickle.loads(pickle.dumps(recipe)).make(2)
    assert np.array_equal(one.pixels, other.pixels)
    assert one.rows == other.rows


def test_the_size_of_the_cohort_moves_no_image(recipe):
    longer = PhantomRecipe(9, PAPER_LAW, 7, GRID)
    assert np.array_equal(recipe.make(1).pixels, longer.make(1).pixels)
    assert not np.array_equal(recipe.make(1).pixels, PhantomRecipe(4, PAPER_LAW, 8, GRID).make(1).pixels)


def test_what_is_told_fits_together(recipe):
    for number in range(recipe.n_images):
        made = recipe.make(number)
        assert made.image_id == f"case{number + 1:05d}"
        assert made.anatomy is not None
        assert made.pixels.dtype == made.labels.dtype == np.uint16
        assert set(np.unique(made.labels)) == set(range(len(made.rows["nodules"]) + 1))
        readers = {row["reader_id"] for row in made.rows["readings"]}
        assert 4 <= len(readers) <= 6
        assert {row["reader_id"] for row in made.rows["marks"]} <= readers
        bits = [(made.anatomy >> place & 1).any() for place in range(len(ANATOMY_BITS))]
        assert all(bits)


def test_no_breast_is_thicker_than_the_law_allows(recipe, monkeypatch):
    drawn = []

    def note(*, patient, **others):
        drawn.append(patient.breast_mm)
        return phantom(patient=patient, **others)

    monkeypatch.setattr("overread.simulate._recipes.phantom", note)
    for thickest in (85.0, 20.0):
        capped = replace(recipe, seed=0, law=replace(PAPER_LAW, thickest_breast_mm=thickest))
        for number in range(3):
            capped.make(number)
    free, thin = drawn[:3], drawn[3:]
    assert 0.0 < min(b for b in free if b) < 20.0 < max(free)
    assert thin == [min(breast, 20.0) for breast in free]


def test_settings_can_be_written_and_tell_cohorts_apart(recipe):
    settings = json.dumps(recipe.settings(), default=str, sort_keys=True)
    other = json.dumps(PhantomRecipe(4, PAPER_LAW, 8, GRID).settings(), default=str, sort_keys=True)
    assert settings != other


def test_varied_nodules_make_another_cohort_whose_images_may_be_varied_too(recipe):
    law = law_for_readers(8, "varied")
    varied = PhantomRecipe(4, law, 7, GRID)
    assert varied.settings() != recipe.settings()
    counts = [[len(one.make(k).rows["nodules"]) for k in range(4)] for one in (varied, recipe)]
    assert counts[0] == counts[1]
    empty = next(k for k in range(4) if not recipe.make(k).rows["nodules"])
    other = recipe.make(empty)
    assert np.array_equal(varied.make(empty).pixels, other.pixels)
    noisy = PhantomRecipe(4, replace(law, nodules=replace(law.nodules, image_noise=(0.2, 0.5))), 7, GRID)
    changed = np.abs(noisy.make(empty).pixels.astype(float) - other.pixels).mean() / 65535
    assert 0.0005 < changed < 0.05


def test_an_image_of_the_frozen_phantoms_is_that_of_the_manifest():
    cohort, recipe = frozen_cohort("phantom-1978"), FrozenPhantomRecipe()
    made = recipe.make(5)
    assert compare_image(cohort, made.image_id, made.pixels).same_to_rounding


N_IMAGES = 6


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return picture_cohort(tmp_path_factory.mktemp("fields") / "s", n_images=N_IMAGES, seed=2)


@pytest.fixture(scope="module")
def tables(study):
    return {kind: read_table(study / f"{kind}.csv", kind) for kind in ("images", "readings", "marks")}


def test_an_image_depends_on_seed_and_number_alone():
    recipe = PictureRecipe(4, PictureDistribution(), 7)
    one, other = (
        recipe.make(2),
        pickle.loads(pickle.dumps(PictureRecipe(9, PictureDistribution(), 7))).make(2),
    )
    np.testing.assert_array_equal(one.pixels, other.pixels)
    assert one.rows == other.rows
    assert not np.array_equal(one.pixels, PictureRecipe(4, PictureDistribution(), 8).make(2).pixels)
    assert json.dumps(recipe.settings()) != json.dumps(PictureRecipe(4, PictureDistribution(), 8).settings())


def test_the_tables_are_those_of_a_study_without_scale(study, tables):
    images, readings, marks = tables["images"], tables["readings"], tables["marks"]
    assert check_study(marks, readings, images) == []
    assert "mm_per_px_x" not in images
    assert images[["width_px", "height_px"]].drop_duplicates().to_numpy().tolist() == [[560, 432]]
    assert readings.groupby("image_id").size().tolist() == [4] * N_IMAGES
    assert set(marks["label"]) == {"bright", "dark"}
    for path in images["path"]:
        assert read_channels(study / path).shape == (432, 560, 3)


def test_settings_are_toml_and_name_the_labels_of_the_marks(study, tables):
    settings = tomllib.loads((study / "study.toml").read_text())
    assert settings == tomllib.loads(FIELD_LAYOUT.settings)
    named = {label for labels in settings["labels"]["groups"].values() for label in labels}
    assert named == set(tables["marks"]["label"])


def test_what_is_known_fits_the_images(study, tables):
    lesions = pd.read_csv(study / "known" / "lesions.csv")
    for image_id, rows in lesions.groupby("image_id"):
        mask = read_source(study / "known" / "masks" / f"{image_id}.png").stored
        assert set(np.unique(mask)) == set(range(len(rows) + 1))
        anatomy = read_source(study / "known" / "anatomy" / f"{image_id}.png").stored
        assert (anatomy[mask > 0] & 1).all()
    known = pd.read_csv(study / "known" / "marks.csv", dtype=str, na_filter=False)
    assert set(known["mark_id"]) == set(tables["marks"]["mark_id"])
    spots = set(lesions["object_id"]) | {name.partition("-")[0] for name in lesions["object_id"]} | {""}
    spots |= set(pd.read_csv(study / "known" / "distractors.csv")["object_id"])
    assert set(known["object_id"]) <= spots


def test_lesions_are_brighter_or_darker_than_their_surround(study):
    """In the green channel, by the median over all lesions of a label."""
    lesions = pd.read_csv(study / "known" / "lesions.csv")
    for label, sign in (("bright", 1), ("dark", -1)):
        contrasts = []
        for row in lesions[lesions["label"] == label].itertuples():
            green = read_channels(study / "images" / f"{row.image_id}.png")[..., 1]
            y, x = np.mgrid[: green.shape[0], : green.shape[1]] + 0.5
            away = np.hypot(x - row.x_px, y - row.y_px) / (row.diameter_px / 2)
            contrasts.append(np.median(green[away < 0.7]) - np.median(green[(away > 1.5) & (away < 2.5)]))
        assert sign * np.median(contrasts) > 0.02


def test_readers_see_at_different_scales(tables):
    marks, readings = tables["marks"], tables["readings"]
    truth = merge_marks(marks, readings, options=MergeOptions(full_size=20.0))
    nested = merge_marks(marks, readings, options=MergeOptions(full_size=20.0, nested="votes"))
    assert nested["golden"].sum() > 1.3 * truth["golden"].sum()


@pytest.mark.parametrize("wrong", [{"n_images": 0}, {"n_images": 1, "seed": -1}])
def test_senseless_orders_are_refused(tmp_path, wrong):
    with pytest.raises(InvalidInputError, match="n_images >= 1"):
        picture_cohort(tmp_path / "s", **wrong)
