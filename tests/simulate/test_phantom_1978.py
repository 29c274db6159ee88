from __future__ import annotations

import pandas as pd
import pytest

from overread.simulate import compare_image, frozen_cohort
from overread.simulate._cohort import _benchmark_recipe
from overread.simulate._reader_fit import PAPER_COUNTS
from overread.simulate._tables import nodules_by_image
from overread.truth import merge_marks

NAME = "phantom-1978"


@pytest.fixture(scope="module")
def cohort():
    return frozen_cohort(NAME)


def test_its_marks_merge_to_the_papers_counts(cohort):
    assert len(cohort.images) == PAPER_COUNTS.n_images
    assert cohort.readings["reader_id"].nunique() == 8
    assert cohort.readings.groupby("image_id").size().isin([4, 5]).mean() > 0.9
    golden = merge_marks(cohort.marks.drop(columns="object_id"), cohort.readings)["golden"].sum()
    assert len(cohort.marks) == pytest.approx(PAPER_COUNTS.marks, rel=0.05)
    assert cohort.marks["image_id"].nunique() == pytest.approx(PAPER_COUNTS.marked_images, rel=0.05)
    assert golden == pytest.approx(PAPER_COUNTS.golden, rel=0.05)
    assert cohort.about["counts"]["golden"] == golden


def test_its_tables_speak_of_its_images(cohort):
    ids = set(cohort.images["image_id"])
    assert cohort.images["sha256"].is_unique
    for table in (cohort.nodules, cohort.distractors, cohort.marks):
        assert set(table["image_id"]) <= ids
    assert set(cohort.readings["image_id"]) == ids
    read = pd.MultiIndex.from_frame(cohort.readings)
    assert pd.MultiIndex.from_frame(cohort.marks[["image_id", "reader_id"]]).isin(read).all()


def test_images_are_those_of_the_manifest(cohort):
    recipe = _benchmark_recipe(NAME, None, None)
    assert recipe.n_images == PAPER_COUNTS.n_images
    with_nodules = set(nodules_by_image(cohort.nodules))
    first = next(i for i, name in enumerate(cohort.images["image_id"]) if name in with_nodules)
    for number in (0, first, 1000, 1977):
        made = recipe.make(number)
        agreement = compare_image(cohort, made.image_id, made.pixels)
        assert agreement.same_to_rounding, agreement
        assert len(made.nodules) == (cohort.nodules["image_id"] == made.image_id).sum()
