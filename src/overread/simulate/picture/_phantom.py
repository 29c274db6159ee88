"""The picture of a round field without lesions: light, colour, texture, vessels, and one disc.

The physics is loose, the parts have names: light that falls off towards the border and to one side, a reflecting ground
whose three channels have their own share of it, a disc that reflects more, and blood that lets exp(-k t) of the light
pass, k larger in green and blue than in red. Lesions are put in by `overread.simulate.picture._lesions`.

A tree of vessels: arcs that leave the disc, bend, thin out and branch.

At a branching of a vessel of radius r into r1 and r2 Murray's law holds: r^3 = r1^3 + r2^3 (C. D. Murray, 1926).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError

# Everything below is set by judgement, in shares of the field's radius where it is a length.
ROOT_RADIUS = 0.016
LEAST_RADIUS = 0.0028
STEP = 0.025
BEND_DEG = 7.0
BRANCH_CHANCE = 0.085
BRANCH_DEG = (25.0, 55.0)
# The thinner branch carries this share of the flow.
THIN_FLOW = (0.15, 0.45)
# A vessel loses this share of its radius with each step, in side branches too thin to be drawn.
TAPER = 0.006
# Main vessels leave the disc up and down, and bend towards the middle of the field.
ROOTS_DEG = (-115.0, -68.0, 66.0, 112.0)
HOMING = 0.055
# Subpixels of a pixel, as a power of two: lines are drawn on a finer grid, so that thin ones have their true width.
SHIFT = 4
SUPERSAMPLING = 2


@dataclass(frozen=True)
class Tip:
    """The growing end of a vessel, in shares of the field's radius; the angle is clockwise on screen from +x."""

    x: float
    y: float
    angle: float
    radius: float


def draw_vessels(
    shape: tuple[int, int],
    centre: tuple[float, float],
    field_radius: float,
    disc: tuple[float, float],
    random: np.random.Generator,
) -> NDArray[np.float32]:
    """Draw how much blood each pixel shows: 0 without a vessel, its thickness over that of a root in one."""
    fine = np.zeros((shape[0] * SUPERSAMPLING, shape[1] * SUPERSAMPLING), dtype=np.float32)
    x, y = ((disc[k] - centre[k]) / field_radius for k in (0, 1))
    side = 1.0 if x <= 0 else -1.0
    tips = []
    for angle in ROOTS_DEG:
        turned = np.radians(angle + random.normal(0, 8.0))
        towards = np.arctan2(np.sin(turned), side * np.cos(turned))
        tips.append(Tip(x, y, float(towards), ROOT_RADIUS * float(random.uniform(0.75, 1.1))))
    while tips:
        tip = tips.pop()
        while tip.radius >= LEAST_RADIUS and np.hypot(tip.x, tip.y) < 1.05:
            ahead = _grow(tip, random)
            _paint(fine, tip, ahead, centre, field_radius)
            tip = ahead
            if random.random() < BRANCH_CHANCE:
                thick, thin = _branch(tip, random)
                tips.append(thin)
                tip = thick
    rows, columns = shape
    return np.asarray(cv2.resize(fine, (columns, rows), interpolation=cv2.INTER_AREA), dtype=np.float32)


def _grow(tip: Tip, random: np.random.Generator) -> Tip:
    """Go a step on: bend at random, thick vessels also towards the middle of the field."""
    home = np.arctan2(-tip.y, -tip.x)
    off = float(np.angle(np.exp(1j * (home - tip.angle))))
    pull = HOMING * tip.radius / ROOT_RADIUS * np.sign(off) * (np.hypot(tip.x, tip.y) > 0.35)
    angle = tip.angle + float(pull) + float(np.radians(random.normal(0, BEND_DEG)))
    x, y = tip.x + STEP * float(np.cos(angle)), tip.y + STEP * float(np.sin(angle))
    return Tip(x, y, angle, tip.radius * (1 - TAPER))


def _branch(tip: Tip, random: np.random.Generator) -> tuple[Tip, Tip]:
    """Divide a vessel in two by Murray's law; the thinner one turns farther away."""
    flow = random.uniform(*THIN_FLOW)
    side = random.choice((-1.0, 1.0))
    turn = np.radians(random.uniform(*BRANCH_DEG))
    thick = Tip(
        tip.x, tip.y, tip.angle - float(side * turn * flow), tip.radius * float((1 - flow) ** (1 / 3))
    )
    thin = Tip(tip.x, tip.y, tip.angle + float(side * turn), tip.radius * float(flow ** (1 / 3)))
    return thick, thin


