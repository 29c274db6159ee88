"""Pixels for the page: crops around hits, misses and false positives, and the images of the examples.

They are cut once and stored beside the results (``pictures.json``), so that the page is made again without the images.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.images import Radiograph
from overread.marks.ellipse import ELLIPSE_COLUMNS, Ellipse
from overread.one_line import print_as_one_line
from overread.report.results import Gallery, StudyResults

__all__ = ["Crop", "Picture", "Pictures", "cut_crop", "cut_pictures"]

N_CROPS = 8
# Chosen by eye: a nodule with its surroundings.
SIDE_MM = 60.0
CANDIDATE_COLUMNS = ("x_mm", "y_mm", "radius_mm")

Grey = NDArray[np.uint8]
Circle = tuple[float, float, float]


@dataclass(frozen=True)
class Crop:
    """A square piece of a radiograph and what is drawn on it.

    Attributes
    ----------
    png
        8-bit grey pixels as PNG in base64.
    left_mm, top_mm, side_mm
        Where the piece lies in its image.
    ellipse
        Ground-truth object, or None.
    circle
        x, y and radius of the candidate in mm, or None.
    caption
        Text below, in a few words.
    """

    png: str
    left_mm: float
    top_mm: float
    side_mm: float
    ellipse: Ellipse | None
    circle: Circle | None
    caption: str


@dataclass(frozen=True)
class Picture:
    """A whole radiograph: 8-bit grey pixels as PNG in base64, and the side of a pixel."""

    png: str
    mm_per_px: float

    def pixels(self) -> Grey:
        """Return the pixels, rows x columns."""
        from PIL import Image

        return np.asarray(Image.open(BytesIO(b64decode(self.png))))


@print_as_one_line()
@dataclass(frozen=True)
class Pictures:
    """Everything on the page that was cut from images; what could not be opened is left out.

    ``examples`` has the images of `StudyResults.examples` by image id.
    """

    hits: list[Crop] = field(default_factory=list)
    misses: list[Crop] = field(default_factory=list)
    false_positives: list[Crop] = field(default_factory=list)
    examples: dict[str, Picture] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """Where a crop is wanted: its list, its image, and the arguments of `cut_crop`."""

    kind: str
    image_id: str
    arguments: dict[str, Any]


def cut_pictures(results: StudyResults, open_image: Callable[[str], Radiograph | None]) -> Pictures:
    """Cut the first crops of each kind in the gallery, and take the examples' images whole.

    Parameters
    ----------
    results
        Of the run.
    open_image
        Gives the radiograph of an image id, or None where it cannot be opened. Called once an image.
    """
    places = list(_crop_places(results.gallery))
    examples = [example.image_id for example in results.examples]
    crops: dict[int, Crop] = {}
    pictures: dict[str, Picture] = {}
    for image_id in dict.fromkeys([*examples, *(place.image_id for place in places)]):
        radiograph = open_image(image_id)
        if radiograph is None:
            continue
        if image_id in examples:
            pictures[image_id] = Picture(_encode(_stretch(radiograph.pixels, (0, 100))), radiograph.mm_per_px)
        for number, place in enumerate(places):
            if place.image_id == image_id:
                crops[number] = cut_crop(radiograph, **place.arguments)

    def take(kind: str) -> list[Crop]:
        return [crops[i] for i, place in enumerate(places) if place.kind == kind and i in crops]

    return Pictures(take("hits"), take("misses"), take("false_positives"), pictures)


def cut_crop(
    radiograph: Radiograph,
    x_mm: float,
    y_mm: float,
    *,
    caption: str,
    ellipse: Ellipse | None = None,
    circle: Circle | None = None,
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
        png=_encode(_stretch(piece, (1, 99))),
        left_mm=column * radiograph.mm_per_px,
        top_mm=row * radiograph.mm_per_px,
        side_mm=n * radiograph.mm_per_px,
        ellipse=ellipse,
        circle=circle,
        caption=caption,
    )


def _crop_places(gallery: Gallery) -> Iterator[_Place]:
    for kind, objects in (("hits", gallery.hits), ("misses", gallery.misses)):
        for row in objects.head(N_CROPS).to_dict("records"):
            ellipse = Ellipse(*(float(row[name]) for name in ELLIPSE_COLUMNS))
            yield _place_crop(kind, row, _object_caption(row), ellipse, _find_circle(row, "candidate_"))
    for row in gallery.false_positives.head(N_CROPS).to_dict("records"):
        yield _place_crop("false_positives", row, f"score {row['score']:.2f}", None, _find_circle(row, ""))


def _place_crop(kind: str, row: Any, caption: str, ellipse: Ellipse | None, circle: Circle | None) -> _Place:
    arguments = {"x_mm": row["x_mm"], "y_mm": row["y_mm"], "caption": caption}
    return _Place(kind, str(row["image_id"]), arguments | {"ellipse": ellipse, "circle": circle})


def _object_caption(row: Any) -> str:
    """Tell the score of a golden object, if any candidate hits it, and who marked it."""
    readers = f"{row['n_readers']} of {row['n_readings']} readers"
    score = row["score"]
    return f"no candidate, {readers}" if pd.isna(score) else f"score {score:.2f}, {readers}"


def _find_circle(row: Any, prefix: str) -> Circle | None:
    """Return the candidate of a row, where it has one."""
    values = [row.get(f"{prefix}{name}") for name in CANDIDATE_COLUMNS]
    if any(pd.isna(value) for value in values):
        return None
    x, y, radius = (float(value) for value in values)
    return x, y, radius


def _stretch(piece: NDArray[np.float32], percentiles: tuple[float, float]) -> Grey:
    """Spread the brightness between two percentiles over 8-bit grey; black where there is no image."""
    seen = np.isfinite(piece)
    if not seen.any():
        return np.zeros(piece.shape, dtype=np.uint8)
    low, high = np.percentile(piece[seen], percentiles)
    scaled = np.clip((np.where(seen, piece, low) - low) / max(high - low, 1e-6), 0, 1)
    return np.where(seen, np.rint(255 * scaled), 0).astype(np.uint8)


def _encode(pixels: Grey) -> str:
    """Write pixels as PNG in base64."""
    from PIL import Image

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", optimize=True)
    return b64encode(buffer.getvalue()).decode()
