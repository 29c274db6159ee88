"""The rounds of EM that both crowd models share; they differ in the model of the labels before any vote."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from overread.errors import DataWarning
from overread.models.crowd.expectation import Priors, Skills, expect, list_votes, maximize

__all__ = ["EMResult", "LabelStep", "run_em", "warn_about_crowd"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LabelStep:
    """The labels' model after its M-step: log p_i, log(1 - p_i), and what its own prior adds to the objective."""

    log_p: Floats
    log_q: Floats
    log_prior: float


@dataclass(frozen=True)
class EMResult:
    """Where EM ended: posteriors, the skills they follow from, and L at the start and after each round."""

    posterior: Floats
    skills: Skills
    objectives: Floats
    converged: bool


def run_em(
    matrix: Floats,
    posterior: Floats,
    priors: Priors,
    label_step: Callable[[Floats], LabelStep],
    *,
    tol: float,
    max_rounds: int,
) -> EMResult:
    """Alternate between skills and labels from these posteriors on, until a round raises L by at most tol a bag.

    Parameters
    ----------
    matrix
        Votes: 0, 1 or NaN.
    posterior
        Of label 1 of each bag, at the start.
    priors
        Of the skills.
    label_step
        Fits the labels' model to posteriors.
    tol, max_rounds
        When to stop.
    """
    objectives: list[float] = []
    converged = False
    votes = list_votes(matrix)
    for _ in range(max_rounds + 1):
        skills = maximize(votes, posterior, priors)
        labels = label_step(posterior)
        expectation = expect(votes, skills, labels.log_p, labels.log_q)
        posterior = expectation.posterior
        objectives.append(expectation.log_likelihood + labels.log_prior + priors.log_density(skills))
        if len(objectives) > 1 and objectives[-1] - objectives[-2] <= tol * len(posterior):
            converged = True
            break
    return EMResult(posterior, skills, np.array(objectives), converged)


def warn_about_crowd(result: EMResult, skills: pd.DataFrame, *, determined: bool) -> None:
    """Say what the fit has to say: not converged, not determined, votes all alike, readers worse than chance."""
    if not result.converged:
        rise = result.objectives[-1] - result.objectives[-2]
        warnings.warn(
            f"EM not converged after {len(result.objectives) - 1} rounds: the last raised L by {rise:.2g}; "
            "raise the rounds",
            ConvergenceWarning,
            stacklevel=4,
        )
    if not determined:
        warnings.warn(
            f"the votes ({len(skills)} readers) do not determine skills and labels: others explain them as well. "
            "It takes three readers who share bags, or priors on both skills",
            DataWarning,
            stacklevel=4,
        )
    marked, votes = int(skills["n_marked"].sum()), int(skills["n_votes"].sum())
    if marked in (0, votes):
        warnings.warn(
            f"every vote is {int(marked > 0)}: so is every label, and nothing is known of the other one",
            DataWarning,
            stacklevel=4,
        )
    youden = skills["sensitivity"] + skills["specificity"] - 1
    if float((youden * skills["n_votes"]).sum()) < 0:
        warnings.warn(
            "the readers are on the whole worse than chance: the two labels may be exchanged",
            DataWarning,
            stacklevel=4,
        )
