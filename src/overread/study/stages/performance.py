"""Performance of one model: curves, bands, locked operating points, sizes and chance, under either treatment.

What a person wants to know first: how good, against the readers, good for what, and what next.

The readers here are these readers, not a sample of others: intervals are those of other patients. A reader found
*clearly* more than the detector where the interval of the difference, at as many false marks as this reader made, lies
wholly on the reader's side of 0; it is not widened for the number of readers.

Readers as detectors: each reader and the detector, judged by the same objects under the same rules.

The objects are those that the other readers make without this one: a reader whose own marks helped to make an object
would be flattered. The detector is asked about the same objects in the same images, so that neither has an easier task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.froc import (
    LEVEL,
    MEASURES,
    N_BOOTSTRAP,
    ChanceLevel,
    Matching,
    SortedEvents,
    StudySize,
    bootstrap,
    chance_level,
    choose_better,
    estimate_figures,
    froc_curve,
    lesion_sizes,
    match_detections,
    nearest_to,
    needed_fps,
    paired_interval,
    patient_counts,
    pilot_sensitivity,
    replicate_sensitivities,
    sensitivity_at,
    sensitivity_by,
    whole_curve_figures,
)
from overread.report import Counted, ModelComparison, SetResult, Verdict
from overread.study._cohort import KEYS, Split
from overread.study._settings import Settings
from overread.study.stages.scores import SOURCES, MatchedScores, Treatment
from overread.study.stages.stage import Inputs
from overread.truth import FEWEST_READINGS, MergeOptions, merge_objects

# An interval of 30 points says little about a detector; below this many objects even its width is not known.
WIDEST_HALF_WIDTH = 0.15
FEWEST_OBJECTS = 30
# How far below the median reader a detector that keeps up may be, in points of sensitivity. No standard says it; chosen
# as the smallest that so few objects can show: where two find the same of 30, they differ in at most 3 / 30 = 10 % of
# all (the rule of three; Hanley and Lippman-Hand 1983, JAMA 249:1743).
MARGIN = 0.10
# One reader may be an exception, for better or worse; of two, the better one is not a low outlier.
FEWEST_READERS = 2
# The precision that the page's advice is about.
WANTED_HALF_WIDTH = 0.05


def reach_verdict(
    name: str,
    counted: Counted,
    readers: pd.DataFrame,
    comparisons: Sequence[ModelComparison],
    fp_target: float,
    needed: StudySize | None,
) -> Verdict:
    """Judge the supported model at its locked operating point."""
    points = counted.points
    at: Any = points[points["fp_target"] == fp_target].set_index("measure")
    sensitivity, lower, upper = (
        float(at.loc["gt_sensitivity", end]) for end in ("estimate", "lower", "upper")
    )
    judged = readers[readers["n_gts"] >= FEWEST_OBJECTS].sort_values("difference", kind="stable")
    median = judged.iloc[(len(judged) - 1) // 2] if len(judged) else None
    n_better = int((judged["upper"] < 0).sum())
    return Verdict(
        model=name,
        fp_target=fp_target,
        sensitivity=sensitivity,
        lower=lower,
        upper=upper,
        fp_per_image=float(at.loc["fp_per_image", "estimate"]),
        chance=_find_chance(counted, fp_target),
        n_readers=len(judged),
        fewest_objects=FEWEST_OBJECTS,
        n_better=n_better,
        n_worse=int((judged["lower"] > 0).sum()),
        median_reader=None if median is None else str(median["reader_id"]),
        margin=MARGIN,
        grade=_grade_alone(counted, lower, upper, fp_target)
        or _grade_beside_readers(median, len(judged), n_better),
        wanted_half_width=WANTED_HALF_WIDTH,
        objects_needed=0 if needed is None else needed.gts,
        images_needed=0 if needed is None else needed.images,
        better_on_test=_find_better(name, comparisons, counted.single_reader),
    )


def _find_chance(counted: Counted, fp_target: float) -> float:
    """Sensitivity of candidates moved to other images at the target; NaN where it was not computed."""
    if counted.chance is None:
        return float("nan")
    points = counted.chance.points
    return float(points.loc[points["fp_target"] == fp_target, "chance_gt_sensitivity"].iloc[0])


def _find_better(name: str, comparisons: Sequence[ModelComparison], single_reader: str) -> str | None:
    """Name a model that the comparisons on the test set call better than this one, in the words of the page."""
    for pair in comparisons:
        if pair.single_reader != single_reader or name not in (pair.first, pair.second) or not pair.figures:
            continue
        better = choose_better(pair.figures[-1])
        if better is not None and (winner := pair.first if better == "first" else pair.second) != name:
            return winner
    return None


def _grade_alone(counted: Counted, lower: float, upper: float, fp_target: float) -> str | None:
    """Grade the detector by its own performance; None if there is no objection."""
    if counted.test.n_gts < FEWEST_OBJECTS or not (upper - lower) / 2 <= WIDEST_HALF_WIDTH:
        return "too small"
    return "chance" if lower <= _find_chance(counted, fp_target) else None


def _grade_beside_readers(median: pd.Series | None, n_readers: int, n_better: int) -> str:
    """Compare the detector with the median reader."""
    if median is not None and (median["upper"] < 0 or 2 * n_better > n_readers):
        return "below readers"
    if median is None or n_readers < FEWEST_READERS:
        return "too few readers"
    return "among readers" if median["lower"] >= -MARGIN else "undecided"


# FP per image at which bands are drawn, in addition to the study's targets; and the steps of the page's slider.
BAND = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
SLIDER = tuple(round(0.05 * step, 2) for step in range(61))


def count_draws(settings: Settings) -> dict[str, Any]:
    """Return the draws of an interval and its level as the parameters by which they are known everywhere."""
    options = settings.evaluation
    return {"n_bootstrap": options.n_bootstrap, "seed": settings.seed, "level": options.level}


def evaluate_counting(scores: MatchedScores, treatment: Treatment, inputs: Inputs) -> Counted:
    """Measure one model under one treatment of single-reader GTs."""
    settings = inputs.settings
    matched = scores.under(treatment)
    is_shown = treatment == settings.hits.single_reader
    return Counted(
        single_reader=treatment,
        training=_evaluate_set(matched.training, settings),
        out_of_fold=_evaluate_set(matched.out_of_fold, settings),
        test=_evaluate_set(matched.test, settings, SLIDER),
        locked=_evaluate_locked(matched, settings),
        by_size=_evaluate_by_size(matched, settings) if is_shown else pd.DataFrame(),
        chance=_evaluate_chance(inputs["cohort"].unseen, matched.test, settings),
        thresholds=settings.evaluation.thresholds,
    )


def _evaluate_set(matching: Matching, settings: Settings, steps: Sequence[float] = ()) -> SetResult:
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
        # As in `overread froc`; none if there is nothing to find.
        figures=tuple(estimate_figures(matching, whole_curve_figures(matching), **count_draws(settings)))
        if matching.n_gts
        else (),
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


def _evaluate_locked(matched: MatchedScores, settings: Settings) -> pd.DataFrame:
    """Measure the test set at locked thresholds."""
    options = settings.evaluation
    tables = []
    for source in SOURCES:
        found = bootstrap(
            matched.test_at(source),
            thresholds=matched.thresholds(options.fp_targets, source),
            n_bootstrap=options.n_bootstrap,
            seed=settings.seed,
        ).intervals(options.level)
        found["fp_target"] = np.tile(options.fp_targets, len(found) // len(options.fp_targets))
        found.insert(0, "source", source)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def shown_point(scores: MatchedScores, settings: Settings) -> tuple[float, float]:
    """Return FP target and threshold of the operating point that the page speaks of; NaN where nothing is shown."""
    target = settings.evaluation.find_operating_fp()
    (threshold,) = scores.under(settings.hits.single_reader).thresholds([target])
    return target, float(threshold) if np.isfinite(threshold) else float("nan")


def plan_test_set(test: Matching, threshold: float, settings: Settings) -> StudySize | None:
    """Return the test set that would know the sensitivity as well as the page's advice has it."""
    if not test.n_gts or np.isnan(threshold):
        return None
    pilot = pilot_sensitivity(test, threshold=threshold, **count_draws(settings))
    # A small pilot may have been lucky or unlucky: the advice is for the worst that its interval allows.
    return pilot.cautious_size_for(WANTED_HALF_WIDTH, level=settings.evaluation.level)


