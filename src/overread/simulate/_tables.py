"""The tables of a simulated study folder, written from its journal line by line.

Nodules, distractors and marks as tables, so that a cohort can be built again from files alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread.errors import TableError
from overread.files import KNOWN_NODULES_FILE, Journal, write_together
from overread.simulate._cases import Case
from overread.simulate._nodules import Nodule
from overread.tables import LengthUnit, csv_text, guard_formula

ELLIPSE = ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg")
NODULE = (
    "x_mm", "y_mm", "diameter_mm", "exponent", "axis_ratio", "angle_deg", "spicules", "texture", "texture_seed",
    "blur_mm", "conspicuity", "contrast", "harmonics",
)  # fmt: skip

PLAIN_SETTINGS = """\
# A simulated study. images.csv, readings.csv and marks.csv are its tables, as of any study; known/ holds what no real
# study has. Every key has a default: `overread init` on another folder shows them all.

# Seed of everything random in a run.
seed = 0
"""


@dataclass(frozen=True)
class TableFile:
    """A table of the folder: its columns, and which rows of a journal's entry it has; None: the entry itself."""

    path: str
    columns: tuple[str, ...]
    kind: str | None

    def rows(self, entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        """Rows that an entry gives."""
        return [entry] if self.kind is None else entry[self.kind]


@dataclass(frozen=True)
class FolderLayout:
    """How the folder of a kind of study looks: its tables, what study.toml says unless the user did, and its unit."""

    tables: tuple[TableFile, ...]
    settings: str
    unit: LengthUnit = "mm"


CHEST_TABLES = (
    TableFile("images.csv", ("image_id", "patient_id", "path", "mm_per_px_x", "mm_per_px_y"), None),
    TableFile("readings.csv", ("image_id", "reader_id"), "readings"),
    TableFile("marks.csv", ("image_id", "reader_id", "mark_id", *ELLIPSE), "marks"),
    TableFile("known/backgrounds.csv", ("image_id", "background"), None),
    TableFile(KNOWN_NODULES_FILE, ("image_id", "nodule_id", *NODULE), "nodules"),
    TableFile(
        "known/distractors.csv",
        ("image_id", "object_id", "x_mm", "y_mm", "diameter_mm", "level"),
        "distractors",
    ),
    TableFile("known/marks.csv", ("image_id", "mark_id", "object_id"), "marks"),
)

CHEST_LAYOUT = FolderLayout(CHEST_TABLES, PLAIN_SETTINGS)


def write_tables(folder: Path, journal: Journal, layout: FolderLayout) -> None:
    """Write every table, all or none, and study.toml unless there is one: the user may have changed it."""
    files: dict[str, Iterable[bytes]] = {
        table.path: _table_lines(table, journal, layout.unit) for table in layout.tables
    }
    if not (folder / "study.toml").exists():
        files["study.toml"] = (layout.settings.encode(),)
    write_together(folder, files)


def _table_lines(table: TableFile, journal: Journal, unit: LengthUnit) -> Iterator[bytes]:
    """Header and rows as CSV; what a phantom calls mm may be another unit."""
    yield csv_text([[re.sub("_mm$", f"_{unit}", name) for name in table.columns]]).encode()
    for _, entry in journal.entries():
        # Pixels of a chest are square.
        entry = entry | {f"mm_per_px_{axis}": entry.get("mm_per_px") for axis in "xy"}
        yield csv_text([[_cell(row[name]) for name in table.columns] for row in table.rows(entry)]).encode()


def _cell(value: Any) -> str:
    """Text of a value; numbers so that they are read back exactly."""
    return guard_formula(value) if isinstance(value, str) else repr(value)


HARMONICS = ("orders", "amplitudes", "phases")


def nodule_rows(image_id: str, nodules: Sequence[Nodule]) -> list[dict[str, Any]]:
    """Rows of the nodules of an image; the harmonics become one text, ``order:amplitude:phase`` each."""
    rows = []
    for i, nodule in enumerate(nodules):
        fields = asdict(nodule)
        waves = zip(*(fields.pop(name) for name in HARMONICS), strict=True)
        text = " ".join(f"{order}:{amplitude:g}:{phase:g}" for order, amplitude, phase in waves)
        rows.append({"image_id": image_id, "nodule_id": f"N{i + 1}", **fields, "harmonics": text})
    return rows


def nodules_by_image(table: pd.DataFrame) -> dict[str, list[Nodule]]:
    """Nodules of each image that has any, in the table's order; the inverse of `nodule_rows`."""
    nodules: dict[str, list[Nodule]] = {}
    for row in table.to_dict(orient="records"):
        nodules.setdefault(str(row["image_id"]), []).append(_nodule_of({str(k): v for k, v in row.items()}))
    return nodules


def _nodule_of(row: Mapping[str, Any]) -> Nodule:
    """Nodule of a row."""
    numbers = {k: v for k, v in row.items() if k not in ("image_id", "nodule_id", "harmonics")}
    text = row["harmonics"] if isinstance(row["harmonics"], str) else ""
    try:
        waves = [part.split(":") for part in text.split()]
        return Nodule(
            **numbers,
            orders=tuple(int(order) for order, _, _ in waves),
            amplitudes=tuple(float(amplitude) for _, amplitude, _ in waves),
            phases=tuple(float(phase) for _, _, phase in waves),
        )
    except (TypeError, ValueError) as error:
        raise TableError(f"nodule {row['nodule_id']} of image {row['image_id']}: {error}") from error


def distractor_rows(image_id: str, case: Case) -> list[dict[str, Any]]:
    """Rows of the distractors of an image."""
    return [{"image_id": image_id, **asdict(distractor)} for distractor in case.distractors]


def mark_rows(image_id: str, case: Case) -> list[dict[str, Any]]:
    """Rows of the marks of an image; ids count within the image. `object_id` says what was meant."""
    return [
        {"image_id": image_id, "mark_id": f"{image_id}-m{i + 1:02d}", **asdict(mark)}
        for i, mark in enumerate(case.marks)
    ]
