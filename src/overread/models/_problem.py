"""Convert the input of `fit` to the solver's problem, and its result to a certificate.

The solver has one standardized feature per row, in the order of the loss. That copy is the only one made of X, and
column-major features that need no scaling are not copied at all. Each column is first divided by a power of two near
its largest value, so that squares neither overflow nor underflow, then centred and divided by its standard deviation,
in float64. A matrix in a file is read once, for these numbers, and stays there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from overread.bags import Bags, Matrix, SoftLabels, StoredInstances
from overread.columns import (
    NUMBERS,
    ClusterColumns,
    Columns,
    FileColumns,
    MemoryColumns,
    constant_share,
    describe_columns,
    find_scaling,
    standardize_rows,
)
from overread.errors import DataWarning, InvalidInputError
from overread.models._budget import room_for_columns
from overread.models._kernels import describe_rows
from overread.models._penalties import Penalty, find_penalty
from overread.models._report import FitReport
from overread.models.loss._bag_loss import BagLoss, find_pooling, weigh_bags
from overread.models.solver._curvature import worth_sampling
from overread.models.solver._newton import NewtonSolver, Solution
from overread.models.solver._path import COARSE, FINE, descend, null_intercept, witness_loss

Floats = NDArray[np.float64]

# Rows copied at once: a block of a thousand float64 columns is 8 MB. Set by judgement.
ROWS_PER_BLOCK = 1024
# Far below where squares, summed over rows, overflow; from when these sums were in float32, of 3.4e38 at most.
LARGEST_UNSCALED = 1e15
# In deviations: features whose mean is smaller are used as they are, for speed; the intercept takes up the rest. Chosen
# by judgement.
SMALL_MEAN = 0.1


@dataclass(frozen=True)
class FitDesign:
    """Standardized features (x - center) / scale, and the way back: coefficient on the user's scale = w / scale.

    The scale is 0 for a feature that was left out because it does not vary; `vanishing` are those of them whose values
    are all below the smallest normal number.
    """

    columns: Columns
    center: Floats
    scale: Floats
    norms: Floats
    vanishing: NDArray[np.int64]

    def to_user(self, w: Floats, b: float) -> tuple[Floats, float]:
        """Coefficients and intercept on the scale of the user's features."""
        used = self.scale > 0
        coefficients = np.zeros_like(w)
        coefficients[used] = w[used] / self.scale[used]
        return coefficients, float(b - coefficients @ self.center)

    def from_user(self, coefficients: Floats, intercept: float) -> tuple[Floats, float]:
        """Undo `to_user`."""
        return coefficients * self.scale, float(intercept + coefficients @ self.center)


def make_design(
    X: Matrix,
    order: NDArray[np.int64],
    row_weight: Floats,
    *,
    center: bool,
    standardize: bool,
    memory_mb: float | None = None,
) -> FitDesign:
    """Copy X (n x d), in memory or in a file, into a `FitDesign`; its row i is row order[i] of X.

    Each row counts row_weight times in means and deviations. Without centring the scale is the root mean square.
    """
    n, d = X.shape
    weight = row_weight[order] / row_weight.sum()
    if isinstance(X, StoredInstances):
        return _make_stored_design(
            X, order, weight, center=center, standardize=standardize, memory_mb=memory_mb
        )
    if not standardize:
        shared = _share_design(X, order, weight, center=center)
        if shared is not None:
            return shared
    Xt = np.empty((d, n), dtype=X.dtype)
    if X.flags.f_contiguous:
        np.take(X.T, order, axis=1, out=Xt, mode="clip")
    else:
        for first in range(0, n, ROWS_PER_BLOCK):
            block = slice(first, first + ROWS_PER_BLOCK)
            Xt[:, block] = X[order[block]].T
    numbers = np.empty((len(NUMBERS), d))
    standardize_rows(Xt, weight, center, standardize, constant_share(X.dtype), *numbers)
    return _finish_design(MemoryColumns(Xt), numbers, X.dtype, standardize=standardize)


