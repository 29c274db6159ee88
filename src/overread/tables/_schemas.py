"""The columns of every table that passes between the stages.

Ids are text and are kept exactly. In a file, the name of a length ends in its unit: ``x_mm``. The origin is the
top-left corner of the image, x to the right, y down; ``angle_deg`` is the direction of the major axis, clockwise on
screen from +x.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Self

from overread.tables._units import unit_of

Type = Literal["id", "text", "number", "length", "count", "flag", "ids", "any"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Name; names of lengths end in their unit in files and in public frames.
    type : {"id", "text", "number", "length", "count", "flag", "ids", "any"}
        ``id``: non-empty text. ``text``: text, may be empty. ``number``: floating point, NaN where empty.
        ``length``: a number, in the unit in which its name ends.
        ``count``: a whole number. ``flag``: true or false. ``ids``: a list of ids (JSON in a CSV cell).
        ``any``: text in CSV, whatever is stored in Parquet.
    required : bool
        Whether the table is refused without it.
    meaning : str
        Meaning of a cell, for people and the page of tables in the docs.
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
        Columns that together identify a row.
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

    def of_header(self, header: Iterable[str], place: str) -> Self:
        """Return the schema of a table with these columns: lengths are numbers in the unit of their names."""
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


def _optional(name: str, type_: Type, meaning: str) -> Column:
    """Make an optional column."""
    return Column(name, type_, False, meaning)


IMAGE = Column("image_id", "id", meaning="The image.")
READER = Column("reader_id", "id", meaning="The reader.")
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
IMAGES = (
    IMAGE,
    _optional("patient_id", "text", "The patient; all images of a patient are in one split."),
    _optional("path", "text", "Path of its file, relative to the study's folder."),
    _optional("mm_per_px_x", "number", "Width of a pixel in mm."),
    _optional("mm_per_px_y", "number", "Height of a pixel in mm."),
    _optional("width_px", "number", "Width of the image in pixels."),
    _optional("height_px", "number", "Height of the image in pixels."),
    _optional("split", "text", "training, validation or test, instead of a random split."),
    _optional(
        "different_from", "text", "Images, separated by ;, that look the same but are of other patients."
    ),
)
MARKS = (
    IMAGE,
    READER,
    Column("mark_id", "id", meaning="The mark; unique in its image."),
    *ELLIPSE,
    _optional("confidence", "number", "The reader's confidence, on any scale."),
    _optional("label", "text", "The reader's label."),
)
TRUTH = (
    IMAGE,
    Column("truth_id", "id", meaning="The object; unique in its image."),
    *ELLIPSE,
    Column("n_marks", "count", meaning="Marks that were merged into it."),
    Column("n_readers", "count", meaning="Readers who marked it."),
    Column("n_readings", "count", meaning="Readings of the image."),
    Column("probability", "number", meaning="Soft label: probability that the object is real."),
    Column(
        "weight",
        "number",
        meaning="Weight in training: readings over the most readings of any image.",
    ),
    Column("golden", "flag", meaning="Whether it is a consensus object, marked by two or more readers."),
    Column("mark_ids", "ids", meaning="The marks."),
    _optional("mark_iou", "number", "Mean IoU of the marks with the ellipse, if that is their mean."),
    _optional(
        "mark_distance",
        "number",
        "Root mean square distance of the marks' centres from its centre, over its diameter.",
    ),
    _optional("nested_mark_ids", "ids", "Nested marks that also count as votes."),
    _optional("label", "text", "Label of the marks, if labels are merged separately."),
)
CANDIDATES = (
    *CANDIDATE,
    *CENTRE,
    Column("radius", "length", meaning="Radius of the candidate's circle."),
    _optional("response", "number", "Response of the finder."),
    # Columns of the detections of ``overread detect``, which are candidates too.
    _optional("image", "text", "File of the image, in detections of `overread detect`."),
    _optional("shown", "flag", "Whether `overread detect` shows the candidate."),
)

SCHEMAS: dict[str, Schema] = {
    schema.kind: schema
    for schema in (
        Schema("images", IMAGES, ("image_id",)),
        Schema("readings", (IMAGE, READER), ("image_id", "reader_id")),
        Schema("marks", MARKS, ("image_id", "mark_id")),
        Schema("truth", TRUTH, ("image_id", "truth_id")),
        Schema("candidates", CANDIDATES, ("image_id", "candidate_id"), others="number"),
        Schema("features", CANDIDATE, ("image_id", "candidate_id"), others="number"),
        Schema("scores", CANDIDATE, ("image_id", "candidate_id"), others="number"),
    )
}


def schema_of(kind: str) -> Schema:
    """Look up the schema of a kind of table."""
    try:
        return SCHEMAS[kind]
    except KeyError:
        raise ValueError(f"no table of kind {kind!r}; there are {', '.join(SCHEMAS)}") from None
