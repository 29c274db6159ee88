import re
from dataclasses import replace

import pandas as pd

from overread.apps.scenario._page import _render_scenario, give_answers


def test_the_page_is_whole_and_fetches_nothing(done, folder):
    page = (folder / "scenario.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert not re.search(r'(?:src|href)="https?:', page)
    for heading in ("Answer", "How to spend a budget", "Soft against hard labels", "Limitations"):
        assert heading in page
    for answer in give_answers(done):
        question, told = answer.split("? ", 1)
        assert f"<b>{question}?</b>" in page
        assert told[:20] in page


def test_every_table_is_a_csv_file(done, folder):
    for name, table in done.tables().items():
        written = pd.read_csv(folder / "tables" / f"{name}.csv")
        assert len(written) == len(table)
        assert list(written) == list(table)


def test_names_in_a_design_are_escaped(done, design, monkeypatch):
    monkeypatch.setattr("overread.apps.scenario._page.draw_scenario", lambda *_: {})
    page = _render_scenario(done, design.model_copy(update={"name": "<script>x"}), "<b>words")
    assert "<script>x" not in page
    assert "<b>words" not in page


def test_the_same_reason_is_told_once(done, design, monkeypatch):
    monkeypatch.setattr("overread.apps.scenario._page.draw_scenario", lambda *_: {})
    missing = pd.DataFrame(
        {"model": "b2", "images": 40, "readings": 2, "images_per_reader": 0, "seed": [0, 1]}
    )
    results = replace(done, missing=missing.assign(budget=80, reason="too few"))
    page = re.sub(r"\s+", "", _render_scenario(results, design, ""))
    assert page.count("toofew</td>") == 1
    assert re.search(r"<td[^>]*>B2</td><td[^>]*>40</td><td[^>]*>2</td><td[^>]*>all</td><td[^>]*>2</td>", page)
