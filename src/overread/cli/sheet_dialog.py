"""Show how a spreadsheet was understood, and ask what it does not tell."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread.errors import UsageError
from overread.screen import make_console

if TYPE_CHECKING:
    from overread.marks.formats.building import Spacings
    from overread.marks.formats.sheet_layout import Layout, SheetOptions

__all__ = ["settle_sheet"]

EXAMPLES = 3
OPTIONS = ("columns", "xy", "unit", "angle", "decimal", "sheet", "radius_mm")


def settle_sheet(
    path: Path,
    given: dict[str, Any],
    spacings: Spacings,
    *,
    has_reader: bool,
    readings_told: bool,
    yes: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Show what was understood, ask for the rest on a terminal, and return the options that say it all.

    Parameters
    ----------
    path
        The spreadsheet.
    given
        Options of the command line.
    spacings
        What is known of the images.
    has_reader
        Whether the file is one reader's.
    readings_told
        Whether it is told who read what; if not, that is asked for along with the rest.
    yes
        Take what was understood without asking.
    quiet
        Neither show nor ask.

    Raises
    ------
    UsageError
        Naming the option for each open question, where nobody can be asked.
    """
    from overread.marks.formats.sheet_layout import SheetOptions, understand_sheet
    from overread.marks.readings import WHO_READ

    options = SheetOptions(**{name: given[name] for name in OPTIONS if name in given})
    layout = understand_sheet(path, options, spacings, has_reader=has_reader)
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not quiet
    while layout.questions and can_ask:
        answered: dict[str, Any] = {layout.questions[0].option: ask_for(layout)}
        options = replace(options, **answered)
        layout = understand_sheet(path, options, spacings, has_reader=has_reader)
    if not quiet:
        show_layout(path, layout)
    if layout.questions or not readings_told:
        open_ = [*map(str, layout.questions), *([] if readings_told else [WHO_READ])]
        raise UsageError(f"{path}: " + "\n".join(open_))
    if (
        can_ask
        and not yes
        and input("Is this right? [y/N] ").strip().lower() not in ("y", "yes", "j", "ja", "o", "s")
    ):
        raise UsageError("nothing was imported; say what the columns are with --columns, or see --help")
    if layout.doubts and not yes and not can_ask:
        raise UsageError(f"{path}: " + "\n".join(layout.doubts) + "\nor take what is shown with --yes")
    return settled_options(layout)


def settled_options(layout: Layout) -> dict[str, Any]:
    """Options that leave nothing to guess."""
    options: SheetOptions = replace(layout.options, columns=layout.columns_option())
    return {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}


def ask_for(layout: Layout) -> str:
    """Ask the first question until the answer is one of its choices."""
    question = layout.questions[0]
    while True:
        said = input(f"{question.text} [{'/'.join(question.choices)}] ").strip().lower()
        fits = [choice for choice in question.choices if said and choice.startswith(said)]
        if len(fits) == 1:
            return fits[0]


def show_layout(path: Path, layout: Layout) -> None:
    """Print what each column was taken for, with a few rows."""
    from rich.markup import escape
    from rich.table import Table

    console = make_console()
    console.print(escape(f"{path}: {len(layout.sheet.rows)} rows, understood as"), soft_wrap=True)
    table = Table(
        "what", "column", *(f"row {row}" for row in layout.sheet.numbers[:EXAMPLES]), show_edge=False
    )
    for role, name in layout.columns.items():
        table.add_row(role, *map(escape, (name, *layout.sheet.column(name)[:EXAMPLES])))
    console.print(table)
    told = [
        *layout.sheet.notes,
        *(["decimal commas"] if layout.options.decimal == "comma" else []),
        *([f"lengths in {layout.options.unit}"] if layout.options.unit else []),
        *([f"x and y are the {layout.options.xy}"] if layout.options.xy else []),
        *([f"angles {layout.options.angle}"] if layout.options.angle else []),
        *([f"not used: {', '.join(layout.unused)}"] if layout.unused else []),
    ]
    console.print(escape("; ".join(told)), soft_wrap=True)