def _make_stored_design(
    X: StoredInstances,
    order: NDArray[np.int64],
    weight: Floats,
    *,
    center: bool,
    standardize: bool,
    memory_mb: float | None,
) -> FitDesign:
    """Read the file once, a column at a time, for the numbers by which columns are standardized later."""
    room = room_for_columns(memory_mb, *X.shape, X.dtype.itemsize)
    columns: FileColumns | ClusterColumns
    if X.client is None:
        everything = range(X.shape[1])
        numbers = describe_columns(X, everything, order, weight, center=center, standardize=standardize)
        scaling = find_scaling(numbers, standardize=standardize)
        columns = FileColumns(X, order, scaling, room.columns, room.sample)
        columns.n_read = X.shape[1]
    else:
        columns = ClusterColumns(X, order, weight, room.columns, room.columns + room.sample)
        numbers = columns.describe(center=center, standardize=standardize)
        columns.standardize(find_scaling(numbers, standardize=standardize))
    return _finish_design(columns, numbers, X.dtype, standardize=standardize)


def _finish_design(
    columns: Columns, numbers: Floats, dtype: np.dtype[np.floating], *, standardize: bool
) -> FitDesign:
    """Make the design of standardized columns; refuse those whose products would overflow without scaling."""
    means, scales, norms, largest = numbers
    used = np.where(scales > 0, largest, 0.0)
    if not standardize and used.max() > LARGEST_UNSCALED:
        raise InvalidInputError(
            f"column {used.argmax()} of X reaches {used.max():.3g}; products would overflow. "
            "Use standardize=True"
        )
    vanishing = np.flatnonzero((largest > 0) & (largest < float(np.finfo(dtype).tiny)))
    return FitDesign(columns, means, scales, norms, vanishing)


def _share_design(
    X: NDArray[np.floating], order: NDArray[np.int64], weight: Floats, *, center: bool
) -> FitDesign | None:
    """Design that is X itself, where its layout and means allow; None where a copy is needed.

    Columns with a mean that is small beside their deviation need no centring: the intercept takes it up.
    """
    n, d = X.shape
    if not (X.flags.f_contiguous and X.flags.writeable and np.array_equal(order, np.arange(n))):
        return None
    means, spreads, norms = (np.empty(d) for _ in range(3))
    describe_rows(X.T, weight, means, spreads, norms)
    if not norms.max() <= LARGEST_UNSCALED:
        return None
    if center and not (np.abs(means) <= SMALL_MEAN * spreads).all():
        return None
    return FitDesign(MemoryColumns(X.T), np.zeros(d), np.ones(d), norms, np.empty(0, dtype=np.int64))


# Mean loss below which hard labels count as separated; set by judgement.
PERFECT = 1e-6


@dataclass(frozen=True)
class SolverOptions:
    """How hard to try: tolerance, Newton steps, number of starts, seed."""

    tol: float
    max_iter: int
    n_init: int
    seed: int


@dataclass(frozen=True)
class FitProblem:
    """A fit made ready: the loss, the penalty, the standardized features, and the units of alpha.

    The solver works with weights that sum to 1, so that objectives of size 1 are compared whatever the
    normalization; `unit` is what its objective is to be multiplied by, and `alpha_unit` its alpha.
    """

    loss: BagLoss
    penalty: Penalty
    design: FitDesign
    labels: SoftLabels
    fit_intercept: bool
    unit: float
    alpha_unit: float
    null: float

    def solver(self, seed: int, *, loss: BagLoss | None = None) -> NewtonSolver:
        """Return a solver of this loss, or of a stand-in for it, standing at w = 0."""
        solver = NewtonSolver(
            self.design.columns,
            loss or self.loss,
            self.penalty,
            fit_intercept=self.fit_intercept,
            norms=self.design.norms,
            seed=seed,
        )
        known = self._null_gradient if loss is None else None
        solver.start(np.zeros(self.design.columns.n_features), self.null, gradient=known)
        return solver

    @property
    def alpha_max(self) -> float:
        """Smallest alpha, in the user's unit, that gives w = 0."""
        return self.penalty.alpha_max(self._null_gradient) / self.alpha_unit

    @cached_property
    def _null_gradient(self) -> Floats:
        residual = np.empty(self.loss.n_rows)
        self.loss.value(np.full(self.loss.n_rows, self.null), residual)
        return self.design.columns.dot(np.arange(self.design.columns.n_features), residual)

    def is_separated(self, solution: Solution) -> bool:
        """Whether hard labels are met so well that the loss is near rounding: nothing but alpha bounds w."""
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


