"""Settings that make no sense are refused before anything listens."""

from __future__ import annotations

import pytest

from overread.apps.node._settings import Destination, NodeSettings
from overread.errors import UsageError

HERE = Destination("PACS", "127.0.0.1", 4242)


def test_a_destination_is_read():
    assert Destination.parse("PACS@127.0.0.1:4242") == HERE
    assert str(HERE) == "PACS@127.0.0.1:4242"
    assert Destination.parse("MY PACS@host.local:104").ae_title == "MY PACS"
    assert Destination.parse("PACS@[::1]:104").host == "::1"


@pytest.mark.parametrize(
    "text",
    ["PACS", "PACS@host", "PACS:104", "@host:104", "PACS@host:0", "PACS@host:65536", "PACS@h:1x", "A\\B@h:1"],
)
def test_what_is_no_destination(text):
    with pytest.raises(UsageError, match="--destination"):
        Destination.parse(text)


def test_the_defaults_are_on_loopback():
    assert NodeSettings(HERE).host == "127.0.0.1"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ae_title": ""}, "--ae-title"),
        ({"ae_title": "   "}, "--ae-title"),
        ({"ae_title": "SEVENTEEN-LETTERS"}, "--ae-title"),
        ({"ae_title": "ÄE"}, "--ae-title"),
        ({"callers": ("A\\B",)}, "--callers"),
        ({"port": -1}, "--port"),
        ({"port": 65536}, "--port"),
        ({"host": "localhost"}, "--host"),
        ({"host": "0.0.0.0"}, "--callers"),
        ({"host": "192.0.2.1"}, "--callers"),
        ({"largest_bytes": 0}, "--largest-mb"),
        ({"largest_bytes": 1 << 40}, "--largest-mb"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(UsageError, match=words):
        NodeSettings(HERE, **options)


def test_an_address_that_others_reach_needs_callers():
    assert NodeSettings(HERE, host="0.0.0.0", callers=("MODALITY",)).callers == ("MODALITY",)
    assert NodeSettings(HERE, host="::1").host == "::1"
