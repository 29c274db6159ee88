"""Settings of a study: defaults, mistakes named by key, sections, and the file that ``overread init`` writes."""

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import ValidationError

from overread._sections import Section, describe_keys, make_section
from overread.domains import DEFAULT_FINDER, DEFAULT_LIMIT, PLANES
from overread.domains.picture.domain import plane_weights
from overread.errors import InvalidInputError
from overread.froc import FP_TARGETS
from overread.study import MODELS, Settings, parse_settings, read_settings
from overread.study._settings import TOP, WIDTH, HitsBase, leave_out_unused, settings_template
from overread.study.models import DEFAULT_MODELS
from overread.truth import (
    HIT,
    STRICT_HIT,
    DistanceHit,
    EllipseHit,
    HitRule,
    LabelOptions,
    MergeOptions,
    OverlapHit,
    hit_rule_parameters,
)


def test_no_key_means_the_defaults_of_the_stages() -> None:
    settings = parse_settings({})
    assert MergeOptions(**dict(settings.merging)) == MergeOptions().in_unit("mm")
    assert settings.labels.make_options() == LabelOptions()
    assert settings.hits.hit_rule() == HIT
    assert settings.evaluation.fp_targets == list(FP_TARGETS)
    assert (settings.candidates.finder, settings.candidates.limit) == (DEFAULT_FINDER, DEFAULT_LIMIT)
    assert settings.models.wanted == list(DEFAULT_MODELS)


def test_plain_values_mean_the_same_settings() -> None:
    settings = parse_settings({"seed": 3, "hits": {"rule": "distance", "max_distance": 8.0}})
    assert parse_settings(settings.to_plain()).to_plain() == settings.to_plain()


@pytest.mark.parametrize(
    ("hits", "rule"),
    [
        ({"rule": "strict"}, STRICT_HIT),
        ({"rule": "hit", "margin": 2.0}, EllipseHit(margin=2.0)),
        ({"rule": "distance", "max_distance": 8.0}, DistanceHit(8.0)),
        ({"rule": "overlap", "min_overlap": 0.2}, OverlapHit(0.2)),
    ],
)
def test_hit_rules(hits: dict[str, object], rule: HitRule) -> None:
    assert parse_settings({"hits": hits}).hits.hit_rule() == rule


FIELD = {"region": {"kind": "all"}}
HOSTILE = [
    ({"sed": 1}, "sed: there is no such key (did you mean seed?)"),
    ({"soft": {"n_lambda": 3}}, "[soft] n_lambda: there is no such key (did you mean n_lambdas?)"),
    ({"merging": {"t00": 0.5}}, "did you mean t0?"),
    ({"merging": {"seed": 1}}, "the study has one seed"),
    ({"seed": -1}, "seed = -1"),
    ({"seed": "1"}, "seed = '1'"),
    ({"seed": True}, "seed = True"),
    ({"seed": 2**32}, "seed"),
    ({"merging": {"t0": 5.0}}, "t0 must be in [0, 1]"),
    ({"merging": {"method": "stars"}}, "method 'stars' does not exist"),
    ({"labels": {"n_min": 0}}, "n_min must be at least 1"),
    ({"hits": {"rule": "distance"}}, "needs max_distance"),
    ({"evaluation": {"fp_targets": [1.0, 0.5]}}, "must grow"),
    ({"evaluation": {"fp_targets": []}}, "[evaluation] fp_targets"),
    ({"evaluation": {"fp_targets": [math.nan]}}, "fp_targets[0] = nan"),
    ({"evaluation": {"level": math.inf}}, "[evaluation] level = inf"),
    ({"evaluation": {"n_bootstrap": 0}}, "[evaluation] n_bootstrap"),
    ({"evaluation": {"n_bootstrap": 99}}, "need at least 100 draws"),
    ({"evaluation": {"n_bootstrap": 1000, "level": 0.999}}, "need at least 2,000 draws"),
    ({"evaluation": {"level": 0.9999999999}}, "[evaluation] level"),
    ({"evaluation": {"level": 0.1}}, "[evaluation] level"),
    ({"evaluation": {"fp_targets": [1e300]}}, "fp_targets[0]"),
    ({"hits": {"margin": 1e300}}, "margin must be 0 to 100 mm"),
    ({"hits": {"min_semi_axis": 101.0}}, "min_semi_axis must be 0 to 100 mm"),
    ({"hits": {"scale": 11.0}}, "scale must be above 0 and at most 10"),
    ({"hits": {"rule": "distance", "max_distance": 1e6}}, "max_distance must be 0 to 100 mm"),
    ({"b2": {"n_bootstrap": 1}}, "must be 0 (no intervals) or at least 20"),
    ({"soft": {"normalizations": ["bags", "bags"]}}, "named twice"),
    ({"models": {"wanted": ["soft", "b3"]}}, "there is no model 'b3' (use any of soft, b1, b2, boosted)"),
    ({"candidates": {"finder": "eyes"}}, "or install the package that has it"),
    ({"boosted": {"n_trees": []}}, "[boosted] n_trees"),
    ({"boosted": {"trees": [5]}}, "did you mean n_trees?"),
    ({"models": {"wanted": ["b1", "b1"]}}, "twice"),
    ({"models": 3}, "models = 3"),
    ({"limits": {"memory_mb": 1}}, "[limits] memory_mb"),
    ({"execution": {"executor": "cloud"}}, "[execution] executor = 'cloud'"),
    ({"split": {"training": 0.5}}, "add up to 1"),
    ({"split": {"training": 1.0, "validation": 0.0, "test": 0.0}}, "above 0"),
    ({"split": {"training": 0.5, "validation": 0.5, "test": 0.0}}, 'headline = "nested"'),
    ({"split": {"training": -0.5, "validation": 0.5, "test": 1.0}}, "training"),
    ({"evaluation": {"headline": "best"}}, "headline"),
    ({"evaluation": {"outer_folds": 1}}, "outer_folds"),
    ({"region": {"kind": "lung"}}, "[region] kind"),
    ({"units": {"unit": "px"}}, "a chest is measured in mm"),
    ({"images": {"plane": "violet"}}, "[images] plane"),
    ({"images": {"plane": [0.0, 0.0, 0.0]}}, "plane has three zeros"),
    ({"images": {"plane": "green", "stain": [0.6, 0.7, 0.3]}}, "set one of them"),
    (
        FIELD | {"candidates": {"finder": "curvature"}},
        'finder = "curvature" with [region] kind = "all": use blobs',
    ),
    (
        {"candidates": {"finder": "blobs"}},
        'finder = "blobs" with [region] kind = "chest": use curvature or log',
    ),
    (FIELD | {"candidates": {"polarity": {"red": "dark"}}}, "must name each group"),
    ({"labels": {"groups": {"a": ["x"], "b": ["x"]}}}, "'x' is in the groups a and b"),
    ({"labels": {"groups": {"../a": ["x"]}}}, "groups"),
    ({"labels": {"groups": {"a": []}}}, "groups"),
]


