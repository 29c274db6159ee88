"""Colour images, as fractions of full scale; images for a viewer, with all bits and the file's display settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import ImageError
from overread.images._dicom_facts import facts_of
from overread.images._display import exact_window, percentile_window
from overread.images._pictures import read_colour
from overread.images._reading import file_content, name_errors, picture_kind, read_source
from overread.images._sketch import sketch
from overread.images._source import LookupTable, Rescale, SourceImage, Window
from overread.images._spacing import FileSpacing


def read_channels(path: str | Path) -> NDArray[np.float32]:
    """Read the channels of a picture: rows x columns x 1 (grey) or 3 (red, green, blue), from 0 to 1."""
    image = _read_colour_or_grey(path)
    if not isinstance(image, SourceImage):
        return image.astype(np.float32) / np.float32(255.0)
    low, high = image.bits_range
    grey = (image.measured() - np.float32(low)) / np.float32(max(high - low, 1.0))
    return np.asarray(grey, dtype=np.float32)[..., None]


def _read_colour_or_grey(path: str | Path) -> NDArray[np.uint8] | SourceImage:
    """Read a file in true colour, else as a grey image."""

    def work() -> NDArray[np.uint8] | None:
        content = file_content(Path(path))
        kind = picture_kind(content)
        return None if kind is None else read_colour(content, kind)

    colour = name_errors(path, work)
    return read_source(path) if colour is None else colour


def fingerprint_channels(channels: NDArray[np.float32]) -> str:
    """SHA-256 of the shape and the values of a picture's channels: equal for two files that show the same image."""
    rows, columns, count = channels.shape
    digest = hashlib.sha256(f"{rows}x{columns}x{count}:".encode())
    digest.update(np.ascontiguousarray(channels, dtype="<f4").tobytes())
    return digest.hexdigest()


def sketch_channels(channels: NDArray[np.float32]) -> str:
    """Sketch of a picture's brightness from `overread.images._sketch.sketch`."""
    return sketch(channels.mean(axis=2, dtype=np.float32))


# PatientOrientation's letters (PS3.3 C.7.6.1.1.1): the row runs towards this side, so it starts at the other one.
OTHER_SIDE = {"L": "R", "R": "L"}


@short_repr()
@dataclass(frozen=True, eq=False)
class ViewedImage:
    """Pixels for a viewer, not reduced to 8 bits."""

    pixels: NDArray[np.uint16] | NDArray[np.uint8]  # grey, or rows x columns x 3 (red, green, blue)
    bits: int  # needed for the values; 8 in colour
    center: float  # window centre in the values of `pixels`: the file's, else from percentiles
    width: float
    inverted: bool  # low values are shown white
    spacing: FileSpacing
    left: str = ""  # side of the patient at the left edge; empty if unknown
    right: str = ""


def read_for_viewing(path: str | Path) -> ViewedImage:
    """Read a DICOM, PNG, TIFF or JPEG file with all its bits."""
    image = _read_colour_or_grey(path)
    if not isinstance(image, SourceImage):
        return ViewedImage(image, 8, 127.5, 255.0, False, FileSpacing())
    viewed = name_errors(path, lambda: _grey_for_viewing(image))
    row_end = name_errors(path, lambda: facts_of(Path(path))).orientation.split("\\")[0][:1]
    start = OTHER_SIDE.get(row_end, "")
    return replace(viewed, left=start, right=row_end if start else "")


def _grey_for_viewing(source: SourceImage) -> ViewedImage:
    """Values on their scale, shifted to start at 0 if signed; padding has the darkest value."""
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
    """Values to send, the window in their units, and whether they decrease with the modality's values.

    A linear rescale is not applied; the window is converted to stored values instead. A look-up table is applied,
    because no window can replace it.
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
