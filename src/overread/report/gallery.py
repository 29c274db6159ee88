"""Crops of radiographs around hits, misses and false positives, with outlines drawn over them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from overread.images import Radiograph
from overread.marks.ellipse import Ellipse

__all__ = ["Crop", "crop_around", "gallery"]

SIDE_MM = 60.0
GOLDEN, CANDIDATE = "#E69F00", "#56B4E9"


@dataclass(frozen=True, eq=False)
class Crop:
    """A square piece of a radiograph and what is drawn on it.

    Parameters
    ----------
    pixels
        8-bit grey.
    left_mm, top_mm, side_mm
        Where the piece lies in its image.
    ellipse
        Ground-truth object, or None.
    circle
        x, y and radius of the candidate in mm, or None.
    caption
        Text below, in a few words.
    """

    pixels: NDArray[np.uint8]
    left_mm: float
    top_mm: float
    side_mm: float
    ellipse: Ellipse | None
    circle: tuple[float, float, float] | None
    caption: str


def crop_around(
    radiograph: Radiograph,
    x_mm: float,
    y_mm: float,
    *,
    caption: str,
    ellipse: Ellipse | None = None,
    circle: tuple[float, float, float] | None = None,
    side_mm: float = SIDE_MM,
) -> Crop:
    """Cut the square around a place; outside the image it is black. Contrast is stretched to the piece."""
    n = max(8, round(side_mm / radiograph.mm_per_px))
    column = round(x_mm / radiograph.mm_per_px - n / 2)
    row = round(y_mm / radiograph.mm_per_px - n / 2)
    rows, columns = radiograph.shape
    piece = np.full((n, n), np.nan, dtype=np.float32)
    top, bottom = max(row, 0), min(row + n, rows)
    left, right = max(column, 0), min(column + n, columns)
    if top < bottom and left < right:
        piece[top - row : bottom - row, left - column : right - column] = radiograph.pixels[
            top:bottom, left:right
        ]
    return Crop(
        pixels=stretched(piece),
        left_mm=column * radiograph.mm_per_px,
        top_mm=row * radiograph.mm_per_px,
        side_mm=n * radiograph.mm_per_px,
        ellipse=ellipse,
        circle=circle,
        caption=caption,
    )


def stretched(piece: NDArray[np.float32]) -> NDArray[np.uint8]:
    """8-bit grey from the 1st to the 99th percentile; black where there is no image."""
    seen = np.isfinite(piece)
    if not seen.any():
        return np.zeros(piece.shape, dtype=np.uint8)
    low, high = np.percentile(piece[seen], [1, 99])
    scaled = np.clip((np.where(seen, piece, low) - low) / max(high - low, 1e-6), 0, 1)
    return np.where(seen, np.rint(255 * scaled), 0).astype(np.uint8)


def gallery(crops: Iterable[Crop]) -> str:
    """HTML of the crops side by side."""
    return '<div class="gallery">' + "".join(figure(crop) for crop in crops) + "</div>"


def figure(crop: Crop) -> str:
    """One crop with its outlines, as SVG over an embedded PNG."""
    shapes = []
    if crop.ellipse is not None:
        e = crop.ellipse
        x, y = e.x_mm - crop.left_mm, e.y_mm - crop.top_mm
        shapes.append(
            f'<ellipse cx="{x:.2f}" cy="{y:.2f}" rx="{e.semi_major_mm:.2f}" ry="{e.semi_minor_mm:.2f}" '
            f'transform="rotate({e.angle_deg:.1f} {x:.2f} {y:.2f})" fill="none" stroke="{GOLDEN}" stroke-width="0.7"/>'
        )
    if crop.circle is not None:
        x, y, radius = crop.circle
        shapes.append(
            f'<circle cx="{x - crop.left_mm:.2f}" cy="{y - crop.top_mm:.2f}" r="{radius:.2f}" fill="none" '
            f'stroke="{CANDIDATE}" stroke-width="0.7" stroke-dasharray="2 1"/>'
        )
    side = f"{crop.side_mm:.2f}"
    return (
        f'<figure><svg viewBox="0 0 {side} {side}" role="img" aria-label="{escape(crop.caption)}">'
        f'<image href="data:image/png;base64,{png(crop.pixels)}" width="{side}" height="{side}"/>'
        f"{''.join(shapes)}</svg><figcaption>{escape(crop.caption)}</figcaption></figure>"
    )


def png(pixels: NDArray[np.uint8]) -> str:
    """PNG in base64."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return b64encode(buffer.getvalue()).decode()