def read_options(estimator: Any) -> SolverOptions:
    """Read and check an estimator's parameters of the search."""
    return SolverOptions(
        tol=check_number(estimator.tol, "tol", high=1.0),
        max_iter=int(check_number(estimator.max_iter, "max_iter", integer=True)),
        n_init=int(check_number(getattr(estimator, "n_init", 1), "n_init", low=1, integer=True)),
        seed=seed_of(estimator.random_state),
    )


def prepare(estimator: Any, bags: Bags, y: Any, sample_weight: Any, reader_weight: Any) -> FitProblem:
    """Check labels, weights and an estimator's parameters, standardize, and find the start at w = 0.

    An estimator without a normalization has a plain sum over bags; one without a penalty does not use it.
    """
    memory_mb, fit_intercept = estimator.memory_mb, estimator.fit_intercept
    if memory_mb is not None:
        memory_mb = check_number(memory_mb, "memory_mb", low=1)
    weighed = weigh_bags(
        bags,
        y,
        sample_weight=sample_weight,
        reader_weight=reader_weight,
        normalization=getattr(estimator, "normalization", "none"),
    )
    labels, repetitions, weight = weighed.labels, weighed.sample_weight, weighed.weight
    unit = float(weight.sum())
    penalty = find_penalty(getattr(estimator, "penalty", "l1"))
    penalty.check(bags.n_features)
    remarks = []
    if labels.is_constant:
        label = labels.probability[0]
        remarks.append(f"every label is {label:g}: there is nothing to tell apart, so no feature is chosen")
    loss = BagLoss.build(bags.offsets, labels.probability, weight / unit, find_pooling(estimator.pooling))
    row_weight = np.repeat(repetitions / repetitions.max(), bags.sizes)
    design = make_design(
        bags.matrix,
        loss.order,
        row_weight,
        center=fit_intercept,
        standardize=estimator.standardize,
        memory_mb=memory_mb,
    )
    if not design.scale.any():
        remarks.append("no feature varies: there is nothing to choose from, so every coefficient is 0")
    if len(design.vanishing):
        names = [bags.feature_names[j] if bags.feature_names else str(j) for j in design.vanishing]
        remarks.append(
            f"left out because every value is smaller than the smallest normal number: {', '.join(names)}"
        )
    for remark in remarks:
        warnings.warn(remark, DataWarning, stacklevel=3)
    alpha_unit = 1.0 / unit / (bags.n_features if getattr(estimator, "divide_by_features", False) else 1)
    null = null_intercept(loss) if fit_intercept else 0.0
    return FitProblem(loss, penalty, design, labels, fit_intercept, unit, alpha_unit, null)


Start = tuple[Floats, float]
Fit = tuple[Solution, NewtonSolver]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread: its sums, and so the solver's steps, then do not depend on the machine."""
    with _threadpools().limit(limits=1, user_api="blas"):
        yield


_threadpools = cache(ThreadpoolController)


