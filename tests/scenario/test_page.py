import re

import pandas as pd

from overread.apps.scenario._page import _list_design, _list_growth, _list_missing, _render_scenario


def test_the_page_is_whole_and_fetches_nothing(done):
    page = done.page.read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert not re.search(r'(?:src|href)="https?:', page)
    for heading in ("Answer", "How to spend a budget", "Soft or hard labels", "What this cannot tell"):
        assert heading in page
    for answer in done.answers:
        question, told = answer.split("? ", 1)
        assert f"<b>{question}?</b>" in page
        assert told[:20] in page


def test_every_table_is_a_csv_file(done):
    for name, table in done.results.tables().items():
        written = pd.read_csv(done.page.parent / "tables" / f"{name}.csv")
        assert len(written) == len(table)
        assert list(written) == list(table)


def test_names_in_a_design_are_escaped(done, design, monkeypatch):
    monkeypatch.setattr("overread.apps.scenario._page.draw_scenario", lambda *_: {})
    page = _render_scenario(done.results, design.model_copy(update={"name": "<script>x"}), "<b>words")
    assert "<script>x" not in page
    assert "<b>words" not in page


def test_growth_has_a_row_a_model_and_condition(done, design):
    rows = _list_growth(done.results, design)
    assert len(rows) == 3 * len(design.conditions)
    assert all(len(row) == 4 + 3 + 1 for row in rows)


def test_the_same_reason_is_told_once():
    row = {
        "model": "b2",
        "images": 40,
        "readings": 2,
        "images_per_reader": 0,
        "budget": 80,
        "reason": "too few",
    }
    missing = pd.DataFrame([{**row, "seed": 0}, {**row, "seed": 1}])
    assert _list_missing(missing) == [("B2", "40", "2", "all", "2", "too few")]


def test_the_design_is_told(design):
    told = dict(_list_design(design, "tables"))
    assert told["Images"] == "tables"
    assert told["Training images"] == "40, 80"
