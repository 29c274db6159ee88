"""The columns of every table that passes between the stages.

Ids are text and are kept exactly. In a file, the name of a length ends in its unit: ``x_mm``. The origin is the
top-left corner of the image, x to the right, y down; ``angle_deg`` is the direction of the major axis, clockwise on
screen from +x.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from overread.tables._units import unit_of

Type = Literal["id", "text", "number", "length", "count", "flag", "ids", "any"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Its name; a length has its unit after it in files and in frames that are given or returned.
    type : {"id", "text", "number", "length", "count", "flag", "ids", "any"}
        ``id``: non-empty text. ``text``: text, may be empty. ``number``: floating point, NaN where empty.
        ``length``: a number, in the unit in which its name ends.
        ``count``: a whole number. ``flag``: true or false. ``ids``: a list of ids (JSON in a CSV cell).
        ``any``: text in CSV, whatever is stored in Parquet.
    required : bool
        Whether the table is refused without it.
    meaning : str
        What a cell says, for people: the page of tables in the docs is made of it.
    """

    name: str
    type: Type
    required: bool = True
    meaning: str = ""


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

    def of_header(self, header: Iterable[str], place: str) -> Schema:
        """Return the schema of a table with these columns: its lengths are numbers in the unit that their names tell.

        Raises
        ------
        TableError
            If the names tell two units.
        """
        if not any(one.type == "length" for one in self.columns):
            return self
        unit = unit_of(header, place) or "mm"
        columns = (
            replace(one, name=f"{one.name}_{unit}", type="number") if one.type == "length" else one
            for one in self.columns
        )
        return replace(self, columns=tuple(columns))

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the columns without which the table is refused."""
        return tuple(column.name for column in self.columns if column.required)


IMAGE = Column("image_id", "id", meaning="The image.")
READER = Column("reader_id", "id", meaning="Who read it.")
CENTRE = (
    Column("x", "length", meaning="Centre, from the image's left edge."),
    Column("y", "length", meaning="Centre, from its top edge."),
)
ELLIPSE = (
    *CENTRE,
    Column("semi_major", "length", meaning="Half of the longer axis."),
    Column("semi_minor", "length", meaning="Half of the shorter axis."),
    Column("angle_deg", "number", meaning="Direction of the longer axis, clockwise on screen from +x."),
)
CANDIDATE = (IMAGE, Column("candidate_id", "id", meaning="The candidate; unique in its image."))

SCHEMAS: dict[str, Schema] = {
    schema.kind: schema
    for schema in (
        Schema(
            kind="images",
            columns=(
                IMAGE,
                Column(
                    "patient_id",
                    "text",
                    required=False,
                    meaning="Whose it is; patients stay whole in every split.",
                ),
                Column("path", "text", required=False, meaning="Its file, relative to the study's folder."),
                Column("mm_per_px_x", "number", required=False, meaning="Width of a pixel."),
                Column("mm_per_px_y", "number", required=False, meaning="Height of a pixel."),
                Column("width_px", "number", required=False, meaning="Columns of pixels."),
                Column("height_px", "number", required=False, meaning="Rows of pixels."),
                Column(
                    "split",
                    "text",
                    required=False,
                    meaning="training, validation or test, instead of a drawn division.",
                ),
                Column(
                    "different_from",
                    "text",
                    required=False,
                    meaning="Images, with ; between them, that look like it but are of other patients.",
                ),
            ),
            key=("image_id",),
        ),
        Schema(kind="readings", columns=(IMAGE, READER), key=("image_id", "reader_id")),
        Schema(
            kind="marks",
            columns=(
                IMAGE,
                READER,
                Column("mark_id", "id", meaning="The mark; unique in its image."),
                *ELLIPSE,
                Column(
                    "confidence",
                    "number",
                    required=False,
                    meaning="How sure the reader was, on a scale of your own.",
                ),
                Column("label", "text", required=False, meaning="What the reader called it."),
            ),
            key=("image_id", "mark_id"),
        ),
        Schema(
            kind="truth",
            columns=(
                IMAGE,
                Column("truth_id", "id", meaning="The object; unique in its image."),
                *ELLIPSE,
                Column("n_marks", "count", meaning="Marks that were merged into it."),
                Column("n_readers", "count", meaning="Readers who marked it."),
                Column("n_readings", "count", meaning="Readings of the image."),
                Column("probability", "number", meaning="Soft label: how likely a reader is to mark it."),
                Column(
                    "weight",
                    "number",
                    meaning="Weight in learning: readings over the most readings of any image.",
                ),
                Column("golden", "flag", meaning="Whether two readers or more marked it."),
                Column("mark_ids", "ids", meaning="The marks."),
                Column(
                    "mark_iou",
                    "number",
                    required=False,
                    meaning="Mean IoU of the marks with the ellipse, where that is their mean.",
                ),
                Column(
                    "mark_distance",
                    "number",
                    required=False,
                    meaning="Root mean square distance of the marks' centres from its own, over its diameter.",
                ),
                Column(
                    "nested_mark_ids",
                    "ids",
                    required=False,
                    meaning="Smaller marks inside, where they vote too.",
                ),
                Column(
                    "label", "text", required=False, meaning="Their label, where labels are merged apart."
                ),
            ),
            key=("image_id", "truth_id"),
        ),
        Schema(
            kind="candidates",
            columns=(
                *CANDIDATE,
                *CENTRE,
                Column("radius", "length", meaning="Radius of the circle that stands for it."),
                Column("response", "number", required=False, meaning="How strongly the finder answered."),
                # Of the detections that ``overread detect`` writes, which are candidates too.
                Column("image", "text", required=False, meaning="File, in what `overread detect` writes."),
                Column("shown", "flag", required=False, meaning="Whether `overread detect` shows it."),
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
