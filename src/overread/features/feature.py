"""What a feature is, and what its family can see when it computes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.anatomy import Anatomy
from overread.images import Radiograph

__all__ = ["Context", "Family", "Feature"]


@dataclass(frozen=True)
class Feature:
    """One entry of the catalogue.

    Parameters
    ----------
    name
        Says family, channel and parameters: ``"glcm_contrast.wavelet2_hl.d1.mean"``. A Python identifier after
        the dots are replaced.
    kind
        One of the 150 specific features or the 1000 of texture and intensity.
    family
        Family that computes it.
    unit
        ``"mm"``, ``"1"``, ``"grey"`` (units of the normalized image), ``"deg"``, ...
    formula
        What is computed, as a formula in plain text.
    reference
        Where it was published.
    """

    name: str
    kind: Literal["specific", "texture"]
    family: str
    unit: str
    formula: str
    reference: str


@dataclass(frozen=True, eq=False)
class Context:
    """A batch of candidates on one radiograph, with all that a family may look at.

    Parameters
    ----------
    radiograph, anatomy
        The image and its anatomy.
    column, row
        Centres of the candidates as array indices (pixel centres at whole numbers), float64.
    radius_px
        Their radii in pixels of the grid, float64.
    outline
        Segmentation of each candidate as a boolean patch stack: (n, side, side), centred on the pixel nearest to
        the candidate; side is odd.
    """

    radiograph: Radiograph
    anatomy: Anatomy
    column: NDArray[np.float64]
    row: NDArray[np.float64]
    radius_px: NDArray[np.float64]
    outline: NDArray[np.bool_]


@dataclass(frozen=True)
class Family:
    """Features that are computed together.

    Parameters
    ----------
    features
        In the order of the columns that ``compute`` returns.
    compute
        Context -> float32 array (candidates x features), all finite.
    """

    features: tuple[Feature, ...]
    compute: Callable[[Context], NDArray[np.float32]]
