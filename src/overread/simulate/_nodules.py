"""Nodules: their outline, their profile, and the law they are drawn from.

A nodule takes the part ``contrast * field`` of the radiation that would pass. Its field is

    (1 - rho^2)^exponent (1 + texture g)   inside the outline, rho = distance from the centre over the outline's
    radius in that direction, g a random field of unit variance, plus its spicules,

blurred like the image. The outline is an ellipse times 1 + sum_k a_k cos(k theta + phase_k), scaled to the area of a
circle of ``diameter_mm`` and moved so that its centroid is (x_mm, y_mm).

A wider law of nodules: six kinds, each with its own look and place, in images that may be blurred and noisy.

    solid          as in the law of `NoduleLaw`, from 5 to 40 mm
    spiculated     ragged outline, most with rays
    sub-solid      faint, textured, without an edge: blurred by 5 to 15 % of its diameter
    calcified      small, dense, with a steep edge
    pleural        centred within 3 mm of the lung's border, longer than wide
    retrocardiac   behind the heart, where the background says where that is; else anywhere in the lung

A cohort of this law has another name than those of the plain law: its settings distinguish them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from overread.errors import InvalidInputError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Directions in which the outline is tabulated: half a degree.
DIRECTIONS = 720
# Waves that make the texture, none shorter than 2 mm, which the blur of a radiograph would hide. Set by judgement.
TEXTURE_WAVES = 24
FINEST_WAVE_MM = 2.0
PLACING_TRIES = 200


@dataclass(frozen=True)
class Nodule:
    """One nodule."""

    # Centroid of the outline, and the diameter of the circle of the same area.
    x_mm: float
    y_mm: float
    diameter_mm: float
    exponent: float = 1.0  # Of the profile: small is flat with a steep edge, large is peaked
    # Minor over major axis of the outline's ellipse; direction of the major axis, clockwise on screen from +x.
    axis_ratio: float = 1.0
    angle_deg: float = 0.0
    # Harmonics of the outline: k, a_k and the phase of each.
    orders: tuple[int, ...] = ()
    amplitudes: tuple[float, ...] = ()
    phases: tuple[float, ...] = ()
    spicules: int = 0  # Number of rays that leave the outline, at even angles from the first phase on
    # Relative deviation of the texture inside, and the seed of its waves.
    texture: float = 0.0
    texture_seed: int = 0
    blur_mm: float = 0.0  # Deviation of the Gaussian that blurs it
    conspicuity: float = 1.0  # Contrast-to-noise ratio it was made for
    contrast: float = 0.0  # Part of the radiation that its centre takes

    def __post_init__(self) -> None:
        if not (self.diameter_mm > 0 and self.exponent > 0 and 0 < self.axis_ratio <= 1):
            raise InvalidInputError("a nodule needs diameter_mm > 0, exponent > 0 and 0 < axis_ratio <= 1")
        if not len(self.orders) == len(self.amplitudes) == len(self.phases):
            raise InvalidInputError("a nodule needs an amplitude and a phase for every harmonic")

    @property
    def radius_mm(self) -> float:
        """Half the diameter."""
        return self.diameter_mm / 2

    @property
    def reach_mm(self) -> float:
        """Distance from the centre beyond which the nodule changes nothing."""
        return 2.0 * self.radius_mm + 4.0 * self.blur_mm


@dataclass(frozen=True)
class NoduleDistribution:
    """How nodules are drawn; the defaults are the law of the benchmark `nih-240x3`.

    Parameters
    ----------
    counts : tuple, default=(0.25, 0.375, 0.25, 0.125)
        Probability of 0, 1, 2, ... nodules in an image.
    diameter_mm : tuple, default=(6.0, 30.0)
        Range; log-uniform.
    exponent, axis_ratio, conspicuity
        Ranges; uniform.
    spiculated : float, default=0.25
        Part of the nodules with harmonics 7, 9 and 11 beside 2 to 6.
    with_spicules : float, default=0.0
        Part of the spiculated ones that also have rays.
    behind_heart : float, default=0.0
        Part of the nodules behind the heart, where the background says where that is.
    texture : float, default=0.2
        Relative deviation inside.
    depth_mm : float, default=0.0
        Least distance of a centre from the border of the lung.
    """

    counts: tuple[float, ...] = (0.25, 0.375, 0.25, 0.125)
    diameter_mm: tuple[float, float] = (6.0, 30.0)
    exponent: tuple[float, float] = (0.7, 1.5)
    axis_ratio: tuple[float, float] = (0.72, 1.0)
    conspicuity: tuple[float, float] = (0.8, 3.0)
    spiculated: float = 0.25
    with_spicules: float = 0.0
    behind_heart: float = 0.0
    texture: float = 0.2
    depth_mm: float = 0.0


@dataclass(frozen=True)
class InsertWindow:
    """Rectangle of pixels."""

    rows: slice
    columns: slice

    def mm(self, mm_per_px: float) -> tuple[FloatArray, FloatArray]:
        """Positions x (a row) and y (a column) of the pixels' centres."""
        x = (np.arange(self.columns.start, self.columns.stop) + 0.5) * mm_per_px
        y = (np.arange(self.rows.start, self.rows.stop) + 0.5) * mm_per_px
        return x[None, :], y[:, None]


