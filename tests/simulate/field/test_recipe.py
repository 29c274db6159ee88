"""A cohort of fields is a study folder like any other."""

from __future__ import annotations

import json
import pickle
import tomllib

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.images import read_channels, read_source
from overread.simulate import FIELD_LAYOUT, PictureDistribution, PictureRecipe, picture_cohort
from overread.tables import check_study, read_table
from overread.truth import MergeOptions, merge_marks

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
    assert (one.lesions, one.marks, one.readings) == (other.lesions, other.marks, other.readings)
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
            away = np.hypot(x - row.x_mm, y - row.y_mm) / (row.diameter_mm / 2)
            contrasts.append(np.median(green[away < 0.7]) - np.median(green[(away > 1.5) & (away < 2.5)]))
        assert sign * np.median(contrasts) > 0.02


def test_readers_see_at_different_scales(tables):
    marks, readings = tables["marks"], tables["readings"]
    truth = merge_marks(marks, readings)
    nested = merge_marks(marks, readings, options=MergeOptions(nested="votes"))
    assert nested["golden"].sum() > 1.3 * truth["golden"].sum()


@pytest.mark.parametrize("wrong", [{"n_images": 0}, {"n_images": 1, "seed": -1}])
def test_senseless_orders_are_refused(tmp_path, wrong):
    with pytest.raises(InvalidInputError, match="n_images >= 1"):
        picture_cohort(tmp_path / "s", **wrong)
