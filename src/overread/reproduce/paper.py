"""What the paper reports, to be set beside a run.

Stainvas, Manevitch and Leichter, "Cancer Detection with Multiple Radiologists via Soft Multiple Instance Logistic
Regression and L1 Regularization": section 5.2 (counts), section 6.1 (lambda) and Table 1. Sensitivities are in per
cent of the golden GTs, or images, that some candidate reaches (its footnote in section 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PAPER_COUNTS", "PAPER_LAMBDA", "PAPER_MODELS", "PaperModel", "PaperSet"]


@dataclass(frozen=True)
class PaperSet:
    """One model on one set: FP per image, and both sensitivities in per cent."""

    fp_per_image: tuple[float, ...]
    gt_sensitivity: tuple[float, ...]
    image_sensitivity: tuple[float, ...]


@dataclass(frozen=True)
class PaperModel:
    """One model of Table 1."""

    n_features: int
    training: PaperSet
    test: PaperSet


PAPER_LAMBDA = 0.06

PAPER_COUNTS: Mapping[str, int] = {
    "images": 1978,
    "images with a mark": 1072,
    "readers": 8,
    "marks": 2364,
    "golden GTs": 322,
    "features": 1150,
}

PAPER_MODELS: Mapping[str, PaperModel] = {
    "soft": PaperModel(
        67,
        PaperSet(
            (0.50, 1.00, 1.50, 2.00, 2.50, 3.00),
            (49.75, 58.62, 62.56, 66.01, 70.44, 71.92),
            (57.14, 64.29, 67.14, 70.00, 75.71, 75.71),
        ),
        PaperSet(
            (0.58, 1.19, 1.69, 2.24, 2.84, 3.37),
            (44.23, 55.77, 64.42, 67.31, 71.15, 75.96),
            (54.55, 62.34, 72.73, 75.32, 79.22, 80.52),
        ),
    ),
    "b1": PaperModel(
        88,
        PaperSet(
            (0.50, 1.00, 1.50, 2.00, 2.50, 3.00),
            (50.25, 60.10, 65.52, 68.47, 73.40, 74.38),
            (58.57, 67.14, 70.71, 72.86, 75.71, 77.14),
        ),
        PaperSet(
            (0.54, 1.07, 1.62, 2.13, 2.70, 3.17),
            (47.12, 57.69, 63.46, 68.27, 69.23, 70.19),
            (55.84, 63.64, 70.13, 76.62, 77.92, 77.92),
        ),
    ),
    "b2": PaperModel(
        203,
        PaperSet(
            (0.50, 1.00, 1.49, 1.99, 2.48, 3.00),
            (53.20, 64.53, 72.91, 74.88, 76.35, 79.80),
            (60.71, 67.14, 77.14, 79.29, 80.71, 82.86),
        ),
        PaperSet(
            (0.61, 1.14, 1.75, 2.23, 2.70, 3.28),
            (47.12, 60.58, 66.35, 70.19, 77.88, 78.85),
            (54.55, 66.23, 72.73, 76.62, 84.42, 84.42),
        ),
    ),
}
