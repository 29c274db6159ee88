"""Any spreadsheet of marks, one per row: CSV, TSV or XLSX with columns of any name.

Columns are recognized by name (`overread.marks.formats._sheet_columns`) or given. In pixels, (0, 0) is the image's
top-left corner and pixel (0, 0) covers [0, 1] x [0, 1]; fractions and percent are of the image's width and height. A
box becomes its inscribed ellipse; an angle rotates it about its centre. A row whose numbers are all empty is a reading
without a mark. Rows of marks cannot show that a reader found nothing, so readings must be given.

The module also finds the meaning of a spreadsheet: columns, corner or centre, pixels or mm, and open questions.

Nothing is chosen that the file does not prove. What the columns' names state (``left``, ``x_min``, ``cx``, ``Breite
(px)``) and what follows from the numbers (all within 0 to 1; outside the image if they were mm) is used; everything
else becomes a `Question`, which an option of the same name answers.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from overread.errors import FormatError, UsageError
from overread.marks._ellipse import DrawnEllipse
from overread.marks._mark_set import WHO_READ, MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings, nonempty_cells
from overread.marks.formats._sheet_columns import guess_columns, parse_columns
from overread.tables import NumberText, Sheet, look_like_radians, parse_number, quote_cell, read_sheet

SIGNS = {"comma": (",", "."), "point": (".", ",")}
"""Separators of decimals and of thousands, by the answer to --decimal."""
# 1,234 may be a thousand and something, and so may 1.234; 0,5 and 12,25 cannot.
PLAIN = {
    name: re.compile(rf"[+-]?[0-9]*[{sign}]?[0-9]*([eE][+-]?[0-9]+)?") for name, (sign, _) in SIGNS.items()
}
GROUPED = {
    name: re.compile(rf"[+-]?[1-9][0-9]{{0,2}}([{mark}][0-9]{{3}})+([{sign}][0-9]*)?")
    for name, (sign, mark) in SIGNS.items()
}
# A size that two columns state may differ by this share, and by a pixel of rounding. By judgement: a radius read as a
# diameter is off by half.
SAME_SIZE = 0.1
SIZES_TWICE: tuple[tuple[str, tuple[str, ...], Callable[..., float]], ...] = (
    ("diameter", ("radius",), lambda radius: 2 * radius),
    ("width", ("x_min", "x_max"), lambda left, right: right - left),
    ("height", ("y_min", "y_max"), lambda top, bottom: bottom - top),
)
CHOICES = {
    "xy": ("corner", "centre"),
    "unit": ("px", "mm", "fraction", "percent"),
    "angle": ("clockwise", "counterclockwise"),
    "decimal": ("comma", "point"),
}


@dataclass(frozen=True)
class SheetOptions:
    """The user's answers about a spreadsheet, as in the help of the options; None: decided from the file."""

    columns: str | None = None
    xy: str | None = None
    unit: str | None = None
    angle: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    radius_mm: float | None = None


@dataclass(frozen=True)
class Question:
    """An open question about the file: the option that answers it, the text, the answers."""

    option: str
    text: str
    choices: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.text} (give --{self.option} {'|'.join(self.choices)})"


@dataclass(frozen=True)
class Layout:
    """The interpretation of a spreadsheet: its cells, and the column of each role.

    Options that do not matter or are still open are None. Doubts describe ambiguous columns. Numbers are by role, NaN
    for empty cells.
    """

    sheet: Sheet
    columns: dict[str, str]
    options: SheetOptions
    doubts: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    numbers: dict[str, list[float]] = field(default_factory=dict, repr=False)

    @property
    def unused(self) -> list[str]:
        """Unused columns."""
        return [name for name in self.sheet.header if name not in self.columns.values()]

    def columns_option(self) -> str:
        """Return the columns in the form of ``--columns``."""
        return ",".join(f"{role}={name}" for role, name in self.columns.items())

    @property
    def number_roles(self) -> list[str]:
        """Roles whose cells are numbers."""
        others = ("angle", "image_width", "image_height")
        return [*self.shape, *(role for role in others if role in self.columns)]

    @property
    def shape(self) -> tuple[str, ...]:
        """Roles of a mark's position and size, for the first shape that the columns allow."""
        return next((shape for shape in SHAPES if set(shape) <= self.columns.keys()), ())