def _evaluate_by_size(matched: MatchedScores, settings: Settings) -> pd.DataFrame:
    """Sensitivity by size of the GT at the operating point that the page speaks of, among those that exist."""
    options, test = settings.evaluation, matched.test
    thresholds = matched.thresholds(options.fp_targets)
    own = {fp: value for fp, value in zip(options.fp_targets, thresholds, strict=True) if np.isfinite(value)}
    if not test.n_gts or not own:
        return pd.DataFrame()
    target = nearest_to(options.operating_fp, own)
    bins = [*options.size_bins]
    # Sizes beyond the last edge belong to the last bin; none may be lost.
    sizes = np.clip(lesion_sizes(test), bins[0], np.nextafter(bins[-1], 0))
    table = sensitivity_by(test, sizes, threshold=own[target], bins=bins, **count_draws(settings))
    table.insert(0, "fp_target", target)
    return table


def _evaluate_chance(split: Split, test: Matching, settings: Settings) -> ChanceLevel | None:
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


Floats = NDArray[np.float64]
COLUMNS = (
    "reader_id", "n_images", "n_gts", "sensitivity", "fp_per_image", "detector_sensitivity",
    "difference", "lower", "upper",
)  # fmt: skip


def judge_readers(
    readers: Iterable[str],
    unseen: Split,
    scores: Floats,
    options: MergeOptions,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Compare each reader with the detector at as many false positives, on what two others marked in images they share.

    The difference is detector minus reader, with its interval (NaN where fewer than two patients have an object).
    Readers for whom the others made no consensus object are left out.
    """
    rows = []
    for reader in readers:
        pair = _match_both(reader, unseen, scores, options)
        if pair is not None:
            rows.append((reader, *_compare(*pair, n_bootstrap=n_bootstrap, seed=seed, level=level)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _match_both(
    reader: str, unseen: Split, scores: Floats, options: MergeOptions
) -> tuple[Matching, Matching] | None:
    """Match a reader's marks and the detector's with what the others marked; None where no two others agree."""
    enough = unseen.readings.groupby("image_id")["reader_id"].transform("size") >= FEWEST_READINGS
    read = unseen.readings.loc[enough & (unseen.readings["reader_id"] == reader), "image_id"]
    images, marks, readings, candidates = (
        table[table["image_id"].isin(read)]
        for table in (unseen.images, unseen.marks, unseen.readings, unseen.candidates)
    )
    own = marks["reader_id"] == reader
    others = marks[~own].reset_index(drop=True)
    truth = merge_objects(others, readings[readings["reader_id"] != reader], options)
    if not len(truth) or not truth["golden"].any():
        return None
    drawn = _take_as_candidates(marks[own])
    person = match_detections(drawn, truth, images, scores=np.ones(len(drawn)), counting=unseen.counting)
    detector = match_detections(
        candidates.reset_index(drop=True),
        truth,
        images,
        scores=scores[unseen.candidates["image_id"].isin(read).to_numpy()],
        counting=unseen.counting,
    )
    return person, detector


def _compare(
    person: Matching, detector: Matching, *, n_bootstrap: int, seed: int, level: float
) -> tuple[float, ...]:
    """Compare the detector with a reader at the reader's false positives per image.

    Both see the same resampled patients. In each replicate the reader makes the false positives that these patients
    got, and the detector's threshold is the lowest that makes no more: how many there are is uncertain, too.
    """
    drawn = bootstrap(person, thresholds=[1.0], n_bootstrap=n_bootstrap, seed=seed)
    own, fp = (float(drawn.points[name].iloc[0]) for name in ("gt_sensitivity", "fp_per_image"))
    at = sensitivity_at(froc_curve(detector), [fp]).iloc[0]
    beside = float(at["gt_sensitivity"])
    events = SortedEvents.of(detector, needed_fps(detector, np.array([fp])))
    counts = (row[None] for block in patient_counts(detector.n_patients, n_bootstrap, seed) for row in block)
    found = [
        replicate_sensitivities(events, row, target)["gt_sensitivity"][0]
        for row, target in zip(counts, drawn.replicates["fp_per_image"], strict=True)
    ]
    shown, marked = detector.targets().found_at(at["threshold"]), person.targets().found_at(1.0)
    ends = paired_interval(
        shown.astype(np.float64) - marked,
        np.concatenate(found) - drawn.replicates["gt_sensitivity"][:, 0],
        drawn.n_units["gt_sensitivity"],
        level,
    )
    return (person.n_images, person.n_gts, own, fp, beside, beside - own, *ends)


def _take_as_candidates(marks: pd.DataFrame) -> pd.DataFrame:
    """Convert the marks of a reader to detections: position, and radius of equal area."""
    radius = np.sqrt(marks["semi_major"] * marks["semi_minor"])
    drawn = marks.assign(candidate_id=marks["mark_id"], radius=radius)
    return drawn[[*KEYS, "x", "y", "radius"]].reset_index(drop=True)