def window_around(
    x_mm: float, y_mm: float, reach_mm: float, shape: tuple[int, ...], mm_per_px: float
) -> InsertWindow:
    """Pixels of an image no farther than the reach from a place, in rows and in columns."""
    bounds = []
    for centre, n in ((y_mm, shape[0]), (x_mm, shape[1])):
        low = int(np.floor((centre - reach_mm) / mm_per_px))
        high = int(np.ceil((centre + reach_mm) / mm_per_px)) + 1
        bounds.append(slice(min(max(low, 0), n), min(max(high, 0), n)))
    return InsertWindow(bounds[0], bounds[1])


def _outline(nodule: Nodule, angle: FloatArray) -> FloatArray:
    """Radius of the outline, in mm and before centring, in directions of the image."""
    theta = angle - np.radians(nodule.angle_deg)
    flattening = 1.0 - nodule.axis_ratio**2
    radius = nodule.axis_ratio / np.sqrt(1.0 - flattening * np.cos(theta) ** 2)
    wave = np.ones_like(theta)
    for order, amplitude, phase in zip(nodule.orders, nodule.amplitudes, nodule.phases, strict=True):
        wave += amplitude * np.cos(order * theta + phase)
    return np.asarray(radius * np.maximum(wave, 0.2))


def _scale_and_centroid(nodule: Nodule) -> tuple[float, float, float]:
    """Factor that gives the outline its area pi D^2 / 4, and the scaled outline's centroid."""
    angle = np.arange(DIRECTIONS, dtype=np.float64) * (2 * np.pi / DIRECTIONS)
    radius = _outline(nodule, angle)
    step = 2 * np.pi / DIRECTIONS
    area = 0.5 * np.sum(radius**2) * step
    scale = nodule.radius_mm * np.sqrt(np.pi / area)
    third = radius**3 * step / 3 / area
    return (
        float(scale),
        float(scale * np.sum(third * np.cos(angle))),
        float(scale * np.sum(third * np.sin(angle))),
    )


def relative_radius(nodule: Nodule, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distance from the centre over the outline's radius there, and the direction."""
    scale, shift_x, shift_y = _scale_and_centroid(nodule)
    dx, dy = x - nodule.x_mm + shift_x, y - nodule.y_mm + shift_y
    angle: FloatArray = np.arctan2(dy, dx)
    return np.hypot(dx, dy) / (scale * _outline(nodule, angle)), angle


def nodule_mask(nodule: Nodule, shape: tuple[int, ...], mm_per_px: float) -> BoolArray:
    """Pixels with their centre inside the outline; spicules and blur do not count."""
    mask = np.zeros(shape, dtype=bool)
    window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, shape, mm_per_px)
    x, y = window.mm(mm_per_px)
    mask[window.rows, window.columns] = relative_radius(nodule, x, y)[0] < 1.0
    return mask


def contrast_field(nodule: Nodule, window: InsertWindow, mm_per_px: float) -> FloatArray:
    """Field of a nodule in a window that holds its reach: 1 at the centre of a smooth one without blur."""
    x, y = window.mm(mm_per_px)
    rho, angle = relative_radius(nodule, x, y)
    field = np.maximum(1.0 - rho**2, 0.0) ** nodule.exponent
    if nodule.spicules:
        field = np.maximum(field, _spicule_field(nodule, rho, angle))
    if nodule.texture:
        field *= 1.0 + nodule.texture * _texture_waves(nodule, x, y)
    return np.asarray(gaussian_filter(field, nodule.blur_mm / mm_per_px, mode="constant", truncate=4.0))


def _spicule_field(nodule: Nodule, rho: FloatArray, angle: FloatArray) -> FloatArray:
    """Rays about 1 mm wide that fade from a third of the contrast at the outline to nothing at 1.9 radii."""
    first = nodule.phases[0] if nodule.phases else 0.0
    spacing = 2 * np.pi / nodule.spicules
    off = np.abs((angle - first + spacing / 2) % spacing - spacing / 2) * rho * nodule.radius_mm
    along = np.clip((1.9 - rho) / 0.9, 0.0, 1.0) * (rho > 0.7)
    return np.asarray(0.35 * along * np.exp(-((off / 0.6) ** 2)))


