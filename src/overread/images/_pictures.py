"""PNG, TIFF and JPEG: grey of 8 or 16 bits, also as colour whose three channels are equal; true colour of 8 bits."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from overread.errors import ImageError
from overread.images._intact import check_png_data, check_strips
from overread.images._jpeg import decode_jpeg
from overread.images._limits import check_shape
from overread.images._source import SourceImage

GREY_MODES = {"L": np.uint8, "I;16": np.uint16, "I;16L": np.uint16, "I;16B": np.uint16}
COLOUR_MODES = ("RGB", "RGBA", "LA", "P", "PA")
ORIENTATION, PHOTOMETRIC, BITS_PER_SAMPLE, SAMPLE_FORMAT = 274, 262, 258, 339
WHITE_IS_ZERO = 0
PNG_DEPTH, PNG_COLOUR_TYPE = 24, 25
"""Offsets in a PNG file: its header chunk always comes first."""


def read_grey_picture(content: bytes, kind: str) -> SourceImage:
    """Read the pixels of a PNG, TIFF or JPEG file that holds one upright, opaque grey image.

    Resolution tags (pHYs, XResolution, JFIF density) are for printers, and are not read.
    """
    with open_picture(content, kind) as picture:
        check_layout(picture)
        if kind == "TIFF":
            check_strips(content, picture.tag_v2, picture.size)
        if kind == "JPEG":
            pixels = _equal_channels(decode_jpeg(content))
        elif _is_wide_colour(content, kind, picture):
            pixels = _equal_channels(_decode_wide(content, picture))
        else:
            pixels = _grey_values(picture)
    if kind == "TIFF" and _must_invert(picture):
        pixels = np.iinfo(pixels.dtype).max - pixels
    return SourceImage(np.ascontiguousarray(pixels), (0.0, float(np.iinfo(pixels.dtype).max)))


def read_colour(content: bytes, kind: str) -> NDArray[np.uint8] | None:
    """Decode true colour of 8 bits a channel; None for what `read_grey_picture` knows better."""
    with open_picture(content, kind) as picture:
        if picture.mode not in ("RGB", "RGBA", "P"):
            return None
        check_layout(picture)
        if kind == "JPEG":
            rgb = decode_jpeg(content)
        else:
            pixels = np.asarray(picture.convert("RGBA"))
            if (pixels[..., 3] != 255).any():
                raise ImageError("the image is partly transparent; save it opaque")
            rgb = pixels[..., :3]
    return None if (rgb[..., :1] == rgb[..., 1:]).all() else rgb


@contextmanager
def open_picture(content: bytes, kind: str) -> Iterator[Image.Image]:
    """Open a picture of a size within the cap, a PNG only if it is whole."""
    if kind == "PNG":
        check_png_data(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Pillow warns before it fails on a bomb; our own cap is lower, but it opens the file first.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(content), formats=[kind]) as picture:
            check_shape(picture.height, picture.width)
            yield picture


def check_layout(picture: Image.Image) -> None:
    """Refuse what one grey image cannot mean."""
    # Counting a TIFF's pages would walk through all of them.
    several = picture.tag_v2.next != 0 if picture.format == "TIFF" else getattr(picture, "n_frames", 1) != 1
    if several:
        raise ImageError("the file holds several images; a radiograph is one")
    if picture.getexif().get(ORIENTATION, 1) != 1:
        raise ImageError("the file asks to be turned for display (EXIF orientation); save it upright")
    if "transparency" in picture.info:
        raise ImageError("the file has a transparent colour; save it opaque")
    if picture.mode not in GREY_MODES and picture.mode not in COLOUR_MODES:
        raise ImageError(f"pixels of kind {picture.mode} are not 8 or 16 bit grey")


def _is_wide_colour(content: bytes, kind: str, picture: Image.Image) -> bool:
    """Whether a PNG or TIFF has colour of 16 bits a channel, which Pillow would cut to 8; other depths are refused."""
    if kind == "PNG":
        depth, is_colour = content[PNG_DEPTH], content[PNG_COLOUR_TYPE] != 0
        if not is_colour and depth < 8:
            raise ImageError(f"a grey PNG of {depth} bits; 8 or 16 are read")
        return is_colour and depth == 16
    tags, is_colour = picture.tag_v2, picture.mode not in GREY_MODES
    if any(v != 1 for v in tags.get(SAMPLE_FORMAT, (1,))):
        raise ImageError("a TIFF of signed or floating-point pixels; unsigned 8 or 16 bits are read")
    depths = tags.get(BITS_PER_SAMPLE, (1,))
    if not is_colour and depths not in ((8,), (16,)):
        raise ImageError("a grey TIFF of neither 8 nor 16 bits")
    return is_colour and max(depths) > 8


def _decode_wide(content: bytes, picture: Image.Image) -> NDArray[Any]:
    """Pixels of colour with 16 bits a channel."""
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.shape[:2] != (picture.height, picture.width):
        raise ImageError("the pixels cannot be decoded")
    return pixels


def _grey_values(picture: Image.Image) -> NDArray[Any]:
    """Decode; colour must be grey in truth."""
    picture.load()
    if picture.mode in GREY_MODES:
        return np.asarray(picture).astype(GREY_MODES[picture.mode])
    if picture.mode in ("P", "PA"):
        return _equal_channels(np.asarray(picture.convert("RGBA" if picture.mode == "PA" else "RGB")))
    return _equal_channels(np.asarray(picture))


def _equal_channels(pixels: NDArray[Any]) -> NDArray[Any]:
    """One channel of equal ones; a further channel is alpha and must be opaque."""
    if pixels.ndim == 2:
        return pixels
    n_channels = pixels.shape[2]
    if n_channels in (2, 4) and (pixels[..., -1] != np.iinfo(pixels.dtype).max).any():
        raise ImageError("the image is partly transparent; save it opaque")
    first = pixels[..., 0]
    if n_channels >= 3 and any((first != pixels[..., other]).any() for other in (1, 2)):
        raise ImageError("the image is in colour; a radiograph is grey")
    return first


def _must_invert(picture: Image.Image) -> bool:
    """Whether a TIFF says that white is 0 and Pillow has left it so: it turns 8 bits over, but not 16."""
    return picture.mode != "L" and picture.tag_v2.get(PHOTOMETRIC) == WHITE_IS_ZERO
