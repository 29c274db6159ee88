"""What every importer needs: pixel spacings, sizes of copies, and a builder of the three tables.

What an import leaves out: counted by kind, named with the option that takes it, never silent.
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
    "neither the file nor an images table tells its mm per pixel: give mm_per_px (--mm-per-px), or an images table "
    "(--images) that lists the image by its id or its file, with mm_per_px_x and mm_per_px_y"
)
"""What to do about an image whose size of a pixel is not known."""


@dataclass(frozen=True)
class Spacings:
    """Millimetres per pixel, one pair for all images or one for each, and what else is known of the images.

    Parameters
    ----------
    everywhere : tuple of float or None
        Spacing (x, y) of images that are not listed.
    listed : mapping
        Rows of a user's images table by image id; images are found in it as `ImageNames` does.
    others_go : bool
        Whether images that are not listed will be left out later, so that they need no spacing.
    scale : float or None
        Factor from the file's pixels to those of the images, where the user gives it.
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
        """Spacings from a number, a pair (x, y), an images table, or both, where the table wins."""
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
        """Images of the table, to be found by whatever they are called."""
        return ImageNames({image: str(row.get("path", "")) for image, row in self.listed.items()})

    @cached_property
    def instances(self) -> dict[str, str]:
        """Image id by SOP instance UID, of the images whose UID the table tells.

        Raises
        ------
        FormatError
            If two images have one UID: marks on it may belong to either.
        """
        found: dict[str, str] = {}
        for image_id, row in self.listed.items():
            uid = str(row.get("sop_instance_uid", ""))
            if uid and (owner := found.setdefault(uid, image_id)) != image_id:
                raise FormatError(
                    f"the images table, column sop_instance_uid: {quote_cell(owner)} and {quote_cell(image_id)} have"
                    f" {uid} (empty the cell of the one that is a copy)"
                )
        return found

    def listed_name(self, image_id: str) -> str | None:
        """Id in the table that an image goes by."""
        return self.names.find(image_id)

    def row(self, image_id: str) -> Mapping[str, Any]:
        """Find what the table tells of an image, but for its id."""
        found = self.listed.get(self.listed_name(image_id) or "", {})
        return {column: value for column, value in found.items() if column != "image_id"}

    def size(self, image_id: str) -> tuple[float, float]:
        """Width and height of an image in px, NaN where the table does not tell them."""
        row = self.row(image_id)
        return float(row.get("width_px", math.nan)), float(row.get("height_px", math.nan))

    def find(self, image_id: str) -> tuple[float, float] | None:
        """Spacing (x, y) of an image, or None where nobody told it."""
        row = self.row(image_id)
        x, y = row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan)
        return self.everywhere if math.isnan(x) or math.isnan(y) else (x, y)


def _pair_of(mm_per_px: float | tuple[float, float]) -> tuple[float, float]:
    """Spacing (x, y) of one number or two, which must be positive."""
    x, y = (mm_per_px, mm_per_px) if isinstance(mm_per_px, int | float) else mm_per_px
    if not all(math.isfinite(value) and value > 0 for value in (x, y)):
        raise InvalidInputError(
            f"mm_per_px is {mm_per_px!r}; give one or two positive numbers, such as 0.143"
        )
    return float(x), float(y)


def scale_of_copy(stated: tuple[float, float], actual: tuple[float, float]) -> tuple[float, float] | None:
    """Factors (x, y) from the pixels of a scaled copy to those of the image; None where it cannot be such a copy.

    The sides of a scaled copy are rounded, both up, both down or both to the nearest pixel: the scales of the two sides
    then differ by at most one over the shorter side of the larger picture. Swapped sides are a turned image, however
    nearly square it is.
    """
    if stated == actual[::-1] != actual:
        return None
    small, large = sorted((stated, actual))
    if abs(small[0] / large[0] - small[1] / large[1]) > 1 / min(large):
        return None
    return actual[0] / stated[0], actual[1] / stated[1]


