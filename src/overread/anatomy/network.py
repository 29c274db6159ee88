"""A network with one hidden layer, small enough to be read from a file of a few kilobytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Network"]

PARTS = ("weights", "offsets", "output")


@dataclass(frozen=True, eq=False)
class Network:
    """Log-odds b2 + w2' max(0, b1 + W1' (x - mean) / scale).

    Parameters
    ----------
    weights
        W1 already divided by the scale of the inputs, inputs x hidden units.
    offsets
        b1 with the mean of the inputs taken in.
    output
        w2, then b2 as its last element.
    """

    weights: NDArray[np.float32]
    offsets: NDArray[np.float32]
    output: NDArray[np.float32]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.float16]], name: str) -> Network:
        """One network of a parameter file."""
        return cls(*(arrays[f"{name}_{part}"].astype(np.float32) for part in PARTS))

    def to_arrays(self, name: str) -> dict[str, NDArray[np.float16]]:
        """Arrays of a parameter file, rounded to float16."""
        return {f"{name}_{part}": getattr(self, part).astype(np.float16) for part in PARTS}

    def log_odds(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Log-odds for each column of an inputs x cases array."""
        hidden = self.weights.T @ inputs + self.offsets[:, None]
        answer: NDArray[np.float32] = self.output[:-1] @ np.maximum(hidden, 0, out=hidden) + self.output[-1]
        return answer
