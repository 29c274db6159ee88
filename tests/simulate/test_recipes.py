"""An image of a cohort depends on the seed and its number alone."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.images import read_channels, read_source
from overread.simulate import (
    PictureDistribution,
    PictureRecipe,
    law_for_readers,
    phantom,
    picture_cohort,
)
from overread.simulate._laws import PAPER_LAW
from overread.simulate._recipes import ANATOMY_BITS, ChestRecipe
from overread.tables import check_study, read_table
from overread.truth import MergeOptions, merge_marks

GRID = 2.8


@pytest.fixture(scope="module")
def recipe() -> ChestRecipe:
    return ChestRecipe(4, PAPER_LAW, 7, GRID)


@pytest.mark.parametrize(
    ("kind", "more"),
    [(ChestRecipe, {"law": PAPER_LAW, "grid_mm": GRID}), (PictureRecipe, {"law": PictureDistribution()})],
)
def test_an_image_depends_on_seed_and_number_alone(kind, more):
    recipe, other_seed = kind(n_images=4, seed=7, **more), kind(n_images=4, seed=8, **more)
    one, copied = recipe.make(1), pickle.loads(pickle.dumps(recipe)).make(1)
    np.testing.assert_array_equal(one.pixels, copied.pixels)
    assert one.rows == copied.rows
    np.testing.assert_array_equal(one.pixels, kind(n_images=9, seed=7, **more).make(1).pixels)
    assert not np.array_equal(one.pixels, other_seed.make(1).pixels)
    assert json.dumps(recipe.settings(), default=str) != json.dumps(other_seed.settings(), default=str)


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


def test_varied_nodules_make_another_cohort_whose_images_may_be_varied_too(recipe):
    law = law_for_readers(8, "varied")
    varied = ChestRecipe(4, law, 7, GRID)
    assert varied.settings() != recipe.settings()
    counts = [[len(one.make(k).rows["nodules"]) for k in range(4)] for one in (varied, recipe)]
    assert counts[0] == counts[1]
    empty = next(k for k in range(4) if not recipe.make(k).rows["nodules"])
    other = recipe.make(empty)
    assert np.array_equal(varied.make(empty).pixels, other.pixels)
    noisy = ChestRecipe(4, replace(law, nodules=replace(law.nodules, image_noise=(0.2, 0.5))), 7, GRID)
    changed = np.abs(noisy.make(empty).pixels.astype(float) - other.pixels).mean() / 65535
    assert 0.0005 < changed < 0.05


N_IMAGES = 6


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return picture_cohort(tmp_path_factory.mktemp("fields") / "s", n_images=N_IMAGES, seed=2)


@pytest.fixture(scope="module")
def tables(study):
    return {kind: read_table(study / f"{kind}.csv", kind) for kind in ("images", "readings", "marks")}


def test_the_tables_are_those_of_a_study_without_scale(study, tables):
    images, readings, marks = tables["images"], tables["readings"], tables["marks"]
    assert check_study(marks, readings, images) == []
    assert "mm_per_px_x" not in images
    assert images[["width_px", "height_px"]].drop_duplicates().to_numpy().tolist() == [[560, 432]]
    assert readings.groupby("image_id").size().tolist() == [4] * N_IMAGES
    assert set(marks["label"]) == {"bright", "dark"}
    for path in images["path"]:
        assert read_channels(study / path).shape == (432, 560, 3)


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


def test_readers_see_at_different_scales(tables):
    marks, readings = tables["marks"], tables["readings"]
    truth = merge_marks(marks, readings, options=MergeOptions(full_size=20.0))
    nested = merge_marks(marks, readings, options=MergeOptions(full_size=20.0, nested="votes"))
    assert nested["golden"].sum() > 1.3 * truth["golden"].sum()
