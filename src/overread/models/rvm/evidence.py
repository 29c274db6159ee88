"""Rounds of evidence maximization: find the mode, update alpha, drop features whose alpha passes the bound.

EM update        alpha_i = 1 / (w_i^2 + S_ii)
MacKay's update  gamma_i = 1 - alpha_i S_ii,  alpha_i = gamma_i / w_i^2

Both have the same fixed points, alpha_i (w_i^2 + S_ii) = 1. Under EM the alpha of an irrelevant feature grows only
linearly with the rounds, under MacKay's geometrically, so with EM no usual bound is ever met. Where alpha has to
shrink, EM's step is the safer of the two and is taken in both.

MacKay's steps are small where features can stand in for each other. So an alpha that moved the same way in the last
round moves by a multiple of its step, the *pace*: doubled each time up to 16, and 1 again when the direction turns. A
longer step never changes log alpha by more than 1, and closer to the bound than that steps are plain: a longer one
would drop features for good whose fixed point lies just below the bound. Fixed points and the test of convergence are
those of plain steps.

A bag makes the likelihood bend the wrong way in places. There gamma_i <= 0: the posterior is wider than the prior, and
Laplace's approximation has nothing to say about alpha_i. Followed all the same, alpha_i falls until the mode jumps
away, rises, and falls again, for ever. Such an alpha is held until its gamma_i is positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from overread.models.rvm.posterior import Posterior, PosteriorSearch

__all__ = ["SMALLEST_ALPHA", "UPDATES", "Rounds", "UpdateName", "find_first_posterior", "maximize_evidence"]

Floats = NDArray[np.float64]

UpdateName = Literal["mackay", "em", "fixed"]
UPDATES = ("mackay", "em", "fixed")

# Deviations of 1000 on standardized features: beyond, a coefficient has no bound that data could give it.
SMALLEST_ALPHA = 1e-6
# Rounds on the way may reuse second derivatives and stop early; the rounds that decide on convergence may not. Both
# are chosen by eye.
ROUND_TOL = 1e-4
FINAL_TOL = 1e-10
# Of MacKay's steps, see above; chosen by eye.
LARGEST_PACE = 16.0


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
    def held(self) -> NDArray[np.bool_]:
        """Which alphas are held because gamma <= 0."""
        return np.asarray(self.alpha * self.posterior.variance >= 1.0)

    @property
    def evidence_gradient(self) -> float:
        """Largest |1 - alpha (w^2 + S_ii)| / 2 of an alpha that is not held."""
        misfit = 1.0 - self.alpha * (self.posterior.w**2 + self.posterior.variance)
        return 0.5 * float(np.abs(misfit[~self.held]).max(initial=0.0))


def _update_alpha(alpha: Floats, posterior: Posterior, update: UpdateName) -> Floats:
    """One update of every alpha that is not held, above the floor; infinite where a weight is 0."""
    squares = posterior.w**2
    gamma = 1.0 - alpha * posterior.variance
    new = 1.0 / (squares + posterior.variance)
    if update == "mackay":
        mackay = np.divide(gamma, squares, out=np.full(len(alpha), np.inf), where=squares > 0)
        new = np.maximum(new, mackay)
    return np.maximum(np.where(gamma > 0, new, alpha), SMALLEST_ALPHA)


@dataclass
class _Pace:
    """Multiple of its step that each log alpha moves by, from the directions of the last two rounds."""

    direction: Floats
    factor: Floats

    @classmethod
    def start(cls, n_features: int) -> _Pace:
        """Plain steps."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def lengthened(self, change: Floats) -> Floats:
        """Longer changes of log alpha, never beyond 1 unless they were."""
        direction = np.sign(change)
        grown = np.minimum(2.0 * self.factor, LARGEST_PACE)
        self.factor = np.where(direction * self.direction > 0, grown, 1.0)
        self.direction = direction
        reach = np.minimum(np.abs(change) * self.factor, np.maximum(np.abs(change), 1.0))
        return direction * reach

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop the features not chosen."""
        self.direction, self.factor = self.direction[chosen], self.factor[chosen]


def find_first_posterior(search: PosteriorSearch, alpha_init: float) -> Posterior:
    """Do the part of the first round that all prune bounds have in common: no feature has left yet."""
    return search.minimize(np.full(len(search.kept), alpha_init), tol=ROUND_TOL)


def maximize_evidence(
    search: PosteriorSearch,
    first: Posterior | None = None,
    *,
    update: UpdateName,
    alpha_init: float,
    prune_bound: float,
    tol: float,
    max_rounds: int,
) -> Rounds:
    """Repeat mode and update until log alpha changes by at most tol and nothing is dropped any more.

    Rounds are cheap until this holds for the first time. From then on each finds the mode to `FINAL_TOL` with second
    derivatives formed anew, and one of these must hold it again. A `first` posterior, where search stands, is taken
    as it is.
    """
    alpha = np.full(len(search.kept), alpha_init)
    evidence: list[float] = []
    n_kept: list[float] = []
    pace = _Pace.start(len(alpha))
    change, settled, steps, exact = 0.0, update == "fixed", 0, False
    for _ in range(0 if settled else max_rounds):
        posterior = first or search.minimize(alpha, tol=FINAL_TOL if exact else ROUND_TOL, fresh=exact)
        first = None
        steps += posterior.n_steps
        evidence.append(posterior.log_evidence(alpha, fit_intercept=search.fit_intercept))
        n_kept.append(float(len(alpha)))
        growth = np.log(_update_alpha(alpha, posterior, update) / alpha)
        step = pace.lengthened(growth) if update == "mackay" else growth
        # Within reach of a longer step from the bound steps are plain, so that only these drop a feature.
        step = np.where((growth > 0) & (alpha * np.e > prune_bound), growth, step)
        new = np.maximum(alpha * np.exp(step), SMALLEST_ALPHA)
        stays = new <= prune_bound
        change = float(np.abs(growth[stays]).max(initial=0.0))
        search.keep(stays)
        pace.keep(stays)
        alpha = new[stays]
        quiet = change <= tol and bool(stays.all())
        settled = quiet and exact
        if settled:
            break
        exact = exact or quiet
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
