"""An image as a viewer wants it: every bit that was stored, and how the file wants to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.errors import ImageError
from overread.images.colour import read_colour
from overread.images.dicom_facts import facts_of
from overread.images.display import exact_window, percentile_window
from overread.images.reading import file_content, name_errors, picture_kind, read_source
from overread.images.source import LookupTable, Rescale, SourceImage, Window
from overread.images.spacing import FileSpacing
from overread.one_line import print_as_one_line

__all__ = ["ViewedImage", "read_for_viewing"]

# PatientOrientation's letters (PS3.3 C.7.6.1.1.1): the row runs towards this side, so the other one is at its start.
OTHER_SIDE = {"L": "R", "R": "L"}


@print_as_one_line()
@dataclass(frozen=True, eq=False)
class ViewedImage:
    """Pixels for a viewer, not reduced to 8 bits.

    Attributes
    ----------
    pixels
        uint16, rows x columns; or uint8, rows x columns x 3 (red, green, blue).
    bits
        That the values need; 8 in colour.
    center, width
        Window of the file in the values of ``pixels``, linear, or one of percentiles where it has none.
    inverted
        Whether low values are shown white.
    spacing
        Size of a pixel as the file states it.
    left, right
        Side of the patient at the left and right edge of a frontal image; empty where the file does not say.
    """

    pixels: NDArray[np.uint16] | NDArray[np.uint8]
    bits: int
    center: float
    width: float
    inverted: bool
    spacing: FileSpacing
    left: str = ""
    right: str = ""


def read_for_viewing(path: str | Path) -> ViewedImage:
    """Read a DICOM, PNG, TIFF or JPEG file with all its bits.

    Raises
    ------
    ImageError
        If the file is damaged, too large, or of a kind that is not read.
    StorageError
        If the device fails.
    """
    place = Path(path)
    content = name_errors(place, lambda: file_content(place))
    kind = picture_kind(content)
    if kind is not None:
        colour = name_errors(place, lambda: read_colour(content, kind))
        if colour is not None:
            rgb = np.rint(colour * np.float32(255.0)).astype(np.uint8)
            return ViewedImage(rgb, 8, 127.5, 255.0, False, FileSpacing())
    source = read_source(place)
    viewed = name_errors(place, lambda: grey_for_viewing(source))
    if kind is not None:
        return viewed
    row_end = name_errors(place, lambda: facts_of(place)).orientation.split("\\")[0][:1]
    start = OTHER_SIDE.get(row_end, "")
    return ViewedImage(**{**vars(viewed), "left": start, "right": row_end if start else ""})


def grey_for_viewing(source: SourceImage) -> ViewedImage:
    """Values on their own scale, moved to begin at 0 where they are signed; padding as dark as the image gets."""
    values, window, falling = window_of(source)
    low = min(0, int(values.min(initial=0)))
    highest = int(values.max(initial=0)) - low
    if highest > np.iinfo(np.uint16).max:
        raise ImageError("has values of more than 16 bits, which the viewer does not show")
    moved = (values if low == 0 else values.astype(np.int32) - low).astype(np.uint16)
    inverted = source.inverted != falling
    if source.valid is not None:
        moved[~source.valid] = highest if inverted else 0
    return ViewedImage(
        moved,
        max(8, highest.bit_length()),
        window.center - low,
        max(window.width, 1.0),
        inverted,
        source.spacing,
    )


def window_of(source: SourceImage) -> tuple[NDArray[Any], Window, bool]:
    """Values to ship, the window in their units, and whether they fall where the modality's values rise.

    A linear rescale stays undone, and the window is carried to stored values instead; a look-up table is applied,
    because no window could do its work.
    """
    if isinstance(source.modality, Rescale) and not isinstance(source.voi, LookupTable):
        slope, intercept = source.modality.slope, source.modality.intercept
        window = exact_window(source.voi or percentile_window(source.modality(source.stored), source.valid))
        center = (window.center - intercept) / slope
        return source.stored, Window(center, abs(window.width / slope)), slope < 0.0
    values = source.modality(source.stored)
    if isinstance(source.voi, LookupTable):
        table = source.voi
        top = float((1 << table.bits) - 1)
        return np.rint(table(values)), Window(0.5 * top, top), False
    return np.rint(values), exact_window(source.voi or percentile_window(values, source.valid)), False
