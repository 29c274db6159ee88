"""From what the user passes to `fit` to the solver's own problem."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.bags import Bags, SoftLabels
from overread.errors import DataWarning, InvalidInputError
from overread.models.loss.bag_loss import BagLoss
from overread.models.loss.pooling import find_pooling
from overread.models.loss.weights import weigh_bags
from overread.models.penalties.penalty import Penalty
from overread.models.penalties.registry import find_penalty
from overread.models.scaling import Design, make_design
from overread.models.solver.newton import NewtonSolver, Solution
from overread.models.solver.path import null_intercept

__all__ = ["Effort", "Problem", "check_number", "effort_of", "prepare", "prepare_for", "seed_of"]

Floats = NDArray[np.float64]

# Mean loss below which hard labels count as separated; chosen by eye.
PERFECT = 1e-6


@dataclass(frozen=True)
class Effort:
    """How hard to try: tolerance, Newton steps, number of starts, seed."""

    tol: float
    max_iter: int
    n_init: int
    seed: int


@dataclass(frozen=True)
class Problem:
    """A fit made ready: the loss, the penalty, the standardized features, and the units of lambda.

    The solver works with weights that sum to 1, so that objectives of size 1 are compared whatever the
    normalization; `unit` is what its objective is to be multiplied by, and `lam_unit` its lambda.
    """

    loss: BagLoss
    penalty: Penalty
    design: Design
    labels: SoftLabels
    fit_intercept: bool
    unit: float
    lam_unit: float
    null: float

    def solver(self, seed: int, *, loss: BagLoss | None = None) -> NewtonSolver:
        """Return a solver of this loss, or of a stand-in for it, standing at w = 0."""
        solver = self._solver(seed, loss or self.loss)
        known = self._null_gradient if loss is None else None
        solver.start(np.zeros(self.design.columns.n_features), self.null, gradient=known)
        return solver

    @property
    def lambda_max(self) -> float:
        """Smallest lambda, in the user's unit, that gives w = 0."""
        return self.penalty.lambda_max(self._null_gradient) / self.lam_unit

    @cached_property
    def _null_gradient(self) -> Floats:
        solver = self._solver(0, self.loss)
        solver.start(np.zeros(self.design.columns.n_features), self.null)
        return solver.point.gradient

    def _solver(self, seed: int, loss: BagLoss) -> NewtonSolver:
        return NewtonSolver(
            self.design.columns,
            loss,
            self.penalty,
            fit_intercept=self.fit_intercept,
            norms=self.design.norms,
            seed=seed,
        )

    def is_separated(self, solution: Solution) -> bool:
        """Whether hard labels are met so well that the loss is near rounding: nothing but lam bounds w."""
        return self.labels.is_hard and not self.labels.is_constant and solution.loss < PERFECT


def check_number(
    value: Any, name: str, *, low: float = 0.0, high: float = np.inf, integer: bool = False
) -> float:
    """Return a finite number within [low, high]; the error names the parameter."""
    is_number = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
    if not is_number or not low <= float(value) <= high or np.isinf(float(value)):
        wanted = "an integer" if integer else "a finite number"
        raise InvalidInputError(f"{name}={value!r} must be {wanted} in [{low:g}, {high:g}]")
    return float(value)


def seed_of(random_state: Any) -> int:
    """Seed for a fit: None means 0, so that the same data give the same answer."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(check_number(random_state, "random_state", high=2**63 - 1, integer=True))


def effort_of(estimator: Any, *, n_init: int = 1) -> Effort:
    """Read and check an estimator's parameters of the search."""
    return Effort(
        tol=check_number(estimator.tol, "tol", high=1.0),
        max_iter=int(check_number(estimator.max_iter, "max_iter", integer=True)),
        n_init=int(check_number(n_init, "n_init", low=1, integer=True)),
        seed=seed_of(estimator.random_state),
    )


def prepare_for(estimator: Any, bags: Bags, y: Any, sample_weight: Any, reader_weight: Any) -> Problem:
    """Prepare with an estimator's parameters of the model."""
    return prepare(
        bags,
        y,
        sample_weight=sample_weight,
        reader_weight=reader_weight,
        normalization=estimator.normalization,
        divide_by_features=estimator.divide_by_features,
        fit_intercept=estimator.fit_intercept,
        standardize=estimator.standardize,
        pooling=estimator.pooling,
        penalty=estimator.penalty,
        memory_mb=None
        if estimator.memory_mb is None
        else check_number(estimator.memory_mb, "memory_mb", low=1),
    )


def prepare(
    bags: Bags,
    y: Any,
    *,
    sample_weight: Any,
    reader_weight: Any,
    normalization: str,
    divide_by_features: bool,
    fit_intercept: bool,
    standardize: bool,
    pooling: str,
    penalty: str | Penalty = "l1",
    memory_mb: float | None = None,
) -> Problem:
    """Check labels, weights and penalty, standardize, and find the start at w = 0."""
    weighed = weigh_bags(
        bags, y, sample_weight=sample_weight, reader_weight=reader_weight, normalization=normalization
    )
    labels, repetitions, weight = weighed.labels, weighed.sample_weight, weighed.weight
    unit = float(weight.sum())
    chosen = find_penalty(penalty)
    chosen.check(bags.n_features)
    _warn_if_constant(labels)
    loss = BagLoss.build(bags.offsets, labels.probability, weight / unit, find_pooling(pooling))
    row_weight = np.repeat(repetitions / repetitions.max(), bags.sizes)
    design = make_design(
        bags.matrix,
        loss.order,
        row_weight,
        center=fit_intercept,
        standardize=standardize,
        memory_mb=memory_mb,
    )
    if not design.scale.any():
        warnings.warn(
            "no feature varies: there is nothing to choose from, so every coefficient is 0",
            DataWarning,
            stacklevel=3,
        )
    if len(design.vanishing):
        names = [bags.feature_names[j] if bags.feature_names else str(j) for j in design.vanishing]
        warnings.warn(
            f"left out because every value is smaller than the smallest normal number: {', '.join(names)}",
            DataWarning,
            stacklevel=3,
        )
    lam_unit = 1.0 / unit / (bags.n_features if divide_by_features else 1)
    null = null_intercept(loss) if fit_intercept else 0.0
    return Problem(loss, chosen, design, labels, fit_intercept, unit, lam_unit, null)


def _warn_if_constant(labels: SoftLabels) -> None:
    if labels.is_constant:
        warnings.warn(
            f"every label is {labels.probability[0]:g}: there is nothing to tell apart, so no feature is chosen",
            DataWarning,
            stacklevel=4,
        )
