"""A process that keeps one problem in memory and solves tasks on it: ``python -m benchmarks.worker``.

It reads one JSON object a line: {"size", "dtype"} first, then {"solver", "labels", "lambdas", "tol", "out"}.
It answers each with one line: the processor time of the solve and the peak of resident memory beyond what was
there before, in bytes. Coefficients and intercepts go to the file ``out``.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problem import Problem, load
from benchmarks.solvers import SOLVERS, Task


def main() -> None:
    # Libraries print; the answers keep the real standard output to themselves.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    wanted = json.loads(sys.stdin.readline())
    problem = load(wanted["size"], wanted["dtype"])
    print(json.dumps({"bytes": problem.X.nbytes}), file=answers)
    for line in sys.stdin:
        try:
            answer = solve(problem, json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers)


def solve(problem: Problem, order: dict[str, Any]) -> dict[str, Any]:
    task = Task(order["labels"], np.array(order["lambdas"]), order["tol"])
    solver = SOLVERS[order["solver"]]
    before = forget_peak()
    start = time.process_time()
    solution = solver(problem, task)
    seconds = time.process_time() - start
    peak = status("VmHWM") - before
    np.savez(order["out"], W=solution.W, b=solution.b)
    return {"seconds": seconds, "peak_bytes": peak, **solution.details}


def forget_peak() -> int:
    """Start the count of peak memory again (Linux) and return what is resident now.

    What earlier work freed goes back to the system first, or work after it would seem to need less than it does.
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 0
    return status("VmRSS")


def status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * int(next(line for line in lines if line.startswith(field)).split()[1])


if __name__ == "__main__":
    main()
