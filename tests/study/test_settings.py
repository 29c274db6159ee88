from __future__ import annotations

import math
from pathlib import Path

import pytest

from overread.domains import DEFAULT_FINDER, DEFAULT_LIMIT
from overread.errors import InvalidInputError
from overread.froc import FP_TARGETS
from overread.study import MODELS, Settings, parse_settings, read_settings
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
)


def test_no_key_means_the_defaults_of_the_stages() -> None:
    settings = parse_settings({})
    assert MergeOptions(**dict(settings.merging)) == MergeOptions()
    assert settings.labels.make_options() == LabelOptions()
    assert settings.hits.hit_rule() == HIT
    assert settings.evaluation.fp_targets == list(FP_TARGETS)
    assert (settings.candidates.finder, settings.candidates.limit) == (DEFAULT_FINDER, DEFAULT_LIMIT)
    assert settings.models.wanted == list(DEFAULT_MODELS)


def test_every_model_has_its_section() -> None:
    assert set(MODELS) <= set(Settings.model_fields)
    for name, model in MODELS.items():
        assert getattr(Settings(), name) == model.settings()


def test_plain_values_mean_the_same_settings() -> None:
    settings = parse_settings({"seed": 3, "hits": {"rule": "distance", "max_distance_mm": 8.0}})
    assert parse_settings(settings.to_plain()) == settings


@pytest.mark.parametrize(
    ("hits", "rule"),
    [
        ({"rule": "strict"}, STRICT_HIT),
        ({"rule": "hit", "margin_mm": 2.0}, EllipseHit(margin_mm=2.0)),
        ({"rule": "distance", "max_distance_mm": 8.0}, DistanceHit(8.0)),
        ({"rule": "overlap", "min_overlap": 0.2}, OverlapHit(0.2)),
    ],
)
def test_hit_rules(hits: dict[str, object], rule: HitRule) -> None:
    assert parse_settings({"hits": hits}).hits.hit_rule() == rule


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
    ({"merging": {"method": "stars"}}, "[merging] method = 'stars'"),
    ({"labels": {"n_min": 0}}, "n_min must be at least 1"),
    ({"hits": {"rule": "distance"}}, "needs max_distance_mm"),
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
    ({"hits": {"margin_mm": 1e300}}, "margin_mm must be 0 to 100 mm"),
    ({"hits": {"min_semi_axis_mm": 101.0}}, "min_semi_axis_mm must be 0 to 100 mm"),
    ({"hits": {"scale": 11.0}}, "scale must be above 0 and at most 10"),
    ({"hits": {"rule": "distance", "max_distance_mm": 1e6}}, "max_distance_mm must be 0 to 100 mm"),
    ({"b2": {"n_bootstrap": 1}}, "need 0, for no intervals, or at least 20"),
    ({"soft": {"normalizations": ["bags", "bags"]}}, "named twice"),
    ({"models": {"wanted": ["soft", "b3"]}}, "there is no model 'b3'; use any of soft, b1, b2, boosted"),
    ({"candidates": {"finder": "eyes"}}, "[candidates] finder = 'eyes'"),
    ({"boosted": {"n_trees": []}}, "[boosted] n_trees"),
    ({"boosted": {"trees": [5]}}, "did you mean n_trees?"),
    ({"models": {"wanted": ["b1", "b1"]}}, "twice"),
    ({"models": 3}, "models = 3"),
    ({"limits": {"memory_mb": 1}}, "[limits] memory_mb"),
    ({"execution": {"executor": "cloud"}}, "[execution] executor = 'cloud'"),
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


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"split": {"training": 0.5}}, "add up to 1"),
        ({"split": {"training": 1.0, "validation": 0.0, "test": 0.0}}, "above 0"),
        ({"split": {"training": 0.5, "validation": 0.5, "test": 0.0}}, 'headline = "nested"'),
        ({"split": {"training": -0.5, "validation": 0.5, "test": 1.0}}, "training"),
        ({"evaluation": {"headline": "best"}}, "headline"),
        ({"evaluation": {"outer_folds": 1}}, "outer_folds"),
    ],
)
def test_shares_and_headlines_that_make_no_sense(raw: dict, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_settings(raw, "study.toml")
    assert str(caught.value).startswith("study.toml, ")
    assert words in str(caught.value)


def test_without_a_test_set_the_headline_is_nested() -> None:
    raw = {"split": {"training": 0.6, "validation": 0.4, "test": 0.0}, "evaluation": {"headline": "nested"}}
    assert parse_settings(raw).split.test == 0
    assert (
        parse_settings({"split": {"training": 0.333, "validation": 0.333, "test": 0.333}}).split.test == 0.333
    )
