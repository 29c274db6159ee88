"""An image of a cohort depends on the seed and its number alone."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import compare_image, frozen_cohort, law_for_readers
from overread.simulate._reader_fit import PAPER_LAW
from overread.simulate._recipes import ANATOMY_BITS, FrozenPhantomRecipe, PhantomRecipe

GRID = 2.8


@pytest.fixture(scope="module")
def recipe() -> PhantomRecipe:
    return PhantomRecipe(4, PAPER_LAW, 7, GRID)


def test_a_worker_makes_the_same_image(recipe):
    one, other = recipe.make(2), pickle.loads(pickle.dumps(recipe)).make(2)
    assert np.array_equal(one.pixels, other.pixels)
    assert (one.nodules, one.marks, one.readings) == (other.nodules, other.marks, other.readings)


def test_the_size_of_the_cohort_moves_no_image(recipe):
    longer = PhantomRecipe(9, PAPER_LAW, 7, GRID)
    assert np.array_equal(recipe.make(1).pixels, longer.make(1).pixels)
    assert not np.array_equal(recipe.make(1).pixels, PhantomRecipe(4, PAPER_LAW, 8, GRID).make(1).pixels)


def test_what_is_told_fits_together(recipe):
    for number in range(recipe.n_images):
        made = recipe.make(number)
        assert made.image_id == f"case{number + 1:05d}"
        assert made.is_phantom
        assert made.pixels.dtype == made.nodule_labels.dtype == np.uint16
        assert set(np.unique(made.nodule_labels)) == set(range(len(made.nodules) + 1))
        readers = {row["reader_id"] for row in made.readings}
        assert 4 <= len(readers) <= 6
        assert {row["reader_id"] for row in made.marks} <= readers
        bits = [(made.anatomy >> place & 1).any() for place in range(len(ANATOMY_BITS))]
        assert all(bits)


def test_settings_can_be_written_and_tell_cohorts_apart(recipe):
    settings = json.dumps(recipe.settings(), default=str, sort_keys=True)
    other = json.dumps(PhantomRecipe(4, PAPER_LAW, 8, GRID).settings(), default=str, sort_keys=True)
    assert settings != other


def test_varied_nodules_make_another_cohort_whose_images_may_be_varied_too(recipe):
    law = law_for_readers(8, "varied")
    varied = PhantomRecipe(4, law, 7, GRID)
    assert varied.settings() != recipe.settings()
    assert [len(varied.make(k).nodules) for k in range(4)] == [len(recipe.make(k).nodules) for k in range(4)]
    empty = next(k for k in range(4) if not recipe.make(k).nodules)
    other = recipe.make(empty)
    assert np.array_equal(varied.make(empty).pixels, other.pixels)
    noisy = PhantomRecipe(4, replace(law, nodules=replace(law.nodules, image_noise=(0.2, 0.5))), 7, GRID)
    changed = np.abs(noisy.make(empty).pixels.astype(float) - other.pixels).mean() / 65535
    assert 0.0005 < changed < 0.05


def test_an_image_of_the_frozen_phantoms_is_that_of_the_manifest():
    cohort, recipe = frozen_cohort("phantom-1978"), FrozenPhantomRecipe()
    made = recipe.make(5)
    assert compare_image(cohort, made.image_id, made.pixels).same_to_rounding
