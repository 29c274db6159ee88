"""FROC as a scikit-learn scorer: sensitivity of a model on bags at a number of false positives per image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.froc._counting import Counting
from overread.froc._curve import froc_curve, sensitivity_at
from overread.froc._defaults import SINGLE_READER, SingleReader
from overread.froc._matching import Matching

MEASURE = {"gt": "gt_sensitivity", "image": "image_sensitivity"}


@dataclass(frozen=True)
class FrocScorer:
    """Sensitivity at ``fp_target`` false positives per image; larger is better.

    Use it as ``scoring=FrocScorer(fp_target=0.5)`` in ``cross_val_score`` or ``GridSearchCV`` on
    :class:`~overread.bags.Bags`. A fold without a target scores NaN.

    Bags know only what has candidates: a GT that none reaches and an image without any do not count. For the
    full denominators score the candidates and use :func:`~overread.froc.match_detections`.

    Attributes
    ----------
    fp_target : float, default=0.5
        False positives per image.
    level : {'gt', 'image'}, default='gt'
        ``"gt"`` or ``"image"``.
    single_reader : str, default=SINGLE_READER
        What a candidate on a GT of a single reader is, as in :class:`~overread.froc.Counting`.
    """

    fp_target: float = 0.5
    level: Literal["gt", "image"] = "gt"
    single_reader: SingleReader = SINGLE_READER

    def __post_init__(self) -> None:
        if self.level not in MEASURE:
            raise InvalidInputError(f"level={self.level!r}: use 'gt' or 'image'")
        Counting(single_reader=self.single_reader)
        if not (np.isfinite(self.fp_target) and self.fp_target >= 0):
            raise InvalidInputError(f"fp_target={self.fp_target}: need a finite number >= 0")

    def __call__(self, estimator: Any, X: Bags, y: Any = None) -> float:
        """Score a fitted estimator on bags."""
        matching = matching_of_bags(X, _instance_scores(estimator, X), y, single_reader=self.single_reader)
        points = sensitivity_at(froc_curve(matching), [self.fp_target])
        return float(points[MEASURE[self.level]].iloc[0])


def _instance_scores(estimator: Any, bags: Bags) -> NDArray[np.float64]:
    """Score of each instance, as a bag of its own: the same for pipelines and for models of others."""
    singletons = Bags.singletons(bags.instances, feature_names=bags.feature_names)
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(singletons), dtype=np.float64)
    return np.asarray(estimator.predict_proba(singletons), dtype=np.float64)[:, 1]


def matching_of_bags(
    bags: Bags,
    scores: NDArray[np.float64],
    y: Any = None,
    *,
    single_reader: SingleReader = SINGLE_READER,
) -> Matching:
    """Match instances by their bags: a golden bag is a target, a negative bag a false positive."""
    Counting(single_reader=single_reader)
    golden, negative = _kinds(bags, y)
    target = golden | ((single_reader == "hit") & ~negative)
    false_positive = ~target & (negative | (single_reader == "fp"))
    codes, image_ids = pd.factorize(_bag_images(bags))
    best = np.maximum.reduceat(scores, bags.offsets[:-1])
    in_false_positive = false_positive[bags.bag_of_instance]
    return Matching.from_events(
        n_images=len(image_ids),
        fp_scores=scores[in_false_positive],
        fp_images=codes[bags.bag_of_instance][in_false_positive],
        gt_scores=best[target],
        gt_images=codes[target],
    )


def _kinds(bags: Bags, y: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which bags are golden, and which negative."""
    labels = bags.labels if y is None else np.asarray(y, dtype=np.float64)
    if labels is None:
        raise InvalidInputError("FROC of bags needs their labels: pass y, or bags that carry them")
    if bags.bag_table is not None and "golden" in bags.bag_table:
        golden = bags.bag_table["golden"].to_numpy(np.bool_)
        return golden, ~golden & (labels == 0)
    if not np.isin(labels, (0, 1)).all():
        raise InvalidInputError(
            "soft labels do not say which bags are golden: make the bags with make_bags, whose table does"
        )
    return labels == 1, labels == 0


def _bag_images(bags: Bags) -> NDArray[Any]:
    """Image of each bag."""
    if bags.bag_table is not None and "image_id" in bags.bag_table:
        return bags.bag_table["image_id"].to_numpy(dtype=object)
    if bags.groups is None:
        raise InvalidInputError("FROC of bags needs the image of each: a bag_table with image_id, or groups")
    return bags.groups