@dataclass
class MarkSetBuilder:
    """Collects images, readings and marks in pixels, and gives the tables in millimetres, or in pixels of 1 x 1.

    Where the file states the size of an image, its pixels are those of a picture of that size: on a copy of another
    size they are scaled to the image, and a size that no scaled copy has is refused.

    Parameters
    ----------
    source : str
        File that is being read, for messages.
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
    # What is left out, by kind: shapes, readings that hold nothing else, and whatever else there is to say.
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
        """Note an image; noting it again with another path or size is an error, a size not known before is kept."""
        if not image_id:
            raise FormatError(f"{self.source}: an image without an id")
        pair = self.spacings.find(image_id) or mm_per_px or (math.nan, math.nan)
        row = {
            "image_id": image_id,
            "patient_id": patient_id,
            "path": path,
            "mm_per_px_x": pair[0],
            "mm_per_px_y": pair[1],
            "width_px": width or math.nan,  # some tools write 0 where they do not know it
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
                    f"{self.source}: image {quote_cell(image_id)} is there twice, with {name} {known[name]} "
                    f"and {value} (give different images different ids)"
                )
            known[name] = value
        self.scales[image_id] = self._find_scale(image_id)

    def _find_scale(self, image_id: str) -> tuple[float, float]:
        """Factors from the file's pixels of an image to its own: by the sizes that are known, or as the user says."""
        own = self.spacings.scale or 1.0
        stated = self.images[image_id]["width_px"], self.images[image_id]["height_px"]
        actual = self.spacings.size(image_id)
        if any(map(math.isnan, (*stated, *actual))) or stated == actual:
            return own, own
        sizes = (
            f"{self.source}: image {quote_cell(image_id)} has {actual[0]:g} x {actual[1]:g} px, and the file states "
            f"{stated[0]:g} x {stated[1]:g}"
        )
        found = scale_of_copy(stated, actual)
        if found is None:
            raise FormatError(
                f"{sizes}, which is no copy of it at another scale (turned, cropped, or another image? Give the marks "
                "in pixels of this image)"
            )
        if self.spacings.scale is not None:
            raise FormatError(f"{sizes}, which tells the scale already (leave --scale out)")
        return found

    def add_reading(self, image_id: str, reader_id: str) -> None:
        """Note that a reader read an image."""
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
        """Note a mark in pixels, or in mm; its first semi-axis points along ``angle_deg``."""
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
        """Count the shapes of a reading that are left out; tell whether it holds nothing else.

        An image on which a reader drew a shape that is left out is not a reading without marks: without marks it is
        left out too.
        """
        self.shapes.update(kinds)
        if kinds:
            self.left_out.add((image_id, reader))
        is_all = 0 < len(kinds) == all_shapes
        self.only_such += is_all
        return is_all

    def confidence_in(self, attributes: Mapping[str, Any]) -> float:
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
            self.notes[f"values of {name!r} that are not numbers (their marks stay)"] += 1
        return math.nan

    def mm_per_px_of_file(self, image_id: str) -> tuple[float, float]:
        """Millimetres (x, y) of a pixel of the file, which may be of a copy at another scale."""
        known, scale = self.images[image_id], self.scales[image_id]
        return known["mm_per_px_x"] * scale[0], known["mm_per_px_y"] * scale[1]

    def build(self) -> MarkSet:
        """Tables; columns that nobody filled are left out.

        Raises
        ------
        FormatError
            If all marks lie within the first pixel of their images: they are fractions.

        Warns
        -----
        DataWarning
            With what was left out, and with the number of marks that were drawn on copies at another scale.
        """
        self._say_what_was_left_out()
        in_px = [mark for mark in self.marks if not mark["in_mm"]]
        if in_px and all(map(self._lies_in_first_pixel, in_px)):
            raise FormatError(
                f"{self.source}: all {len(in_px)} marks lie within the first pixel of their images: are they fractions "
                "of its width and height? (write pixels; in a spreadsheet, say --unit fraction)"
            )
        self._say_what_was_scaled(in_px)
        readings = pd.DataFrame([*self.readings], columns=["image_id", "reader_id"], dtype="str")
        return MarkSet(self._marks_table(), readings, self._images_table(), frozenset(self.left_out))

    def _lies_in_first_pixel(self, mark: Mapping[str, Any]) -> bool:
        across, down = self.scales[mark["image_id"]]
        x, y, a, b = (mark[name] for name in ELLIPSE_COLUMNS[:4])
        return max(x * across, y * down, a * across, b * down) <= 1

    def _say_what_was_left_out(self) -> None:
        """Warn once of what was left out, if anything was."""
        told = [
            f"{count} {kind}{'' if count == 1 else 'es' if kind.endswith('x') else 's'}"
            f"{f' ({TAKEN_BY[kind]})' if kind in TAKEN_BY else ''}"
            for kind, count in self.shapes.items()
        ]
        if self.only_such:
            told.append(f"{self.only_such} readings that hold nothing else")
        told += [f"{count} {text}" for text, count in self.notes.items()]
        if told:
            warnings.warn(f"{self.source}: left out: {', '.join(told)}", DataWarning, stacklevel=4)

    def _say_what_was_scaled(self, marks: list[dict[str, Any]]) -> None:
        """Warn once of marks that were drawn on copies at another scale."""
        own = self.spacings.scale or 1.0
        copies = [mark["image_id"] for mark in marks if self.scales[mark["image_id"]] != (own, own)]
        if copies:
            stated, actual = self.images[copies[0]], self.spacings.size(copies[0])
            warnings.warn(
                f"{self.source}: {len(copies)} marks on {len(set(copies))} images were drawn on copies at another "
                f"scale and are scaled to the images; {quote_cell(copies[0])}: from {stated['width_px']:g} x "
                f"{stated['height_px']:g} to {actual[0]:g} x {actual[1]:g} px",
                DataWarning,
                stacklevel=3,
            )

    def _marks_table(self) -> pd.DataFrame:
        """Give the marks as ellipses in mm; in px where every pixel is 1 x 1, which says that no size is known."""
        table = pd.DataFrame(self.marks, columns=[*MARK_TYPES]).astype(MARK_TYPES)
        shape = list(ELLIPSE_COLUMNS)
        table[shape] = rescale_ellipses(table[shape], table.pop("scale_x"), table.pop("scale_y"))
        known = {(row["mm_per_px_x"], row["mm_per_px_y"]) for row in self.images.values()}
        in_px = known == {(1.0, 1.0)} and not any(mark["in_mm"] for mark in self.marks)
        return named(_without_empty(table, ("confidence", "label")), "px" if in_px else "mm")

    def _images_table(self) -> pd.DataFrame:
        """Images, with what the user's own images table tells of them."""
        self.spacings.names.find_all(self.images)
        # By a scale of the user's, the size that the file states is that of a copy.
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
    """Give the marks of an image, each with its ellipse in px.

    What the format states, such as percent, and the sizes of the image that this needs are for the message.
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
    """Table without the optional columns that hold nothing."""
    empty = [name for name in optional if (table[name].isna() | (table[name] == "")).all()]
    return table.drop(columns=empty)


TAKEN_BY = {"box": "count with --boxes", "polygon": "become ellipses with --polygons ellipse"}


def is_confidence(name: str) -> bool:
    """Whether an attribute of a mark, or a control of a tool, is the reader's confidence by its name."""
    return name.strip().casefold() in ("confidence", "certainty")
