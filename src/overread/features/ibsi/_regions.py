"""All 97 features of a region, and of many regions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread._kernel import kernel
from overread.errors import InvalidInputError
from overread.features._arrays import F64, U16, Mask
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES, first_order
from overread.features.ibsi._glcm import GLCM, pair_features
from overread.features.ibsi._levels import add_border, check_bins, check_region, quantize_into
from overread.features.ibsi._neighbours import (
    NGLDM,
    NGTDM,
    count_neighbours,
    dependence_features,
    tone_features,
)
from overread.features.ibsi._runs_zones import (
    GLRLM,
    GLSZM,
    TABLE_LENGTH,
    average_directions,
    n_log_n_table,
    run_features,
    zone_features,
)

# Formulas by family and name, in the order of `matrix_features`.
MATRICES = {"glrlm": GLRLM, "glszm": GLSZM, "ngldm": NGLDM, "ngtdm": NGTDM}
FAMILIES = {"first_order": FIRST_ORDER, "glcm": GLCM, **MATRICES}
FEATURE_NAMES = tuple(f"{family}.{name}" for family, formulas in FAMILIES.items() for name in formulas)
"""Names of all IBSI features, ``family.name``, in the order of their columns."""
MINIMUM, MAXIMUM = (list(FIRST_ORDER).index(name) for name in ("minimum", "maximum"))

# Where each family's columns begin, in all features and in those of `matrix_features`.
PAIRS = len(FIRST_ORDER)
REST = PAIRS + len(GLCM)
ZONES = len(GLRLM)
DEPENDENCES = ZONES + len(GLSZM)
TONES = DEPENDENCES + len(NGLDM)


@kernel
def matrix_features(levels: U16, n_pixels: int, n_levels: int, table: F64, out: F64) -> None:
    """Features of runs, zones, dependences and tone differences, in the order of `MATRICES`.

    Levels are 1 to G in the region, 0 outside it and on a border one pixel wide, so that neighbours need no bounds
    test.
    """
    run_features(levels, n_pixels, n_levels, table, out[:ZONES])
    zone_features(levels, n_pixels, n_levels, table, out[ZONES:DEPENDENCES])
    dependence, occupied, difference = count_neighbours(levels, n_levels)
    dependence_features(dependence, n_pixels, table, out[DEPENDENCES:TONES])
    tone_features(occupied, difference, out[TONES:])


@kernel
def _describe_regions(images: F64, masks: Mask, n_bins: int, out: F64) -> None:
    """Features of each region, in the order of `FEATURE_NAMES`: of its values, then of its levels."""
    n, rows, columns = images.shape
    area = rows * columns
    values = np.zeros(area)
    found = np.zeros(RANKED_SHARES.size)
    levels = np.zeros((rows + 2, columns + 2), np.uint16)
    table = n_log_n_table(TABLE_LENGTH)
    pairs = np.zeros((4, REST - PAIRS))
    for k in range(n):
        size = 0
        for y in range(rows):
            for x in range(columns):
                if masks[k, y, x]:
                    values[size] = images[k, y, x]
                    size += 1
        first_order(values[:size], found, out[k, :PAIRS])
        quantize_into(images[k], masks[k], out[k, MINIMUM], out[k, MAXIMUM], n_bins, levels)
        pair_features(levels, n_bins, 1, table, pairs)
        average_directions(pairs, out[k, PAIRS:REST])
        matrix_features(levels, size, n_bins, table, out[k, REST:])


def level_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """54 features of runs, zones, dependences and tone differences of levels: 1 to G in the region, 0 outside."""
    padded, n_pixels, n_levels = add_border(levels, n_levels)
    names = FEATURE_NAMES[REST:]
    out = np.zeros(len(names))
    matrix_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(names, out.tolist(), strict=True))


def texture_features(
    image: ArrayLike, mask: ArrayLike | None = None, *, n_bins: int = 32
) -> dict[str, float]:
    """97 features of a region: 18 of its values, 79 of its levels after `quantize`.

    Parameters
    ----------
    image : array-like
        Two dimensions, numbers; finite inside the region.
    mask : array-like, optional
        True in the region; same shape. Everything by default.
    n_bins : int, default=32
        Number of levels, 1 to 4096.

    Returns
    -------
    dict[str, float]
        By names of `FEATURE_NAMES`, ``"glcm.contrast"``; GLCM at distance 1.
    """
    pixels, region = check_region(image, mask)
    check_bins(n_bins)
    out = np.zeros((1, len(FEATURE_NAMES)))
    _describe_regions(pixels[None], region[None], n_bins, out)
    return dict(zip(FEATURE_NAMES, out[0].tolist(), strict=True))


def texture_matrix(images: ArrayLike, masks: ArrayLike | None = None, *, n_bins: int = 32) -> F64:
    """97 features (`FEATURE_NAMES`) of many regions of one shape; a row equals what `texture_features` gives."""
    stack = np.asarray(images)
    if stack.ndim != 3:
        raise InvalidInputError(f"images: {stack.ndim} dimensions; give regions x rows x columns.")
    check_bins(n_bins)
    given = [None] * len(stack) if masks is None else np.asarray(masks)
    if len(given) != len(stack):
        raise InvalidInputError(f"masks: {len(given)} for {len(stack)} images; give one each.")
    out = np.zeros((len(stack), len(FEATURE_NAMES)))
    if len(stack):
        regions = [check_region(image, mask) for image, mask in zip(stack, given, strict=True)]
        inside = np.array([region for _, region in regions])
        _describe_regions(np.array([pixels for pixels, _ in regions]), inside, n_bins, out)
    return out
