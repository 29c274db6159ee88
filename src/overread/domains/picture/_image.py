"""A picture of any kind as planes of numbers on a square grid, with the region in which it shows something.

Where a picture shows something: the field of view, a mask file, or all of it.

Gaussian smoothing of planes, wide ones on a coarse grid, and inside a region only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from overread._text import short_repr
from overread.domains._scale_space import blur_reflecting
from overread.errors import ImageError, InvalidInputError
from overread.images import Resampler, fingerprint_channels, given_spacing, read_channels, sketch_channels

Map = NDArray[np.float32]
Mask = NDArray[np.bool_]
RegionKind = Literal["field_of_view", "masks", "all"]

# What has half of this percentile of the picture is bright; a field of view fills at least a tenth of it.
BRIGHT_PERCENT = 95.0
# Share of the median of what is bright from which a pixel belongs to the field of view. Set by judgement on fundus
# photographs: their dark frame has 2 to 4 % of it, their darkest retina 20 %.
DARK_SHARE = 0.12
# The frame of a field of view has a blurred edge; what lies on it looks like a lesion. Share of the picture's width.
EDGE_SHARE = 0.006
# A field of view that fills less than this is none: the picture is dark, or shows something else.
LEAST_REGION_SHARE = 0.05


def find_region(grey: Map, kind: RegionKind, *, mask: str | Path | None = None, name: str = "image") -> Mask:
    """Return the region of a picture, whose channels have the mean ``grey``; errors call it by its name."""
    if kind == "all":
        return np.ones(grey.shape, dtype=np.bool_)
    if kind == "masks":
        if mask is None:
            raise InvalidInputError(
                f"{name}: the region comes from masks, and the image has no mask (detect: --masks FOLDER)"
            )
        return _read_mask(mask, grey.shape)
    if kind == "field_of_view":
        return _find_field_of_view(grey, name)
    raise InvalidInputError(f"no region {kind!r}; use field_of_view, masks or all")


def _find_field_of_view(grey: Map, name: str) -> Mask:
    """Largest bright area, its holes filled, without a thin edge."""
    bright = grey[grey >= np.percentile(grey, BRIGHT_PERCENT) / 2]
    region = (grey > DARK_SHARE * float(np.median(bright))).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(region)
    if count < 2:
        raise ImageError(f'{name}: no field of view is found; use [region] kind = "all" or "masks"')
    largest = (labels == 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax())).astype(np.uint8)
    outlines, _ = cv2.findContours(largest, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(largest, outlines, -1, 1, cv2.FILLED)
    edge = max(round(EDGE_SHARE * grey.shape[1]), 1)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * edge + 1, 2 * edge + 1))
    shrunk = cv2.erode(largest, kernel) > 0
    if shrunk.mean() < LEAST_REGION_SHARE:
        raise ImageError(
            f"{name}: the field of view fills {100 * shrunk.mean():.1f} % of the picture; "
            'use [region] kind = "all" or "masks"'
        )
    return np.asarray(shrunk)


def _read_mask(path: str | Path, shape: tuple[int, ...]) -> Mask:
    """Read a mask file: what is not 0 belongs to the region."""
    mask = read_channels(path).max(axis=2) > 0
    if mask.shape != shape:
        size, wanted = (" x ".join(map(str, one[::-1])) for one in (mask.shape, shape))
        raise ImageError(f"{path}: the mask has {size} pixels and its picture {wanted}")
    if not mask.any():
        raise ImageError(f"{path}: the mask is empty")
    return np.asarray(mask)


# Wider Gaussians are computed on a grid on which they have this width: the error stays below 1 % of an edge (the
# Gaussian has lost all but exp(-2 pi^2 4^2 / 4) of what such a grid cannot carry).
COARSE_SIGMA = 4.0
# Share of the Gaussian that has to lie in the region; below it the mean of so few pixels is noise.
LEAST_WEIGHT = 1e-3


def smooth(plane: Map, sigma_px: float) -> Map:
    """Smooth by a Gaussian, reflected at the border."""
    factor = max(int(sigma_px / COARSE_SIGMA), 1)
    rows, columns = plane.shape
    if factor == 1 or min(rows, columns) < 8 * factor:
        return blur_reflecting(plane, sigma_px)
    size = -(-columns // factor), -(-rows // factor)
    coarse = cv2.resize(plane, size, interpolation=cv2.INTER_AREA)
    scale = size[0] / columns
    wide = blur_reflecting(coarse, sigma_px * scale)
    return np.asarray(cv2.resize(wide, (columns, rows), interpolation=cv2.INTER_CUBIC), dtype=np.float32)


def smooth_inside(plane: Map, region: NDArray[np.bool_], sigma_px: float) -> Map:
    """Mean of the plane over the region, weighted by a Gaussian around each pixel; the plane where none is near."""
    inside = region.astype(np.float32)
    share = smooth(inside, sigma_px)
    total = smooth(np.where(region, plane, 0).astype(np.float32), sigma_px)
    return np.divide(total, share, out=plane.copy(), where=share > LEAST_WEIGHT)


# Luminance of colour (ITU-R BT.601), the default weights.
LUMINANCE = (0.299, 0.587, 0.114)
PLANES: dict[str, tuple[float, float, float]] = {
    "luminance": LUMINANCE,
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "red_green": (1.0, -1.0, 0.0),
    "yellow_blue": (0.5, 0.5, -1.0),
}
"""Weights of red, green and blue by the name of a plane."""
# The background of a place is the mean of the region around it, weighted by a Gaussian of this share of the width of
# the image. Set by judgement on three fundus photographs: wider than any lesion, narrower than the vignetting.
BACKGROUND_SHARE = 0.03
# A place whose surroundings vary less than this, in deviations of the region squared, is not made rougher.
LEAST_VARIANCE = 1e-3
# Shares of full scale below one step of 8 bits have no logarithm.
DARKEST = 1.0 / 255.0
# From the median absolute deviation to the standard deviation of a normal law.
MAD_TO_SD = 1.4826


@short_repr("shape", "planes", "mm_per_px")
@dataclass(frozen=True, eq=False)
class PictureImage:
    """Planes of one picture on a square grid.

    Attributes
    ----------
    planes : dict
        By name: "main", the plane that is searched; for colour also "red", "green", "blue" and the opponent colours
        "red_green" (r - g) and "yellow_blue" ((r + g) / 2 - b). Values are shares of full scale.
    region : ndarray of bool
        Where the picture shows something.
    mm_per_px : float
        Side of a pixel; nominal where the picture has no scale.
    source_mm_per_px : tuple, optional
        Size of a pixel in the file, (x, y); None for a picture that was not read from one.
    source_shape : tuple, optional
        Rows and columns in the file, or None.
    pixel_hash : str, optional
        `fingerprint_channels` of the file that was read, or None.
    sketch : str, optional
        `sketch_channels` of that file, or None.
    """

    planes: dict[str, Map]
    region: Mask
    mm_per_px: float
    source_mm_per_px: tuple[float, float] | None = None
    source_shape: tuple[int, int] | None = None
    pixel_hash: str | None = None
    sketch: str | None = None

    @property
    def pixels(self) -> Map:
        """What is shown to people: rows x columns x 3 in colour, else rows x columns of the main plane."""
        if "red" not in self.planes:
            return self.planes["main"]
        return np.stack([self.planes[name] for name in ("red", "green", "blue")], axis=2)

    @property
    def valid(self) -> Mask:
        """The region, as that of a radiograph is called."""
        return self.region

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height."""
        rows, columns = self.shape
        return columns * self.mm_per_px, rows * self.mm_per_px

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.region.shape
        return rows, columns

    @cached_property
    def flat(self) -> Map:
        """The main plane without its background, in deviations of the region; 0 outside of it."""
        main = self.planes["main"]
        difference = main - smooth_inside(main, self.region, BACKGROUND_SHARE * main.shape[1])
        return np.where(self.region, difference / self._spread(difference)[1], 0).astype(np.float32)

    def standardize(self, name: str) -> Map:
        """Return a plane minus its median in the region, in deviations of the region: pictures become comparable."""
        plane = self.planes[name]
        centre, spread = self._spread(plane)
        return np.asarray((plane - np.float32(centre)) / np.float32(spread), dtype=np.float32)

    def _spread(self, plane: Map) -> tuple[float, float]:
        """Median and robust standard deviation in the region; infinite where nothing varies."""
        inside = plane[self.region]
        centre = float(np.median(inside))
        spread = MAD_TO_SD * float(np.median(np.abs(inside - centre)))
        return centre, spread if spread > 0 else float("inf")

    @cached_property
    def even(self) -> Map:
        """The flat plane over its deviation around each place: as rough here as there."""
        squares = smooth_inside(self.flat * self.flat, self.region, BACKGROUND_SHARE * self.flat.shape[1])
        around = np.sqrt(np.maximum(squares, LEAST_VARIANCE))
        return np.where(self.region, self.flat / around, 0).astype(np.float32)


