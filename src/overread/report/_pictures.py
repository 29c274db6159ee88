"""Pixels for the page: crops around hits, misses and false positives, and the images of the examples.

They are cut once and stored beside the results (``pictures.json``), so that the page is made again without the images.

An image with the detector's marks on it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._plots import empty_figure
from overread._text import short_repr
from overread.domains import DomainImage
from overread.marks import ELLIPSE_COLUMNS, Ellipse
from overread.report._results import Example, Gallery, StudyResults
from overread.report._words import find_crop_side, name_object
from overread.tables import UNIT_WORDS, LengthUnit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


N_CROPS = 8
# So that one pacemaker does not fill a row; set by judgement.
N_OF_IMAGE = 2
CANDIDATE_COLUMNS = ("x", "y", "radius")

Grey = NDArray[np.uint8]
Circle = tuple[float, float, float]


@dataclass(frozen=True)
class Crop:
    """A square crop of an image and its overlays."""

    png: str  # Pixels of 8 bits, grey or in colour, as PNG in base64
    # Where the piece lies in its image.
    left: float
    top: float
    side: float
    ellipse: Ellipse | None  # Ground-truth object, or None
    circle: Circle | None  # x, y and radius of the candidate, or None
    caption: str  # Text below, in a few words

    def pixels(self) -> Grey:
        """Return the pixels, rows x columns, in colour x 3."""
        from PIL import Image

        return np.asarray(Image.open(BytesIO(b64decode(self.png))))


@short_repr()
@dataclass(frozen=True)
class Pictures:
    """Image crops of the page; images that could not be opened are left out.

    ``examples`` has the regions of `StudyResults.examples` by image id, ``features`` a low and a high example by name.
    """

    hits: list[Crop] = field(default_factory=list)
    misses: list[Crop] = field(default_factory=list)
    false_positives: list[Crop] = field(default_factory=list)
    examples: dict[str, Crop] = field(default_factory=dict)
    features: dict[str, list[Crop]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    """Where a crop is wanted: its list, its image, and the arguments of `cut_crop`."""

    kind: str
    image_id: str
    arguments: dict[str, Any]


def cut_pictures(results: StudyResults, open_image: Callable[[str], DomainImage | None]) -> Pictures:
    """Cut the first crops of each kind in the gallery, and the regions of the examples."""
    thing, side = name_object(results), find_crop_side(results)
    places = [*_gallery_places(results.gallery, thing), *_feature_places(results.feature_examples)]
    regions = {example.image_id: example for example in results.examples}
    crops: dict[int, Crop] = {}
    examples: dict[str, Crop] = {}
    for image_id in dict.fromkeys([*regions, *(place.image_id for place in places)]):
        radiograph = open_image(image_id)
        if radiograph is None:
            continue
        if image_id in regions:
            examples[image_id] = _cut_region(radiograph, regions[image_id])
        for number, place in enumerate(places):
            if place.image_id == image_id:
                crops[number] = cut_crop(radiograph, side=side, **place.arguments)

    def take(kind: str) -> list[Crop]:
        return [crops[i] for i, place in enumerate(places) if place.kind == kind and i in crops]

    features = {str(name): take(f"feature {name}") for name in results.feature_examples["feature"].unique()}
    return Pictures(
        take("hits"),
        take("misses"),
        take("false_positives"),
        examples,
        {k: v for k, v in features.items() if v},
    )


def cut_crop(
    radiograph: DomainImage,
    x: float,
    y: float,
    *,
    caption: str,
    ellipse: Ellipse | None = None,
    circle: Circle | None = None,
    side: float = 60.0,
) -> Crop:
    """Cut the square around a position; outside the image it is black. Contrast is stretched to the piece."""
    n = max(8, round(side / radiograph.mm_per_px))
    column = round(x / radiograph.mm_per_px - n / 2)
    row = round(y / radiograph.mm_per_px - n / 2)
    rows, columns = radiograph.shape
    pixels = radiograph.pixels
    piece = np.full((n, n, *pixels.shape[2:]), np.nan, dtype=np.float32)
    top, bottom = max(row, 0), min(row + n, rows)
    left, right = max(column, 0), min(column + n, columns)
    if top < bottom and left < right:
        piece[top - row : bottom - row, left - column : right - column] = pixels[top:bottom, left:right]
    return Crop(
        png=_encode(_stretch(piece, (1, 99))),
        left=column * radiograph.mm_per_px,
        top=row * radiograph.mm_per_px,
        side=n * radiograph.mm_per_px,
        ellipse=ellipse,
        circle=circle,
        caption=caption,
    )


def _cut_region(radiograph: DomainImage, region: Example) -> Crop:
    x, y = (start + region.side / 2 for start in (region.left, region.top))
    return cut_crop(radiograph, x, y, caption=region.image_id, side=region.side)


def _gallery_places(gallery: Gallery, thing: str) -> Iterator[_Place]:
    """Choose the first crops of each kind, without overlap and with few per image."""
    shown: list[tuple[str, Circle]] = []
    for kind in ("hits", "misses", "false_positives"):
        of_image: Counter[str] = Counter()
        for row in getattr(gallery, kind).to_dict("records"):
            image_id, place = str(row["image_id"]), _cover(row)
            if of_image.total() == N_CROPS:
                break
            if of_image[image_id] == N_OF_IMAGE or any(
                other == image_id and _overlap(place, there) for other, there in shown
            ):
                continue
            of_image[image_id] += 1
            shown.append((image_id, place))
            yield (
                _place_object(kind, row) if kind != "false_positives" else _place_false_positive(row, thing)
            )


def _cover(row: Any) -> Circle:
    """Return the circle that a row covers: that of its object, or else of its candidate."""
    radius = row["semi_major"] if "semi_major" in row else row["radius"]
    return float(row["x"]), float(row["y"]), float(radius)


def _overlap(one: Circle, other: Circle) -> bool:
    """Return whether two lie on each other, by the detector's rule for repeats: within the larger radius."""
    return hypot(one[0] - other[0], one[1] - other[1]) < max(one[2], other[2])


