"""The certificates of fits: what was reached, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from overread._text import short_repr
from overread.files import later


@short_repr("alpha", "n_features", "objective", "converged", "kkt_residual", "n_iter")
@dataclass(frozen=True)
class FitReport:
    """Certificate of one fit.

    A non-convex problem has no certificate of global optimality; this one says how well the stationarity
    conditions hold, and how far apart the stationary points found from different starts are.

    Attributes
    ----------
    alpha, alpha_max : float
        Penalty of the fit, and the smallest one that gives w = 0.
    objective, loss : float
        F(w) with penalty, and its divergence part.
    kkt_residual : float
        Largest violation of the optimality conditions, relative to alpha (times l1_ratio for the elastic net; for
        alpha = 0, to the largest gradient at w = 0), but to no less than 1e-10 of the sum of the weights, where
        rounding begins.
    tol, converged
        What was asked of the conditions and, where the problem is convex, of the gap; and whether it was reached.
    n_features : int
        Number of non-zero coefficients.
    n_iter : int
        Newton steps at this alpha.
    full_passes : float
        Reads of all columns of X since the start, counting a read of k of d columns as k / d.
    active_passes : float
        Reads of working-set columns since the start, in the same unit.
    columns_skipped : int
        How often a column's optimality was proved without reading it.
    curvature_refreshes, descent_sweeps : int
        How often the curvature was built again, and sweeps of coordinate descent.
    rows_sampled : bool
        Whether the curvature came from a sample of rows.
    convex : bool
        Whether the problem is convex, so that the stationary point is the minimum.
    start_objectives : tuple
        Objective reached from each start; the default one, which is followed at two paces, comes first.
    spread : float
        (largest - smallest) / smallest of these.
    unbounded : bool
        Whether the labels are separated so well that only alpha, or rounding, keeps the coefficients finite.
    columns_left_out : int
        Features that do not vary (or vanish) and got no coefficient.
    seed : int
        Seed of row sampling and starts.
    gap : float, optional
        Certified bound of (F(w) - minimum) / F(w), from a dual point. 1, which always holds as F is not below 0, where
        no other bound is known: the problem is not convex, or its minimum is at infinity.
    criterion : str, optional
        What was met: "conditions" (kkt_residual <= tol), "gap" (gap <= tol alone), "none"; empty in files of versions
        that did not record it.
    file_passes : float, optional
        Reads of all columns from the file since the start, in the unit of full_passes; 0 for features in memory.
    """

    alpha: float
    alpha_max: float
    objective: float
    loss: float
    kkt_residual: float
    tol: float
    converged: bool
    n_features: int
    n_iter: int
    full_passes: float
    active_passes: float
    columns_skipped: int
    curvature_refreshes: int
    descent_sweeps: int
    rows_sampled: bool
    convex: bool
    start_objectives: tuple[float, ...]
    spread: float
    unbounded: bool
    columns_left_out: int
    seed: int
    gap: float = later(1.0)
    criterion: str = later("")
    file_passes: float = later(0.0)


@short_repr("n_features", "converged", "n_rounds", "n_pruned")
@dataclass(frozen=True)
class RVMReport:
    """What the rounds of evidence maximization reached, and what they cost.

    Attributes
    ----------
    n_rounds : int
        Updates of alpha.
    log_evidence : tuple
        Laplace's approximation of log p(y | alpha), in nats, at the mode of each round. It need not grow: the
        updates are fixed-point steps, and pruning changes the model.
    n_kept_per_round : tuple
        Features in each of these.
    alpha_change : float
        Largest change of log alpha in the last round.
    evidence_gradient : float
        Largest ``|1 - alpha (w^2 + S_ii)| / 2`` over the features not held: the derivative of the log evidence in log
        alpha, H taken as constant. 0 at a stationary point of either update.
    gradient_norm, decrement : float
        Largest entry of the gradient of the penalized loss at the mode, and half the squared Newton decrement: its
        distance from the minimum in nats.
    tol, converged
        Bound on `alpha_change`, and whether it and the mode were reached.
    n_features : int
        Features with a coefficient.
    n_screened : int
        Features that the screening left out before the first round.
    left_out_gain : float
        Most evidence, in nats, that one of these would add to the final model; 0 where none was left out.
    n_pruned : int
        Features whose alpha passed the bound.
    n_constant : int
        Features without variation, which never entered.
    n_newton_steps, n_hessians : int
        Newton steps, and how often the second derivative was formed.
    exact_curvature : bool
        Whether the posterior's covariance is from the exact second derivative in the last round.
    n_held : int
        Features whose alpha is held where it is, because the likelihood bends the wrong way there (gamma <= 0).
    at_floor : int
        Features whose alpha came down to the smallest allowed one: the evidence asks for unbounded
        coefficients, as it does where the labels are separated.
    """

    n_rounds: int
    log_evidence: tuple[float, ...]
    n_kept_per_round: tuple[float, ...]
    alpha_change: float
    evidence_gradient: float
    gradient_norm: float
    decrement: float
    tol: float
    converged: bool
    n_features: int
    n_screened: int
    left_out_gain: float
    n_pruned: int
    n_constant: int
    n_newton_steps: int
    n_hessians: int
    exact_curvature: bool
    n_held: int
    at_floor: int
