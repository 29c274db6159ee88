"""The one way to the screen: whatever text a file brought, a terminal only shows it.

Ids, names of readers and files, labels and reasons come from strangers. Here, and nowhere before, their control
characters become escapes, so that no command can forget it; `tests/test_house.py` sees to it that nothing else prints.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from overread.words import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["make_console", "print_json", "print_line", "print_text"]


def make_console(*, stderr: bool = False, **options: Any) -> Console:
    """Console of rich for tables and live lines, which shows control characters and takes no name for an emoji.

    Parameters
    ----------
    stderr
        Whether it writes to standard error.
    options
        Others of `rich.console.Console`.
    """
    from rich.console import Console
    from rich.segment import Segment

    class ShowingConsole(Console):
        def render_str(self, text: str, **kwargs: Any) -> Any:
            # Before a cell is measured, so that its column has room for the escapes.
            return super().render_str(printable(text), **kwargs)

        def render(self, *args: Any, **kwargs: Any) -> Any:
            # Colours are styles, and cursor movements controls; the text of a segment is what somebody wrote.
            for part in super().render(*args, **kwargs):
                if part.control or part.text.isprintable():
                    yield part
                else:
                    yield Segment(printable(part.text), part.style)

    return ShowingConsole(stderr=stderr, emoji=False, highlight=False, **options)


def print_line(text: str, *, stderr: bool = False) -> None:
    """Print one line: a line end inside, as a file's name may have, is shown too, and cannot feign another line."""
    print_text(text.replace("\n", "\\n"), stderr=stderr)


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print text of one or more lines; those after the first are set in, so that none looks like another message."""
    shown = printable(text).replace("\n", "\n  ")
    # Flushed, because who started us may wait for the line.
    print(shown, file=sys.stderr if stderr else sys.stdout, flush=True)


def print_json(text: str) -> None:
    """Print JSON; what a terminal would obey stands there as JSON's own escapes."""
    print(
        "".join(one if one.isprintable() or one == "\n" else escape_in_json(one) for one in text), flush=True
    )


def escape_in_json(character: str) -> str:
    """Spell a character as JSON does, beyond 16 bits as a pair."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
