"""Coverage of the crowd models' 95 % intervals over planted skills: ``python -m benchmarks.crowd_coverage``.

Every simulation draws new readers (sensitivity uniform in 0.6 to 0.9, specificity in 0.7 to 0.95), labels (35 %
positive), four votes a bag and three features. Writes a Markdown table; the error of a rate is the standard error
between simulations. ``--seeds`` sets their number, and ``--quick`` a tenth of it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.golden.crowd_problems import CrowdProblem, make_bag_crowd, make_crowd

from overread.models import DawidSkene, RaykarCrowd

Floats = NDArray[np.float64]

VOTES_PER_BAG = 4
FIRST_SEED = 1000
HELD = {"sensitivity_prior": (9.0, 3.0), "specificity_prior": (10.0, 2.5)}


@dataclass(frozen=True)
class Coverage:
    """Share of intervals that hold the planted skill with its standard error, mean width, mean error of the skill."""

    rate: float
    error: float
    width: float
    skill_error: float


@dataclass(frozen=True)
class Case:
    """One row of the table; seeds is a share of the number asked for."""

    model: str
    n_bags: int
    n_readers: int
    share: float = 1.0
    held: bool = False


CASES = (
    Case("Dawid-Skene", 1000, 25),
    Case("Dawid-Skene", 200, 20),
    Case("Dawid-Skene", 150, 20),
    Case("Dawid-Skene", 100, 20),
    Case("Dawid-Skene", 200, 20, held=True),
    Case("Dawid-Skene", 100, 20, held=True),
    Case("Raykar", 1000, 25, 0.25),
    Case("Raykar", 200, 20, 0.5),
    Case("Raykar", 100, 20, 0.5),
    Case("Raykar, bags", 300, 10, 0.25),
)


def coverage(model: str, *, n_bags: int, n_readers: int, seeds: int, **settings: Any) -> dict[str, Coverage]:
    """Coverage of either skill's interval over `seeds` simulations."""
    fits = [_fit(model, n_bags, n_readers, FIRST_SEED + seed, settings) for seed in range(seeds)]
    return {
        "sensitivity": _coverage([(m.sensitivity_, m.sensitivity_interval_, p.sensitivity) for m, p in fits]),
        "specificity": _coverage([(m.specificity_, m.specificity_interval_, p.specificity) for m, p in fits]),
    }


def _fit(
    model: str, n_bags: int, n_readers: int, seed: int, settings: dict[str, Any]
) -> tuple[Any, CrowdProblem]:
    make = make_bag_crowd if model == "Raykar, bags" else make_crowd
    problem = make(n_bags=n_bags, n_readers=n_readers, votes_per_bag=VOTES_PER_BAG, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "Dawid-Skene":
            return DawidSkene(**settings).fit(problem.votes), problem
        fitted = RaykarCrowd(alpha=0.002, **settings).fit(problem.X, problem.votes, bags=problem.bag_of_row)
        return fitted, problem


def _coverage(results: list[tuple[Floats, Floats, Floats]]) -> Coverage:
    hits = [np.mean((limits[:, 0] <= planted) & (planted <= limits[:, 1])) for _, limits, planted in results]
    return Coverage(
        rate=float(np.mean(hits)),
        error=float(np.std(hits, ddof=1) / np.sqrt(len(hits))),
        width=float(np.mean([np.diff(limits, axis=1).mean() for _, limits, _ in results])),
        skill_error=float(np.mean([np.abs(skill - planted).mean() for skill, _, planted in results])),
    )


def table(seeds: int) -> Iterator[str]:
    """Lines of the table."""
    yield (
        "| model | bags | readers | votes a reader | simulations | sensitivity: coverage, width, mean error "
        "| specificity: coverage, width, mean error |"
    )
    yield "|---|---:|---:|---:|---:|---|---|"
    for case in CASES:
        count = max(4, round(case.share * seeds))
        held = HELD if case.held else {}
        found = coverage(case.model, n_bags=case.n_bags, n_readers=case.n_readers, seeds=count, **held)
        cells = [
            f"{100 * one.rate:.1f} ± {100 * one.error:.1f} %, {one.width:.2f}, {one.skill_error:.3f}"
            for one in found.values()
        ]
        name = f"{case.model}, priors" if case.held else case.model
        votes = VOTES_PER_BAG * case.n_bags / case.n_readers
        yield f"| {name} | {case.n_bags} | {case.n_readers} | {votes:.0f} | {count} | {cells[0]} | {cells[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=200, help="simulations of a row")
    parser.add_argument("--quick", action="store_true", help="a tenth of them")
    arguments = parser.parse_args()
    for line in table(arguments.seeds // 10 if arguments.quick else arguments.seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
