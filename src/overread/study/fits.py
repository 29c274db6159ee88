"""The three models of the paper, tuned and fitted by one rule (paper, sections 5 and 6)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from overread.bags import Bags, split_by_patient
from overread.errors import InvalidInputError
from overread.froc import (
    LambdaChoice,
    LambdaRule,
    PathModels,
    ScoredSplit,
    choose_lambda,
    froc_curve,
    sensitivity_at,
)
from overread.models import (
    RVMMIL,
    PathProgress,
    ReaderMixture,
    SoftMILLogisticRegression,
    SoftMILPath,
    Tuning,
    tune,
)
from overread.study.cohort import KEYS, Cohort, Part
from overread.study.settings import Baseline, Settings

__all__ = [
    "choose",
    "fit_path",
    "fit_soft",
    "out_of_fold_scores",
    "refuse_mixture_without_readers",
    "tune_baseline",
]

Floats = NDArray[np.float64]


def fit_path(
    training: Part,
    settings: Settings,
    normalization: Any,
    *,
    callback: Callable[[PathProgress], None] | None = None,
) -> SoftMILPath:
    """Fit the soft model for every penalty of the grid, on training."""
    bags = training.soft_bags()
    path = SoftMILPath(
        n_lambdas=settings.soft.n_lambdas,
        min_ratio=settings.soft.min_ratio,
        normalization=normalization,
        divide_by_features=settings.soft.divide_by_features,
        random_state=settings.seed,
    )
    return path.fit(bags, bags.labels, callback=callback)


def choose(
    paths: Mapping[str, SoftMILPath], training: Part, validation: Part, settings: Settings
) -> LambdaChoice:
    """Choose penalty and normalization by the paper's rule (section 6.1)."""
    scored = [
        ScoredSplit(part.matching, np.column_stack([part.scores(path) for path in paths.values()]))
        for part in (training, validation)
    ]
    soft = settings.soft
    rule = LambdaRule(
        fp_targets=soft.choice_fp_targets, tolerance=soft.tolerance, max_gap=soft.max_gap, pick=soft.pick
    )
    return choose_lambda(
        PathModels.of_paths(paths),
        scored[0],
        scored[1],
        rule,
        n_bootstrap=min(settings.evaluation.n_bootstrap, 200),
        seed=settings.seed,
    )


def soft_model(lam: float, normalization: Any, settings: Settings) -> SoftMILLogisticRegression:
    """Return the unfitted soft model of a choice."""
    return SoftMILLogisticRegression(
        lam,
        normalization=normalization,
        divide_by_features=settings.soft.divide_by_features,
        n_init=settings.soft.n_init,
        random_state=settings.seed,
    )


def fit_soft(part: Part, lam: float, normalization: Any, settings: Settings) -> SoftMILLogisticRegression:
    """Fit the chosen soft model, on training + validation."""
    model = soft_model(lam, normalization, settings)
    fit_to(model, part)
    return model


def tune_baseline(
    name: str, training: Part, validation: Part, merged: Part, settings: Settings
) -> Tuning[Any]:
    """Choose B1's or B2's setting by its sensitivity on validation, and fit it to training + validation."""
    given: Baseline = settings.b1 if name == "b1" else settings.b2
    targets = settings.soft.choice_fp_targets

    def score(model: Any, part: Part) -> float:
        matching = part.matching.with_scores(part.scores(model))
        return float(sensitivity_at(froc_curve(matching), targets)["gt_sensitivity"].mean())

    grid = list(itertools.product(given.prune_bounds, given.alpha_inits))
    return tune(
        [baseline(name, bound, alpha, settings) for bound, alpha in grid],
        training=training,
        validation=validation,
        merged=merged,
        tolerance=given.tolerance,
        fit=fit_to,
        score=score,
    )


def baseline(name: str, prune_bound: float, alpha_init: float, settings: Settings) -> Any:
    """Return an unfitted B1 or B2."""
    if name == "b1":
        given = settings.b1
        return RVMMIL(
            prune_bound=prune_bound, alpha_init=alpha_init, screen=given.screen, max_iter=given.max_iter
        )
    mixture = settings.b2
    return ReaderMixture(
        prune_bound=prune_bound,
        alpha_init=alpha_init,
        screen=mixture.screen,
        max_iter=mixture.max_iter,
        scores=mixture.scores,
        cv=settings.models.folds,
        min_positives=mixture.min_positives,
        n_bootstrap=mixture.n_bootstrap,
        confidence=settings.evaluation.level,
        random_state=settings.seed,
    )


def fit_to(model: Any, part: Part) -> None:
    """Fit any of the three models to the bags it learns from."""
    if isinstance(model, ReaderMixture):
        model.fit(part.golden_bags(), reader_bags=part.reader_bags())
        return
    bags = part.golden_bags() if isinstance(model, RVMMIL) else part.soft_bags()
    model.fit(bags, bags.labels)


def refuse_mixture_without_readers(cohort: Cohort, settings: Settings) -> None:
    """Refuse B2 before anything is fitted where some set it is fitted to has no reader to learn from.

    Raises
    ------
    InvalidInputError
        Naming the settings to change.
    """
    # The labels of the bags are wanted, not the features.
    bare = replace(cohort, features=cohort.candidates[KEYS].assign(nothing=0.0))
    merged = bare.part("training", "validation")
    fold = fold_of_image(merged, settings)
    rests = [merged.images.loc[fold != name, "image_id"] for name in sorted(fold.unique())]
    for part in (bare.part("training"), *(bare.of_images(rest) for rest in rests)):
        fewest = max((fewest_of_a_kind(bags) for bags in part.reader_bags().values()), default=0)
        if fewest < settings.b2.min_positives:
            raise InvalidInputError(
                f"b2: no reader has {settings.b2.min_positives} marks near candidates in the {len(part.images)} images"
                f" of a training set, the best has {fewest} (lower [b2] min_positives in study.toml, or take b2 out"
                " of [models] wanted)"
            )


def fewest_of_a_kind(bags: Bags) -> int:
    """Count the positive bags or the negative ones, whichever are fewer."""
    positive = int(np.sum(np.asarray(bags.labels) > 0))
    return min(positive, len(bags) - positive)


def fold_of_image(merged: Part, settings: Settings) -> pd.Series[str]:
    """Fold of each image of training + validation."""
    n_folds = min(settings.models.folds, merged.images["patient_id"].nunique())
    return split_by_patient(
        merged.images, merged.truth, names=[str(k) for k in range(n_folds)], random_state=settings.seed
    )


def out_of_fold_scores(model: Any, cohort: Cohort, merged: Part, settings: Settings) -> pd.DataFrame:
    """Score the candidates of training + validation by models that did not see their patient.

    The folds keep patients whole and share the golden GTs evenly; all models of a study have the same folds.
    """
    fold = fold_of_image(merged, settings)
    scores = pd.Series(np.nan, index=range(len(merged.candidates)))
    for name in sorted(fold.unique()):
        inside = merged.images.loc[fold == name, "image_id"]
        rest = cohort.of_images(merged.images.loc[fold != name, "image_id"])
        held_out = merged.candidates["image_id"].isin(inside).to_numpy()
        if not held_out.any():
            continue
        fresh = clone(model)
        fit_to(fresh, rest)
        scores[held_out] = cohort.of_images(inside).scores(fresh)
    return merged.candidates[["image_id", "candidate_id"]].assign(score=scores.to_numpy())
