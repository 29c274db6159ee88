"""Statistics that a phantom shares with real radiographs: texture, grey levels, edges.

The same functions measure both; only pixels and the size of a pixel go in.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PATCH_MM = 45.0
BAND_PER_MM = (0.1, 0.4)
BOX = (0.1, 0.8, 0.14, 0.86)
SMALLEST_LUNG_MM2 = 3000.0
BLACK = 0.06 * 255


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Mean power of image patches by spatial frequency, and the number of patches behind it."""

    frequency_per_mm: Floats
    power: Floats
    n_patches: int


def dark_fields(pixels: NDArray[np.floating], mm_per_px: float) -> NDArray[np.bool_]:
    """Lung fields by a plain rule: the two largest regions in the middle that are dark, not black; ribs closed.

    A rule for statistics over many images, equal for phantoms and radiographs; it fails on some.
    """
    low, high = np.percentile(pixels, [1, 99])
    grey = np.clip((pixels - low) / max(high - low, 1e-9) * 255, 0, 255).astype(np.uint8)
    smooth = cv2.GaussianBlur(grey, (0, 0), 3.0 / mm_per_px)
    box = np.zeros(grey.shape, dtype=np.bool_)
    rows, columns = grey.shape
    box[round(BOX[0] * rows) : round(BOX[1] * rows), round(BOX[2] * columns) : round(BOX[3] * columns)] = True
    threshold, _ = cv2.threshold(smooth[box], 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    dark = ((smooth < threshold) & (smooth > BLACK) & box).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(dark, connectivity=4)
    order = np.argsort(stats[1:, cv2.CC_STAT_AREA])[::-1][:2] + 1
    two = [k for k in order if stats[k, cv2.CC_STAT_AREA] * mm_per_px**2 > SMALLEST_LUNG_MM2]
    width = 2 * round(6.0 / mm_per_px) + 1
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width))
    return cv2.morphologyEx(np.isin(labels, two).astype(np.uint8), cv2.MORPH_CLOSE, disc) > 0


def texture_spectrum(
    pixels: NDArray[np.floating],
    mm_per_px: float | tuple[float, float],
    field: NDArray[np.bool_],
    *,
    patch_mm: float = PATCH_MM,
) -> Spectrum:
    """Mean periodogram of the square patches that lie wholly inside a field.

    Patches of ``patch_mm`` step by half their side. Each loses its mean and its best plane and is multiplied
    by a Hann window w; its power is |DFT|^2 dx dy / sum w^2, averaged over rings of equal frequency, 1/patch_mm
    wide. Pixels need not be square: ``mm_per_px`` may be (dx, dy), so that nothing has to be resampled.
    """
    dx, dy = _sides(mm_per_px)
    columns, rows = round(patch_mm / dx), round(patch_mm / dy)
    window = np.outer(np.hanning(rows), np.hanning(columns))
    count = cv2.boxFilter(field.astype(np.float32), -1, (columns, rows), normalize=False, anchor=(0, 0))
    total, n_patches = np.zeros((rows, columns)), 0
    for r in range(0, field.shape[0] - rows, rows // 2):
        for c in range(0, field.shape[1] - columns, columns // 2):
            if count[r, c] > rows * columns - 0.5:
                patch = _without_plane(pixels[r : r + rows, c : c + columns].astype(np.float64))
                total += np.abs(np.fft.fft2(patch * window)) ** 2
                n_patches += 1
    power = total * (dx * dy / np.sum(window**2) / max(n_patches, 1))
    frequency = np.hypot(np.fft.fftfreq(rows, dy)[:, None], np.fft.fftfreq(columns, dx)[None, :])
    ring = np.rint(frequency * patch_mm).astype(int)
    keep = ring <= int(0.5 / max(dx, dy) * patch_mm)
    size = np.bincount(ring[keep])
    return Spectrum(
        np.bincount(ring[keep], frequency[keep]) / size,
        np.bincount(ring[keep], power[keep]) / size,
        n_patches,
    )


def _without_plane(patch: Floats) -> Floats:
    """Patch less its best plane; the coordinates are orthogonal, so each slope is a projection."""
    flat = patch - patch.mean()
    for axis, n in enumerate(patch.shape):
        t = np.arange(n) - (n - 1) / 2
        along = t[:, None] if axis == 0 else t[None, :]
        flat = flat - along * (np.sum(flat * along) / (np.sum(t * t) * (patch.size / n)))
    return flat


def power_law_exponent(spectrum: Spectrum, *, band_per_mm: tuple[float, float] = BAND_PER_MM) -> float:
    """Exponent beta of power = k frequency^-beta by least squares of logarithms; NaN without patches."""
    low, high = band_per_mm
    inside = (spectrum.frequency_per_mm >= low) & (spectrum.frequency_per_mm <= high)
    if spectrum.n_patches == 0:
        return float("nan")
    slope, _ = np.polyfit(np.log(spectrum.frequency_per_mm[inside]), np.log(spectrum.power[inside]), 1)
    return -float(slope)


def grey_histogram(pixels: NDArray[np.floating], *, bins: int = 64) -> Floats:
    """Share of pixels by grey level between the darkest and the brightest per cent, which become 0 and 1."""
    low, high = np.percentile(pixels, [1, 99])
    level = np.clip((pixels - low) / max(high - low, 1e-9), 0, 1)
    return np.histogram(level, bins=bins, range=(0, 1))[0] / level.size


def edge_strengths(
    pixels: NDArray[np.floating],
    mm_per_px: float | tuple[float, float],
    *,
    percentiles: tuple[float, ...] = (50, 75, 90, 97, 99),
) -> Floats:
    """Percentiles of the gradient's length at a scale of 1 mm, a mm, over the range between 1 and 99 per cent."""
    dx, dy = _sides(mm_per_px)
    low, high = np.percentile(pixels, [1, 99])
    smooth = cv2.GaussianBlur(pixels.astype(np.float32), (0, 0), sigmaX=1.0 / dx, sigmaY=1.0 / dy)
    gy, gx = np.gradient(smooth, dy, dx)
    return np.percentile(np.hypot(gx, gy) / max(high - low, 1e-9), percentiles)


def _sides(mm_per_px: float | tuple[float, float]) -> tuple[float, float]:
    return mm_per_px if isinstance(mm_per_px, tuple) else (mm_per_px, mm_per_px)