CENTRES = (("x_centre", "y_centre"), ("x", "y"))
SHAPES: tuple[tuple[str, ...], ...] = (
    ("x_min", "y_min", "x_max", "y_max"),
    ("x_min", "y_min", "width", "height"),
    *(
        (*centre, *size)
        for size in (("width", "height"), ("radius_x", "radius_y"), ("diameter",), ("radius",), ())
        for centre in CENTRES
    ),
)


def understand_sheet(path: Path, options: SheetOptions, spacings: Spacings, *, has_reader: bool) -> Layout:
    """Find the meaning of a spreadsheet."""
    for name, choices in CHOICES.items():
        value = getattr(options, name)
        if value is not None and value not in choices:
            raise UsageError(f"--{name} {value}: give one of {', '.join(choices)}")
    sheet = read_sheet(path, options.sheet)
    given = parse_columns(options.columns, sheet.header, str(path)) if options.columns else {}
    guess = guess_columns(sheet.header, given)
    layout = _settle_image_column(Layout(sheet, guess.columns, options, guess.doubts), spacings)
    if "confidence" in layout.columns and "confidence" not in given:
        cells = sheet.column(layout.columns["confidence"])
        if not all(re.fullmatch(r"[+-]?[0-9]*[.,]?[0-9]*", cell) for cell in cells):
            del layout.columns["confidence"]
    _check_roles(layout, path, has_reader=has_reader)
    layout = _settle_decimal(layout, path)
    if not any(question.option == "decimal" for question in layout.questions):
        layout = replace(layout, numbers=_read_numbers(layout, path, layout.number_roles))
        layout = _settle_unit(layout, guess.units, spacings, path)
        _refuse_contradictions(layout, guess.units, path)
        layout = _settle_angle(layout, guess.units, path)
    return _settle_place(layout)


def _settle_image_column(layout: Layout, spacings: Spacings) -> Layout:
    """Of two possible image columns, choose the one whose cells are all images of the study."""
    doubt = next((text for text in layout.doubts if text.startswith("image ")), None)
    if doubt is None or not spacings.listed:
        return layout
    rivals = [name for name in layout.sheet.header if repr(name) in doubt]
    fits = [name for name in rivals if all(map(spacings.listed_name, layout.sheet.column(name)))]
    if len(fits) != 1:
        return layout
    kept = tuple(text for text in layout.doubts if text != doubt)
    return replace(layout, columns={**layout.columns, "image": fits[0]}, doubts=kept)


def _check_roles(layout: Layout, path: Path, *, has_reader: bool) -> None:
    """Refuse a table in which the image, the reader or the position cannot be found."""
    has = f"{path} has the columns {', '.join(map(quote_cell, layout.sheet.header[:20]))}"
    if "image" not in layout.columns:
        raise FormatError(f"{has}: none is clearly the image (give --columns image=...)")
    if "reader" not in layout.columns and not has_reader:
        raise FormatError(
            f"{has}: none is clearly the reader (give --columns reader=..., or --reader NAME={path} if it is one "
            "reader's)"
        )
    if not layout.shape:
        raise FormatError(
            f"{has}: no clear position (give --columns x=...,y=... with width and height, diameter or radius; or "
            "x_min, y_min, x_max, y_max)"
        )
    if len(layout.shape) == 2 and layout.options.radius_mm is None:
        raise FormatError(
            f"{has}: marks have no size (give --columns diameter=... or width=...,height=..., or --radius-mm for "
            "points)"
        )


