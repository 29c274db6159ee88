"""Table 1 of the paper: models x {training + validation, test} x FP per image, with intervals.

Thresholds come from the training + validation set at each FP target and are carried to the test set,
where they induce another FP per image (section 6.2). Sensitivities are fractions here and per cent when
printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from overread.errors import InvalidInputError
from overread.froc.bootstraps import Bootstrap, bootstrap
from overread.froc.curve import check_targets
from overread.froc.defaults import FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc.matching import Matching
from overread.froc.operating import operating_points
from overread.one_line import print_as_one_line
from overread.words import percent

__all__ = [
    "ModelPerformance",
    "PerformanceRows",
    "PerformanceTable",
    "Sensitivities",
    "format_rows",
    "fp_header",
    "performance_table",
]

TRAINING = '"training+validation" data'
TEST = "test data"


@dataclass(frozen=True, slots=True)
class Sensitivities:
    """One measure at every operating point, with limits where they were computed; NaN where undefined."""

    values: tuple[float, ...]
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class PerformanceRows:
    """One model on one set of images.

    ``induced`` says that the thresholds came from another set, so that FP per image is a result. The
    denominators are None where only percentages are known.
    """

    set_name: str
    induced: bool
    fp_per_image: tuple[float, ...]
    gt_sensitivity: Sensitivities
    image_sensitivity: Sensitivities
    n_images: int | None = None
    n_gts: int | None = None
    n_positive_images: int | None = None


@dataclass(frozen=True, slots=True)
class ModelPerformance:
    """One model: its name, what else is said of it, its number of features, its rows."""

    name: str
    rows: tuple[PerformanceRows, ...]
    note: str = ""
    n_features: int | None = None


@print_as_one_line("models", "level", "rule")
@dataclass(frozen=True, slots=True)
class PerformanceTable:
    """The whole table; ``rule`` and ``counting`` say what a hit is and how hits were counted."""

    models: tuple[ModelPerformance, ...]
    level: float | None = None
    rule: str = ""
    counting: str = ""

    def __post_init__(self) -> None:
        if not self.models:
            raise InvalidInputError("a performance table needs at least one model")
        lengths = {len(rows.fp_per_image) for model in self.models for rows in model.rows}
        if len(lengths) > 1:
            raise InvalidInputError(
                "a performance table needs the same number of operating points in every row"
            )


def performance_table(
    models: Mapping[str, tuple[Matching, Matching | None]],
    *,
    n_features: Mapping[str, int] | None = None,
    notes: Mapping[str, str] | None = None,
    thresholds_from: Mapping[str, Matching] | None = None,
    test_thresholds: ArrayLike | None = None,
    test_name: str = TEST,
    fp_targets: ArrayLike = FP_TARGETS,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> PerformanceTable:
    """Make Table 1 from matched scores.

    Parameters
    ----------
    models
        By name: the training + validation set and the test set, or None instead of the latter.
    n_features, notes
        By name: number of selected features, and what to print after the name (say "lambda=0.06").
    thresholds_from
        By name: the training + validation set with out-of-fold scores, to take thresholds from it instead of
        from the in-sample scores.
    test_thresholds
        Thresholds on the test set's own scale, one for each of ``fp_targets``, in place of those of training +
        validation: for scores by :func:`~overread.froc.place_on_fp_scale`.
    test_name
        What the test set is called.
    fp_targets
        FP per image of the thresholds.
    n_bootstrap, seed, level
        Of the intervals: on training + validation the threshold is estimated anew in each replicate, on
        the test set it is fixed. 0 replicates: no intervals.
    """
    targets = check_targets(fp_targets)
    results, first = [], None
    for name, (training, test) in models.items():
        first = first or training
        source = (thresholds_from or {}).get(name, training)
        thresholds = operating_points(source, fp_targets=targets)["threshold"].to_numpy()
        carried = source is not training
        rows = [
            _rows_of(training, TRAINING, targets, thresholds if carried else None, n_bootstrap, seed, level)
        ]
        if test is not None:
            carried_to = thresholds if test_thresholds is None else test_thresholds
            rows.append(_rows_of(test, test_name, targets, carried_to, n_bootstrap, seed, level))
        results.append(
            ModelPerformance(name, tuple(rows), (notes or {}).get(name, ""), (n_features or {}).get(name))
        )
    if first is None:
        raise InvalidInputError("a performance table needs at least one model")
    return PerformanceTable(
        models=tuple(results),
        level=level if n_bootstrap else None,
        rule="" if first.counting.rule is None else first.counting.rule.describe(),
        counting=f"candidates on single-reader GTs: {first.counting.single_reader}",
    )


def _rows_of(
    matching: Matching,
    set_name: str,
    targets: ArrayLike,
    thresholds: ArrayLike | None,
    n_bootstrap: int,
    seed: int,
    level: float,
) -> PerformanceRows:
    """Rows of one set: at its own FP targets, or at thresholds that were carried to it."""
    result = bootstrap(
        matching, fp_targets=targets, thresholds=thresholds, n_bootstrap=max(n_bootstrap, 1), seed=seed
    )
    level_or_none = level if n_bootstrap else None
    return PerformanceRows(
        set_name=set_name,
        induced=thresholds is not None,
        fp_per_image=tuple(result.points["fp_per_image"].tolist()),
        gt_sensitivity=_sensitivities(result, "gt_sensitivity", level_or_none),
        image_sensitivity=_sensitivities(result, "image_sensitivity", level_or_none),
        n_images=matching.n_images,
        n_gts=matching.n_gts,
        n_positive_images=len(np.unique(matching.gt_images)),
    )


def _sensitivities(result: Bootstrap, measure: str, level: float | None) -> Sensitivities:
    """One measure of a bootstrap, with limits unless ``level`` is None."""
    values = tuple(result.points[measure].tolist())
    if level is None:
        return Sensitivities(values)
    intervals = result.intervals(level)
    part = intervals[intervals["measure"] == measure]
    return Sensitivities(values, tuple(part["lower"].tolist()), tuple(part["upper"].tolist()))


def format_rows(rows: PerformanceRows, level: float | None) -> Sequence[tuple[str, list[str]]]:
    """Labels and cells of the rows of one set, in per cent, as every text format prints them."""
    lines: list[tuple[str, list[str]]] = []
    for label, measure in (
        ("GT sensitivity", rows.gt_sensitivity),
        ("Image sensitivity", rows.image_sensitivity),
    ):
        lines.append((label, [percent(value, 2) for value in measure.values]))
        if level is not None and measure.lower is not None and measure.upper is not None:
            limits = [
                "-" if np.isnan(low) else f"{percent(low, 1)}-{percent(high, 1)}"
                for low, high in zip(measure.lower, measure.upper, strict=True)
            ]
            lines.append((f"{100 * level:g} % interval", limits))
    return lines


def fp_header(rows: PerformanceRows) -> str:
    """Name the row of FP per image."""
    return "induced FP per image" if rows.induced else "FP per image"
