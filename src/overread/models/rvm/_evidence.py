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

Which features enter the first round: those with the largest score statistic at the model without features.

Each is judged alone, t_j = g_j^2 / I_j, with g the gradient of the loss at w = 0 and I_j the information on w_j
beside a fitted intercept. A feature that helps only together with others may be left out; `left_out_gain` says
afterwards how much evidence the best feature left out would add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from overread.columns import Columns, dot_columns
from overread.models.loss._bag_loss import BagLoss
from overread.models.rvm._posterior import (
    TINY_PRECISION,
    Posterior,
    PosteriorSearch,
    features_per_block,
    information_diagonal,
    information_matrix,
)

Floats = NDArray[np.float64]

UpdateName = Literal["mackay", "em", "fixed"]
UPDATES = ("mackay", "em", "fixed")

# Deviations of 1000 on standardized features: beyond, a coefficient has no bound that data could give it.
SMALLEST_ALPHA = 1e-6
# Rounds on the way may reuse second derivatives and stop early; the rounds that decide on convergence may not. Both
# are set by judgement.
ROUND_TOL = 1e-4
FINAL_TOL = 1e-10
# Of MacKay's steps, see above; set by judgement.
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
    derivatives formed again, and one of these must hold it again. A `first` posterior, where search stands, is taken
    as it is.
    """
    alpha = np.full(len(search.kept), alpha_init)
    evidence: list[float] = []
    n_kept: list[float] = []
    direction, pace = np.zeros(len(alpha)), np.ones(len(alpha))
    change, settled, steps, exact = 0.0, update == "fixed", 0, False
    for _ in range(0 if settled else max_rounds):
        posterior = first or search.minimize(alpha, tol=FINAL_TOL if exact else ROUND_TOL, fresh=exact)
        first = None
        steps += posterior.n_steps
        evidence.append(posterior.log_evidence(alpha, fit_intercept=search.fit_intercept))
        n_kept.append(float(len(alpha)))
        growth = np.log(_update_alpha(alpha, posterior, update) / alpha)
        step = growth
        if update == "mackay":
            # Longer changes, never beyond 1 unless they were.
            pace = np.where(np.sign(growth) * direction > 0, np.minimum(2.0 * pace, LARGEST_PACE), 1.0)
            direction = np.sign(growth)
            step = direction * np.minimum(np.abs(growth) * pace, np.maximum(np.abs(growth), 1.0))
        # Within reach of a longer step from the bound steps are plain, so that only these drop a feature.
        step = np.where((growth > 0) & (alpha * np.e > prune_bound), growth, step)
        new = np.maximum(alpha * np.exp(step), SMALLEST_ALPHA)
        stays = new <= prune_bound
        change = float(np.abs(growth[stays]).max(initial=0.0))
        search.keep(stays)
        alpha, direction, pace = new[stays], direction[stays], pace[stays]
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


Ints = NDArray[np.int64]

# Of a float32 product, relative to its largest term.
RELATIVE_ROUNDING = 1e-5


def score_statistics(columns: Columns, loss: BagLoss, null: float) -> Floats:
    """t_j of every feature; 0 where a feature says nothing. Features in a file are read twice."""
    z = np.full(loss.n_rows, null)
    residual = np.empty(loss.n_rows)
    loss.value(z, residual)
    gradient = columns.dot(np.arange(columns.n_features), residual)
    information = information_diagonal(columns, loss, z)
    return np.divide(gradient**2, information, out=np.zeros_like(gradient), where=information > 0)


def screen_features(columns: Columns, loss: BagLoss, null: float, usable: Ints, limit: int | None) -> Ints:
    """Return the features that enter, in ascending order: all usable ones, or the `limit` with the largest t_j."""
    if limit is None or len(usable) <= limit:
        return usable
    statistics = score_statistics(columns, loss, null)[usable]
    return np.sort(usable[np.argsort(-statistics, kind="stable")[:limit]])


def left_out_gain(search: PosteriorSearch, alpha: Floats, columns: Columns, left_out: Ints) -> float:
    """Largest evidence, in nats, that one feature left out would add with its own best alpha.

    With q = -gradient and s = H_jj - H_jk (A + H)^-1 H_kj (Tipping and Faul 2003), the gain is
    (q^2/s - 1 - log(q^2/s)) / 2 where q^2 > s, else 0. Coupled bags enter by their positive semidefinite stand-in.
    The search stands at the mode; features left out are read once.
    """
    Xt, loss, z, kept = search.Xt, search.loss, search.z, search.kept
    rows = np.concatenate([loss.plain_curvature(z), loss.bag_curvature(z, safe=1.0).diagonal])
    precision = information_matrix(Xt, kept, loss, z, safe=1.0)
    precision[np.diag_indices_from(precision)] += np.append(alpha, TINY_PRECISION)
    factor = cho_factor(precision, lower=True)
    best = 0.0
    for _, features in columns.read_groups(left_out, features_per_block(loss.n_rows)):
        block = features.astype(np.float64)
        q = block @ search.residual
        own = np.square(block) @ rows
        shared = np.zeros((len(kept) + 1, len(block)))
        for place, weighed in enumerate(block * rows):
            # Column by column, so that the kept features are not copied.
            mixed = np.zeros(len(kept))
            dot_columns(Xt, kept, 0, loss.n_rows, weighed, mixed)
            shared[:-1, place] = mixed
            shared[-1, place] = weighed.sum() if search.fit_intercept else 0.0
        explained = np.einsum("kj,kj->j", shared, cho_solve(factor, shared))
        s = np.maximum(own - explained, RELATIVE_ROUNDING * own + np.finfo(float).tiny)
        ratio = np.maximum(q**2 / s, 1.0)
        best = max(best, float((ratio - 1.0 - np.log(ratio)).max(initial=0.0)) / 2.0)
    return best