def _settle_decimal(layout: Layout, path: Path) -> Layout:
    """Find the decimal separator; separators of thousands are never assumed."""
    if layout.options.decimal is not None:
        return layout
    cells = _marked_cells(layout)
    plain, read = _list_notations(cells, PLAIN), _list_notations(cells, PLAIN, GROUPED)
    if not cells:
        return _answer(layout, decimal="point")
    if len(read) == 1 and plain == read:
        return _answer(layout, decimal=read[0])
    if read:
        cell = next(cell for cell in cells if any(GROUPED[name].fullmatch(cell) for name in read))
        return _ask(
            layout, "decimal", f"is {cell!r} {' or '.join(_plain_number(cell, name) for name in read)}?"
        )
    commas, points = (
        [cell for cell in cells if not PLAIN[name].fullmatch(cell)] for name in ("point", "comma")
    )
    if commas and points and PLAIN["comma"].fullmatch(commas[0]) and PLAIN["point"].fullmatch(points[0]):
        raise FormatError(
            f"{path}: numbers with commas and with points, such as {commas[0]!r} and {points[0]!r} "
            "(use one decimal separator)"
        )
    return _answer(layout, decimal="point")  # some cell is not a number; reading it reports which


def _marked_cells(layout: Layout) -> list[str]:
    """List text cells with numbers that contain a comma or a point."""
    columns = (layout.sheet.column(layout.columns[role]) for role in layout.number_roles)
    texts = (cell for column in columns for cell in column if not isinstance(cell, NumberText))
    return [cell for cell in texts if "," in cell or "." in cell]


def _list_notations(cells: Sequence[str], *forms: Mapping[str, re.Pattern[str]]) -> list[str]:
    """Return the decimal separators with which every cell is a number in one of these forms."""
    return [
        name for name in SIGNS if all(any(form[name].fullmatch(cell) for form in forms) for cell in cells)
    ]


def _read_numbers(layout: Layout, path: Path, roles: Sequence[str]) -> dict[str, list[float]]:
    """Numbers by role; NaN for an empty cell."""
    numbers: dict[str, list[float]] = {}
    for role in roles:
        name = layout.columns[role]
        values = []
        for row, cell in zip(layout.sheet.numbers, layout.sheet.column(name), strict=True):
            try:
                values.append(parse_number(_plain_number(cell, layout.options.decimal)))
            except ValueError:
                comma = " with a decimal comma" if layout.options.decimal == "comma" else ""
                raise FormatError(
                    f"{path}, row {row}, column {name}: {quote_cell(cell)} is not a number{comma}"
                ) from None
        numbers[role] = values
    return numbers


def _plain_number(cell: str, decimal: str | None) -> str:
    """Cell with a decimal point and without separators of thousands; a separator elsewhere is a `ValueError`."""
    if isinstance(cell, NumberText):
        return cell
    sign, mark = SIGNS[decimal or "point"]
    bare = cell.replace(mark, "") if GROUPED[decimal or "point"].fullmatch(cell) else cell
    if mark in bare:
        raise ValueError(cell)
    return bare.replace(sign, ".")


def _refuse_contradictions(layout: Layout, stated: dict[str, str], path: Path) -> None:
    """Refuse two columns that state different sizes, such as a radius and another diameter."""
    for role, parts, size_of in SIZES_TWICE:
        roles = (role, *parts)
        units = {stated.get(name) for name in roles}
        if not set(roles) <= layout.columns.keys() or not set(roles) & set(layout.shape) or len(units) > 1:
            continue
        numbers = _read_numbers(layout, path, roles)
        rounding = 1.0 if layout.options.unit == "px" else 0.0
        differ = []
        for row, size, *values in zip(layout.sheet.numbers, *numbers.values(), strict=True):
            other = size_of(*values)
            if abs(size - other) > SAME_SIZE * max(abs(size), abs(other)) + rounding:
                differ.append(row)
        if differ:
            names = " and ".join(repr(layout.columns[name]) for name in roles)
            raise FormatError(
                f"{path}, row {differ[0]}: the columns {names} contradict each other"
                f"{f' ({len(differ)} rows)' if len(differ) > 1 else ''} (remove the wrong one)"
            )


