"""The certificate of an RVMMIL fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from overread.one_line import print_as_one_line

__all__ = ["RVMReport"]


@print_as_one_line("n_features", "converged", "n_rounds", "n_pruned")
@dataclass(frozen=True)
class RVMReport:
    """What the rounds of evidence maximization reached, and what they cost.

    Attributes
    ----------
    n_rounds
        Updates of alpha.
    log_evidence
        Laplace's approximation of log p(y | alpha), in nats, at the mode of each round. It need not grow: the
        updates are fixed-point steps, and pruning changes the model.
    n_kept_per_round
        Features in each of these.
    alpha_change
        Largest change of log alpha in the last round.
    evidence_gradient
        Largest ``|1 - alpha (w^2 + S_ii)| / 2`` over the features not held: the derivative of the log evidence in log
        alpha, H taken as constant. 0 at a stationary point of either update.
    gradient_norm, decrement
        Largest entry of the gradient of the penalized loss at the mode, and half the squared Newton decrement: its
        distance from the minimum in nats.
    tol, converged
        Bound on `alpha_change`, and whether it and the mode were reached.
    n_features
        Features with a coefficient.
    n_screened
        Features that the screening left out before the first round.
    left_out_gain
        Most evidence, in nats, that one of these would add to the final model; 0 where none was left out.
    n_pruned
        Features whose alpha passed the bound.
    n_constant
        Features without variation, which never entered.
    n_newton_steps, n_hessians
        Newton steps, and how often the second derivative was formed.
    exact_curvature
        Whether the posterior's covariance is from the exact second derivative in the last round.
    n_held
        Features whose alpha is held where it is, because the likelihood bends the wrong way there (gamma <= 0).
    at_floor
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

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("log_evidence", "n_kept_per_round")}
        return {**asdict(self), **lists}
