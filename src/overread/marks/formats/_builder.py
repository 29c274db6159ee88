"""Tools of all importers: pixel sizes, sizes of copies, and a builder of the three tables.

Skipped shapes are counted by kind and reported with the option that imports them.
"""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from overread.errors import DataWarning, FormatError, InvalidInputError, TableError
from overread.marks._ellipse import ELLIPSE_COLUMNS, rescale_ellipses
from overread.marks._file_names import ImageNames
from overread.marks._mark_set import MarkSet
from overread.tables import (
    SCHEMAS,
    check_images,
    named,
    parse_number,
    plain,
    quote_cell,
    raise_for_errors,
    read_table,
)

NO_SPACING = (
    "neither the file nor an images table states its pixel size. Give mm_per_px (--mm-per-px), or an images table "
    "(--images) with the image's id or file, mm_per_px_x and mm_per_px_y."
)
"""Remedy for an image with an unknown pixel size."""


@dataclass(frozen=True)
class Spacings:
    """Pixel sizes in mm, one for all images or one per image, and other facts on the images.

    Parameters
    ----------
    everywhere : tuple of float or None
        Pixel size (x, y) of images that are not listed.
    listed : mapping
        Rows of a user's images table by image id; images are found as by `ImageNames`.
    others_go : bool
        Whether images that are not listed will be skipped later, so that they need no pixel size.
    scale : float or None
        Factor from the file's pixels to the image's pixels, if the user gives it.
    """

    everywhere: tuple[float, float] | None = None
    listed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    others_go: bool = False
    scale: float | None = None

    @classmethod
    def of(
        cls,
        mm_per_px: float | tuple[float, float] | None = None,
        images: pd.DataFrame | str | Path | None = None,
        *,
        others_go: bool = False,
        scale: float | None = None,
    ) -> Self:
        """Make spacings from a number, a pair (x, y), an images table, or both; the table takes precedence."""
        pair = None if mm_per_px is None else _pair_of(mm_per_px)
        if scale is not None and not 0 < scale < math.inf:
            raise InvalidInputError(f"scale is {scale!r}; give a positive number, such as 0.5")
        if images is None:
            return cls(pair, scale=scale)
        table = images if isinstance(images, pd.DataFrame) else read_table(images, "images")
        raise_for_errors(check_images(table))
        return cls(pair, {str(row["image_id"]): row for row in records(table)}, others_go, scale)

    @cached_property
    def names(self) -> ImageNames:
        """Images of the table, found by any of their names."""
        return ImageNames({image: str(row.get("path", "")) for image, row in self.listed.items()})

    @cached_property
    def instances(self) -> dict[str, str]:
        """Image id by SOP instance UID, for images with a UID in the table.

        Raises
        ------
        FormatError
            If two images have the same UID.
        """
        found: dict[str, str] = {}
        for image_id, row in self.listed.items():
            uid = str(row.get("sop_instance_uid", ""))
            if uid and (owner := found.setdefault(uid, image_id)) != image_id:
                raise FormatError(
                    f"the images table, column sop_instance_uid: {quote_cell(owner)} and {quote_cell(image_id)} have"
                    f" {uid} (clear the cell of the copy)"
                )
        return found

    def listed_name(self, image_id: str) -> str | None:
        """Return the table's id of an image."""
        return self.names.find(image_id)

    def row(self, image_id: str) -> Mapping[str, Any]:
        """Return the table's facts on an image, without its id."""
        found = self.listed.get(self.listed_name(image_id) or "", {})
        return {column: value for column, value in found.items() if column != "image_id"}

    def size(self, image_id: str) -> tuple[float, float]:
        """Width and height of an image in px; NaN if the table does not state them."""
        row = self.row(image_id)
        return float(row.get("width_px", math.nan)), float(row.get("height_px", math.nan))

    def find(self, image_id: str) -> tuple[float, float] | None:
        """Pixel size (x, y) of an image, or None if unknown."""
        row = self.row(image_id)
        x, y = row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan)
        return self.everywhere if math.isnan(x) or math.isnan(y) else (x, y)


def _pair_of(mm_per_px: float | tuple[float, float]) -> tuple[float, float]:
    """Pixel size (x, y) from one or two positive numbers."""
    x, y = (mm_per_px, mm_per_px) if isinstance(mm_per_px, int | float) else mm_per_px
    if not all(math.isfinite(value) and value > 0 for value in (x, y)):
        raise InvalidInputError(
            f"mm_per_px is {mm_per_px!r}; give one or two positive numbers, such as 0.143"
        )
    return float(x), float(y)


