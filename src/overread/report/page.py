"""A self-contained HTML page, built section by section; readable on a phone and in print, without a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from overread.files.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page", "html_table"]

# Nothing may be fetched, whatever a name in the data tries to smuggle in.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
SVG_SEED = "overread"


class Page:
    """HTML page with a title and sections in the order in which they are added.

    Parameters
    ----------
    title
        Title and first heading.
    lead
        First paragraph.
    """

    def __init__(self, title: str, lead: str) -> None:
        self.title = title
        self._lead = f"<h1>{escape(title)}</h1>\n<p>{escape(lead)}</p>"
        self._parts: list[str] = []
        self._headings: list[str] = []

    def heading(self, text: str) -> None:
        """Begin a section; the page's menu leads to it."""
        self._headings.append(text)
        self._parts.append(f'<h2 id="s{len(self._headings)}">{escape(text)}</h2>')

    def subheading(self, text: str) -> None:
        """Begin a part of a section."""
        self._parts.append(f"<h3>{escape(text)}</h3>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def note(self, text: str) -> None:
        """Add a paragraph that must not be overlooked."""
        self._parts.append(f'<p class="note">{escape(text)}</p>')

    def items(self, texts: Iterable[str]) -> None:
        """Add a list."""
        self._parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>")

    def code(self, text: str) -> None:
        """Add lines to be typed."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def cards(self, cards: Iterable[tuple[str, str]]) -> None:
        """Add the few numbers that matter most, each with what it is."""
        inner = "".join(
            f'<div class="card"><b>{escape(value)}</b><span>{escape(label)}</span></div>'
            for value, label in cards
        )
        self._parts.append(f'<div class="cards">{inner}</div>')

    def table(self, html: str) -> None:
        """Add a table that is HTML already; wide ones scroll by themselves."""
        self._parts.append(f'<div class="scroll" tabindex="0">{html}</div>')

    def html_part(self, html: str) -> None:
        """Add a part that is HTML already and escaped by its maker."""
        self._parts.append(html)

    def details(self, summary: str, html: str) -> None:
        """Add a part that is folded away at first."""
        self._parts.append(f"<details><summary>{escape(summary)}</summary>{html}</details>")

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure as inline SVG, the same bytes for the same figure."""
        from matplotlib import rc_context

        drawing = StringIO()
        with rc_context({"svg.hashsalt": f"{SVG_SEED}{len(self._parts)}"}):
            figure.savefig(drawing, format="svg", metadata={"Date": None})
        svg = drawing.getvalue()
        svg = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        self._parts.append(
            f'<figure class="drawn" tabindex="0">{svg}<figcaption>{escape(caption)}</figcaption></figure>'
        )

    def html(self) -> str:
        """Return the whole page."""
        links = "".join(
            f'<a href="#s{number}">{escape(text)}</a>' for number, text in enumerate(self._headings, 1)
        )
        style = files("overread.report").joinpath("style.css").read_text()
        return "\n".join(
            [
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{escape(self.title)}</title><style>{style}</style></head><body>",
                self._lead,
                f'<nav aria-label="Sections">{links}</nav>' if len(self._headings) > 1 else "",
                *self._parts,
                "</body></html>\n",
            ]
        )

    def write(self, path: Path) -> None:
        """Write the page: whole, or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, self.html().encode())


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str] = ()) -> str:
    """Table of texts, escaped; columns named in ``words`` are set as running text."""
    kinds = [' class="words"' if name in words else "" for name in header]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, header, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
