"""Plain words and the inline marks of docstrings as Markdown."""

from __future__ import annotations

import re

__all__ = ["code", "first_paragraph", "plain", "row", "table"]

# What Markdown, or the dollars of formulas, would take for a mark.
MARKS = re.compile(r"([\\`*_\[\]<>$|{}#~])")


def plain(text: str) -> str:
    """Escape plain text, so that it is shown as it is."""
    return MARKS.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Show text as code, also where it has bars or backticks of its own."""
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def first_paragraph(docstring: str | None) -> str:
    """First paragraph of a docstring; names in backticks, single or double, become code."""
    paragraph = " ".join((docstring or "").strip().split("\n\n")[0].split())
    pieces = re.split(r"``(.+?)``|`(.+?)`", paragraph)
    words = [
        MARKS.sub(r"\\\1", piece) if place % 3 == 0 else code(piece)
        for place, piece in enumerate(pieces)
        if piece
    ]
    return "".join(words)


def row(*cells: str) -> str:
    """One row of a table; bars inside code have to be escaped there too."""
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in cells) + " |"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Give a table with a head."""
    return "\n".join([row(*head), "|" + "---|" * len(head), *(row(*cells) for cells in rows)])
