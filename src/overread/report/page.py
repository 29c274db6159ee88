"""A self-contained HTML page, built section by section; readable on a phone and in print."""

from __future__ import annotations

from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from overread.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Page"]

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p { max-width: 44rem; } figure { margin: 1rem 0; } figure svg { width: 100%; height: auto; max-width: 54rem; }
figcaption { color: #555; font-size: .9rem; max-width: 44rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } pre { overflow-x: auto; background: #f5f5f5; padding: .6rem; }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""


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
        self._parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(lead)}</p>"]

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def code(self, text: str) -> None:
        """Add lines to be typed."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def table(self, html: str) -> None:
        """Add a table that is HTML already; wide ones scroll by themselves."""
        self._parts.append(f'<div class="scroll">{html}</div>')

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a figure as inline SVG."""
        drawing = StringIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None})
        svg = drawing.getvalue()
        svg = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        self._parts.append(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")

    def html(self) -> str:
        """Return the whole page."""
        return "\n".join(
            [
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{escape(self.title)}</title><style>{STYLE}</style></head><body>",
                *self._parts,
                "</body></html>\n",
            ]
        )

    def write(self, path: Path) -> None:
        """Write the page: whole, or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, self.html().encode())