def _settle_unit(layout: Layout, stated: dict[str, str], spacings: Spacings, path: Path) -> Layout:
    """Find the unit of positions and sizes."""
    names = {role: stated[role] for role in layout.shape if role in stated}
    if layout.options.unit is not None:
        other = [role for role, unit in names.items() if unit != layout.options.unit]
        if other:
            raise FormatError(
                f"{path}: --unit {layout.options.unit}, but the column {layout.columns[other[0]]!r} states "
                f"{names[other[0]]} (remove --unit, or rename the column if its name is wrong)"
            )
        return layout
    if len(set(names.values())) > 1 or (names and len(names) < len(layout.shape)):
        listed = ", ".join(f"{layout.columns[role]!r}" for role in layout.shape)
        raise FormatError(
            f"{path}: the columns {listed} do not all state the same unit (give --unit if they have the same)"
        )
    if names:
        return _answer(layout, unit=next(iter(names.values())))
    values = [value for role in layout.shape for value in layout.numbers[role] if not math.isnan(value)]
    if values and max(values) <= 1 and min(values) >= 0:
        # In px or mm, all marks would be within the first pixel, or mm, of their image.
        return _answer(layout, unit="fraction")
    if spacings.everywhere is not None or _beyond_in_mm(layout, spacings):
        return _answer(layout, unit="px")
    return _ask(layout, "unit", "are positions and sizes in pixels or in mm?")


def _beyond_in_mm(layout: Layout, spacings: Spacings) -> bool:
    """Whether a position would lie outside its image if it were in mm, so that it must be in pixels."""
    images = layout.sheet.column(layout.columns["image"])
    for axis, role in zip("xy", layout.shape[:2], strict=True):
        for image, value in zip(images, layout.numbers[role], strict=True):
            pixels = spacings.size(image)["xy".index(axis)]
            if value > pixels * float(spacings.row(image).get(f"mm_per_px_{axis}", math.nan)):
                return True
    return False


def _settle_angle(layout: Layout, stated: dict[str, str], path: Path) -> Layout:
    """Find the direction of angles, if any matters."""
    if "angle" not in layout.columns:
        return layout
    if stated.get("angle") == "rad":
        raise FormatError(f"{path}: the column {layout.columns['angle']!r} is in radians (write degrees)")
    turned = [value for value in layout.numbers["angle"] if value == value and value % 180 != 0]
    # As in check_marks, which has the probabilities: one or two angles prove nothing.
    radians = len(set(turned)) >= 3 and look_like_radians(np.array(turned))
    if radians and stated.get("angle") != "deg" and len(layout.shape) == 4:
        raise FormatError(
            f"{path}: the angles in {layout.columns['angle']!r} look like radians: all are within 2 pi, such as "
            f"{turned[0]:g} (write degrees; if they are degrees, name the column angle_deg)"
        )
    if layout.options.angle is None and turned and len(layout.shape) == 4:
        return _ask(layout, "angle", "which direction do angles have on screen?")
    return layout


def _settle_place(layout: Layout) -> Layout:
    """Find whether x and y are a corner or the centre; with a radius or a diameter they are the centre."""
    first, *_, last = layout.shape
    if first == "x" and last == "height":
        if layout.options.xy is None:
            return _ask(layout, "xy", "are x and y the top-left corner or the centre of width x height?")
        return layout
    return _answer(layout, xy="corner" if first == "x_min" else "centre")


def _ask(layout: Layout, option: str, text: str) -> Layout:
    """Add a question."""
    return replace(layout, questions=(*layout.questions, Question(option, text, CHOICES[option])))