@pytest.mark.parametrize(("raw", "told"), HOSTILE)
def test_a_mistake_is_named_with_its_key(raw: dict[str, object], told: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_settings(raw, "study.toml")
    assert str(caught.value).startswith("study.toml, ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"seed = ", "is not TOML"),
        (b"seed = 1\nseed = 2", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a = " + b"[" * 50_000, "is not TOML"),
        (b"#" * (1 << 20) + b"##", "larger than"),
        (b"seed = 99999999999999999999", "seed"),
    ],
)
def test_a_file_that_is_no_settings_file(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match="study") as caught:
        read_settings(path)
    assert told in str(caught.value)


def test_no_file_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="overread init"):
        read_settings(tmp_path / "study.toml")


def test_without_a_test_set_the_headline_is_nested() -> None:
    raw = {"split": {"training": 0.6, "validation": 0.4, "test": 0.0}, "evaluation": {"headline": "nested"}}
    assert parse_settings(raw).split.test == 0
    assert (
        parse_settings({"split": {"training": 0.333, "validation": 0.333, "test": 0.333}}).split.test == 0.333
    )


def test_the_planes_have_weights():
    assert plane_weights(Settings().images.plane) == (0.299, 0.587, 0.114)
    assert plane_weights("red_green") == (1.0, -1.0, 0.0)
    assert plane_weights([0.0, 2.0, 1.0]) == (0.0, 2.0, 1.0)
    for plane in PLANES:
        parse_settings({"images": {"plane": plane}})


def test_a_study_of_chests_writes_no_key_of_pictures():
    plain = leave_out_unused(Settings().to_plain())
    assert not plain.keys() & {"region", "units", "images"}
    assert plain["candidates"].keys() == {"finder", "limit"}
    assert "groups" not in plain["labels"]
    assert parse_settings(plain).to_plain() == Settings().to_plain()


def test_settings_of_pictures_are_written_and_read_back():
    raw = FIELD | {
        "units": {"unit": "px"},
        "labels": {"groups": {"a": ["x"]}},
        "candidates": {"polarity": {"a": "dark"}},
    }
    settings = parse_settings(raw)
    plain = leave_out_unused(settings.to_plain())
    assert plain["units"] == {"unit": "px"}
    assert plain["candidates"]["polarity"] == {"a": "dark"}
    assert "finder" in plain["candidates"]


@dataclass(frozen=True)
class Options:
    """Something to set.

    Parameters
    ----------
    rate : float
        How fast,
        and how far.
    low, high
        Ends of the range.
    seed
        Not of the section.
    """

    rate: float = 0.5
    low: int = 0
    high: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InvalidInputError("low must not be above high")


class Base(Section):
    """Base.

    Attributes
    ----------
    a
        First.
    b
        Second.
    """

    a: int = 1
    b: int = 2


class Derived(Base):
    """Derived.

    Attributes
    ----------
    b
        Second, told anew.
    c
        Third.
    """

    c: int = 3


def test_a_dataclass_becomes_a_section_without_the_seed() -> None:
    section = make_section(Options)
    assert dict(section()) == {"rate": 0.5, "low": 0, "high": 3}
    assert Options(**dict(section(rate=0.25)), seed=3) == Options(0.25, seed=3)


@pytest.mark.parametrize(
    "raw", [{"seed": 1}, {"rat": 1.0}, {"low": 1.5}, {"low": True}, {"rate": float("nan")}]
)
def test_unknown_keys_and_other_types_are_refused(raw: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make_section(Options)(**raw)


def test_the_rules_of_the_dataclass_hold() -> None:
    with pytest.raises((ValidationError, InvalidInputError), match="low must not be above high"):
        make_section(Options)(low=5)


def test_a_section_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        make_section(Options)().rate = 1.0


def test_keys_are_told_by_the_docstring() -> None:
    told = {"rate": "How fast, and how far.", "low": "Ends of the range.", "high": "Ends of the range."}
    assert describe_keys(make_section(Options)) == told | {"seed": "Not of the section."}


def test_a_derived_section_has_the_words_of_its_base() -> None:
    told = describe_keys(Derived)
    assert {key: told[key] for key in "abc"} == {"a": "First.", "b": "Second, told anew.", "c": "Third."}


def test_without_a_docstring_there_is_nothing_to_tell() -> None:
    assert describe_keys(type("Bare", (), {})) == {}


def switch_on(text: str) -> str:
    """Take the sign of a comment off every line that gives a key."""
    return re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)


def test_it_means_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(settings_template())
    assert read_settings(path) == Settings()
    assert read_settings(path, seed=9).seed == 9


def test_every_key_is_there_and_can_be_switched_on() -> None:
    shown = tomllib.loads(switch_on(settings_template()))
    # Numbers of one hit rule are refused by another.
    own = {one.name for one in hit_rule_parameters()[shown["hits"]["rule"]]}
    fitting = {
        key: value for key, value in shown["hits"].items() if key in own or key in HitsBase.model_fields
    }
    parse_settings({**{name: value for name, value in shown.items() if name != "inputs"}, "hits": fitting})
    for section, values in Settings().to_plain().items():
        if section in TOP:
            assert shown[section] == values
            continue
        assert list(shown[section]) == list(values)
        for key, value in values.items():
            assert shown[section][key] == value or value is None, (section, key)


def test_a_key_without_a_default_says_so() -> None:
    text = " ".join(settings_template().split("\n# "))
    for section, values in Settings().to_plain().items():
        for key in [key for key, value in values.items() if value is None] if section not in TOP else []:
            assert re.search(rf"Not set; for example: {key} = ", text), (section, key)


def test_every_key_is_explained_in_its_section_s_own_words() -> None:
    for name, field in Settings.model_fields.items():
        if name in TOP:
            continue
        told = describe_keys(field.annotation)
        for key in field.annotation.model_fields:
            assert told[key].endswith("."), (name, key)


def test_sections_of_models_come_in_their_order_after_the_models() -> None:
    sections = re.findall(r"^\[(\w+)\]", settings_template(), flags=re.MULTILINE)
    place = sections.index("models")
    assert sections[place + 1 : place + 1 + len(MODELS)] == list(MODELS)
    assert len(sections) == len(set(sections)) == len(Settings.model_fields) - len(TOP)


def test_lines_are_no_wider_than_a_screen() -> None:
    assert max(map(len, settings_template().splitlines())) <= WIDTH + 2


def test_old_names_of_lengths_are_listed_all_at_once(tmp_path: Path) -> None:
    old = (
        '[merging]\nfull_size_mm = 20.0\n[hits]\nrule = "hit"\nmargin_mm = 1.0\n[units]\nunit = "fraction"\n'
    )
    (tmp_path / "study.toml").write_text(old)
    renames = ("full_size_mm = ... is now full_size", "margin_mm = ... is now margin", 'now unit = "percent"')
    with pytest.raises(InvalidInputError, match=".*".join(map(re.escape, renames))):
        read_settings(tmp_path / "study.toml")


def test_the_paper_s_full_size_is_that_of_mm_alone() -> None:
    assert Settings().merging.full_size == 20.0
    assert parse_settings({"merging": {"full_size": 7.0}}).merging.full_size == 7.0
    picture = {"region": {"kind": "all"}, "units": {"unit": "px"}}
    assert parse_settings(picture).merging.full_size is None
