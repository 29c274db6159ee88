"""What lengths and things are called."""

from dataclasses import replace

import pytest

from overread.report._words import find_crop_side, name_object, name_unit


def in_pixels(results, **hits):
    told = {"region": {"kind": "all"}, "units": {"unit": "px"}}
    return replace(
        results, unit="px", settings=results.settings | told | {"hits": {"min_semi_axis": 15.0} | hits}
    )


def test_a_study_that_says_nothing_is_of_chests_in_mm(results):
    assert (name_unit(results), name_object(results), find_crop_side(results)) == ("mm", "nodule", 60.0)


def test_pictures_have_their_unit_and_crops_of_twelve_least_semi_axes(results):
    pictures = in_pixels(results)
    assert (name_unit(pictures), name_object(pictures)) == ("px", "object")
    assert find_crop_side(pictures) == pytest.approx(180.0)


def test_a_rule_without_a_least_semi_axis_has_crops_of_three_full_sizes(results):
    settings = {"merging": {"full_size": 200.0}}
    pictures = in_pixels(results, min_semi_axis=None)
    assert find_crop_side(replace(pictures, settings=pictures.settings | settings)) == pytest.approx(600.0)
