"""Any spreadsheet of marks, one a row: CSV, TSV or XLSX with columns of any name.

Columns are found by their names or told; see `overread.marks.formats.sheet_layout`. In pixels, (0, 0) is the
image's top-left corner and pixel (0, 0) covers [0, 1] x [0, 1]; fractions and percent are of the image's width and
height. A box becomes the ellipse that fills it; an angle turns it about its centre. A row whose numbers are all empty
is a reading without a mark. Who read an image and marked nothing stands in no row, so readings have to be told.
"""

from __future__ import annotations

import math
from pathlib import Path

from overread.errors import FormatError
from overread.marks.formats.building import MarkSetBuilder, Spacings, nonempty_cells
from overread.marks.formats.sheet_layout import Layout, SheetOptions, understand_sheet
from overread.marks.mark_set import MarkSet
from overread.marks.readings import WHO_READ
from overread.tables.cell_types import parse_number, quote_cell

__all__ = ["read"]


def read(
    path: Path,
    *,
    spacings: Spacings | None = None,
    reader: str | None = None,
    columns: str | None = None,
    xy: str | None = None,
    unit: str | None = None,
    angle: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    radius_mm: float | None = None,
    derive_readings: bool = False,
) -> MarkSet:
    """Read a spreadsheet.

    Parameters
    ----------
    path : Path
        A file that ends in ``.csv``, ``.tsv``, ``.txt`` or ``.xlsx``.
    spacings : Spacings
        Millimetres per pixel, which the file does not tell.
    reader : str
        Whose file it is, where no column tells the reader.
    columns, xy, unit, angle, decimal, sheet, radius_mm
        As in `overread.marks.formats.sheet_layout.SheetOptions`.
    derive_readings : bool
        Take each reader to have read just the images of his rows.

    Raises
    ------
    FormatError
        Also where the file leaves a question open that an option answers.
    """
    told = spacings or Spacings()
    options = SheetOptions(columns, xy, unit, angle, decimal, sheet, radius_mm)
    layout = understand_sheet(path, options, told, has_reader=reader is not None)
    if layout.questions or layout.doubts:
        raise FormatError(f"{path}: {'; '.join([*map(str, layout.questions), *layout.doubts])}")
    if reader is not None and "reader" in layout.columns:
        raise FormatError(
            f"{path}: the column {layout.columns['reader']!r} tells readers already (give the file without --reader)"
        )
    if not derive_readings:
        raise FormatError(f"{path}: {WHO_READ}")
    return build_marks(path, layout, told, reader)


def build_marks(path: Path, layout: Layout, spacings: Spacings, reader: str | None) -> MarkSet:
    """Tables of a layout without questions."""
    builder = MarkSetBuilder(str(path), spacings)
    sheet = layout.sheet
    texts = {
        role: sheet.column(layout.columns[role]) if role in layout.columns else [""] * len(sheet.rows)
        for role in ("image", "reader", "label", "comment", "confidence", "mark")
    }
    images = [spacings.listed_name(name) or name for name in texts["image"]]
    unknown = [math.nan] * len(images)
    sizes = [layout.numbers.get(role, unknown) for role in ("image_width", "image_height")]
    for image_id, width, height in zip(images, *sizes, strict=True):
        if image_id:
            builder.add_image(image_id, width=width, height=height)
    comments = []
    for place, row in enumerate(sheet.numbers):
        told = {role: cells[place] for role, cells in texts.items()}
        numbers = {role: values[place] for role, values in layout.numbers.items()}
        if not told["image"]:
            raise FormatError(
                f"{path}, row {row}: no image (fill the column {layout.columns['image']!r} in every row)"
            )
        image_id = images[place]
        builder.add_reading(image_id, reader or told["reader"])
        if has_mark(numbers, layout, f"{path}, row {row}"):
            add_row(builder, layout, row, image_id, {**told, "reader": reader or told["reader"]}, numbers)
            comments.append(told["comment"])
    found = builder.build()
    if any(comments):
        found = MarkSet(found.marks.assign(comment=comments), found.readings, found.images)
    return found


