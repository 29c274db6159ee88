"""One page of several groups: every group has its verdict first, and its chapter."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from parsed_page import parse_page

from overread.report import GroupPart, render_groups
from overread.report._words import give_answer


@pytest.fixture(scope="module")
def joined(results, figures, pictures, head):
    parts = []
    for group, label in (("pale", "Hard <b>"), ("dark", "Dots")):
        settings = results.settings | {"labels": {"groups": {group: [label]}}}
        parts.append(
            GroupPart(
                group,
                replace(results, settings=settings),
                figures,
                pictures,
                replace(head, run=f"main-{group}"),
            )
        )
    return render_groups(parts, run="main"), parts


def list_headings(html):
    return re.findall(r"<h2 [^>]*>(.*?)</h2>", html)


def test_the_first_screen_has_a_verdict_of_each_group(joined):
    page, parts = joined
    first = parse_page(page).sections["Groups"]
    assert list_headings(page)[0] == "Groups"
    for part in parts:
        assert part.head.run in first.text
        answer = give_answer(part.results)
        told = " ".join(first.text.split())
        assert all(
            " ".join(text.split()) in told for text in (answer.headline, *(one.text for one in answer.parts))
        )


def test_every_group_has_the_chapters_of_its_own_page_and_ids_are_unique(joined, page):
    html, parts = joined
    own = list_headings(page)
    assert list_headings(html) == ["Groups", *own * len(parts)]
    named = [attributes["href"] for tag, attributes in parse_page(html).elements if tag == "a"]
    places = [attributes["id"] for _, attributes in parse_page(html).elements if "id" in attributes]
    inside = [name.removeprefix("#") for name in named if name.startswith("#")]
    assert len(inside) == len(set(inside)) == 1 + len(parts) * (1 + len(own))
    assert all(places.count(name) == 1 for name in inside)


def test_labels_are_escaped(joined):
    assert "Hard &lt;b&gt;" in joined[0]
    assert "Hard <b>" not in joined[0]
