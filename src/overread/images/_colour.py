"""Pictures of any number of channels, as shares of full scale: for studies that are not of radiographs.

An image as a viewer wants it: every bit that was stored, and how the file wants to be shown.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread._text import short_repr
from overread.errors import ImageError
from overread.images._dicom_facts import facts_of
from overread.images._display import exact_window, percentile_window
from overread.images._limits import check_shape
from overread.images._pictures import check_layout
from overread.images._reading import file_content, name_errors, picture_kind, read_source
from overread.images._sketch import sketch
from overread.images._source import LookupTable, Rescale, SourceImage, Window
from overread.images._spacing import FileSpacing


def read_channels(path: str | Path) -> NDArray[np.float32]:
    """Read the channels of a picture: rows x columns x 1 (grey) or 3 (red, green, blue), from 0 to 1.

    Parameters
    ----------
    path
        DICOM (grey), PNG, TIFF or JPEG file of 8 bits a channel in colour, of 8 or 16 in grey.

    Raises
    ------
    ImageError
        If the file is damaged, too large, transparent, turned, or of several pages.
    """
    content = name_errors(path, lambda: file_content(Path(path)))
    kind = picture_kind(content)
    if kind is not None:
        colour = name_errors(path, lambda: read_colour(content, kind))
        if colour is not None:
            return colour
    source = read_source(path)
    low, high = source.bits_range
    grey = (source.measured() - np.float32(low)) / np.float32(max(high - low, 1.0))
    return np.asarray(grey, dtype=np.float32)[..., None]


def read_colour(content: bytes, kind: str) -> NDArray[np.float32] | None:
    """Decode true colour of 8 bits a channel; None for what the reader of grey pictures knows better."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(content), formats=[kind]) as picture:
            check_shape(picture.height, picture.width)
            if picture.mode not in ("RGB", "RGBA", "P"):
                return None
            check_layout(picture)
            pixels = np.asarray(picture.convert("RGBA"))
    if (pixels[..., 3] != 255).any():
        raise ImageError("the image is partly transparent; save it opaque")
    rgb = pixels[..., :3]
    if (rgb[..., :1] == rgb[..., 1:]).all():
        return None
    return np.asarray(rgb, dtype=np.float32) / np.float32(255.0)


def fingerprint_channels(channels: NDArray[np.float32]) -> str:
    """SHA-256 of the shape and the values of a picture's channels: of two files that show the same it is the same."""
    rows, columns, count = channels.shape
    digest = hashlib.sha256(f"{rows}x{columns}x{count}:".encode())
    digest.update(np.ascontiguousarray(channels, dtype="<f4").tobytes())
    return digest.hexdigest()


def sketch_channels(channels: NDArray[np.float32]) -> str:
    """Sketch of a picture's brightness, as `overread.images._sketch.sketch` makes it."""
    return sketch(channels.mean(axis=2, dtype=np.float32))


# PatientOrientation's letters (PS3.3 C.7.6.1.1.1): the row runs towards this side, so the other one is at its start.
OTHER_SIDE = {"L": "R", "R": "L"}


@short_repr()
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
    viewed = name_errors(place, lambda: _grey_for_viewing(source))
    if kind is not None:
        return viewed
    row_end = name_errors(place, lambda: facts_of(place)).orientation.split("\\")[0][:1]
    start = OTHER_SIDE.get(row_end, "")
    return ViewedImage(**{**vars(viewed), "left": start, "right": row_end if start else ""})


def _grey_for_viewing(source: SourceImage) -> ViewedImage:
    """Values on their own scale, moved to begin at 0 where they are signed; padding as dark as the image gets."""
    values, window, falling = _window_of(source)
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


def _window_of(source: SourceImage) -> tuple[NDArray[Any], Window, bool]:
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
