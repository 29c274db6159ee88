"""A picture of any kind as planes of numbers on a square grid, with the region in which it shows something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.fields.regions import RegionKind, find_region
from overread.fields.smoothing import smooth_inside
from overread.images import fingerprint_channels, read_channels, sketch_channels
from overread.images.resampling import Resampler
from overread.images.spacing import given_spacing
from overread.one_line import print_as_one_line

__all__ = ["LUMINANCE", "FieldImage", "read_field"]

Map = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Luminance of colour (ITU-R BT.601), where a study gives no weights of its own.
LUMINANCE = (0.299, 0.587, 0.114)
# The background of a place is the mean of the region around it, weighted by a Gaussian of this share of the width of
# the image. Chosen by eye on three fundus photographs: wider than any lesion, narrower than the vignetting.
BACKGROUND_SHARE = 0.03
# A place whose surroundings vary less than this, in deviations of the region squared, is not made rougher.
LEAST_VARIANCE = 1e-3
# Shares of full scale below one step of 8 bits have no logarithm.
DARKEST = 1.0 / 255.0
# From the median absolute deviation to the standard deviation of a normal law.
MAD_TO_SD = 1.4826


@print_as_one_line("shape", "planes", "mm_per_px")
@dataclass(frozen=True, eq=False)
class FieldImage:
    """Planes of one picture on a square grid.

    Attributes
    ----------
    planes
        By name: "main", the plane that is searched; for colour also "red", "green", "blue" and the opponent colours
        "red_green" (r - g) and "yellow_blue" ((r + g) / 2 - b). Values are shares of full scale.
    region
        Where the picture shows something.
    mm_per_px
        Side of a pixel; nominal where the picture has no scale.
    source_mm_per_px
        Size of a pixel in the file, (x, y); None for a picture that was not read from one.
    source_shape
        Rows and columns in the file, or None.
    pixel_hash
        `fingerprint_channels` of the file that was read, or None.
    sketch
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


def read_field(
    path: str | Path,
    *,
    mm_per_px: float | Sequence[float],
    region: RegionKind = "field_of_view",
    weights: Sequence[float] | None = None,
    stain: Sequence[float] | None = None,
    colour: bool | None = None,
    mask: str | Path | None = None,
) -> FieldImage:
    """Read a picture, grey or in colour.

    Parameters
    ----------
    path
        DICOM, PNG, TIFF or JPEG.
    mm_per_px
        Size of a pixel, one number or (x, y); nominal where the picture has no scale.
    region
        "field_of_view": the largest bright area; "all": the whole picture; "masks": where `mask` is not 0.
    weights
        Of red, green and blue in the main plane; luminance if not given. Negative ones make opponent colours.
    stain
        In place of weights: absorbance of a stain in red, green and blue; the main plane is how much of it there is.
    colour
        True: a grey picture has three equal channels; False: a colour picture has its main plane only; None: as it is.
    mask
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
    planes = make_planes(sampled * 3 if colour and len(sampled) == 1 else sampled, weights, stain)
    return FieldImage(
        {"main": planes["main"]} if colour is False else planes,
        found,
        grid_mm,
        (spacing.x, spacing.y),
        (channels.shape[0], channels.shape[1]),
        fingerprint_channels(channels),
        sketch_channels(channels),
    )


def make_planes(
    channels: Sequence[Map], weights: Sequence[float] | None, stain: Sequence[float] | None = None
) -> dict[str, Map]:
    """Name the planes of grey (one channel) or colour (three)."""
    if len(channels) == 1:
        return {"main": channels[0]}
    red, green, blue = channels
    main = weigh_channels(channels, weights) if stain is None else measure_stain(channels, stain)
    return {
        "main": main,
        "red": red,
        "green": green,
        "blue": blue,
        "red_green": red - green,
        "yellow_blue": (red + green) / 2 - blue,
    }


def weigh_channels(channels: Sequence[Map], weights: Sequence[float] | None) -> Map:
    """Weighted sum, the weights' absolute values adding up to 1."""
    given = _check_three("weights", LUMINANCE if weights is None else weights)
    shares = given / np.abs(given).sum()
    main = sum(np.float32(share) * channel for share, channel in zip(shares, channels, strict=True))
    return np.asarray(main, dtype=np.float32)


def measure_stain(channels: Sequence[Map], stain: Sequence[float]) -> Map:
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