def _paint(
    fine: NDArray[np.float32], start: Tip, end: Tip, centre: tuple[float, float], field_radius: float
) -> None:
    """Draw a piece of a vessel; where vessels cross, the thicker one is seen."""
    scale = field_radius * SUPERSAMPLING
    ends = [
        tuple(
            round((centre[k] * SUPERSAMPLING + place * scale) * 2**SHIFT)
            for k, place in enumerate((tip.x, tip.y))
        )
        for tip in (start, end)
    ]
    # OpenCV draws thick lines a pixel wider than requested.
    width = max(round(2 * end.radius * scale) - 1, 1)
    low = [max(min(one[k] for one in ends) // 2**SHIFT - width, 0) for k in (0, 1)]
    high = [max(one[k] for one in ends) // 2**SHIFT + width + 1 for k in (0, 1)]
    part = fine[low[1] : high[1], low[0] : high[0]]
    if not part.size:
        return
    line = np.zeros(part.shape, dtype=np.float32)
    first, second = ([one[k] - low[k] * 2**SHIFT for k in (0, 1)] for one in ends)
    cv2.line(line, first, second, end.radius / ROOT_RADIUS, width, cv2.LINE_8, SHIFT)
    np.maximum(part, line, out=part)


Map = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Rows and columns; about a third of the width of a fundus photograph of 2001, so that a demo is fast.
SHAPE = (432, 560)
# What is not said otherwise is set by judgement, beside fundus photographs; lengths are shares of the field's radius.
FIELD_SHARE = 0.97
GROUND = (0.62, 0.33, 0.12)
DISC = (0.95, 0.72, 0.36)
DISC_RADIUS = 0.13
DISC_FROM_CENTRE = (0.5, 0.66)
SPOT_RADIUS = 0.17
SPOT_DEPTH = 0.22
# Absorption of blood, of a root vessel: haemoglobin takes about ten times as much green as red light; scattering
# leaves less of the difference in a picture.
BLOOD = (0.25, 0.75, 0.6)
VIGNETTING = 0.45
SLOPE = 0.16
# Texture: standard deviation, and scale of each layer.
LAYERS = ((0.035, 0.3), (0.025, 0.08), (0.02, 0.02), (0.016, 0.008))
# Noise of the sensor: standard deviation at full scale, falling with the root of the light; its blur in pixels.
NOISE = 0.02
NOISE_BLUR = 0.7
# From this share of a root's thickness on a pixel counts as vessel.
VISIBLE_BLOOD = 0.05


@short_repr("shape", "seed")
@dataclass(frozen=True, eq=False)
class PicturePhantom:
    """A field without lesions."""

    light: Map  # Rows x columns x (red, green, blue): light that comes back, 1 is full scale; 0 outside the field
    illumination: Map  # Light that falls on each pixel, 1 is what the middle gets
    noise: Map  # What `develop` adds
    field: Mask
    vessels: Mask
    disc: Mask
    # Of the field, in pixels (x, y).
    centre: tuple[float, float]
    radius: float
    seed: int  # What it was drawn from

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.field.shape
        return rows, columns


def picture_phantom(*, seed: int, shape: tuple[int, int] = SHAPE) -> PicturePhantom:
    """Draw a field.

    Parameters
    ----------
    seed : int
        Source of everything random.
    shape : tuple, default=SHAPE
        Rows and columns, 64 at least.
    """
    if min(shape) < 64 or seed < 0:
        raise InvalidInputError(
            f"a field needs 64 rows and columns, and a seed from 0, not {shape} and {seed}"
        )
    random = np.random.default_rng(seed)
    rows, columns = shape
    radius = FIELD_SHARE * min(shape) / 2
    centre = columns / 2 + float(random.normal(0, 2)), rows / 2 + float(random.normal(0, 1))
    x = (np.arange(columns, dtype=np.float32) + np.float32(0.5 - centre[0]))[None, :] / np.float32(radius)
    y = (np.arange(rows, dtype=np.float32) + np.float32(0.5 - centre[1]))[:, None] / np.float32(radius)
    distance = np.hypot(x, y)
    side = random.choice((-1.0, 1.0))
    disc = side * random.uniform(*DISC_FROM_CENTRE), random.normal(0, 0.08)
    ground = _colour_ground(x, y, side, random) * texture(shape, radius, random)[..., None]
    rim, on_disc = _place_disc(x, y, disc, random)
    ground += on_disc[..., None] * (np.asarray(DISC, dtype=np.float32) - ground)
    place = centre[0] + disc[0] * radius, centre[1] + disc[1] * radius
    blood = draw_vessels(shape, centre, radius, place, random)
    light = ground * np.exp(-cv2.GaussianBlur(blood, (0, 0), 0.7)[..., None] * np.asarray(BLOOD, np.float32))
    illumination = _illuminate(x, y, distance, random) * np.float32(random.uniform(0.85, 1.12))
    light *= illumination[..., None]
    edge = np.clip((1 - distance) * radius / 2 + 0.5, 0, 1)
    white = random.standard_normal((rows, columns, 3), dtype=np.float32)
    noise = NOISE * 2 * NOISE_BLUR * np.sqrt(np.pi) * cv2.GaussianBlur(white, (0, 0), NOISE_BLUR)
    return PicturePhantom(
        np.asarray(light * edge[..., None], dtype=np.float32),
        np.asarray(illumination * edge, dtype=np.float32),
        np.asarray(noise, dtype=np.float32),
        distance < 1,
        blood > VISIBLE_BLOOD,
        rim,
        centre,
        radius,
        seed,
    )


def _colour_ground(x: Map, y: Map, side: float, random: np.random.Generator) -> Map:
    """Colour of the ground, with a darker spot on the other side of the middle than the disc."""
    tint = np.asarray(GROUND) * np.exp(random.normal(0, (0.05, 0.12, 0.2)))
    spot_x, spot_y = -side * random.uniform(0.02, 0.12), random.normal(0.05, 0.03)
    squares = ((x - spot_x) ** 2 + (y - spot_y) ** 2) / SPOT_RADIUS**2
    return np.asarray(tint * (1 - SPOT_DEPTH * np.exp(-squares / 2)[..., None]), dtype=np.float32)


def texture(shape: tuple[int, int], radius: float, random: np.random.Generator) -> Map:
    """Draw 1 plus smooth noise of several scales."""
    total = np.ones(shape, dtype=np.float32)
    for deviation, scale in LAYERS:
        sigma = scale * radius
        # A field of this smoothness needs no finer grid than half of its scale.
        step = max(int(sigma / 2), 1)
        small = random.standard_normal((shape[0] // step + 4, shape[1] // step + 4), dtype=np.float32)
        layer = cv2.GaussianBlur(small, (0, 0), sigma / step)
        layer = cv2.resize(layer, shape[::-1], interpolation=cv2.INTER_CUBIC)
        total += np.float32(deviation * 2 * np.sqrt(np.pi) * sigma / step) * layer
    return total


def _place_disc(x: Map, y: Map, disc: tuple[float, float], random: np.random.Generator) -> tuple[Mask, Map]:
    """Mask of the disc, and how much of its colour each pixel has: a rim, and more in a cup."""
    size, stretch = DISC_RADIUS * random.uniform(0.9, 1.1), random.uniform(1.02, 1.15)
    relative = np.hypot((x - disc[0]) * stretch, (y - disc[1]) / stretch) / size
    rim = 0.75 / (1 + np.exp((relative - 1) / 0.05))
    cup = 0.25 / (1 + np.exp((relative - 0.45) / 0.08))
    return np.asarray(relative < 1), np.asarray(rim + cup, dtype=np.float32)


def _illuminate(x: Map, y: Map, distance: Map, random: np.random.Generator) -> Map:
    """Light that falls on the field: less towards the border, and less on one side."""
    angle = random.uniform(0, 2 * np.pi)
    slope = SLOPE * (x * np.cos(angle) + y * np.sin(angle))
    return np.asarray((1 - VIGNETTING * distance**3) * (1 + slope), dtype=np.float32).clip(0.1)


def develop(phantom: PicturePhantom, light: Map) -> NDArray[np.uint8]:
    """Turn light into a picture of 8 bits a channel, with the phantom's noise."""
    noisy = light + phantom.noise * np.sqrt(np.clip(light, 0, 1))
    return np.rint(255 * np.clip(noisy, 0, 1)).astype(np.uint8)