def read_picture(
    path: str | Path,
    *,
    mm_per_px: float | Sequence[float],
    region: RegionKind = "field_of_view",
    weights: Sequence[float] | None = None,
    stain: Sequence[float] | None = None,
    colour: bool | None = None,
    mask: str | Path | None = None,
) -> PictureImage:
    """Read a picture, grey or in colour.

    Parameters
    ----------
    path : str or Path
        DICOM, PNG, TIFF or JPEG.
    mm_per_px : float or sequence of float
        Size of a pixel, one number or (x, y); nominal where the picture has no scale.
    region : str, default='field_of_view'
        "field_of_view": the largest bright area; "all": the whole picture; "masks": where `mask` is not 0.
    weights : sequence of float, optional
        Of red, green and blue in the main plane; luminance if not given. Negative ones make opponent colours.
    stain : sequence of float, optional
        Instead of weights: absorbance of a stain in red, green and blue; the main plane is then its amount.
    colour : bool, optional
        True: a grey picture has three equal channels; False: a colour picture has its main plane only; None: as it is.
    mask : str or Path, optional
        File of the region, of the same size as the picture.

    Raises
    ------
    ImageError
        If a file cannot be used.
    InvalidInputError
        If the options cannot.
    """
    channels = read_channels(path)
    spacing = given_spacing(mm_per_px)
    grid_mm = min(spacing.x, spacing.y)
    resample = Resampler(channels.shape[:2], (spacing.x, spacing.y), grid_mm)
    sampled = [resample(channels[..., number]) for number in range(channels.shape[2])]
    found = find_region(np.mean(sampled, axis=0, dtype=np.float32), region, mask=mask, name=str(path))
    planes = _make_planes(sampled * 3 if colour and len(sampled) == 1 else sampled, weights, stain)
    return PictureImage(
        {"main": planes["main"]} if colour is False else planes,
        found,
        grid_mm,
        (spacing.x, spacing.y),
        (channels.shape[0], channels.shape[1]),
        fingerprint_channels(channels),
        sketch_channels(channels),
    )


