r"""From the file's pixels to square ones, positions in mm kept.

Along one axis, a source pixel i of size m covers [i m, (i+1) m] mm and a target pixel j of size g covers
[j g, (j+1) g] mm. Where the grid is coarser (g >= m), the target is the mean over the interval it covers:
the weight of pixel i is the length of the overlap over g. Where it is finer, it is Catmull-Rom's cubic
(Keys 1981, a = -1/2) at the target's centre ((j + 1/2) g / m - 1/2 in pixels of the source). Both axes are
independent, so pixels that are not square need nothing special.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from overread.errors import ImageError
from overread.images.limits import check_shape

__all__ = ["Resampler", "axis_weights"]

LEAST_COVERAGE = 0.5


class Resampler:
    """Resampling of one shape and spacing to square pixels of side `grid_mm`."""

    def __init__(self, shape: tuple[int, int], mm_per_px: tuple[float, float], grid_mm: float) -> None:
        rows, columns = (
            max(1, round(n * size / grid_mm)) for n, size in zip(shape, mm_per_px[::-1], strict=True)
        )
        check_shape(rows, columns)
        self.shape = rows, columns
        self._down = axis_weights(shape[0], rows, grid_mm / mm_per_px[1])
        self._across = axis_weights(shape[1], columns, grid_mm / mm_per_px[0])

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Resample values that are all valid."""
        lines = self._down @ values
        return np.ascontiguousarray((self._across @ lines.T).T)

    def resample_masked(
        self, values: NDArray[np.float32], valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Resample over valid pixels only; a target is valid if at least half of its weight is."""
        coverage = self(valid.astype(np.float32))
        reached = coverage >= LEAST_COVERAGE
        if not reached.any():
            raise ImageError("no pixel is left beside the padding")
        total = self(np.where(valid, values, np.float32(0.0)))
        return np.divide(total, coverage, out=np.zeros_like(total), where=reached), reached


def axis_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Weights of one axis, targets x sources, each row summing to 1; `scale` is target size over source size."""
    if scale >= 1.0:
        return area_weights(n_source, n_target, scale)
    return cubic_weights(n_source, n_target, scale)


def area_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Overlap of each target interval with each source pixel, cut at the image's end."""
    edges = np.minimum(np.arange(n_target + 1) * scale, n_source)
    first = np.minimum(np.floor(edges[:-1]).astype(np.int64), n_source - 1)
    reach = int(np.ceil(scale)) + 1
    source = first[:, None] + np.arange(reach)
    overlap = np.minimum(source + 1, edges[1:, None]) - np.maximum(source, edges[:-1, None])
    return normalize_rows(np.maximum(overlap, 0.0), source, n_source)


def cubic_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Catmull-Rom weights of the four pixels around each target's centre; the border pixel repeats outside."""
    centre = (np.arange(n_target) + 0.5) * scale - 0.5
    source = np.floor(centre).astype(np.int64)[:, None] + np.arange(-1, 3)
    t = np.abs(centre[:, None] - source)
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return normalize_rows(np.where(t <= 1.0, near, far), source, n_source)


def normalize_rows(weight: NDArray[np.float64], source: NDArray[np.int64], n_source: int) -> sparse.csr_array:
    """Sparse matrix of the weights, indices outside moved to the border."""
    n_target, reach = weight.shape
    weight = weight / weight.sum(axis=1, keepdims=True)
    target = np.repeat(np.arange(n_target), reach)
    index = np.clip(source, 0, n_source - 1).ravel()
    matrix = sparse.coo_array((weight.ravel().astype(np.float32), (target, index)), (n_target, n_source))
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    return matrix