def _place_object(kind: str, row: Any) -> _Place:
    """Caption a consensus object with its score, if any candidate hits it, and its readers."""
    readers = f"{row['n_readers']} of {row['n_readings']} readers"
    score = row["score"]
    told = f"no candidate, {readers}" if pd.isna(score) else f"score {score:.2f}, {readers}"
    ellipse = Ellipse(*(float(row[name]) for name in ELLIPSE_COLUMNS))
    return _place_crop(kind, row, f"{told}, {row['image_id']}", ellipse, _find_circle(row, "candidate_"))


def _place_false_positive(row: Any, thing: str) -> _Place:
    nodule = f"a real {thing} that no reader marked, " if row["is_nodule"] else ""
    told = f"score {row['score']:.2f}, {nodule}{row['image_id']}"
    return _place_crop("false_positives", row, told, None, _find_circle(row, ""))


def _feature_places(examples: pd.DataFrame) -> Iterator[_Place]:
    for row in examples.to_dict("records"):
        caption = f"{row['end']}: {row['value']:.3g}, {row['image_id']}"
        yield _place_crop(f"feature {row['feature']}", row, caption, None, _find_circle(row, ""))


def _place_crop(kind: str, row: Any, caption: str, ellipse: Ellipse | None, circle: Circle | None) -> _Place:
    arguments = {"x": row["x"], "y": row["y"], "caption": caption}
    return _Place(kind, str(row["image_id"]), arguments | {"ellipse": ellipse, "circle": circle})


def _find_circle(row: Any, prefix: str) -> Circle | None:
    """Return the candidate of a row, where it has one."""
    values = [row.get(f"{prefix}{name}") for name in CANDIDATE_COLUMNS]
    if any(pd.isna(value) for value in values):
        return None
    x, y, radius = (float(value) for value in values)
    return x, y, radius


def _stretch(piece: NDArray[np.float32], percentiles: tuple[float, float]) -> Grey:
    """Spread the brightness between two percentiles over 8 bits, all colours alike; black outside the image."""
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


SHOWN, HIDDEN = "#E69F00", "#56B4E9"
N_HIDDEN = 10


def detections_figure(radiograph: DomainImage, detections: pd.DataFrame, *, unit: LengthUnit) -> Figure:
    """Draw detections above the threshold solid with their probability or rank, the next ten candidates dotted."""
    from matplotlib.patches import Circle

    width, height = radiograph.size_mm
    figure = empty_figure(7.0, 7.0 * height / width + 0.4)
    axes = figure.subplots()
    extent = (0, width, height, 0)
    if radiograph.pixels.ndim == 3:
        # Colours are shown as they are: stretched ones would be others.
        axes.imshow(np.clip(radiograph.pixels, 0, 1), extent=extent)
    else:
        low, high = np.percentile(radiograph.pixels[radiograph.valid], [1, 99.5])
        axes.imshow(radiograph.pixels, cmap="gray", vmin=low, vmax=high, extent=extent)
    shown = detections[detections["shown"].to_numpy(bool)]
    hidden = detections[~detections["shown"].to_numpy(bool)].head(N_HIDDEN)
    for table, colour, style, thickness in ((hidden, HIDDEN, ":", 1.0), (shown, SHOWN, "-", 1.8)):
        for x, y, radius in table[["x", "y", "radius"]].to_numpy(np.float64):
            axes.add_patch(
                Circle((x, y), radius, fill=False, edgecolor=colour, linestyle=style, linewidth=thickness)
            )
    has_ranks = bool(detections["probability"].isna().any())
    kind = "rank" if has_ranks else "probability"
    columns = ["x", "y", "radius", kind]
    for x, y, radius, certainty in shown[columns].to_numpy(np.float64):
        axes.annotate(
            f"#{certainty:.0f}" if has_ranks else f"{certainty:.2f}",
            (x + 0.8 * radius, y - 0.8 * radius),
            color=SHOWN,
            fontsize=9,
            weight="bold",
        )
    axes.set_title(
        f"{len(shown)} shown (solid, with {kind}), next {len(hidden)} candidates dotted",
        fontsize=9,
        loc="left",
    )
    axes.set(xlabel=UNIT_WORDS[unit], xlim=(0, width), ylim=(height, 0))
    return figure
