"""The command that imports the marks of a new study, as far as its files tell it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from overread.errors import OverreadError
from overread.marks.formats.building import Spacings
from overread.marks.formats.sheet_layout import Layout, SheetOptions, understand_sheet

__all__ = ["suggest_import"]

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
# A spreadsheet of marks has some megabytes at most; looking at others would make people wait. Both chosen by eye.
LARGEST_BYTES, MOST_FILES = 5_000_000, 20
READERS = "--readers A,B or --readings TABLE where not all read all"


@dataclass(frozen=True)
class Answers:
    """Options that settle a spreadsheet's open questions, and what else could be said."""

    given: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def suggest_import(folder: Path, images: pd.DataFrame) -> str:
    """Say how to import marks: by the spreadsheet in the folder, or beside it, that names images of the study.

    Parameters
    ----------
    folder
        Of the study.
    images
        Its table of images.
    """
    for path in list_sheets(folder):
        layout = understand_marks(path, images)
        if layout is not None:
            answers = answer_questions(path, layout, images)
            return spell_command(str(path), folder, answers)
    generic = Answers(("--xy corner",), ("or --xy centre",))
    tool = f"overread import FILE --out {shlex.quote(str(folder))}"
    return f"{spell_command('FILE', folder, generic)}; for a tool's export: {tool}"


def spell_command(file: str, folder: Path, answers: Answers) -> str:
    """Spell the command, with what else could be said behind it."""
    words = [
        "overread import",
        shlex.quote(file),
        *answers.given,
        "--all-read-all --out",
        shlex.quote(str(folder)),
    ]
    return f"{' '.join(words)} ({'; '.join([*answers.others, READERS])})"


def list_sheets(folder: Path) -> Iterator[Path]:
    """List the small spreadsheets in a folder and beside it that are none of a study's own tables."""
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


def understand_marks(path: Path, images: pd.DataFrame) -> Layout | None:
    """Understand a spreadsheet of marks on images of the study; None where it is something else."""
    spacings = Spacings.of(None, images)
    try:
        layout = understand_sheet(path, SheetOptions(), spacings, has_reader=False)
        cells = layout.sheet.column(layout.columns["image"])
        return layout if any(spacings.listed_name(cell) for cell in cells) else None
    except OverreadError:
        return None


def answer_questions(path: Path, layout: Layout, images: pd.DataFrame) -> Answers:
    """Take the first answer to each question, one after the other, and keep the others to be told."""
    answers, options = Answers(), SheetOptions()
    if layout.doubts:
        options = SheetOptions(columns=layout.columns_option())
        answers = Answers((f"--columns {shlex.quote(layout.columns_option())}",))
    while layout.questions:
        question = layout.questions[0]
        first, *rest = question.choices
        others = f"or --{question.option} {'|'.join(rest)}: {question.text}"
        answers = Answers((*answers.given, f"--{question.option} {first}"), (*answers.others, others))
        answer: dict[str, Any] = {question.option: first}
        options = replace(options, **answer)
        layout = understand_sheet(path, options, Spacings.of(None, images), has_reader=False)
    return answers