def scale_of_copy(stated: tuple[float, float], actual: tuple[float, float]) -> tuple[float, float] | None:
    """Factors (x, y) from the pixels of a scaled copy to those of the image; None if it cannot be such a copy.

    The sides of a scaled copy are rounded, both up, both down or both to the nearest pixel: the scales of the two sides
    then differ by at most one over the shorter side of the larger picture. Swapped sides are a turned image, even if it
    is nearly square.
    """
    if stated == actual[::-1] != actual:
        return None
    small, large = sorted((stated, actual))
    if abs(small[0] / large[0] - small[1] / large[1]) > 1 / min(large):
        return None
    return actual[0] / stated[0], actual[1] / stated[1]


@dataclass
class MarkSetBuilder:
    """Collect images, readings and marks in pixels, and build the tables in millimetres, or in pixels of 1 x 1.

    If the file states the size of an image, marks on a copy of that size are scaled to the image, and a size that no
    scaled copy has is refused.

    Parameters
    ----------
    source : str
        File name for messages.
    spacings : Spacings
        Millimetres per pixel.
    """

    source: str
    spacings: Spacings = field(default_factory=Spacings)
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    readings: dict[tuple[str, str], None] = field(default_factory=dict)
    left_out: set[tuple[str, str]] = field(default_factory=set)
    marks: list[dict[str, Any]] = field(default_factory=list)
    mark_ids: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    # Counts of skipped shapes by kind, of readings with nothing else, and further notes.
    shapes: Counter[str] = field(default_factory=Counter)
    only_such: int = 0
    notes: Counter[str] = field(default_factory=Counter)

    def add_image(
        self,
        image_id: str,
        *,
        path: str = "",
        patient_id: str = "",
        width: float = math.nan,
        height: float = math.nan,
        mm_per_px: tuple[float, float] | None = None,
    ) -> None:
        """Add an image. Adding it again with another path or size is an error; a size unknown before is kept."""
        if not image_id:
            raise FormatError(f"{self.source}: an image without an id")
        pair = self.spacings.find(image_id) or mm_per_px or (math.nan, math.nan)
        row = {
            "image_id": image_id,
            "patient_id": patient_id,
            "path": path,
            "mm_per_px_x": pair[0],
            "mm_per_px_y": pair[1],
            "width_px": width or math.nan,  # some tools write 0 for unknown
            "height_px": height or math.nan,
        }
        known = self.images.setdefault(image_id, row)
        if known == row and image_id in self.scales:
            return
        for name, value in row.items():
            if value != value:
                continue
            if known[name] == known[name] and value != known[name]:
                raise FormatError(
                    f"{self.source}: image {quote_cell(image_id)} occurs twice, with {name} {known[name]} "
                    f"and {value} (give the images different ids)"
                )
            known[name] = value
        self.scales[image_id] = self._find_scale(image_id)

    def _find_scale(self, image_id: str) -> tuple[float, float]:
        """Factors from the file's pixels to the image's pixels: from known sizes, or given by the user."""
        own = self.spacings.scale or 1.0
        stated = self.images[image_id]["width_px"], self.images[image_id]["height_px"]
        actual = self.spacings.size(image_id)
        if any(map(math.isnan, (*stated, *actual))) or stated == actual:
            return own, own
        sizes = (
            f"{self.source}: image {quote_cell(image_id)} has {actual[0]:g} x {actual[1]:g} px, but the file states "
            f"{stated[0]:g} x {stated[1]:g}"
        )
        found = scale_of_copy(stated, actual)
        if found is None:
            raise FormatError(
                f"{sizes}, which is not a scaled copy of it (is it turned, cropped, or another image? Give the marks "
                "in pixels of this image)"
            )
        if self.spacings.scale is not None:
            raise FormatError(f"{sizes}, which already states the scale. Remove --scale.")
        return found

    def add_reading(self, image_id: str, reader_id: str) -> None:
        """Add a reading of an image by a reader."""
        if not reader_id:
            raise FormatError(f"{self.source}: a reading of image {quote_cell(image_id)} without a reader")
        self.readings[image_id, reader_id] = None

    def add_mark(
        self,
        image_id: str,
        reader_id: str,
        mark_id: str,
        *,
        centre: tuple[float, float],
        semi_axes: tuple[float, float],
        angle_deg: float = 0.0,
        label: str = "",
        confidence: float = math.nan,
        place: str = "",
        in_mm: bool = False,
    ) -> None:
        """Add a mark in pixels, or in mm; its first semi-axis points along ``angle_deg``."""
        where = f"{self.source}{', ' + place if place else ''}: mark {quote_cell(mark_id)}"
        if not mark_id:
            raise FormatError(f"{self.source}, {place}: a mark without an id")
        if not all(math.isfinite(value) for value in (*centre, angle_deg)):
            raise FormatError(f"{where} has a centre or an angle that is not finite")
        if not all(math.isfinite(value) and value > 0 for value in semi_axes):
            raise FormatError(
                f"{where} has semi-axes {semi_axes[0]:.6g} and {semi_axes[1]:.6g}; both must be positive"
            )
        scale = (1.0, 1.0) if in_mm else self.mm_per_px_of_file(image_id)
        if math.isnan(scale[0]) and self.spacings.others_go and not self.spacings.listed_name(image_id):
            scale = (1.0, 1.0)
        if math.isnan(scale[0]):
            raise FormatError(f"{self.source}: image {quote_cell(image_id)}: {NO_SPACING}")
        self.mark_ids[image_id].add(mark_id)
        self.marks.append(
            {
                "image_id": image_id,
                "reader_id": reader_id,
                "mark_id": mark_id,
                **dict(zip(ELLIPSE_COLUMNS, (*centre, *semi_axes, angle_deg), strict=True)),
                "confidence": confidence,
                "label": label,
                "scale_x": scale[0],
                "scale_y": scale[1],
                "in_mm": in_mm,
            }
        )

    def leave_out(self, kinds: Sequence[str], image_id: str, reader: str, *, all_shapes: int) -> bool:
        """Count the skipped shapes of a reading; return whether it has nothing else.

        A reading with only skipped shapes is not a reading without marks, so it is skipped too.
        """
        self.shapes.update(kinds)
        if kinds:
            self.left_out.add((image_id, reader))
        is_all = 0 < len(kinds) == all_shapes
        self.only_such += is_all
        return is_all

    def confidence_in(self, attributes: Mapping[str, Any]) -> float:
        """Return the confidence unchanged; one that is not a number is counted as lost."""
        for name, value in attributes.items():
            if not is_confidence(name) or value is None or value == "":
                continue
            try:
                number = parse_number(value) if isinstance(value, str) else float(value)
            except (ValueError, TypeError):
                number = math.nan
            if math.isfinite(number) and not isinstance(value, bool):
                return number
            self.notes[f"values of {name!r} that are not numbers (their marks stay)"] += 1
        return math.nan

    def mm_per_px_of_file(self, image_id: str) -> tuple[float, float]:
        """Pixel size in mm (x, y) of the file, which may be of a scaled copy."""
        known, scale = self.images[image_id], self.scales[image_id]
        return known["mm_per_px_x"] * scale[0], known["mm_per_px_y"] * scale[1]

    def build(self) -> MarkSet:
        """Build the tables without empty optional columns.

        Raises
        ------
        FormatError
            If all marks lie within the first pixel of their images: they are fractions.

        Warns
        -----
        DataWarning
            With the counts of skipped shapes and of marks that were drawn on scaled copies.
        """
        self._say_what_was_left_out()
        in_px = [mark for mark in self.marks if not mark["in_mm"]]
        if in_px and all(map(self._lies_in_first_pixel, in_px)):
            raise FormatError(
                f"{self.source}: all {len(in_px)} marks lie within the first pixel of their images. Are they fractions "
                "of its width and height? (write pixels; for a spreadsheet, give --unit fraction)"
            )
        self._say_what_was_scaled(in_px)
        readings = pd.DataFrame([*self.readings], columns=["image_id", "reader_id"], dtype="str")
        return MarkSet(self._marks_table(), readings, self._images_table(), frozenset(self.left_out))

    def _lies_in_first_pixel(self, mark: Mapping[str, Any]) -> bool:
        across, down = self.scales[mark["image_id"]]
        x, y, a, b = (mark[name] for name in ELLIPSE_COLUMNS[:4])
        return max(x * across, y * down, a * across, b * down) <= 1

    def _say_what_was_left_out(self) -> None:
        """Warn once about skipped shapes, if any."""
        told = [
            f"{count} {kind}{'' if count == 1 else 'es' if kind.endswith('x') else 's'}"
            f"{f' ({TAKEN_BY[kind]})' if kind in TAKEN_BY else ''}"
            for kind, count in self.shapes.items()
        ]
        if self.only_such:
            told.append(f"{self.only_such} readings with nothing else")
        told += [f"{count} {text}" for text, count in self.notes.items()]
        if told:
            warnings.warn(f"{self.source}: skipped: {', '.join(told)}", DataWarning, stacklevel=4)

    def _say_what_was_scaled(self, marks: list[dict[str, Any]]) -> None:
        """Warn once about marks that were drawn on scaled copies."""
        own = self.spacings.scale or 1.0
        copies = [mark["image_id"] for mark in marks if self.scales[mark["image_id"]] != (own, own)]
        if copies:
            stated, actual = self.images[copies[0]], self.spacings.size(copies[0])
            warnings.warn(
                f"{self.source}: {len(copies)} marks on {len(set(copies))} images were drawn on copies of another "
                f"size and are scaled to the images; {quote_cell(copies[0])}: from {stated['width_px']:g} x "
                f"{stated['height_px']:g} to {actual[0]:g} x {actual[1]:g} px",
                DataWarning,
                stacklevel=3,
            )

    def _marks_table(self) -> pd.DataFrame:
        """Return the marks as ellipses in mm; in px if every pixel is 1 x 1, which means that its size is unknown."""
        table = pd.DataFrame(self.marks, columns=[*MARK_TYPES]).astype(MARK_TYPES)
        shape = list(ELLIPSE_COLUMNS)
        table[shape] = rescale_ellipses(table[shape], table.pop("scale_x"), table.pop("scale_y"))
        known = {(row["mm_per_px_x"], row["mm_per_px_y"]) for row in self.images.values()}
        in_px = known == {(1.0, 1.0)} and not any(mark["in_mm"] for mark in self.marks)
        return named(_without_empty(table, ("confidence", "label")), "px" if in_px else "mm")

    def _images_table(self) -> pd.DataFrame:
        """Images, with the facts of the user's images table."""
        self.spacings.names.find_all(self.images)
        # With a scale from the user, the size in the file is that of a copy.
        unknown = (
            {"width_px": math.nan, "height_px": math.nan} if self.spacings.scale not in (None, 1) else {}
        )
        rows = [
            {**row, **unknown, **nonempty_cells(self.spacings.row(name))} for name, row in self.images.items()
        ]
        names = dict.fromkeys([column.name for column in SCHEMAS["images"].columns])
        names |= dict.fromkeys(name for row in rows for name in row)
        columns = {
            name: pd.Series(
                [row.get(name, "") for row in rows], dtype="float64" if name in IMAGE_NUMBERS else "str"
            )
            for name in names
        }
        return _without_empty(pd.DataFrame(columns), [name for name in names if name != "image_id"])


