"""Rounds of evidence maximization: find the mode, update alpha, drop features whose alpha passes the bound.

EM update        alpha_i = 1 / (w_i^2 + S_ii)
MacKay's update  gamma_i = 1 - alpha_i S_ii,  alpha_i = gamma_i / w_i^2

Both have the same fixed points, alpha_i (w_i^2 + S_ii) = 1. MacKay's step is the larger one where alpha has to grow,
and is taken there. Where alpha has to shrink, EM's is taken: bags make the likelihood bend the wrong way in places,
gamma is then 0 or less, and MacKay's step would throw alpha to 0. Under EM the alpha of an irrelevant feature grows only
linearly with the rounds, under MacKay's geometrically, so with EM no usual bound is ever met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.models.rvm.posterior import Posterior, PosteriorSearch

__all__ = ["Rounds", "UpdateName", "maximize_evidence", "updated_alpha"]

Floats = NDArray[np.float64]

UpdateName = Literal["mackay", "em", "fixed"]
UPDATES = ("mackay", "em", "fixed")

# Deviations of 1000 on standardized features: beyond, a coefficient has no bound that data could give it.
SMALLEST_ALPHA = 1e-6
# Within a round the mode is exact to a small fraction of what one more update changes.
ROUND_TOL = 1e-4
FINAL_TOL = 1e-10


@dataclass(frozen=True)
class Rounds:
    """Where the rounds ended: the final posterior with its alphas, and the history."""

    posterior: Posterior
    alpha: Floats
    log_evidence: tuple[float, ...]
    n_kept: tuple[float, ...]
    alpha_change: float
    converged: bool
    n_newton_steps: int

    @property
    def evidence_gradient(self) -> float:
        """Largest |1 - alpha (w^2 + S_ii)| / 2."""
        misfit = 1.0 - self.alpha * (self.posterior.w**2 + self.posterior.variance)
        return 0.5 * float(np.abs(misfit).max(initial=0.0))


def updated_alpha(alpha: Floats, posterior: Posterior, update: UpdateName) -> Floats:
    """One update of every alpha, kept above the floor; infinite where a weight is 0."""
    squares = posterior.w**2
    new = 1.0 / (squares + posterior.variance)
    if update == "mackay":
        gamma = np.maximum(1.0 - alpha * posterior.variance, 0.0)
        mackay = np.divide(gamma, squares, out=np.full(len(alpha), np.inf), where=squares > 0)
        new = np.maximum(new, mackay)
    return np.maximum(new, SMALLEST_ALPHA)


def maximize_evidence(
    search: PosteriorSearch,
    *,
    update: UpdateName,
    alpha_init: float,
    prune_bound: float,
    tol: float,
    max_rounds: int,
) -> Rounds:
    """Repeat mode and update until log alpha changes by at most tol and nothing is dropped any more."""
    alpha = np.full(len(search.kept), alpha_init)
    evidence: list[float] = []
    n_kept: list[float] = []
    change, settled, steps = 0.0, update == "fixed", 0
    for _ in range(0 if settled else max_rounds):
        posterior = search.minimize(alpha, tol=ROUND_TOL)
        steps += posterior.n_steps
        evidence.append(posterior.log_evidence(alpha, fit_intercept=search.fit_intercept))
        n_kept.append(float(len(alpha)))
        new = updated_alpha(alpha, posterior, update)
        stays = new <= prune_bound
        change = float(np.abs(np.log(new[stays] / alpha[stays])).max(initial=0.0))
        search.keep(stays)
        alpha = new[stays]
        settled = change <= tol and bool(stays.all())
        if settled:
            break
    posterior = search.minimize(alpha, tol=FINAL_TOL, fresh=True)
    return Rounds(
        posterior=posterior,
        alpha=alpha,
        log_evidence=(*evidence, posterior.log_evidence(alpha, fit_intercept=search.fit_intercept)),
        n_kept=(*n_kept, float(len(alpha))),
        alpha_change=change,
        converged=settled and posterior.converged,
        n_newton_steps=steps + posterior.n_steps,
    )
