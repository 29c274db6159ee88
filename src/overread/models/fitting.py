"""Running the solver for an estimator: starts, certificate, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from overread.errors import DataWarning
from overread.models.preparation import Effort, Problem
from overread.models.report import FitReport
from overread.models.solver.newton import NewtonSolver, Solution
from overread.models.solver.path import COARSE, FINE, Pace, descend, witness_loss
from overread.models.solver.row_sample import worth_sampling

__all__ = ["Fit", "fit_one_lambda", "make_report", "single_threaded_blas", "warn_about"]

Floats = NDArray[np.float64]
Start = tuple[Floats, float]


@dataclass(frozen=True)
class Fit:
    """A solution, the solver that found it, and the objectives that all starts reached."""

    solution: Solution
    solver: NewtonSolver
    start_objectives: tuple[float, ...]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread: its sums, and so the solver's steps, then do not depend on the machine."""
    with _threadpools().limit(limits=1, user_api="blas"):
        yield


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


def fit_one_lambda(problem: Problem, lam: float, effort: Effort, start: Start | None = None) -> Fit:
    """Best stationary point from the default start and effort.n_init - 1 others; lam in the solver's unit.

    The default start, w = 0, is followed down at two paces where the problem is not convex.
    """
    if start is not None and _is_better(problem, lam, start):
        fits = [_warm_fit(problem, lam, effort, start)]
    else:
        paces = (FINE,) if problem.loss.is_convex else (FINE, COARSE)
        fits = [_descent(problem, lam, effort, pace) for pace in paces]
    if not problem.loss.is_convex:
        fits += [_witness_fit(problem, lam, effort, number) for number in range(1, effort.n_init)]
    best = min(fits, key=lambda fit: (not fit.solution.converged, fit.solution.objective))
    objectives = tuple(problem.unit * fit.solution.objective for fit in fits)
    return Fit(best.solution, best.solver, objectives)


def _warm_fit(problem: Problem, lam: float, effort: Effort, start: Start) -> Fit:
    solver = problem.solver(effort.seed)
    solver.start(*start)
    return Fit(solver.solve(lam, tol=effort.tol, max_iter=effort.max_iter), solver, ())


def _descent(problem: Problem, lam: float, effort: Effort, pace: Pace) -> Fit:
    solver = problem.solver(effort.seed)
    solution = descend(solver, lam, tol=effort.tol, max_iter=effort.max_iter, pace=pace)
    return Fit(solution, solver, ())


def _is_better(problem: Problem, lam: float, start: Start) -> bool:
    """Whether a start beats w = 0; one that does not would only be a long way home."""
    solver = problem.solver(0)
    null = solver.point.loss
    solver.start(*start)
    return solver.point.loss + lam * problem.penalty.value(start[0]) < null


def _witness_fit(problem: Problem, lam: float, effort: Effort, number: int) -> Fit:
    """Start from the convex fit to one random instance of each bag."""
    random = np.random.default_rng([effort.seed, number])
    rehearsal = problem.solver(effort.seed, loss=witness_loss(problem.loss, random))
    first = descend(rehearsal, lam, tol=FINE.tol, max_iter=effort.max_iter)
    solver = problem.solver(effort.seed)
    solver.start(first.w, first.b)
    return Fit(solver.solve(lam, tol=effort.tol, max_iter=effort.max_iter), solver, ())


def make_report(
    problem: Problem,
    solver: NewtonSolver,
    solution: Solution,
    *,
    lam: float,
    lambda_max: float,
    effort: Effort,
    start_objectives: tuple[float, ...],
) -> FitReport:
    """Certificate of a solution, in the user's units."""
    counters, n_columns = solver.counters, problem.design.columns.n_features
    low, high = min(start_objectives), max(start_objectives)
    return FitReport(
        lam=lam,
        lambda_max=lambda_max,
        objective=problem.unit * solution.objective,
        loss=problem.unit * solution.loss,
        kkt_residual=solution.relative_violation,
        tol=effort.tol,
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
        seed=effort.seed,
        gap=solution.gap,
        criterion=solution.criterion,
        file_passes=problem.design.columns.n_read / n_columns,
    )


def warn_about(report: FitReport, *, stacklevel: int = 3) -> None:
    """Say what the certificate has to say: not converged, or held only by the penalty."""
    if not report.converged:
        warnings.warn(
            f"not converged at lam={report.lam:g}: after {report.n_iter} Newton steps the optimality conditions are "
            f"violated by {report.kkt_residual:.2g} of lam (tol={report.tol:g}); raise max_iter or lam",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    if report.unbounded:
        warnings.warn(
            "the labels are separated perfectly: without a penalty the coefficients are unbounded, and "
            f"lam={report.lam:g} holds them only where the loss is rounding; raise lam",
            DataWarning,
            stacklevel=stacklevel,
        )
