"""Features in words: all of them, each its own words, and no formula."""

from __future__ import annotations

import re

import pytest

from overread.features import CATALOGUE, say_in_words


def test_every_feature_has_words_of_its_own() -> None:
    told = {name: say_in_words(name) for name in CATALOGUE}
    assert all(told.values())
    assert len(set(told.values())) == len(CATALOGUE)


def test_words_hold_no_formula_and_are_short() -> None:
    for name in CATALOGUE:
        words = say_in_words(name)
        assert not re.search(r"[=^_*/|()\[\]{}<>]", words), (name, words)
        assert len(words) <= 140


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("profile.contrast", "how much brighter the inside is than the surroundings"),
        ("blob.roundness.s63", "how round a bright spot is, against a line, at a scale of 6.3 mm"),
        (
            "convergence.coin.r70",
            "how much brightness rises towards the centre from all around, within 0.7 radii",
        ),
        (
            "glcm_contrast.wavelet2_hl.d2.mean",
            "how much neighbours differ, in middle, vertical detail, 2 points apart",
        ),
        ("lbp.r1_p8.pattern9", "share of points in irregular surroundings at 1 point"),
        (
            "glszm_large_zone_high_level_emphasis.original",
            "share of large, bright patches of equal brightness, in the image",
        ),
    ],
)
def test_parts_of_a_name_are_told(name: str, words: str) -> None:
    assert say_in_words(name) == words


def test_a_stranger_has_no_words() -> None:
    assert say_in_words("my.own") == ""