MARK_TYPES = {
    **dict.fromkeys(("image_id", "reader_id", "mark_id"), "str"),
    **dict.fromkeys((*ELLIPSE_COLUMNS, "confidence"), "float64"),
    "label": "str",
    **dict.fromkeys(("scale_x", "scale_y"), "float64"),
}
IMAGE_NUMBERS = ("mm_per_px_x", "mm_per_px_y", "width_px", "height_px")


def records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of a table as mappings."""
    for row in table.itertuples(index=False, name=None):
        yield dict(zip(table.columns, row, strict=True))


def ellipses_in_px(
    marks: pd.DataFrame, image: Mapping[str, Any], what: str, *, sizes: Sequence[str] = ()
) -> Iterator[tuple[dict[str, Any], list[float]]]:
    """Return the marks of an image, each with its ellipse in px.

    The arguments name the unit of the format, such as percent, and the needed sizes for the message.
    """
    marks, unit = plain(marks)
    needed = [*(() if unit == "px" else ("mm_per_px_x", "mm_per_px_y")), *sizes]
    known = [float(image.get(name, math.nan)) for name in needed]
    if not all(map(math.isfinite, known)):
        raise TableError(
            f"images: image {quote_cell(image['image_id'])}: {what} need the columns {', '.join(needed)} (overread "
            "init fills them from the image files)"
        )
    sx, sy = (1.0, 1.0) if unit == "px" else known[:2]
    ellipses = rescale_ellipses(marks[list(ELLIPSE_COLUMNS)].to_numpy(float), 1 / sx, 1 / sy)
    return zip(records(marks), ellipses.tolist(), strict=True)


def nonempty_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Cells of a row that are not empty."""
    return {name: value for name, value in row.items() if value == value and value != ""}


def _without_empty(table: pd.DataFrame, optional: Iterable[str]) -> pd.DataFrame:
    """Table without empty optional columns."""
    empty = [name for name in optional if (table[name].isna() | (table[name] == "")).all()]
    return table.drop(columns=empty)


TAKEN_BY = {"box": "import with --boxes", "polygon": "import as ellipses with --polygons ellipse"}


def is_confidence(name: str) -> bool:
    """Whether the name of an attribute or control is that of the reader's confidence."""
    return name.strip().casefold() in ("confidence", "certainty")
