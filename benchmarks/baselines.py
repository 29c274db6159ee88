"""Processor time and memory of B1 (RVMMIL) and B2 (ReaderMixture, eight readers) at the paper's number of features.

Every figure is the median over three generated problems (seeds 7, 8, 9), one fit each: how many rounds a fit needs
depends on the problem, and that varies more than one fit of the same problem does.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import problem
from benchmarks.rows import Row
from benchmarks.worker import forget_peak, status
from overread.bags import Bags
from overread.models import RVMMIL, ReaderMixture

READERS, SHARE_READ, GROUP = 8, 0.57, 30
SEEDS = (7, 8, 9)
MEGABYTE = 1e6


@dataclass(frozen=True)
class Cost:
    """Processor seconds, and peak memory beyond what was resident before, in bytes."""

    seconds: float
    memory: int
    note: str


def run(*, quick: bool) -> Iterator[Row]:
    sizes = (2_500, 5_000) if quick else (20_000, 60_000)
    # At the true share of positives no reader would have enough of them in the small problems.
    positives = 0.1 if quick else 0.01
    measures: dict[str, Callable[[Bags, np.ndarray], str]] = {
        "B1": _b1,
        "B1, screen=400": _b1_screened,
        "B2, 8 readers": _b2,
        "B2, 8 readers, screen=400": _b2_screened,
    }
    costs: dict[tuple[str, int], list[Cost]] = {(name, n): [] for n in sizes for name in measures}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _compile()
        for n in sizes:
            for seed in SEEDS:
                bags, soft = _bags(n, seed, positives=positives)
                for name, fit in measures.items():
                    costs[name, n].append(_cost(fit, bags, soft))
            for name in measures:
                yield from _rows(f"{name}, {n:,} x 1,150, float32", costs[name, n], bags.instances.nbytes)
    for name in measures:
        yield _growth(name, sizes, [costs[name, n] for n in sizes])


def _rows(what: str, costs: list[Cost], x_bytes: int) -> Iterator[Row]:
    seconds, memory = [cost.seconds for cost in costs], [cost.memory for cost in costs]
    notes = "; ".join(f"{cost.seconds:.1f} s: {cost.note}" for cost in costs)
    yield Row(what, float(np.median(seconds)), None, None, "s", f"{_how_many(costs)}; {notes}")
    share = np.median(memory) / x_bytes
    note = (
        f"{_how_many(costs)}, {min(memory) / MEGABYTE:.0f} to {max(memory) / MEGABYTE:.0f}; "
        f"{share:.2f} of X, which has {x_bytes / MEGABYTE:.0f} MB"
    )
    yield Row(f"{what}, peak beyond X", float(np.median(memory)) / MEGABYTE, None, None, "MB", note)


def _how_many(found: Sequence[object]) -> str:
    return "one problem" if len(found) == 1 else f"median of {len(found)} problems"


def _growth(name: str, sizes: tuple[int, ...], costs: list[list[Cost]]) -> Row:
    """Slope of log time in log rows between the two sizes, problem by problem."""
    ratio = np.log(sizes[-1] / sizes[0])
    pairs = list(zip(costs[0], costs[-1], strict=True))
    of_time = [float(np.log(large.seconds / small.seconds) / ratio) for small, large in pairs]
    of_memory = [float(np.log(large.memory / small.memory) / ratio) for small, large in pairs]
    what = f"{name}, growth in rows, {sizes[0]:,} to {sizes[-1]:,}"
    note = (
        f"of the time, {_how_many(pairs)}, {min(of_time):.2f} to {max(of_time):.2f}; "
        f"of the memory {np.median(of_memory):.2f}"
    )
    return Row(what, float(np.median(of_time)), None, None, "exponent", note)


def _bags(n: int, seed: int, *, positives: float, d: int = 1150) -> tuple[Bags, np.ndarray]:
    data = problem.generate(n, d, seed=seed, positives=positives)
    groups = np.arange(len(data.offsets) - 1) // GROUP
    return Bags(data.X, data.offsets, groups=groups), data.bag_labels()


def _compile() -> None:
    bags, soft = _bags(2_000, 7, positives=0.2, d=100)
    for fit in (_b1, _b2):
        fit(bags, soft)


def _cost(fit: Callable[[Bags, np.ndarray], str], bags: Bags, soft: np.ndarray) -> Cost:
    before = forget_peak()
    start = time.process_time()
    note = fit(bags, soft)
    return Cost(time.process_time() - start, status("VmHWM") - before, note)


def _b1(bags: Bags, soft: np.ndarray, screen: int | None = None) -> str:
    report = RVMMIL(screen=screen).fit(bags, _golden(soft)).fit_report_
    return (
        f"{report.n_rounds} rounds, {report.n_features} features, log evidence {report.log_evidence[-1]:.1f}, "
        f"converged {report.converged}"
    )


def _b1_screened(bags: Bags, soft: np.ndarray) -> str:
    return _b1(bags, soft, 400)


def _b2(bags: Bags, soft: np.ndarray, screen: int | None = None) -> str:
    readers = _reader_bags(bags, soft)
    model = ReaderMixture(screen=screen, n_bootstrap=100).fit(bags, _golden(soft), reader_bags=readers)
    return (
        f"{len(model.reader_ids_)} readers, union {model.n_features_} features, 100 bootstraps, "
        f"converged {model.converged_}; the readers' bags are counted"
    )


def _b2_screened(bags: Bags, soft: np.ndarray) -> str:
    return _b2(bags, soft, 400)


def _golden(soft: np.ndarray) -> np.ndarray:
    return (soft >= 2 / READERS).astype(np.float64)


def _reader_bags(bags: Bags, soft: np.ndarray) -> dict[str, Bags]:
    """Each reader reads a share of the groups and marks a bag with its soft label as probability."""
    random = np.random.default_rng(3)
    n_groups = int(bags.groups.max()) + 1
    readers = {}
    for reader in range(READERS):
        read = (random.random(n_groups) < SHARE_READ)[bags.groups.astype(int)]
        marked = (random.random(len(bags)) < soft).astype(np.float64)
        readers[f"R{reader + 1}"] = bags.with_labels(marked)[np.flatnonzero(read)]
    return readers
