"""Choices of merging and labelling are words and numbers in their ranges."""

from dataclasses import fields

import pytest

from overread.errors import InvalidInputError
from overread.truth import LabelOptions, MergeOptions


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        (MergeOptions, {"method": "stars"}, "method 'stars' does not exist; use star or components"),
        (MergeOptions, {"outline": "union"}, "outline 'union' does not exist; use representative or mean"),
        (MergeOptions, {"linkage_iou": -0.1}, "linkage_iou"),
        (MergeOptions, {"t0": 1.1}, r"t0 must be in \[0, 1\], not 1.1"),
        (MergeOptions, {"t0": float("nan")}, "t0 must be in"),
        (MergeOptions, {"dbscan_min_marks": 0}, "dbscan_min_marks"),
        (MergeOptions, {"full_size": 0.0}, "full_size must be above 0"),
        (MergeOptions, {"full_size": float("inf")}, "full_size must be above 0"),
        (LabelOptions, {"score": "votes"}, "score 'votes' does not exist; use readers or marks"),
        (LabelOptions, {"n_min": 0}, "n_min must be at least 1"),
        (LabelOptions, {"smallest_probability": float("nan")}, "smallest_probability"),
        (LabelOptions, {"n_max": -1}, "n_max must be at least 1"),
        (LabelOptions, {"depression": 2.0}, "depression"),
    ],
)
def test_what_means_nothing_is_refused(options, given, words):
    with pytest.raises(InvalidInputError, match=words):
        options(**given)


def test_the_papers_numbers_are_the_defaults():
    """Section 2.1 and its footnotes; section 3."""
    options = MergeOptions().in_unit("mm")
    assert (options.t0, options.full_size, options.similar_size, options.similar_distance) == (
        0.63,
        20.0,
        0.7,
        0.1,
    )
    assert LabelOptions().depression == 1 / 8


@pytest.mark.parametrize("options", [MergeOptions, LabelOptions])
def test_every_option_is_described(options):
    for field in fields(options):
        assert f"\n    {field.name}\n" in options.__doc__
