from __future__ import annotations

from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from overread.errors import StorageError
from overread.report import Page

VOID = {"meta", "br", "img", "link"}


class Balance(HTMLParser):
    """Opens and closes of the page, SVG's self-closing tags aside."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        pass


def make_page():
    page = Page("A <title>", "Lead & more.")
    page.heading("One")
    page.text('x < y and "z"')
    page.code("a && b")
    page.table("<table><tr><td>1</td></tr></table>")
    figure = Figure()
    figure.subplots().plot([0, 1], [1, 0])
    page.figure(figure, 'A "line"')
    return page


def test_the_page_is_well_formed_and_escaped():
    html = make_page().html()
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert "A &lt;title&gt;" in html
    assert "x &lt; y" in html
    assert 'aria-label="A &quot;line&quot;"' in html


def test_the_page_loads_nothing():
    html = make_page().html()
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert 'src="' not in html


def test_the_page_is_written_whole(tmp_path):
    make_page().write(tmp_path / "new" / "index.html")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["index.html"]


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "index.html").mkdir()
    with pytest.raises(StorageError):
        make_page().write(tmp_path / "index.html")
