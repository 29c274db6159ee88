"""One point of a scenario: a contender tuned and fitted on one training set, and what it does on unseen images."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from overread.froc import Matching, bootstrap, calibration
from overread.models.tuning import count_features
from overread.scenario.contenders import estimate_skills
from overread.scenario.sets import TestSet
from overread.study.cohort import Split
from overread.study.models import StudyModel
from overread.study.settings import Settings
from overread.study.stages.cohort import make_folds
from overread.study.stages.tuning import choose_from_trials, score_held_out

__all__ = ["Found", "Measures", "Prediction", "measure_point"]

Floats = NDArray[np.float64]

# Probabilities of 0 and 1 are as far off as a share of 100,000 readings can show.
CLIP = 1e-5


@dataclass(frozen=True)
class Found:
    """Sensitivity at the false positives of the design, on the test set and in each draw of its patients."""

    sensitivity: list[float]
    draws: list[list[float]]
    n_objects: int
    n_patients: int


@dataclass(frozen=True)
class Prediction:
    """How well probabilities of unseen bags foretell the share of the readers who mark.

    Attributes
    ----------
    deviance, deviance_of_mean
        Mean Kullback-Leibler divergence of the probability from the share, twice; and that of always saying the mean.
    spearman
        Rank correlation on bags that anybody marked: does it know what is marked by many from what is marked by few?
    slope
        Of the logistic recalibration; 1 is right.
    """

    deviance: float
    deviance_of_mean: float
    spearman: float
    slope: float


@dataclass(frozen=True)
class Measures:
    """What a point tells.

    Attributes
    ----------
    n_features
        Features of the model.
    golden, known
        Found of the readers' golden objects, and of what is really there (None: nobody knows).
    prediction
        Of the share of readers.
    n_images, n_readings, n_readers, n_objects, n_golden
        Of the training set.
    skills
        Rows of reader_id, sensitivity, specificity that the contender estimates; empty where it does not.
    """

    n_features: int
    golden: Found
    known: Found | None
    prediction: Prediction
    n_images: int
    n_readings: int
    n_readers: int
    n_objects: int
    n_golden: int
    skills: list[dict[str, Any]] = field(default_factory=list)


def measure_point(
    model: StudyModel,
    training: Split,
    test: TestSet,
    settings: Settings,
    *,
    fp_targets: list[float],
    n_bootstrap: int,
    seed: int,
) -> Measures:
    """Choose the settings by cross-validation, fit to all of the training set, and measure on the test set.

    Parameters
    ----------
    model
        The contender.
    training, test
        What it is fitted to, and what it has not seen.
    settings
        Of tuning and fitting.
    fp_targets, n_bootstrap
        False positives per image, and draws of test patients; the draws are the same for all points.
    seed
        Of the folds.
    """
    fitted = tune_and_fit(model, training, settings, seed)
    scores = model.score(fitted, test.split.features)
    skills = estimate_skills(model, fitted, training)
    return Measures(
        n_features=count_features(fitted),
        golden=_find(test.golden.with_scores(scores), fp_targets, n_bootstrap),
        known=None if test.known is None else _find(test.known.with_scores(scores), fp_targets, n_bootstrap),
        prediction=foretell_shares(fitted.predict_proba(test.bags)[:, 1], test.shares),
        n_images=training.readings["image_id"].nunique(),
        n_readings=len(training.readings),
        n_readers=training.readings["reader_id"].nunique(),
        n_objects=len(training.truth),
        n_golden=int(training.truth["golden"].sum()),
        skills=[] if skills is None else _as_records(skills),
    )


def tune_and_fit(model: StudyModel, training: Split, settings: Settings, seed: int) -> Any:
    """Choose the settings of a model by the rule of a study, and fit it to the whole training set."""
    grid = model.grid(training, settings)
    folds = make_folds(training, settings.models.folds, seed)
    trials = [score_held_out(model, grid, fold, settings) for fold in folds]
    choice, _ = choose_from_trials(training, trials, settings)
    fitted = model.prepare_for_folds(model.build(grid[choice.position], settings))
    model.fit(fitted, training)
    return fitted


def _find(matching: Matching, fp_targets: list[float], n_bootstrap: int) -> Found:
    drawn = bootstrap(matching, fp_targets=fp_targets, n_bootstrap=n_bootstrap)
    return Found(
        sensitivity=drawn.points["gt_sensitivity"].tolist(),
        draws=np.round(drawn.replicates["gt_sensitivity"], 5).tolist(),
        n_objects=matching.n_gts,
        n_patients=drawn.n_units["gt_sensitivity"],
    )


def foretell_shares(probabilities: Floats, shares: Floats) -> Prediction:
    """Judge probabilities of bags by the shares of readers who marked them."""
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    judged = calibration(clipped, shares, n_bootstrap=0)
    marked = shares > 0
    varies = np.ptp(clipped[marked]) > 0 and np.ptp(shares[marked]) > 0 if marked.any() else False
    return Prediction(
        deviance=2 * float(judged.kl.estimate),
        deviance_of_mean=2 * float(judged.kl_of_the_mean),
        spearman=float(spearmanr(clipped[marked], shares[marked]).statistic) if varies else float("nan"),
        slope=float(judged.slope.estimate),
    )


def _as_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
