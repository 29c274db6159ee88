"""Short names of the arrays that features are computed from and in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
U16 = NDArray[np.uint16]
Mask = NDArray[np.bool_]
Map = F32
"""Rows x columns of a radiograph."""
