"""Whether a picture shows two lungs side by side, as a frontal chest radiograph does and a lateral one does not.

The left lung field, mirrored about the middle between both, is laid over the right one. Their overlap over their
union is high where the lungs are a pair.
"""

from __future__ import annotations

import numpy as np

from overread.domains.chest._lungs import LungFields

# Below this a picture is said to be no frontal chest: 3 of 281 frontal NIH radiographs are, and so is each left half of
# 60 of them, which shows one lung as a lateral view does (largest 0.31). No lateral views were at hand.
LEAST_SYMMETRY = 0.33


def looks_frontal(fields: LungFields) -> bool:
    """Whether the lung fields of a picture are about mirror images of each other."""
    return measure_symmetry(fields) >= LEAST_SYMMETRY


def measure_symmetry(fields: LungFields) -> float:
    """Overlap over union of the right lung and the mirrored left lung; 0 where one is missing."""
    if not (fields.left.any() and fields.right.any()):
        return 0.0
    middle = (np.nonzero(fields.left)[1].mean() + np.nonzero(fields.right)[1].mean()) / 2
    width = fields.left.shape[1]
    source = np.round(2 * middle - np.arange(width)).astype(int)
    inside = (source >= 0) & (source < width)
    mirrored = np.zeros_like(fields.left)
    mirrored[:, inside] = fields.left[:, source[inside]]
    union = (mirrored | fields.right).sum()
    return float((mirrored & fields.right).sum() / union)
