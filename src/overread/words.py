"""Numbers in words: per cent, limits, tables of Markdown; the same in commands, reports and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isnan
from pathlib import Path
from shlex import quote

__all__ = [
    "difference_with_limits",
    "duration",
    "escape_markdown",
    "join_lines",
    "markdown_table",
    "percent",
    "percent_with_limits",
    "printable",
    "shell_word",
]

# What a cell of figures begins with: a number, its sign, a bold one, or nothing to tell.
FIGURES = re.compile(r"[*~<(]*[-+−–.]?\s?(\d|$)")
# What has a meaning in Markdown, in a cell of a table too.
ACTIVE = frozenset(r"\`*_{}[]<>|#")


def percent(value: float, digits: int = 1, *, unit: str = "", undefined: str = "-") -> str:
    """Fraction as per cent, followed by ``unit`` (say ``" %"``); ``undefined`` where it is NaN."""
    return undefined if isnan(value) else f"{100 * value:.{digits}f}{unit}"


def percent_with_limits(estimate: float, lower: float, upper: float, digits: int = 1) -> str:
    """Fraction as per cent with its interval, ``44.2 (35.1-53.8)``; a dash where there is nothing to find."""
    if isnan(estimate):
        return "-"
    limits = "no interval" if isnan(lower) else f"{percent(lower, digits)}-{percent(upper, digits)}"
    return f"{percent(estimate, digits)} ({limits})"


def difference_with_limits(
    difference: float, lower: float, upper: float, *, scale: float = 1.0, digits: int = 3
) -> str:
    """Difference with its sign and interval, ``+0.120 (-0.010 to +0.250)``; ``scale`` 100 gives per cent."""
    if isnan(difference):
        return "-"
    first, low, high = (f"{scale * value:+.{digits}f}" for value in (difference, lower, upper))
    return f"{first} (no interval)" if isnan(lower) else f"{first} ({low} to {high})"


def duration(seconds: float) -> str:
    """Time as people say it, to about two digits: ``8 s``, ``1 min 20 s``, ``2 h 5 min``."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3570:  # from there on it rounds to an hour
        # Past ten minutes nobody asks for seconds.
        minutes, rest = divmod(whole, 60) if whole < 600 else (round(whole / 60), 0)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, markup: bool = False) -> str:
    """Table of Markdown without a line break at its end; columns of figures but the first stand to the right.

    Cells are escaped, unless ``markup`` says that they are Markdown already.
    """
    header, *others = ([cell if markup else escape_markdown(cell) for cell in row] for row in (header, *rows))
    columns = list(zip(*others, strict=True))[1:] if others else [()] * (len(header) - 1)
    rule = "|---|" + "".join("---:|" if all(map(FIGURES.match, column)) else "---|" for column in columns)
    first, *lines = (f"| {' | '.join(row)} |" for row in (header, *others))
    return "\n".join([first, rule, *lines])


def escape_markdown(text: str) -> str:
    """Text without Markdown's active characters, in one line."""
    return "".join("\\" + character if character in ACTIVE else character for character in join_lines(text))


def printable(text: str) -> str:
    """Text that a terminal only shows: control and direction characters stand there as escapes, line ends stay."""
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in text)


def shell_word(word: str | Path) -> str:
    """Word of a command that can be copied into a shell: quoted where need be."""
    text = str(word)
    if text.isprintable():
        return quote(text)
    # Bash, zsh and ksh read escapes in $'...'; a byte that is no text stands in a name as half a surrogate pair.
    shown = text.translate({ord("\\"): "\\\\", ord("'"): "\\'"})
    return f"$'{''.join(map(escape_for_shell, shown))}'"


def escape_for_shell(character: str) -> str:
    """Spell a character that is not printable as shells read it."""
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"


def join_lines(text: str) -> str:
    """Text without line breaks and control characters."""
    return "".join(character if character.isprintable() else " " for character in text)
