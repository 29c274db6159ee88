"""How good one model is: curves, bands, locked operating points, sizes and chance, under either treatment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from overread.froc import (
    MEASURES,
    ChanceLevel,
    Matching,
    StudySize,
    bootstrap,
    chance_level,
    estimate_figures,
    froc_curve,
    lesion_sizes_mm,
    pilot_sensitivity,
    sensitivity_by,
)
from overread.froc.merit.comparison import FigureEstimate, whole_curve_figures
from overread.report.results import Counted, SetResult
from overread.study.cohort import Split
from overread.study.stages.scores import SOURCES, MatchedScores
from overread.study.stages.stage import Inputs
from overread.study.stages.verdict import WANTED_HALF_WIDTH

__all__ = ["evaluate_counting", "keep_corners", "nearest_target", "plan_test_set", "shown_point"]

# FP per image at which bands are drawn beside the study's targets; and the steps of the page's slider.
BAND = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
SLIDER = tuple(round(0.05 * step, 2) for step in range(61))
# The operating point that the page speaks of is the one nearest to this many FP per image.
SHOWN_FP = 1.0


def evaluate_counting(scores: MatchedScores, treatment: Any, inputs: Inputs) -> Counted:
    """Measure one model under one treatment of single-reader GTs."""
    settings = inputs.settings
    matched = scores.under(treatment)
    is_shown = treatment == settings.hits.single_reader
    return Counted(
        single_reader=treatment,
        training=evaluate_set(matched.training, settings),
        out_of_fold=evaluate_set(matched.out_of_fold, settings),
        test=evaluate_set(matched.test, settings, SLIDER),
        locked=evaluate_locked(matched, settings),
        by_size=evaluate_by_size(matched, settings) if is_shown else pd.DataFrame(),
        chance=evaluate_chance(inputs["cohort"].unseen, matched.test, settings),
    )


def evaluate_set(matching: Matching, settings: Any, steps: Sequence[float] = ()) -> SetResult:
    """Compute curve, band and figures of merit of one set."""
    options = settings.evaluation
    grid = sorted({*BAND, *options.fp_targets, *steps})
    curve = froc_curve(matching)
    band = bootstrap(matching, fp_targets=grid, n_bootstrap=options.n_bootstrap, seed=settings.seed)
    return SetResult(
        n_images=curve.n_images,
        n_gts=curve.n_gts,
        n_gts_reached=curve.n_gts_reached,
        n_positive_images=curve.n_positive_images,
        n_positive_images_reached=curve.n_positive_images_reached,
        curve=keep_corners(curve.to_frame()),
        band=band.intervals(options.level),
        figures=evaluate_figures(matching, settings),
    )


def keep_corners(curve: pd.DataFrame) -> pd.DataFrame:
    """Keep the points of a step curve where a sensitivity changes, the points before them, and both ends."""
    values = curve[list(MEASURES)].fillna(0.0).to_numpy()
    changes = np.zeros(len(curve), dtype=bool)
    changes[1:] = (np.diff(values, axis=0) != 0).any(axis=1)
    kept = changes.copy()
    kept[:-1] |= changes[1:]
    kept[[0, -1]] = True
    return curve[kept]


def evaluate_figures(matching: Matching, settings: Any) -> tuple[FigureEstimate, ...]:
    """Whole-curve figures of merit, as `overread froc` gives them; none where there is nothing to find."""
    if not matching.n_gts:
        return ()
    options = settings.evaluation
    return tuple(
        estimate_figures(
            matching,
            whole_curve_figures(matching),
            n_bootstrap=options.n_bootstrap,
            level=options.level,
            seed=settings.seed,
        )
    )


def evaluate_locked(matched: MatchedScores, settings: Any) -> pd.DataFrame:
    """Measure the test set at locked thresholds."""
    options = settings.evaluation
    tables = []
    for source in SOURCES:
        found = bootstrap(
            matched.test_at(source),
            thresholds=matched.thresholds(source, options.fp_targets),
            n_bootstrap=options.n_bootstrap,
            seed=settings.seed,
        ).intervals(options.level)
        found["fp_target"] = np.tile(options.fp_targets, len(found) // len(options.fp_targets))
        found.insert(0, "source", source)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def nearest_target(fp_targets: Sequence[float]) -> float:
    """Return the FP target that the page speaks of."""
    return float(min(fp_targets, key=lambda fp: abs(fp - SHOWN_FP)))


def shown_point(scores: MatchedScores, settings: Any) -> tuple[float, float]:
    """Return FP target and threshold of the operating point that the page speaks of; NaN where nothing is shown."""
    target = nearest_target(settings.evaluation.fp_targets)
    (threshold,) = scores.under(settings.hits.single_reader).thresholds("out_of_fold", [target])
    return target, float(threshold) if np.isfinite(threshold) else float("nan")


def plan_test_set(test: Matching, threshold: float, settings: Any) -> StudySize | None:
    """Return the test set that would know the sensitivity as well as the page's advice has it."""
    if not test.n_gts or np.isnan(threshold):
        return None
    options = settings.evaluation
    pilot = pilot_sensitivity(
        test, threshold=threshold, n_bootstrap=options.n_bootstrap, seed=settings.seed, level=options.level
    )
    # A small pilot may have been lucky or unlucky: the advice is for the worst that its interval allows.
    return pilot.cautious_size_for(WANTED_HALF_WIDTH, level=options.level)


def evaluate_by_size(matched: MatchedScores, settings: Any) -> pd.DataFrame:
    """Sensitivity by size of the GT at the operating point that the page speaks of, among those that exist."""
    options, test = settings.evaluation, matched.test
    thresholds = matched.thresholds("out_of_fold", options.fp_targets)
    own = {fp: value for fp, value in zip(options.fp_targets, thresholds, strict=True) if np.isfinite(value)}
    if not test.n_gts or not own:
        return pd.DataFrame()
    target = nearest_target(list(own))
    bins = [*options.size_bins_mm]
    # Sizes beyond the last edge belong to the last bin; none may be lost.
    sizes = np.clip(lesion_sizes_mm(test), bins[0], np.nextafter(bins[-1], 0))
    table = sensitivity_by(
        test,
        sizes,
        threshold=own[target],
        bins=bins,
        n_bootstrap=options.n_bootstrap,
        level=options.level,
        seed=settings.seed,
    )
    table.insert(0, "fp_target", target)
    return table


def evaluate_chance(split: Split, test: Matching, settings: Any) -> ChanceLevel | None:
    """Compare with candidates moved to other images."""
    if not test.n_gts or test.candidate_scores is None:
        return None
    return chance_level(
        split.candidates,
        split.truth,
        split.images,
        scores=test.candidate_scores,
        counting=test.counting,
        fp_targets=settings.evaluation.fp_targets,
        n_shifts=settings.evaluation.chance_shifts,
        seed=settings.seed,
    )
