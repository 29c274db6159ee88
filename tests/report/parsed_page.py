"""The page's HTML as tests read it: its sections with their text and tables; every element must be closed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input"}


@dataclass
class Section:
    """Text and tables below a heading."""

    heading: str = ""
    text: str = ""
    tables: list[list[list[str]]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.sections = [Section()]

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "h2":
            self.sections.append(Section())
        elif tag == "table":
            self.sections[-1].tables.append([])
        elif tag == "tr":
            self.sections[-1].tables[-1].append([])
        elif tag in ("td", "th"):
            self.sections[-1].tables[-1][-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        section = self.sections[-1]
        if "h2" in self.open:
            section.heading += data
        elif not {"script", "style", "svg"} & set(self.open):
            section.text += data
            if {"td", "th"} & set(self.open):
                section.tables[-1][-1][-1] += data


@dataclass(frozen=True)
class ParsedPage:
    """Sections by heading, and all elements in order with their attributes."""

    sections: dict[str, Section]
    elements: list[tuple[str, dict]]


def parse_page(html: str) -> ParsedPage:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return ParsedPage({section.heading: section for section in reader.sections}, reader.elements)
