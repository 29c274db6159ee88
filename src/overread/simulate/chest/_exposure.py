"""From line integrals to the picture: collimator, scatter, quanta, blur, logarithm, tone curve, side marker."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from overread.simulate.chest._patient import Patient, row_bands, stream

Floats = NDArray[np.float32]

# The veil of scatter is this wide and 2.5 times as wide, half each; set by judgement.
SCATTER_SPREAD_MM = 45.0
# Set by judgement and by the gradients of NIH radiographs (docs/explanation/phantom.md).
DETECTOR_BLUR_MM = 0.37
# Shares of radiographs with a visible collimator, and of those that are blackened outside it; set by judgement.
COLLIMATED_SHARE = 0.22
BLACKENED_SHARE = 0.6
PENUMBRA_MM = 1.2


def blur(image: Floats, sigma_px: float) -> Floats:
    """Gaussian blur; wide ones on a coarser grid."""
    factor = max(1, int(sigma_px // 4))
    if factor == 1:
        return cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=cv2.BORDER_REPLICATE)
    height, width = image.shape
    small = cv2.resize(
        image, (max(1, width // factor), max(1, height // factor)), interpolation=cv2.INTER_AREA
    )
    soft = cv2.GaussianBlur(small, (0, 0), sigma_px / factor, borderType=cv2.BORDER_REPLICATE)
    return cv2.resize(soft, (width, height), interpolation=cv2.INTER_CUBIC)


def power_law_noise(
    shape: tuple[int, int], exponent: float, rng: np.random.Generator, *, longest_px: float
) -> Floats:
    """Gaussian noise of unit variance whose power falls as frequency to minus the exponent.

    Power = (f^2 + 1/longest^2)^(-exponent/2): level for waves longer than ``longest_px``.
    """
    size = fft.next_fast_len(max(shape), real=True)
    white = rng.standard_normal((size, size), dtype=np.float32)
    spectrum = fft.rfft2(white)
    fy, fx = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :]
    for rows in row_bands(spectrum.shape):
        frequency2 = (fx * fx + fy[rows] * fy[rows]) + longest_px**-2.0
        spectrum[rows] *= (frequency2 ** (-exponent / 4)).astype(np.float32)
    spectrum[0, 0] = 0
    field = fft.irfft2(spectrum, s=(size, size))[: shape[0], : shape[1]]
    return (field - field.mean()) / field.std()


def expose(
    integral: Floats, field: Floats, patient: Patient, mm_per_px: float, rng: np.random.Generator
) -> Floats:
    """Logarithmic signal -ln(I / I0) with scatter, quantum noise and detector blur.

    I = P + S, P = field exp(-mu t); S = the scatter ratio times P blurred by 45 mm, as a veil; the number of quanta in
    a pixel is Poisson, taken as normal with the same variance.
    """
    primary = field * np.exp(-integral)
    object_only = np.where(integral > 0.3, primary, 0.15 * primary)
    veil = 0.5 * blur(object_only, SCATTER_SPREAD_MM / mm_per_px)
    veil += 0.5 * blur(object_only, 2.5 * SCATTER_SPREAD_MM / mm_per_px)
    total = primary + patient.scatter_ratio * veil * (0.1 + 0.9 * field)
    total = blur(total, DETECTOR_BLUR_MM / mm_per_px)
    quanta = patient.quanta * mm_per_px**2
    noise = rng.standard_normal(total.shape, dtype=np.float32)
    total += np.sqrt(total / quanta) * noise
    return -np.log(np.maximum(total, (1e-4)))


def process(signal: Floats, patient: Patient, mm_per_px: float, body: NDArray[np.bool_]) -> Floats:
    """Tone-mapped picture in [0, 1], brighter where more is absorbed.

    The processing of a digital radiograph: large-scale contrast is compressed, detail is added, and a sigmoid
    maps the body's range to grey.
    """
    base = blur(signal, 60.0 / mm_per_px)
    detail = signal - blur(signal, 2.2 / mm_per_px)
    low, high = np.quantile(signal[body][::7], [0.08, 0.97])
    middle = float(low + high) / 2
    flat = signal - patient.compression * (base - middle) + patient.sharpening * detail
    scaled = (flat - middle) / max(float(high - low), 0.1)
    slope = 5.4 * patient.contrast
    grey = 1 / (1 + np.exp(-slope * (scaled + (patient.brightness + 0.15))))
    return np.clip((grey - 0.04) / 0.955, 0, 1)


@dataclass(frozen=True, eq=False)
class Collimation:
    """Share of the beam let through, 0 to 1, and whether the processing paints the rest black."""

    open: Floats
    blackened: bool

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Where the whole beam comes through."""
        return self.open == 1


def collimate(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Collimation:
    """Close the collimator at some edges by 2 to 14 mm; in most exposures the whole plate is open."""
    rng = stream(seed, "collimator")
    opened = np.ones(shape, dtype=np.float32)
    collimated, blackened = rng.random() < COLLIMATED_SHARE, bool(rng.random() < BLACKENED_SHARE)
    slant = rng.normal(0, 0.006)
    insets = (rng.uniform(2, 14, 4) * (rng.random(4) < 0.5)).tolist()
    if not collimated:
        return Collimation(opened, blackened)
    y = (np.arange(shape[0], dtype=np.float32) * np.float32(mm_per_px))[:, None]
    x = (np.arange(shape[1], dtype=np.float32) * np.float32(mm_per_px))[None, :]
    for inset, distance in zip(insets, (x, x[0, -1] - x, y, y[-1, 0] - y), strict=True):
        if inset > 0:
            inwards = distance + slant * (y if distance.shape[0] == 1 else x) - inset
            opened *= np.clip(inwards / PENUMBRA_MM + 0.5, 0, 1)
    return Collimation(opened, blackened)


def side_marker(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Floats:
    """Lead letter L on the image's right, 0 to 1; some have a ring below it, some radiographs have none."""
    rng = stream(seed, "marker")
    plate = np.zeros(shape, dtype=np.uint8)
    if rng.random() < 0.75:
        size = rng.uniform(9, 15) / mm_per_px
        thickness = max(1, round(rng.uniform(1.4, 2.4) / mm_per_px))
        corner = np.array(
            [shape[1] - rng.uniform(18, 42) / mm_per_px, rng.uniform(14, 50) / mm_per_px + size]
        )
        turn = np.radians(rng.normal(0, 10))
        letter = np.array([[0, -size], [0, 0], [0.6 * size, 0]])
        letter = letter @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        stroke = [np.rint((letter + corner) * 16).astype(np.int32)]
        cv2.polylines(
            plate, stroke, isClosed=False, color=255, thickness=thickness, lineType=cv2.LINE_AA, shift=4
        )
        if rng.random() < 0.4:
            x, y = np.rint((corner + np.array([0.3, 0.9]) * size) * 16).astype(int)
            cv2.circle(plate, (int(x), int(y)), round(4 * size), 255, thickness, cv2.LINE_AA, 4)
    return np.divide(plate, 255, dtype=np.float32)
