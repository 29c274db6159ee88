"""The model card: the numbers of the results in Markdown that another parser reads, with names as text."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from parsed_page import parse_page

from overread.report import Subgroup, write_model_card
from overread.report._cards import link_model_card
from overread.report._words import FEW_IN_GROUP, give_answer, list_limits, tell_use

SECTIONS = [
    "Model", "Intended use", "Data", "Readers", "Performance", "Calibration", "Caveats and what next",
    "For the authors to say", "Versions and hashes",
]  # fmt: skip


@pytest.fixture(scope="module")
def card(results, head):
    return write_model_card(results, head)


@pytest.fixture(scope="module")
def parsed(card):
    return parse_page(as_html(card))


def as_html(card):
    return MarkdownIt("commonmark").enable("table").render(card)


def test_the_sections_are_those_of_a_model_card(parsed):
    assert [name for name in parsed.sections if name][-len(SECTIONS) :] == SECTIONS


def test_it_says_what_the_page_says_of_use_and_caveats(card, results):
    told = re.sub(r"\\([\\`*_{}\[\]<>|#])", r"\1", card)
    answer = give_answer(results)
    for sentence in (answer.headline, *tell_use(results), *list_limits(results)):
        assert sentence in told
    assert all(part.text in told for part in answer.parts if part.about != "How good")


def test_its_numbers_are_those_of_the_results(parsed, results):
    sizes = results.detector.by_size
    (table,) = [table for table in parsed.sections["Performance"].tables if table[0][0] == "diameter"]
    assert [row[1] for row in table[1:]] == [str(n) for n in sizes["n_gts"]]
    expected = [f"{100 * value:.1f}" for value in sizes["gt_sensitivity"].dropna()]
    assert [row[2].split()[0] for row in table[1:] if row[2] != "-"] == expected
    calibrated = results.model(results.supported).calibration
    (slopes,) = parsed.sections["Calibration"].tables
    assert [row[1] for row in slopes[1:]] == [
        f"{calibrated.slope.estimate:.2f}",
        f"{calibrated.intercept.estimate:.2f}",
    ]


def test_each_reader_stands_beside_the_detector(parsed, results):
    (table,) = parsed.sections["Readers"].tables
    assert [row[0] for row in table[1:]] == results.reader_points["reader_id"].tolist()
    assert [row[5] for row in table[1:]] == [
        f"{100 * value:.1f} %" for value in results.reader_points["detector_sensitivity"]
    ]


def test_ranks_are_not_called_probabilities(results, head):
    models = [replace(model, calibration=None, score_map="rank") for model in results.models]
    card = write_model_card(replace(results, models=models), head)
    assert "ranks and no probabilities" in card
    assert "slope" not in card


def test_a_small_group_is_not_judged(results, head):
    (first, *_) = results.subgroups
    table = first.table.assign(n_gts=FEW_IN_GROUP - 1)
    card = write_model_card(replace(results, subgroups=[Subgroup("sex", table)]), head)
    assert card.count("too few to judge") == len(table)


def test_names_are_text(results, head):
    evil = "</table><script>alert(1)</script>| [x](javascript:y)\n# No"
    html = as_html(write_model_card(results, replace(head, study=evil)))
    assert "<script" not in html
    assert "<a " not in html
    assert html.count("<h1>") == 1
    assert "alert(1)" in html


def test_the_page_s_link_saves_the_very_card(page, card, results, head):
    link = link_model_card(results, head)
    assert str(link) in page
    (address,) = re.findall(r'href="data:text/markdown;charset=utf-8,([^"]+)"', link)
    assert unquote(address) == card
