"""Grouping columns of the images table, and how to import the marks of a new study."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from overread.errors import InvalidInputError, OverreadError
from overread.marks import Layout, SheetOptions, Spacings, understand_sheet
from overread.report import Description, Spread
from overread.tables import SCHEMAS

# Looked at without being asked: what a reader of the report would ask for, and what `overread init` may write.
KNOWN = ("sex", "age_group", "view", "scanner", "manufacturer", "site")
# More groups than this leave few objects in each, and a table that is too long to read; set by judgement.
MOST_VALUES = 8
UNKNOWN = "not stated"
# Columns of numbers that a description of images has, and how it calls them.
NUMBERS = {"kvp": "tube voltage, kV", "age": "age, years"}


def choose_subgroups(
    images: pd.DataFrame, wanted: Sequence[str] | None, place: Path
) -> dict[str, dict[str, str]]:
    """Give the value of every image, by column."""
    if wanted is None:
        return {
            name: values
            for name in KNOWN
            if name in images
            and 2 <= len(set((values := _read_values(images, name)).values())) <= MOST_VALUES
        }
    chosen = {}
    own = [column.name for column in SCHEMAS["images"].columns]
    for name in wanted:
        if name not in images or name in own:
            others = ", ".join(str(column) for column in images.columns if column not in own) or "none"
            raise InvalidInputError(
                f"{place}, [evaluation] subgroups: the images table has no column {name!r} of yours (it has: {others})"
            )
        chosen[name] = _read_values(images, name)
        n_values = len(set(chosen[name].values()))
        if not 2 <= n_values <= MOST_VALUES:
            raise InvalidInputError(
                f"{place}, [evaluation] subgroups: the column {name!r} has {n_values} different values; it takes 2 to "
                f"{MOST_VALUES} (make a column of groups out of it, or leave it out)"
            )
    return chosen


def describe_columns(images: pd.DataFrame) -> Description:
    """Describe the images by the known columns: counts of values, and the spread of numbers."""
    numbers = {}
    for name, title in NUMBERS.items():
        if name in images and (spread := measure_spread(pd.to_numeric(images[name], errors="coerce"))):
            numbers[title] = spread
    counts = {
        name: dict(Counter(_read_values(images, name).values()).most_common(MOST_VALUES))
        for name in KNOWN
        if name in images
    }
    return Description(numbers, counts)


def measure_spread(values: pd.Series[float]) -> Spread | None:
    """Lowest, median and highest of the existing values; None without any."""
    there = values.dropna()
    return Spread(float(there.min()), float(there.median()), float(there.max())) if len(there) else None


def _read_values(images: pd.DataFrame, name: str) -> dict[str, str]:
    """Value of each image; empty cells form a group."""
    cells = images[name].astype("str").str.strip()
    return dict(zip(images["image_id"].astype("str"), cells.where(cells != "", UNKNOWN), strict=True))


ENDINGS = (".xlsx", ".csv", ".tsv")
# Tables that a study's folder holds itself.
OWN = (
    "images",
    "marks",
    "readings",
    "found_files",
    "left_out_marks",
    "left_out_readings",
    "reader_codes",
    "adjudication",
)
# A spreadsheet of marks has some megabytes at most; looking at others would make people wait. Both set by judgement.
LARGEST_BYTES, MOST_FILES = 5_000_000, 20
READERS = "--readers A,B or --readings TABLE where not all read all"


def suggest_import(folder: Path, images: pd.DataFrame) -> str:
    """Suggest an import command, with the spreadsheet in or next to the folder that names images of the study."""
    for path in _list_sheets(folder):
        layout = _understand_marks(path, images)
        if layout is not None:
            return _spell_command(str(path), folder, *_answer_questions(path, layout, images))
    generic = _spell_command("FILE", folder, ["--xy corner"], ["or --xy centre"])
    return f"{generic}; for a tool's export: overread import FILE --output {shlex.quote(str(folder))}"


def _spell_command(file: str, folder: Path, given: list[str], others: list[str]) -> str:
    """Spell the command with the options that answer its questions, and behind it the other answers."""
    words = [
        "overread import",
        shlex.quote(file),
        *given,
        "--all-read-all --output",
        shlex.quote(str(folder)),
    ]
    return f"{' '.join(words)} ({'; '.join([*others, READERS])})"


def _list_sheets(folder: Path) -> Iterator[Path]:
    """List small spreadsheets in and next to a folder that are not tables of a study."""
    places = [folder, folder.parent] if folder.parent != folder else [folder]
    found = [
        path
        for place in places
        for path in sorted(place.iterdir())
        if path.suffix.lower() in ENDINGS and path.stem not in OWN and not path.name.startswith((".", "~"))
    ]
    for path in found[:MOST_FILES]:
        if path.is_file() and path.stat().st_size <= LARGEST_BYTES:
            yield path


def _understand_marks(path: Path, images: pd.DataFrame) -> Layout | None:
    """Understand a spreadsheet of marks on images of the study; None where it is something else."""
    spacings = Spacings.of(None, images)
    try:
        layout = understand_sheet(path, SheetOptions(), spacings, has_reader=False)
        cells = layout.sheet.column(layout.columns["image"])
        return layout if any(spacings.listed_name(cell) for cell in cells) else None
    except OverreadError:
        return None


def _answer_questions(path: Path, layout: Layout, images: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Answer a spreadsheet's open questions by the first choice each; return the options, and the other choices."""
    given: list[str] = []
    others: list[str] = []
    options = SheetOptions()
    if layout.doubts:
        options = SheetOptions(columns=layout.columns_option())
        given.append(f"--columns {shlex.quote(layout.columns_option())}")
    while layout.questions:
        question = layout.questions[0]
        first, *rest = question.choices
        given.append(f"--{question.option} {first}")
        others.append(f"or --{question.option} {'|'.join(rest)}: {question.text}")
        answer: dict[str, Any] = {question.option: first}
        options = replace(options, **answer)
        layout = understand_sheet(path, options, Spacings.of(None, images), has_reader=False)
    return given, others