def _texture_waves(nodule: Nodule, x: FloatArray, y: FloatArray) -> FloatArray:
    """Sum of plane waves, unit variance, amplitude falling as 1/frequency from the diameter down to 2 mm."""
    raw = np.random.PCG64(nodule.texture_seed).random_raw(3 * TEXTURE_WAVES)
    # the raw stream of a bit generator is kept by NumPy, its distributions are not
    uniform = (np.asarray(raw) >> np.uint64(11)).reshape(3, TEXTURE_WAVES) * 2.0**-53
    longest = max(nodule.diameter_mm, 2 * FINEST_WAVE_MM)
    length = FINEST_WAVE_MM * (longest / FINEST_WAVE_MM) ** uniform[0]
    direction, phase = 2 * np.pi * uniform[1], 2 * np.pi * uniform[2]
    amplitude = length / np.sqrt(np.sum(length**2) / 2)
    total = np.zeros(np.broadcast_shapes(x.shape, y.shape))
    for a, wave, way, start in zip(amplitude, length, direction, phase, strict=True):
        total += a * np.cos(2 * np.pi / wave * (x * np.cos(way) + y * np.sin(way)) + start)
    return total


def draw_nodules(
    n: int,
    lungs: BoolArray,
    mm_per_px: float,
    *,
    law: NoduleDistribution,
    blur_mm: float,
    random: np.random.Generator,
    heart: BoolArray | None = None,
) -> list[Nodule]:
    """Draw nodules, uniform in the lung fields or behind the heart, none touching another; contrast is not yet set.

    Fewer come where there is no room.
    """
    in_lungs = np.flatnonzero(lungs & (lung_depth(lungs, mm_per_px) >= law.depth_mm))
    in_heart = np.flatnonzero(heart) if heart is not None else in_lungs[:0]
    drawn: list[Nodule] = []
    for _ in range(n):
        diameter = float(np.exp(random.uniform(*np.log(law.diameter_mm))))
        hidden = len(in_heart) > 0 and random.random() < law.behind_heart
        places = in_heart if hidden else in_lungs
        place = free_place(diameter / 2, places, lungs.shape[1], mm_per_px, drawn, random)
        if place is not None:
            drawn.append(draw_shape(place, diameter, law, blur_mm, random))
    return drawn


def free_place(
    radius_mm: float,
    places: NDArray[np.int64],
    width: int,
    mm_per_px: float,
    others: list[Nodule],
    random: np.random.Generator,
) -> tuple[float, float] | None:
    """Place drawn from these pixels, at least 5 mm clear of the other nodules, if there is one."""
    for _ in range(PLACING_TRIES if len(places) else 0):
        row, column = divmod(int(places[random.integers(len(places))]), width)
        x, y = (column + random.random()) * mm_per_px, (row + random.random()) * mm_per_px
        if all(np.hypot(x - o.x_mm, y - o.y_mm) > radius_mm + o.radius_mm + 5.0 for o in others):
            return x, y
    return None


def draw_shape(
    place: tuple[float, float],
    diameter: float,
    law: NoduleDistribution,
    blur_mm: float,
    random: np.random.Generator,
) -> Nodule:
    """Nodule at a position, without its contrast; numbers rounded to five digits as in the table."""
    spiculated = random.random() < law.spiculated
    orders = (2, 3, 4, 5, 6, *((7, 9, 11) if spiculated else ()))
    spread = [0.09 / k if k < 7 else 0.05 for k in orders]
    rays = spiculated and random.random() < law.with_spicules
    return Nodule(
        x_mm=round(place[0], 3),
        y_mm=round(place[1], 3),
        diameter_mm=round(diameter, 3),
        exponent=round(random.uniform(*law.exponent), 4),
        axis_ratio=round(random.uniform(*law.axis_ratio), 4),
        angle_deg=round(random.uniform(0, 180), 2),
        orders=orders,
        amplitudes=tuple(round(float(random.normal(0, sd)), 4) for sd in spread),
        phases=tuple(round(float(random.uniform(0, 2 * np.pi)), 4) for _ in orders),
        spicules=int(random.integers(7, 14)) if rays else 0,
        texture=law.texture,
        texture_seed=int(random.integers(2**31)),
        blur_mm=round(blur_mm, 4),
        conspicuity=round(random.uniform(*law.conspicuity), 4),
    )


# Set by judgement: a pleural nodule's centre lies so near the border of the lung that the border cuts through it.
BORDER_MM = 3.0
# Detail finer than this is taken for the noise of an image.
FINE_MM = 1.0
# The deviation of a normal distribution over the median of its absolute values.
DEVIATION_PER_MEDIAN = 1.4826


