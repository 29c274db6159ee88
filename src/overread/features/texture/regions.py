"""All 97 features of a region, and of many regions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.features.texture._kernels import describe_regions
from overread.features.texture.first_order import FIRST_ORDER
from overread.features.texture.glcm import GLCM
from overread.features.texture.glrlm import GLRLM
from overread.features.texture.glszm import GLSZM
from overread.features.texture.levels import checked_bins, checked_region
from overread.features.texture.ngldm import NGLDM
from overread.features.texture.ngtdm import NGTDM

__all__ = ["FEATURE_NAMES", "texture_features", "texture_matrix"]

FAMILIES = {
    "first_order": FIRST_ORDER,
    "glcm": GLCM,
    "glrlm": GLRLM,
    "glszm": GLSZM,
    "ngldm": NGLDM,
    "ngtdm": NGTDM,
}
FEATURE_NAMES = tuple(f"{family}.{name}" for family, formulas in FAMILIES.items() for name in formulas)


def texture_features(
    image: ArrayLike, mask: ArrayLike | None = None, *, n_bins: int = 32
) -> dict[str, float]:
    """97 features of a region: 18 of its values, 79 of its levels after `quantize`.

    Parameters
    ----------
    image
        Two dimensions, numbers; finite inside the region.
    mask
        True in the region; same shape. Everything by default.
    n_bins
        Number of levels, 1 to 4096.

    Returns
    -------
    dict[str, float]
        By names of `FEATURE_NAMES`, ``"glcm.contrast"``; GLCM at distance 1.
    """
    pixels, region = checked_region(image, mask)
    checked_bins(n_bins)
    out = np.zeros((1, len(FEATURE_NAMES)))
    describe_regions(pixels[None], region[None], n_bins, out)
    return dict(zip(FEATURE_NAMES, out[0].tolist(), strict=True))


def texture_matrix(
    images: ArrayLike, masks: ArrayLike | None = None, *, n_bins: int = 32
) -> NDArray[np.float64]:
    """97 features of many regions of one shape; a row equals what `texture_features` gives.

    Parameters
    ----------
    images
        Regions x rows x columns.
    masks
        Same shape; True in each region. Everything by default.
    n_bins
        Number of levels, 1 to 4096.

    Returns
    -------
    NDArray[np.float64]
        Regions x 97, columns in the order of `FEATURE_NAMES`.
    """
    stack = np.asarray(images)
    if stack.ndim != 3:
        raise InvalidInputError(f"images: {stack.ndim} dimensions; give regions x rows x columns.")
    checked_bins(n_bins)
    given = [None] * len(stack) if masks is None else np.asarray(masks)
    if len(given) != len(stack):
        raise InvalidInputError(f"masks: {len(given)} for {len(stack)} images; give one each.")
    out = np.zeros((len(stack), len(FEATURE_NAMES)))
    if len(stack):
        checked = [checked_region(image, mask) for image, mask in zip(stack, given, strict=True)]
        regions = np.array([region for _, region in checked])
        describe_regions(np.array([pixels for pixels, _ in checked]), regions, n_bins, out)
    return out
