"""Processor time and memory of B1 (RVMMIL) and B2 (ReaderMixture, eight readers) at the paper's number of features."""

from __future__ import annotations

import resource
import time
import warnings

import numpy as np

from benchmarks import problem
from benchmarks.rows import Row
from overread.bags import Bags
from overread.models import RVMMIL, ReaderMixture

READERS, SHARE_READ, GROUP = 8, 0.57, 30


def run(*, quick: bool) -> list[Row]:
    sizes = (2_500, 5_000) if quick else (20_000, 60_000)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RVMMIL(max_iter=2).fit(*_golden(problem.generate(1_000, 20, seed=1)))
        for n in sizes:
            rows += _measure(n)
    return rows


def _golden(data: problem.Problem) -> tuple[Bags, np.ndarray]:
    bags = Bags(data.X, data.offsets, groups=np.arange(len(data.offsets) - 1) // GROUP)
    return bags, (data.bag_labels() >= 2 / 8).astype(np.float64)


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


def _measure(n: int) -> list[Row]:
    data = problem.generate(n, 1150, seed=7)
    bags, y = _golden(data)
    rows = []
    for screen in (None, 400):
        start = time.process_time()
        report = RVMMIL(screen=screen).fit(bags, y).fit_report_
        note = (
            f"screen={screen}, {report.n_rounds} rounds, {report.n_features} features, "
            f"log evidence {report.log_evidence[-1]:.1f}, converged {report.converged}"
        )
        rows.append(Row(f"B1, {n:,} x 1150, float32", time.process_time() - start, None, None, "s", note))
    readers = _reader_bags(bags, data.bag_labels())
    start = time.process_time()
    model = ReaderMixture(n_bootstrap=100).fit(bags, y, reader_bags=readers)
    note = f"{len(model.reader_ids_)} readers, union {model.n_features_} features, 100 bootstraps"
    rows.append(Row(f"B2, {n:,} x 1150, float32", time.process_time() - start, None, None, "s", note))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note = "of the process, with the data and all readers' copies"
    rows.append(Row(f"peak memory up to B2 of {n:,} x 1150", peak, None, None, "MB", note))
    return rows
