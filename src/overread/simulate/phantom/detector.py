"""From line integrals to the picture: attenuation, scatter, quanta, blur, logarithm, tone curve."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft

from overread.simulate.phantom.bands import row_bands
from overread.simulate.phantom.patient import Patient

__all__ = ["blur", "detected", "power_law_noise", "processed"]

Floats = NDArray[np.float32]

SCATTER_SPREAD_MM = 45.0
DETECTOR_BLUR_MM = 0.37


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


def detected(
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


def processed(signal: Floats, patient: Patient, mm_per_px: float, body: NDArray[np.bool_]) -> Floats:
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
