"""Sections of region, unit and colours."""

from __future__ import annotations

import pytest

from overread.domains import PLANES
from overread.domains.picture.domain import plane_weights
from overread.errors import InvalidInputError
from overread.study import Settings, parse_settings
from overread.study._settings import leave_out_unused

FIELD = {"region": {"kind": "all"}}


def test_the_planes_have_weights():
    assert plane_weights(Settings().images.plane) == (0.299, 0.587, 0.114)
    assert plane_weights("red_green") == (1.0, -1.0, 0.0)
    assert plane_weights([0.0, 2.0, 1.0]) == (0.0, 2.0, 1.0)
    for plane in PLANES:
        parse_settings({"images": {"plane": plane}})


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"region": {"kind": "lung"}}, r"\[region\] kind"),
        ({"units": {"unit": "px"}}, "a chest is measured in mm"),
        ({"images": {"plane": "violet"}}, r"\[images\] plane"),
        ({"images": {"plane": [0.0, 0.0, 0.0]}}, "plane has three zeros"),
        ({"images": {"plane": "green", "stain": [0.6, 0.7, 0.3]}}, "give one of them"),
        (FIELD | {"candidates": {"finder": "curvature"}}, 'finder = "curvature" with .*use blobs'),
        ({"candidates": {"finder": "blobs"}}, 'finder = "blobs" with .*use curvature or log'),
        (FIELD | {"candidates": {"polarity": {"red": "dark"}}}, "has to name the groups"),
        ({"labels": {"groups": {"a": ["x"], "b": ["x"]}}}, "'x' is in a and in b"),
        ({"labels": {"groups": {"../a": ["x"]}}}, "groups"),
        ({"labels": {"groups": {"a": []}}}, "groups"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(raw, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_settings(raw)


def test_a_study_of_chests_writes_no_key_of_pictures():
    plain = leave_out_unused(Settings().to_plain())
    assert not plain.keys() & {"region", "units", "images"}
    assert plain["candidates"].keys() == {"finder", "limit"}
    assert "groups" not in plain["labels"]
    assert parse_settings(plain) == Settings()


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