@dataclass(frozen=True)
class NoduleKind:
    """One kind of nodule."""

    name: str
    share: float  # How often it is drawn, among all kinds
    look: NoduleDistribution  # Sizes, shapes and conspicuity; its counts and `behind_heart` play no part
    # Anywhere in the lung, at its border, or behind the heart.
    place: Literal["lung", "border", "heart"] = "lung"
    # Range of the deviation of the Gaussian that takes its edge away, over its diameter; uniform.
    softness: tuple[float, float] = (0.0, 0.0)


# Kinds, shares and ranges were set by judgement; docs/explanation/learned.md shows how recognizable their nodules are.
KINDS = (
    NoduleKind(
        "solid",
        0.4,
        NoduleDistribution(diameter_mm=(5, 40), exponent=(0.5, 1.5), axis_ratio=(0.6, 1), spiculated=0.0),
    ),
    NoduleKind(
        "spiculated", 0.15, NoduleDistribution(diameter_mm=(8, 40), spiculated=1.0, with_spicules=0.7)
    ),
    NoduleKind(
        "sub-solid",
        0.15,
        NoduleDistribution(diameter_mm=(8, 35), exponent=(0.3, 0.7), conspicuity=(0.8, 2.2), texture=0.45),
        softness=(0.05, 0.15),
    ),
    NoduleKind(
        "calcified",
        0.1,
        NoduleDistribution(
            diameter_mm=(4, 14), exponent=(0.4, 0.8), conspicuity=(3, 6), spiculated=0.0, texture=0.4
        ),
    ),
    NoduleKind(
        "pleural", 0.12, NoduleDistribution(diameter_mm=(6, 40), axis_ratio=(0.45, 0.8)), place="border"
    ),
    NoduleKind("retrocardiac", 0.08, NoduleDistribution(diameter_mm=(8, 35)), place="heart"),
)


@dataclass(frozen=True)
class VariedDistribution:
    """How nodules of several kinds are drawn.

    Images are left as they are by default: blurred by up to 0.4 mm and with noise up to 0.5, their texture reveals them
    from real ones far better than without (docs/explanation/learned.md: AUC 0.86 against 0.65).
    """

    counts: tuple[float, ...] = NoduleDistribution.counts  # Probability of 0, 1, 2, ... nodules in an image
    kinds: tuple[NoduleKind, ...] = KINDS  # What is drawn; shares need not add up to 1
    # Range of the deviation of a Gaussian that blurs the whole image before nodules are put in; uniform.
    image_blur_mm: tuple[float, float] = (0.0, 0.0)
    # Range of the deviation of the white noise that the image gets then, over that of its own finest detail.
    image_noise: tuple[float, float] = (0.0, 0.0)


def draw_by_law(
    n: int,
    lungs: BoolArray,
    mm_per_px: float,
    *,
    law: NoduleDistribution | VariedDistribution,
    blur_mm: float,
    random: np.random.Generator,
    heart: BoolArray | None = None,
) -> list[Nodule]:
    """Draw nodules by either law, as `draw_nodules` does: none touching another, contrast not yet set."""
    if isinstance(law, NoduleDistribution):
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
    """Find the pixels where the centre of a nodule may lie, for each location of a kind."""
    inside = np.flatnonzero(lungs)
    behind = inside[:0] if heart is None else np.flatnonzero(heart)
    return {
        "lung": inside,
        "border": np.flatnonzero(lungs & (lung_depth(lungs, mm_per_px) <= BORDER_MM)),
        "heart": behind if len(behind) else inside,
    }


def lung_depth(lungs: BoolArray, mm_per_px: float) -> NDArray[np.float32]:
    """Distance of every pixel of the lungs from their border, in mm; the image border is not a lung border."""
    widened = cv2.copyMakeBorder(lungs.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    depth = cv2.distanceTransform(widened, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
    return np.asarray(depth * mm_per_px)


def vary_pixels(
    pixels: FloatArray,
    lungs: BoolArray,
    mm_per_px: float,
    *,
    law: VariedDistribution,
    random: np.random.Generator,
) -> FloatArray:
    """Blur an image a little and add noise, each drawn; values stay within those of the image."""
    blurred = gaussian_filter(pixels, random.uniform(*law.image_blur_mm) / mm_per_px)
    detail = (pixels - gaussian_filter(pixels, FINE_MM / mm_per_px))[lungs if lungs.any() else ...]
    deviation = DEVIATION_PER_MEDIAN * float(np.median(np.abs(detail)))
    noise = random.normal(0.0, 1.0, pixels.shape) * (random.uniform(*law.image_noise) * deviation)
    return np.clip(blurred + noise, pixels.min(), pixels.max())
