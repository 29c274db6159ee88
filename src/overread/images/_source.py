"""Content of a file: stored values, and the facts for measuring and display."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.images._spacing import FileSpacing


@dataclass(frozen=True)
class Rescale:
    """Modality rescale: value = slope * stored + intercept."""

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """Values of stored numbers."""
        values = stored.astype(np.float32)
        if self.slope != 1.0:
            values *= np.float32(self.slope)
        if self.intercept != 0.0:
            values += np.float32(self.intercept)
        return values


@dataclass(frozen=True, eq=False)
class LookupTable:
    """A DICOM look-up table: value = entries[stored - first], constant beyond the ends (PS3.3 C.11.1.1.1)."""

    first: int
    entries: NDArray[np.uint16]
    bits: int

    def __call__(self, stored: NDArray[Any]) -> NDArray[np.float32]:
        """Values of stored numbers."""
        index = np.clip(np.round(stored).astype(np.int64) - self.first, 0, len(self.entries) - 1)
        return self.entries.astype(np.float32)[index]


class VoiFunction(StrEnum):
    """Function of a window (PS3.3 C.11.2.1.2)."""

    LINEAR = "LINEAR"
    LINEAR_EXACT = "LINEAR_EXACT"
    SIGMOID = "SIGMOID"


@dataclass(frozen=True)
class Window:
    """Window of interest, in values after the modality transform."""

    center: float
    width: float
    function: VoiFunction = VoiFunction.LINEAR


@dataclass(frozen=True, eq=False)
class SourceImage:
    """Stored pixels of a file and the facts that define them; nothing about the patient."""

    stored: NDArray[Any]  # rows x columns of integers, or of finite floats from an array
    bits_range: tuple[float, float]  # lowest and highest value of the bits
    valid: NDArray[np.bool_] | None = None  # False for padding; None without padding
    modality: Rescale | LookupTable = field(default_factory=Rescale)
    inverted: bool = False  # a higher value absorbs less (MONOCHROME1, or shape INVERSE)
    voi: Window | LookupTable | None = None  # display window or table; None: by percentiles
    spacing: FileSpacing = field(default_factory=FileSpacing)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.stored.shape
        return rows, columns

    def measured(self) -> NDArray[np.float32]:
        """Values for measuring: higher values absorb more.

        A linear rescale is ignored except for its sign, because the normalization undoes any increasing one. An
        inverted value v becomes lowest + highest - v, so that a MONOCHROME1 image and its MONOCHROME2 twin give the
        same numbers.
        """
        if isinstance(self.modality, LookupTable):
            values = self.modality(self.stored)
            low, high = 0.0, float((1 << self.modality.bits) - 1)
            falling = self.inverted
        else:
            values = self.stored.astype(np.float32)
            low, high = self.bits_range
            falling = self.inverted != (self.modality.slope < 0.0)
        return np.float32(low + high) - values if falling else values
