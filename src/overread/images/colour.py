"""Pictures of any number of channels, as shares of full scale: for studies that are not of radiographs."""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.errors import ImageError
from overread.images.limits import check_shape
from overread.images.pictures import check_layout
from overread.images.reading import file_content, name_errors, picture_kind, read_source
from overread.images.sketch import sketch

__all__ = ["fingerprint_channels", "read_channels", "read_colour", "sketch_channels"]


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
    """Sketch of a picture's brightness, as `overread.images.sketch.sketch` makes it."""
    return sketch(channels.mean(axis=2, dtype=np.float32))