def _answer(layout: Layout, **found: Any) -> Layout:
    """Add an answer."""
    return replace(layout, options=replace(layout.options, **found))


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
        Reader of the file, if no column states it.
    columns, xy, unit, angle, decimal, sheet, radius_mm
        As in `SheetOptions`.
    derive_readings : bool
        Assume that each reader read only the images in their rows.

    Raises
    ------
    FormatError
        Also if the file leaves a question open that an option answers.
    """
    told = spacings or Spacings()
    options = SheetOptions(columns, xy, unit, angle, decimal, sheet, radius_mm)
    layout = understand_sheet(path, options, told, has_reader=reader is not None)
    if layout.questions or layout.doubts:
        raise FormatError(f"{path}: {'; '.join([*map(str, layout.questions), *layout.doubts])}")
    if reader is not None and "reader" in layout.columns:
        raise FormatError(
            f"{path}: the column {layout.columns['reader']!r} already states readers. Remove --reader."
        )
    if not derive_readings:
        raise FormatError(f"{path}: {WHO_READ}")
    return _build_marks(path, layout, told, reader)


def _build_marks(path: Path, layout: Layout, spacings: Spacings, reader: str | None) -> MarkSet:
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
        told["reader"] = reader or told["reader"]
        numbers = {role: values[place] for role, values in layout.numbers.items()}
        if not told["image"]:
            raise FormatError(
                f"{path}, row {row}: the image is empty (fill in the column {layout.columns['image']!r} in every row)"
            )
        builder.add_reading(images[place], told["reader"])
        if _has_mark(numbers, layout, f"{path}, row {row}"):
            _add_row(builder, layout, row, images[place], told, numbers)
            comments.append(told["comment"])
    found = builder.build()
    if any(comments):
        found = MarkSet(found.marks.assign(comment=comments), found.readings, found.images)
    return found


def _has_mark(numbers: dict[str, float], layout: Layout, place: str) -> bool:
    """Whether a row has a mark: not if all its numbers are empty; if only some are missing, it is an error."""
    missing = [role for role in layout.shape if math.isnan(numbers[role])]
    if missing and len(missing) < len(layout.shape):
        raise FormatError(
            f"{place}, column {layout.columns[missing[0]]}: is empty (fill all of {', '.join(layout.shape)}, or none "
            "if the reader marked nothing)"
        )
    return not missing


def _add_row(
    builder: MarkSetBuilder,
    layout: Layout,
    row: int,
    image_id: str,
    told: dict[str, str],
    numbers: dict[str, float],
) -> None:
    """Add the mark of one row."""
    shape = _place_and_size(layout, numbers, builder, image_id)
    turn = 0.0 if math.isnan(numbers.get("angle", math.nan)) else numbers["angle"]
    turn = -turn if layout.options.angle == "counterclockwise" else turn
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
        **shape._replace(angle_deg=turn)._asdict(),
        label=told["label"],
        confidence=confidence,
        place=f"row {row}",
        in_mm=layout.options.unit == "mm",
    )


def _place_and_size(
    layout: Layout, numbers: dict[str, float], builder: MarkSetBuilder, image_id: str
) -> DrawnEllipse:
    """Centre and semi-axes of a row in pixels, or in mm if the file is in mm."""
    across, down = _scale_of(layout, builder, image_id)
    values = [numbers[role] for role in layout.shape]
    x, y = values[0] * across, values[1] * down
    match layout.shape[2:]:
        case ("x_max", "y_max"):
            return DrawnEllipse.fill_box(x, y, values[2] * across, values[3] * down)
        case ("width", "height"):
            a, b = values[2] * across / 2, values[3] * down / 2
            return DrawnEllipse((x + a, y + b) if layout.options.xy == "corner" else (x, y), (a, b))
        case ("radius_x", "radius_y"):
            return DrawnEllipse((x, y), (values[2] * across, values[3] * down))
        case ("diameter" | "radius" as role,):
            if across != down:
                raise FormatError(
                    f"{builder.source}: image {quote_cell(image_id)} is not square, so a {role} cannot be a "
                    "fraction of both its sides (give width and height)"
                )
            size = values[2] * across * (0.5 if role == "diameter" else 1.0)
            return DrawnEllipse((x, y), (size, size))
    # A point becomes a circle of the given radius.
    radius = layout.options.radius_mm or math.nan
    sides = (1.0, 1.0) if layout.options.unit == "mm" else builder.mm_per_px_of_file(image_id)
    return DrawnEllipse((x, y), (radius / sides[0], radius / sides[1]))


def _scale_of(layout: Layout, builder: MarkSetBuilder, image_id: str) -> tuple[float, float]:
    """Factors from the file's lengths to pixels, or to mm if the file is in mm."""
    if layout.options.unit == "px":
        return 1.0, 1.0
    if builder.spacings.scale is not None:
        raise FormatError(f"{builder.source}: lengths are in {layout.options.unit}. Remove --scale.")
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
