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

    def of_header(self, header: Iterable[str], place: str) -> Self:
        """Return the schema of a table with these columns: lengths are numbers in the unit that their names tell."""
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
    """Column without which the table is still one."""
    return Column(name, type_, False, meaning)


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
IMAGES = (
    IMAGE,
    _optional("patient_id", "text", "Whose it is; patients stay whole in every split."),
    _optional("path", "text", "Its file, relative to the study's folder."),
    _optional("mm_per_px_x", "number", "Width of a pixel."),
    _optional("mm_per_px_y", "number", "Height of a pixel."),
    _optional("width_px", "number", "Columns of pixels."),
    _optional("height_px", "number", "Rows of pixels."),
    _optional("split", "text", "training, validation or test, instead of a drawn division."),
    _optional(
        "different_from", "text", "Images, with ; between them, that look like it but are of other patients."
    ),
)
MARKS = (
    IMAGE,
    READER,
    Column("mark_id", "id", meaning="The mark; unique in its image."),
    *ELLIPSE,
    _optional("confidence", "number", "How sure the reader was, on a scale of your own."),
    _optional("label", "text", "What the reader called it."),
)
TRUTH = (
    IMAGE,
    Column("truth_id", "id", meaning="The object; unique in its image."),
    *ELLIPSE,
    Column("n_marks", "count", meaning="Marks that were merged into it."),
    Column("n_readers", "count", meaning="Readers who marked it."),
    Column("n_readings", "count", meaning="Readings of the image."),
    Column("probability", "number", meaning="Soft label: how likely a reader is to mark it."),
    Column("weight", "number", meaning="Weight in learning: readings over the most readings of any image."),
    Column("golden", "flag", meaning="Whether two readers or more marked it."),
    Column("mark_ids", "ids", meaning="The marks."),
    _optional("mark_iou", "number", "Mean IoU of the marks with the ellipse, where that is their mean."),
    _optional(
        "mark_distance",
        "number",
        "Root mean square distance of the marks' centres from its own, over its diameter.",
    ),
    _optional("nested_mark_ids", "ids", "Smaller marks inside, where they vote too."),
    _optional("label", "text", "Their label, where labels are merged apart."),
)
CANDIDATES = (
    *CANDIDATE,
    *CENTRE,
    Column("radius", "length", meaning="Radius of the circle that stands for it."),
    _optional("response", "number", "How strongly the finder answered."),
    # Of the detections that ``overread detect`` writes, which are candidates too.
    _optional("image", "text", "File, in what `overread detect` writes."),
    _optional("shown", "flag", "Whether `overread detect` shows it."),
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