def has_mark(numbers: dict[str, float], layout: Layout, place: str) -> bool:
    """Whether a row holds a mark: not where all its numbers are empty; some of them missing is an error."""
    missing = [role for role in layout.shape if math.isnan(numbers[role])]
    if missing and len(missing) < len(layout.shape):
        raise FormatError(
            f"{place}, column {layout.columns[missing[0]]}: is empty (fill all of {', '.join(layout.shape)}, or none "
            "where the reader marked nothing)"
        )
    return not missing


def add_row(
    builder: MarkSetBuilder,
    layout: Layout,
    row: int,
    image_id: str,
    told: dict[str, str],
    numbers: dict[str, float],
) -> None:
    """Note the mark of one row."""
    centre, semi_axes = place_and_size(layout, numbers, builder, image_id)
    turn = 0.0 if math.isnan(numbers.get("angle", math.nan)) else numbers["angle"]
    try:
        confidence = parse_number(told["confidence"].replace(",", "."))
    except ValueError:
        raise FormatError(
            f"{builder.source}, row {row}, column {layout.columns['confidence']}: {quote_cell(told['confidence'])} is "
            "not a number"
        ) from None
    builder.add_mark(
        image_id,
        told["reader"],
        told["mark"] or f"{Path(builder.source).stem}/{told['reader']}/row{row}",
        centre=centre,
        semi_axes=semi_axes,
        angle_deg=-turn if layout.options.angle == "counterclockwise" else turn,
        label=told["label"],
        confidence=confidence,
        place=f"row {row}",
        in_mm=layout.options.unit == "mm",
    )


def place_and_size(
    layout: Layout, numbers: dict[str, float], builder: MarkSetBuilder, image_id: str
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Centre and semi-axes of a row in pixels, or in mm where the file is."""
    across, down = scale_of(layout, builder, image_id)
    values = [numbers[role] for role in layout.shape]
    x, y = values[0] * across, values[1] * down
    match layout.shape[2:]:
        case ("x_max", "y_max"):
            right, bottom = values[2] * across, values[3] * down
            return ((x + right) / 2, (y + bottom) / 2), ((right - x) / 2, (bottom - y) / 2)
        case ("width", "height"):
            a, b = values[2] * across / 2, values[3] * down / 2
            return ((x + a, y + b) if layout.options.xy == "corner" else (x, y)), (a, b)
        case ("radius_x", "radius_y"):
            return (x, y), (values[2] * across, values[3] * down)
        case ("diameter",) | ("radius",):
            if across != down:
                raise FormatError(
                    f"{builder.source}: image {quote_cell(image_id)} is not square, so that a {layout.shape[2]} cannot "
                    "be a fraction of both its sides (give width and height)"
                )
            size = values[2] * across * (0.5 if layout.shape[2] == "diameter" else 1.0)
            return (x, y), (size, size)
    return (x, y), point_radius(layout, builder, image_id)


def scale_of(layout: Layout, builder: MarkSetBuilder, image_id: str) -> tuple[float, float]:
    """Factors that turn the file's lengths into pixels, or into mm where the file is in mm."""
    if layout.options.unit == "px":
        return 1.0, 1.0
    if builder.spacings.scale is not None:
        raise FormatError(f"{builder.source}: lengths are in {layout.options.unit} (leave --scale out)")
    if layout.options.unit == "mm":
        return 1.0, 1.0
    known = {**builder.spacings.row(image_id), **nonempty_cells(builder.images[image_id])}
    size = float(known.get("width_px", math.nan)), float(known.get("height_px", math.nan))
    if any(math.isnan(length) for length in size):
        raise FormatError(
            f"{builder.source}: image {quote_cell(image_id)}: fractions of an image need its width_px and height_px in "
            "the images table (overread init makes one), or columns image_width and image_height"
        )
    part = 100.0 if layout.options.unit == "percent" else 1.0
    return size[0] / part, size[1] / part


def point_radius(layout: Layout, builder: MarkSetBuilder, image_id: str) -> tuple[float, float]:
    """Semi-axes of the circle that a point becomes, in the file's lengths."""
    radius = layout.options.radius_mm or math.nan
    if layout.options.unit == "mm":
        return radius, radius
    across, down = builder.mm_per_px_of_file(image_id)
    return radius / across, radius / down
