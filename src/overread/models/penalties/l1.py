"""The paper's penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from overread.models.penalties.penalty import Penalty

__all__ = ["L1"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class L1(Penalty):
    """``R(w) = sum_j |w_j|``: the paper's section 4."""

    name: ClassVar[str] = "l1"

    @property
    def kink(self) -> float:
        """Height of the kink: 1."""
        return 1.0

    def value(self, w: Floats) -> float:
        """Sum of ``|w_j|``."""
        return float(np.abs(w).sum())
