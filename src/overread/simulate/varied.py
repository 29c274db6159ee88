"""A wider law of nodules: six kinds, each with its own look and place, in images that may be blurred and noisy.

    solid          as in the law of `NoduleLaw`, from 5 to 40 mm
    spiculated     ragged outline, most with rays
    sub-solid      faint, textured, without an edge: blurred by 5 to 15 % of its diameter
    calcified      small, dense, with a steep edge
    pleural        centred within 3 mm of the lung's border, longer than wide
    retrocardiac   behind the heart, where the background says where that is; else anywhere in the lung

A cohort of this law has another name than those of the plain law: its settings tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from overread.simulate.nodules import Nodule, NoduleLaw, draw_nodules, draw_shape, free_place

__all__ = ["NoduleKind", "VariedLaw", "draw_by_law", "vary_pixels"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Chosen by eye: a pleural nodule's centre lies so near the border of the lung that the border cuts through it.
BORDER_MM = 3.0
# Detail finer than this is taken for the noise of an image.
FINE_MM = 1.0
# The deviation of a normal distribution over the median of its absolute values.
DEVIATION_PER_MEDIAN = 1.4826


@dataclass(frozen=True)
class NoduleKind:
    """One kind of nodule.

    Parameters
    ----------
    name
        For people.
    share
        How often it is drawn, among all kinds.
    look
        Sizes, shapes and conspicuity; its counts and `behind_heart` play no part.
    place
        Anywhere in the lung, at its border, or behind the heart.
    softness
        Range of the deviation of the Gaussian that takes its edge away, over its diameter; uniform.
    """

    name: str
    share: float
    look: NoduleLaw
    place: Literal["lung", "border", "heart"] = "lung"
    softness: tuple[float, float] = (0.0, 0.0)


# Kinds, shares and ranges were chosen by eye; docs/explanation/learned.md tells how far their nodules can be told.
KINDS = (
    NoduleKind(
        "solid", 0.4, NoduleLaw(diameter_mm=(5, 40), exponent=(0.5, 1.5), axis_ratio=(0.6, 1), spiculated=0.0)
    ),
    NoduleKind("spiculated", 0.15, NoduleLaw(diameter_mm=(8, 40), spiculated=1.0, with_spicules=0.7)),
    NoduleKind(
        "sub-solid",
        0.15,
        NoduleLaw(diameter_mm=(8, 35), exponent=(0.3, 0.7), conspicuity=(0.8, 2.2), texture=0.45),
        softness=(0.05, 0.15),
    ),
    NoduleKind(
        "calcified",
        0.1,
        NoduleLaw(diameter_mm=(4, 14), exponent=(0.4, 0.8), conspicuity=(3, 6), spiculated=0.0, texture=0.4),
    ),
    NoduleKind("pleural", 0.12, NoduleLaw(diameter_mm=(6, 40), axis_ratio=(0.45, 0.8)), place="border"),
    NoduleKind("retrocardiac", 0.08, NoduleLaw(diameter_mm=(8, 35)), place="heart"),
)


@dataclass(frozen=True)
class VariedLaw:
    """How nodules of several kinds are drawn.

    Parameters
    ----------
    counts
        Probability of 0, 1, 2, ... nodules in an image.
    kinds
        What is drawn; shares need not add up to 1.
    image_blur_mm
        Range of the deviation of a Gaussian that blurs the whole image before nodules are put in; uniform.
    image_noise
        Range of the deviation of the white noise that the image gets then, over that of its own finest detail.

    Notes
    -----
    Images are left as they are by default: blurred by up to 0.4 mm and with noise up to 0.5, their texture tells them
    from real ones far better than without (docs/explanation/learned.md: AUC 0.86 against 0.65).
    """

    counts: tuple[float, ...] = NoduleLaw.counts
    kinds: tuple[NoduleKind, ...] = KINDS
    image_blur_mm: tuple[float, float] = (0.0, 0.0)
    image_noise: tuple[float, float] = (0.0, 0.0)


def draw_by_law(
    n: int,
    lungs: BoolArray,
    mm_per_px: float,
    *,
    law: NoduleLaw | VariedLaw,
    blur_mm: float,
    random: np.random.Generator,
    heart: BoolArray | None = None,
) -> list[Nodule]:
    """Draw nodules by either law, as `draw_nodules` does: none touching another, contrast not yet set."""
    if isinstance(law, NoduleLaw):
        return draw_nodules(n, lungs, mm_per_px, law=law, blur_mm=blur_mm, random=random, heart=heart)
    places = find_places(lungs, heart, mm_per_px)
    shares = np.array([kind.share for kind in law.kinds])
    drawn: list[Nodule] = []
    for _ in range(n):
        kind = law.kinds[int(random.choice(len(shares), p=shares / shares.sum()))]
        diameter = float(np.exp(random.uniform(*np.log(kind.look.diameter_mm))))
        place = free_place(diameter / 2, places[kind.place], lungs.shape[1], mm_per_px, drawn, random)
        softened = float(np.hypot(blur_mm, random.uniform(*kind.softness) * diameter))
        if place is not None:
            drawn.append(draw_shape(place, diameter, kind.look, softened, random))
    return drawn


def find_places(lungs: BoolArray, heart: BoolArray | None, mm_per_px: float) -> dict[str, NDArray[np.int64]]:
    """Find the pixels where the centre of a nodule may lie, for each place of a kind."""
    inside = np.flatnonzero(lungs)
    # The image's own border is no pleura: outside it the lung is taken to go on.
    widened = cv2.copyMakeBorder(lungs.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    depth = cv2.distanceTransform(widened, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1] * mm_per_px
    behind = inside[:0] if heart is None else np.flatnonzero(heart)
    return {
        "lung": inside,
        "border": np.flatnonzero(lungs & (depth <= BORDER_MM)),
        "heart": behind if len(behind) else inside,
    }


def vary_pixels(
    pixels: FloatArray, lungs: BoolArray, mm_per_px: float, *, law: VariedLaw, random: np.random.Generator
) -> FloatArray:
    """Blur an image a little and add noise, each drawn; values stay within those of the image."""
    blurred = gaussian_filter(pixels, random.uniform(*law.image_blur_mm) / mm_per_px)
    detail = (pixels - gaussian_filter(pixels, FINE_MM / mm_per_px))[lungs if lungs.any() else ...]
    deviation = DEVIATION_PER_MEDIAN * float(np.median(np.abs(detail)))
    noise = random.normal(0.0, 1.0, pixels.shape) * (random.uniform(*law.image_noise) * deviation)
    return np.clip(blurred + noise, pixels.min(), pixels.max())
