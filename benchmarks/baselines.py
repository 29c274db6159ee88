"""Processor time and memory of B1 (RVMMIL) and B2 (ReaderMixture, eight readers) at the paper's number of features."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import problem
from benchmarks.rows import Row
from benchmarks.worker import forget_peak, status
from overread.bags import Bags
from overread.models import RVMMIL, ReaderMixture

READERS, SHARE_READ, GROUP = 8, 0.57, 30
MEGABYTE = 1e6


@dataclass(frozen=True)
class Cost:
    """Processor seconds, and peak memory beyond what was resident before, in bytes."""

    seconds: float
    memory: int
    note: str


def run(*, quick: bool) -> Iterator[Row]:
    sizes = (2_500, 5_000) if quick else (20_000, 60_000)
    measures = {
        "B1": _b1,
        "B1, screen=400": _b1_screened,
        "B2, 8 readers, screen=400": _b2_screened,
        "B2, 8 readers": _b2,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _compile()
        for name, fit in measures.items():
            costs = []
            for n in sizes:
                bags, soft = _bags(n)
                costs.append(cost := _cost(fit, bags, soft))
                what = f"{name}, {n:,} x {bags.instances.shape[1]:,}, float32"
                yield Row(what, cost.seconds, None, None, "s", cost.note)
                share = cost.memory / bags.instances.nbytes
                note = f"{share:.2f} of X; X has {bags.instances.nbytes / MEGABYTE:.0f} MB"
                yield Row(f"{what}, peak beyond X", cost.memory / MEGABYTE, None, None, "MB", note)
            yield _growth(name, sizes, costs)


def _growth(name: str, sizes: tuple[int, ...], costs: list[Cost]) -> Row:
    ratio = np.log(sizes[-1] / sizes[0])
    time_exponent = float(np.log(costs[-1].seconds / costs[0].seconds) / ratio)
    memory_exponent = float(np.log(costs[-1].memory / costs[0].memory) / ratio)
    what = f"{name}, growth in rows, {sizes[0]:,} to {sizes[-1]:,}"
    note = f"of the time, between two sizes; of the memory {memory_exponent:.2f}"
    return Row(what, time_exponent, None, None, "exponent", note)


def _bags(n: int, d: int = 1150, positives: float = 0.01) -> tuple[Bags, np.ndarray]:
    data = problem.generate(n, d, seed=7, positives=positives)
    groups = np.arange(len(data.offsets) - 1) // GROUP
    return Bags(data.X, data.offsets, groups=groups), data.bag_labels()


def _compile() -> None:
    bags, soft = _bags(2_000, 100, positives=0.2)
    for fit in (_b1, _b2):
        fit(bags, soft)


def _cost(fit: Callable[[Bags, np.ndarray], str], bags: Bags, soft: np.ndarray) -> Cost:
    before = forget_peak()
    start = time.process_time()
    note = fit(bags, soft)
    return Cost(time.process_time() - start, status("VmHWM") - before, f"one run; {note}")


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