def _make_planes(
    channels: Sequence[Map], weights: Sequence[float] | None, stain: Sequence[float] | None = None
) -> dict[str, Map]:
    """Name the planes of grey (one channel) or colour (three)."""
    if len(channels) == 1:
        return {"main": channels[0]}
    red, green, blue = channels
    main = _weigh_channels(channels, weights) if stain is None else _measure_stain(channels, stain)
    return {
        "main": main,
        "red": red,
        "green": green,
        "blue": blue,
        "red_green": red - green,
        "yellow_blue": (red + green) / 2 - blue,
    }


def _weigh_channels(channels: Sequence[Map], weights: Sequence[float] | None) -> Map:
    """Weighted sum, the weights' absolute values adding up to 1."""
    given = _check_three("weights", LUMINANCE if weights is None else weights)
    shares = given / np.abs(given).sum()
    main = sum(np.float32(share) * channel for share, channel in zip(shares, channels, strict=True))
    return np.asarray(main, dtype=np.float32)


def _measure_stain(channels: Sequence[Map], stain: Sequence[float]) -> Map:
    """Amount of a stain: absorbance -log10 of each channel, projected on that of the stain.

    Absorbances of stains add up (Beer and Lambert); of several stains the part that one alone explains is taken, as
    in colour deconvolution (Ruifrok and Johnston, 2001) with a single vector.
    """
    vector = _check_three("stain", stain)
    amount = sum(
        np.float32(share) * -np.log10(np.maximum(channel, np.float32(DARKEST)))
        for share, channel in zip(vector / (vector @ vector), channels, strict=True)
    )
    return np.asarray(amount, dtype=np.float32)


def _check_three(name: str, values: Sequence[float]) -> NDArray[np.float64]:
    """Refuse what is not three finite numbers, or three zeros."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (3,) or not np.isfinite(given).all() or np.abs(given).sum() == 0:
        raise InvalidInputError(f"{name} of red, green and blue: three finite numbers, not {values}")
    return given
