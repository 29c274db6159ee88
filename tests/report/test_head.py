"""Which run a page shows."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from overread.report import head_run


def test_the_id_is_that_of_the_results() -> None:
    one, same, other = (head_run("s", "main", {"a": value}) for value in (1, 1, 2))
    assert one.id == same.id != other.id
    assert re.fullmatch(r"[0-9a-f]{12}", one.id)


def test_the_date_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    assert head_run("s", "main", {}).date == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert head_run("s", "main", {}).date == "1970-01-02"


@pytest.mark.parametrize("nothing", ["", "soon"])
def test_else_it_is_today(monkeypatch: pytest.MonkeyPatch, nothing: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", nothing)
    before = datetime.now(UTC).date().isoformat()
    assert before <= head_run("s", "main", {}).date <= datetime.now(UTC).date().isoformat()


def test_the_page_names_study_run_date_and_version(page: str) -> None:
    assert "<title>Lungs &amp; &lt;more&gt;, 2026-01-31 – Overread</title>" in page
    assert "<h1>Lungs &amp; &lt;more&gt;</h1>" in page
    assert "Run main of 2026-01-31, id 0123456789ab, overread 1.2.3" in page
