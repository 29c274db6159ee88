"""Solvers take turns on one problem, each at the loosest tolerance of its own that is accurate enough."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import gap, problem, reference

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
TARGET_GAP = 1e-6
CAP_SECONDS = 120.0
# A solver that has been timed for this long is not repeated further.
ENOUGH_SECONDS = 30.0
# Where the search for the tolerance starts; each tolerance means what its library says it means.
FIRST_TOLERANCE = {
    "adelie": 1e-7,
    "skglm": 1e-2,
    "glum": 1e-4,
    "glmnet": 1e-7,
    "saga": 1e-4,
    "liblinear": 1e-3,
    "ours": 1e-2,
}
STEP = 10**0.5
OURS = ("ours", "floor")


class TooSlowError(Exception):
    """The solver passed the cap on time and was stopped."""


class FailedError(Exception):
    """The solver raised an error, or no tolerance was accurate enough."""


@dataclass
class Course:
    """One problem in one precision with its lambdas and certified bounds."""

    size: str
    dtype: str
    labels: str
    lambdas: np.ndarray
    bounds: np.ndarray | None
    data: problem.Problem
    target_gap: float = TARGET_GAP

    def worst_gap(self, W: np.ndarray, b: np.ndarray) -> float:
        """Largest relative gap over the path; infinite where the solver stopped before its end."""
        if W.shape[1] < len(self.lambdas):
            return np.inf
        p, omega = self.data.labels(self.labels)
        primal = gap.objective(self.data.X, p, omega, self.lambdas, W, b)
        return float(gap.relative_gap(primal, self.bounds).max())


@dataclass
class Result:
    """Times of the repeats, the tolerance they ran with, and how the tolerance was found."""

    solver: str
    tol: float
    gap: float
    seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    details: dict[str, Any] = field(default_factory=dict)
    failure: str = ""
    search: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median processor time, infinite where the solver did not make it."""
        return median(self.seconds) if self.seconds else float("inf")

    def describe(self) -> str:
        """Say for the note of a row which tolerance was used and which looser one failed."""
        if self.failure:
            return f"{self.solver}: {self.failure}"
        looser = [f"{t:.0e}: {g:.0e}" for t, g, _ in self.search if t > self.tol]
        tried = f" (looser {', '.join(looser)})" if looser else ""
        return f"{self.solver} {self.median:.3g} s at tol {self.tol:.1e}, gap {self.gap:.1e}{tried}"


def course(
    size: str, dtype: str, labels: str, *, only: int | None = None, target_gap: float = TARGET_GAP
) -> Course:
    """Build the course; ``only`` keeps one lambda of the path, by index. Bounds are cached beside X."""
    data = problem.load(size)
    p, omega = data.labels("soft" if labels == "mil" else labels)
    lambdas = problem.lambda_path(data.X, p, omega, end=problem.SIZES[size].path_end)
    if labels == "mil":
        return Course(size, dtype, labels, lambdas, None, data)
    cache = problem.prepare(size) / f"bounds-{labels}.npy"
    if not cache.exists():
        bounds, left = reference.best_bounds(data.X, p, omega, lambdas)
        if left > 0.1 * TARGET_GAP:
            raise RuntimeError(f"the reference leaves a gap of {left:.1e} on {size}/{labels}")
        np.save(cache, bounds)
    keep = slice(None) if only is None else slice(only, only + 1)
    return Course(size, dtype, labels, lambdas[keep], np.load(cache)[keep], data, target_gap)


class Worker:
    """A process of ``worker.py`` with the problem loaded, in the environment its solver needs."""

    def __init__(self, solver: str, on: Course) -> None:
        self.solver, self.course = solver, on
        python = sys.executable if solver in OURS else str(PEERS)
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=os.environ | threads,
            text=True,
        )
        self._ask({"size": on.size, "dtype": on.dtype}, 600.0)

    def solve(self, tol: float) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        """Solve the course and return the answer, coefficients and intercepts."""
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "solution.npz")
            order = {"solver": self.solver, "labels": self.course.labels, "tol": tol, "out": out}
            answer = self._ask(order | {"lambdas": self.course.lambdas.tolist()}, CAP_SECONDS)
            with np.load(out) as solution:
                return answer, solution["W"], solution["b"]

    def _ask(self, order: dict[str, Any], patience: float) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        start = self._processor_seconds()
        while not select.select([self.process.stdout], [], [], 1.0)[0]:
            if self._processor_seconds() - start > patience:
                self.close()
                raise TooSlowError(f"stopped after {patience:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise FailedError("its process died")
        answer = json.loads(line)
        if "error" in answer:
            raise FailedError(answer["error"])
        return answer

    def _processor_seconds(self) -> float:
        """Time the process has used, or the clock's where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def compete(
    on: Course, solvers: list[str], *, repeats: int, tols: dict[str, float] | None = None
) -> dict[str, Result]:
    """Find each solver's tolerance (or take that of ``tols``), then time all of them in turns."""
    workers, results = {}, {}
    for name in solvers:
        worker = workers[name] = Worker(name, on)
        results[name] = _tune(worker, on, (tols or {}).get(name))
    for _ in range(repeats):
        for name, result in results.items():
            if not result.failure and sum(result.seconds) < ENOUGH_SECONDS:
                answer, _, _ = workers[name].solve(result.tol)
                result.seconds.append(answer.pop("seconds"))
                result.peak_bytes = max(result.peak_bytes, answer.pop("peak_bytes"))
                result.details = answer
    for worker in workers.values():
        worker.close()
    return results


def _tune(worker: Worker, on: Course, tol: float | None) -> Result:
    """Find the loosest tolerance, in half decades, that keeps the target gap at every lambda."""
    result = Result(worker.solver, tol or FIRST_TOLERANCE.get(worker.solver, 1e-3), 0.0)
    try:
        if tol is not None or on.bounds is None or worker.solver == "floor":
            _, W, b = worker.solve(result.tol)
            if on.bounds is not None and worker.solver != "floor":
                result.gap = on.worst_gap(W, b)
        else:
            _search(worker, on, result)
    except (TooSlowError, FailedError) as error:
        result.failure = str(error)
    return result


def _search(worker: Worker, on: Course, result: Result) -> None:
    def accurate(tol: float) -> bool:
        answer, W, b = worker.solve(tol)
        result.search.append((tol, on.worst_gap(W, b), answer["seconds"]))
        return result.search[-1][1] <= on.target_gap

    tol = result.tol
    if accurate(tol):
        while len(result.search) < 5 and accurate(tol * STEP):
            tol *= STEP
    else:
        while not accurate(tol / STEP):
            tol /= STEP
            if len(result.search) > 10:
                raise FailedError(f"gap {result.search[-1][1]:.1e} at its tol {result.search[-1][0]:.0e}")
        tol /= STEP
    result.tol = tol
    result.gap = next(found for tried, found, _ in result.search if tried == tol)