def fit_one_alpha(
    problem: FitProblem, alpha: float, options: SolverOptions, start: Start | None = None
) -> tuple[Solution, NewtonSolver, tuple[float, ...]]:
    """Best stationary point from the default start and options.n_init - 1 others; alpha in the solver's unit.

    The default start, w = 0, is followed down at two paces where the problem is not convex. Returned with the solver
    that found it, and the objectives that all starts reached.
    """

    def solve_from(w: Floats, b: float) -> Fit:
        solver = problem.solver(options.seed)
        solver.start(w, b)
        return solver.solve(alpha, tol=options.tol, max_iter=options.max_iter), solver

    fits = []
    if start is not None and _is_better(problem, alpha, start):
        fits.append(solve_from(*start))
    else:
        for pace in (FINE,) if problem.loss.is_convex else (FINE, COARSE):
            solver = problem.solver(options.seed)
            found = descend(solver, alpha, tol=options.tol, max_iter=options.max_iter, pace=pace)
            fits.append((found, solver))
    for number in range(1, 1 if problem.loss.is_convex else options.n_init):
        # From the convex fit to one random instance of each bag.
        stand_in = witness_loss(problem.loss, np.random.default_rng([options.seed, number]))
        rehearsal = problem.solver(options.seed, loss=stand_in)
        first = descend(rehearsal, alpha, tol=FINE.tol, max_iter=options.max_iter)
        fits.append(solve_from(first.w, first.b))
    solution, solver = min(fits, key=lambda fit: (not fit[0].converged, fit[0].objective))
    return solution, solver, tuple(problem.unit * reached.objective for reached, _ in fits)


def _is_better(problem: FitProblem, alpha: float, start: Start) -> bool:
    """Whether a start beats w = 0; one that does not would only be a long way home."""
    solver = problem.solver(0)
    null = solver.point.loss
    solver.start(*start)
    return solver.point.loss + alpha * problem.penalty.value(start[0]) < null


def make_report(
    problem: FitProblem,
    solver: NewtonSolver,
    solution: Solution,
    alpha: float,
    options: SolverOptions,
    start_objectives: tuple[float, ...],
) -> FitReport:
    """Certificate of a solution, in the user's units."""
    counters, n_columns = solver.counters, problem.design.columns.n_features
    low, high = min(start_objectives), max(start_objectives)
    return FitReport(
        alpha=alpha,
        alpha_max=problem.alpha_max,
        objective=problem.unit * solution.objective,
        loss=problem.unit * solution.loss,
        kkt_residual=solution.relative_violation,
        tol=options.tol,
        converged=solution.converged,
        n_features=int(np.count_nonzero(solution.w)),
        n_iter=solution.n_iter,
        full_passes=counters.columns_checked / n_columns,
        active_passes=counters.active_columns_read / n_columns,
        columns_skipped=counters.columns_skipped,
        curvature_refreshes=counters.refreshes,
        descent_sweeps=counters.sweeps,
        rows_sampled=worth_sampling(solver.loss.n_plain, solver.curvature.sample_size),
        convex=problem.loss.is_convex,
        start_objectives=start_objectives,
        spread=(high - low) / low if low > 0 else 0.0,
        unbounded=problem.is_separated(solution),
        columns_left_out=int(np.count_nonzero(problem.design.scale == 0)),
        seed=options.seed,
        gap=solution.gap,
        criterion=solution.criterion,
        file_passes=problem.design.columns.n_read / n_columns,
    )


def warn_about(report: FitReport) -> None:
    """Warn if the fit did not converge or is held only by the penalty."""
    if not report.converged:
        warnings.warn(
            f"not converged at alpha={report.alpha:g}: after {report.n_iter} Newton steps the optimality conditions "
            f"are violated by {report.kkt_residual:.2g} of alpha (tol={report.tol:g}); raise max_iter or alpha",
            ConvergenceWarning,
            stacklevel=3,
        )
    if report.unbounded:
        warnings.warn(
            "the labels are separated perfectly: without a penalty the coefficients are unbounded, and "
            f"alpha={report.alpha:g} holds them only where the loss is rounding; raise alpha",
            DataWarning,
            stacklevel=3,
        )
