"""The columns of every table that passes between the stages.

Ids are text and are kept exactly. Every length carries its unit in its name. The origin is the top-left
corner of the image, x to the right, y down; ``angle_deg`` is the direction of the major axis, clockwise on
screen from +x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SCHEMAS", "Column", "Schema", "Type", "schema_of"]

Type = Literal["id", "text", "number", "count", "flag", "ids", "any"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Its name in the file and in the data frame.
    type : {"id", "text", "number", "count", "flag", "ids", "any"}
        ``id``: non-empty text. ``text``: text, may be empty. ``number``: floating point, NaN where empty.
        ``count``: a whole number. ``flag``: true or false. ``ids``: a list of ids (JSON in a CSV cell).
        ``any``: text in CSV, whatever is stored in Parquet.
    required : bool
        Whether the table is refused without it.
    """

    name: str
    type: Type
    required: bool = True


@dataclass(frozen=True)
class Schema:
    """The columns of one kind of table.

    Parameters
    ----------
    kind : str
        The table's name: ``"marks"``, ``"readings"``, ...
    columns : tuple of Column
        In the order in which they are written.
    key : tuple of str
        Columns that together name a row; no two rows may share them.
    others : {"text", "number", "any"}
        How columns that the schema does not name are read.
    """

    kind: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    others: Type = "text"

    def type_of(self, name: str) -> Type:
        """Type of a column, also of one that the schema does not name."""
        return next((column.type for column in self.columns if column.name == name), self.others)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the columns without which the table is refused."""
        return tuple(column.name for column in self.columns if column.required)


IMAGE = Column("image_id", "id")
ELLIPSE = (
    Column("x_mm", "number"),
    Column("y_mm", "number"),
    Column("semi_major_mm", "number"),
    Column("semi_minor_mm", "number"),
    Column("angle_deg", "number"),
)
CANDIDATE = (IMAGE, Column("candidate_id", "id"))

SCHEMAS: dict[str, Schema] = {
    schema.kind: schema
    for schema in (
        Schema(
            kind="images",
            columns=(
                IMAGE,
                Column("patient_id", "text", required=False),
                Column("path", "text", required=False),
                Column("mm_per_px_x", "number", required=False),
                Column("mm_per_px_y", "number", required=False),
                Column("width_px", "number", required=False),
                Column("height_px", "number", required=False),
                Column("split", "text", required=False),
            ),
            key=("image_id",),
        ),
        Schema(kind="readings", columns=(IMAGE, Column("reader_id", "id")), key=("image_id", "reader_id")),
        Schema(
            kind="marks",
            columns=(
                IMAGE,
                Column("reader_id", "id"),
                Column("mark_id", "id"),
                *ELLIPSE,
                Column("confidence", "number", required=False),
                Column("label", "text", required=False),
            ),
            key=("image_id", "mark_id"),
        ),
        Schema(
            kind="truth",
            columns=(
                IMAGE,
                Column("truth_id", "id"),
                *ELLIPSE,
                Column("n_marks", "count"),
                Column("n_readers", "count"),
                Column("n_readings", "count"),
                Column("probability", "number"),
                Column("weight", "number"),
                Column("golden", "flag"),
                Column("mark_ids", "ids"),
                Column("nested_mark_ids", "ids", required=False),
                Column("label", "text", required=False),
            ),
            key=("image_id", "truth_id"),
        ),
        Schema(
            kind="candidates",
            columns=(
                *CANDIDATE,
                Column("x_mm", "number"),
                Column("y_mm", "number"),
                Column("radius_mm", "number"),
                Column("response", "number", required=False),
                # Of the detections that ``overread detect`` writes, which are candidates too.
                Column("image", "text", required=False),
                Column("shown", "flag", required=False),
            ),
            key=("image_id", "candidate_id"),
            others="number",
        ),
        Schema(kind="features", columns=CANDIDATE, key=("image_id", "candidate_id"), others="number"),
        Schema(kind="scores", columns=CANDIDATE, key=("image_id", "candidate_id"), others="number"),
    )
}


def schema_of(kind: str) -> Schema:
    """Look up the schema of a kind of table."""
    try:
        return SCHEMAS[kind]
    except KeyError:
        raise ValueError(f"no table of kind {kind!r}; there are {', '.join(SCHEMAS)}") from None
