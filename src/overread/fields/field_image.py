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
from overread.images import read_channels
from overread.images.resampling import Resampler
from overread.images.spacing import given_spacing
from overread.one_line import print_as_one_line

__all__ = ["FieldImage", "read_field"]

Map = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Luminance of colour (ITU-R BT.601), where a study gives no weights of its own.
LUMINANCE = (0.299, 0.587, 0.114)
# The background of a place is the mean of the region around it, weighted by a Gaussian of this share of the width of
# the image. Chosen by eye on three fundus photographs: wider than any lesion, narrower than the vignetting.
BACKGROUND_SHARE = 0.03
# A place whose surroundings vary less than this, in deviations of the region squared, is not made rougher.
LEAST_VARIANCE = 1e-3
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
    """

    planes: dict[str, Map]
    region: Mask
    mm_per_px: float

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
        Of red, green and blue in the main plane; luminance if not given. They have to add up to something above 0.
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
    return FieldImage(make_planes(sampled, weights), found, grid_mm)


def make_planes(channels: Sequence[Map], weights: Sequence[float] | None) -> dict[str, Map]:
    """Name the planes of grey (one channel) or colour (three)."""
    if len(channels) == 1:
        return {"main": channels[0]}
    red, green, blue = channels
    given = np.asarray(LUMINANCE if weights is None else weights, dtype=np.float64)
    if given.shape != (3,) or not np.isfinite(given).all() or np.abs(given).sum() == 0:
        raise InvalidInputError(f"weights of red, green and blue: three finite numbers, not {weights}")
    main = sum(
        np.float32(share) * channel
        for share, channel in zip(given / np.abs(given).sum(), channels, strict=True)
    )
    return {
        "main": np.asarray(main, dtype=np.float32),
        "red": red,
        "green": green,
        "blue": blue,
        "red_green": red - green,
        "yellow_blue": (red + green) / 2 - blue,
    }
