"""The catalogue: its size, its names, what each entry says; how families are described; the pages on features."""

import keyword
import re
from collections import Counter

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.features import CATALOGUE, Catalogue, describe_features, say_in_words, stack_columns
from overread.features._family import to_columns
from overread.features.families import FAMILIES
from page_code import DOCS, run_page


def test_holds_at_least_what_the_paper_has():
    """Section 5: 150 specific features, 1000 of texture and intensity."""
    assert len(CATALOGUE.kind("specific")) >= 150
    assert len(CATALOGUE.kind("texture")) >= 1000
    assert sum(len(CATALOGUE.kind(kind)) for kind in ("specific", "texture", "learned")) == len(CATALOGUE)


@pytest.mark.parametrize("part", ["name", "unit", "formula", "reference", "words"])
def test_every_entry_says_all(part):
    assert all(getattr(feature, part).strip() for feature in CATALOGUE.values())


def test_names_are_identifiers():
    names = [name.replace(".", "_") for name in CATALOGUE]
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
    assert len(set(names)) == len(names)


def test_units_are_of_a_short_list():
    units = {feature.unit for feature in CATALOGUE.kind("specific")}
    assert units == {"mm", "mm2", "1", "grey", "deg"}


def test_lookup_search_and_family():
    assert CATALOGUE["shape.area"].unit == "mm2"
    assert "shape.area" in CATALOGUE
    assert [feature.name for feature in CATALOGUE.search("AFUM at_80")] == ["template.afum_at_80"]
    assert len(CATALOGUE.family("vessel")) == 6
    with pytest.raises(KeyError):
        CATALOGUE["nothing"]
    with pytest.raises(InvalidInputError, match="vessel"):
        CATALOGUE.family("vessels")


def test_a_name_twice_is_refused():
    with pytest.raises(InvalidInputError, match="two features"):
        Catalogue([FAMILIES[0], FAMILIES[0]])
    with pytest.raises(InvalidInputError, match="twice"):
        CATALOGUE.check_names(["shape.area", "shape.area"])


FEATURES = describe_features(
    "ring",
    "A book",
    [("mean", "grey", "m over r", "how bright it is"), ("other.w3", "1", "mean m'")],
    symbols={"m": "m: mean of g", "g": "g: grey level", "w": "w: never used"},
)


def test_names_kind_and_reference():
    assert [feature.name for feature in FEATURES] == ["ring.mean", "ring.other.w3"]
    assert {feature.family for feature in FEATURES} == {"ring"}
    assert {feature.kind for feature in FEATURES} == {"specific"}
    assert {feature.reference for feature in FEATURES} == {"A book"}
    assert [feature.words for feature in FEATURES] == ["how bright it is", ""]
    assert describe_features("a", "b", [("c", "1", "d")], kind="texture")[0].kind == "texture"


def test_symbols_are_explained_also_those_in_explanations():
    """A symbol is a word; a part of one, or one with a prime before it, is not."""
    assert FEATURES[0].formula == "m over r; m: mean of g; g: grey level"
    assert (
        describe_features("a", "b", [("c", "1", "mg + x.m")], symbols={"m": "M", "g": "G"})[0].formula
        == "mg + x.m"
    )


def test_values_find_their_columns_by_name():
    found = stack_columns(FEATURES, {"other.w3": np.array([3.0, 4.0]), "mean": np.array([1.0, 2.0])}, 2)
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(KeyError):
        stack_columns(FEATURES, {"mean": np.zeros(2)}, 2)


def test_to_columns_flattens_and_clips():
    found = to_columns(np.array([[[1.0, 1e300], [-1e300, 2.0]]]))
    largest = np.finfo(np.float32).max
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, largest, -largest, 2.0]]
    assert to_columns(np.zeros((0, 3, 4))).shape == (0, 12)


def test_every_feature_has_short_words_of_its_own_without_a_formula() -> None:
    assert len({feature.words for feature in CATALOGUE.values()}) == len(CATALOGUE)
    for name, feature in CATALOGUE.items():
        assert 0 < len(feature.words) <= 140, name
        assert not re.search(r"[=^_*/|()\[\]{}<>]", feature.words), (name, feature.words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("profile.contrast", "how much brighter the inside is than the surroundings"),
        ("blob.roundness.s63", "how round rather than line-like a bright spot is, at a scale of 6.3 mm"),
        (
            "convergence.coin.r70",
            "how much brightness rises towards the centre from all around, within 0.7 radii",
        ),
        (
            "glcm_contrast.wavelet2_hl.d2.mean",
            "how much neighbouring pixels differ, in medium, vertical structures, 2 pixels apart",
        ),
        (
            "lbp.r1_p8.pattern9",
            "share of pixels with an irregular pattern of neighbours at a distance of 1 pixel",
        ),
        (
            "glszm_large_zone_high_level_emphasis.original",
            "share of large, bright patches of equal brightness, in the image",
        ),
    ],
)
def test_parts_of_a_name_are_told(name: str, words: str) -> None:
    assert CATALOGUE[name].words == words


def test_a_stranger_has_no_words() -> None:
    assert say_in_words("my.own") == ""


def test_how_to_add_a_feature_family(capsys):
    namespace = run_page("how-to/add_a_feature_family.md")
    assert list(namespace["table"]) == ["candidate_id", "halo.drop", "halo.weakest_drop"]
    assert "m: mean of the grey level within R / 2" in capsys.readouterr().out
    assert len(namespace["catalogue"]) == len(CATALOGUE) + 2


def test_families_and_their_sizes_are_those_of_the_page():
    page = (DOCS / "reference" / "features.md").read_text(encoding="utf-8")
    rows = {name: int(size) for name, size in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)}
    assert rows == Counter(feature.family for feature in CATALOGUE.values())
    assert list(rows) == list(CATALOGUE.families)
