"""The journal of a detection: records under one head, none under another."""

from __future__ import annotations

import json

import pytest

from overread.files import DetectionJournal


def test_records_come_back_under_the_same_head_only(tmp_path):
    path = tmp_path / "journal"
    with DetectionJournal(path, "asked") as journal:
        assert not path.exists()
        journal.add("a", {"rows": [1]})
        assert journal.find("a") == {"rows": [1]}
    assert DetectionJournal(path, "asked").find("a") == {"rows": [1]}
    assert DetectionJournal(path, "asked").find("b") is None
    assert DetectionJournal(path, "other").find("a") is None


def test_another_head_begins_anew_when_something_is_added(tmp_path):
    path = tmp_path / "journal"
    with DetectionJournal(path, "asked") as journal:
        journal.add("a", {})
    with DetectionJournal(path, "other") as journal:
        journal.add("b", {})
    assert DetectionJournal(path, "asked").find("a") is None
    assert DetectionJournal(path, "other").find("b") == {}


@pytest.mark.parametrize("line", [b"[]", b'{"found": {}}', b'{"key": ["a"], "found": {}}', b"\xff"])
def test_from_a_damaged_line_on_all_is_forgotten(tmp_path, line):
    path = tmp_path / "journal"
    with DetectionJournal(path, "asked") as journal:
        for key in "abc":
            journal.add(key, {})
    head, first, _, last = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([head, first, line, last, b""]))
    with DetectionJournal(path, "asked") as journal:
        assert (journal.find("a"), journal.find("c")) == ({}, None)
        journal.add("d", {})
    assert [json.loads(text).get("key") for text in path.read_bytes().splitlines()] == [None, "a", "d"]


def test_a_changed_number_is_not_believed(tmp_path):
    path = tmp_path / "journal"
    with DetectionJournal(path, "asked") as journal:
        journal.add("a", {"rows": [52.374]})
    path.write_bytes(path.read_bytes().replace(b"52.374", b"42.374"))
    assert DetectionJournal(path, "asked").find("a") is None
