"""What an import leaves out: counted by kind, named with the option that takes it, never silent."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overread.errors import DataWarning
from overread.marks.formats.building import MarkSetBuilder
from overread.tables.cell_types import parse_number

__all__ = ["ShapeCounter", "is_confidence"]

TAKEN_BY = {"box": "count with --boxes", "polygon": "become ellipses with --polygons ellipse"}


@dataclass
class ShapeCounter:
    """Counts what one file's import leaves out.

    An image on which a reader drew a shape that is left out is not a reading without marks: without marks it is left
    out too, and the builder keeps it out.
    """

    builder: MarkSetBuilder
    shapes: Counter[str] = field(default_factory=Counter)
    only_such: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def leave_out(self, kind: str, image_id: str, reader: str) -> None:
        """Count a shape of a reading."""
        self.shapes[kind] += 1
        self.builder.left_out.add((image_id, reader))

    def note(self, text: str) -> None:
        """Count something else that is to be said."""
        self.notes[text] += 1

    def confidence(self, attributes: Mapping[str, Any]) -> float:
        """Give the attribute that is the confidence, as it stands; one that is not a number is counted as lost."""
        for name, value in attributes.items():
            if not is_confidence(name) or value is None or value == "":
                continue
            try:
                number = parse_number(value) if isinstance(value, str) else float(value)
            except (ValueError, TypeError):
                number = math.nan
            if math.isfinite(number) and not isinstance(value, bool):
                return number
            self.note(f"values of {name!r} that are not numbers (their marks stay)")
        return math.nan

    def warn(self) -> None:
        """Say what was left out, if anything was."""
        told = [
            f"{count} {kind}{'' if count == 1 else 'es' if kind.endswith('x') else 's'}"
            f"{f' ({TAKEN_BY[kind]})' if kind in TAKEN_BY else ''}"
            for kind, count in self.shapes.items()
        ]
        if self.only_such:
            told.append(f"{self.only_such} readings that hold nothing else")
        told += [f"{count} {text}" for text, count in self.notes.items()]
        if told:
            warnings.warn(f"{self.builder.source}: left out: {', '.join(told)}", DataWarning, stacklevel=3)


def is_confidence(name: str) -> bool:
    """Whether an attribute of a mark, or a control of a tool, is the reader's confidence by its name."""
    return name.strip().casefold() in ("confidence", "certainty")
