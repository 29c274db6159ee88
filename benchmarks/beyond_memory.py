"""Fits of tables larger than the memory they may take: peak memory, passes over the file, time beside reading it once.

    python -m benchmarks.beyond_memory WORK --rows 2000000 --memory-mb 4000 --ways read stored sgd
    python -m benchmarks.beyond_memory WORK --rows 200000 --ways stored spread --kill-every 60
    python -m benchmarks.beyond_memory WORK --growth --ways read stored memory sgd

makes a table of 1150 correlated features in float32 (each row a candidate, one in a hundred positive with a soft
label), fits a path of 30 penalties in a process of its own, and writes Markdown to standard output. ``--growth`` does
this for 50,000 to 2,000,000 rows, each table deleted when it is measured, finds the exponent and draws
``docs/figures/beyond_memory.svg``; ``--draw`` draws it again from ``WORK/rows.json``. The ways:

- ``read`` the file once;
- fit it ``stored``;
- fit it in ``memory``, which takes more than twice the table;
- fit it ``spread`` over a Dask cluster of two processes on loopback, of which one can be killed every so many seconds;
- ``sgd``: scikit-learn's with an L1 penalty over blocks of rows of the same file, one penalty and 5 epochs, which is
  what a user would pick instead.

Peak memory is the process's own (VmHWM): pages of the file in the system's cache are not its, those of a mapped file
are. Processor time is without workers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread._text import markdown_table
from overread.bags import StoredInstances
from overread.files import ColumnFile, write_columns

N_FEATURES, N_LAMBDAS = 1150, 30
N_CAUSES, NOISE = 60, 0.6
POSITIVES = 0.01
ROWS_AT_ONCE = 50_000
GROWTH = (50_000, 200_000, 500_000, 1_000_000, 2_000_000)
EPOCHS = 5
# Bytes a number that a fit in memory takes: 2,237 MB at 200,000 rows, float32 (this benchmark, way `memory`).
HELD = 10
WAYS = ["read", "stored", "memory", "spread", "sgd"]
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "beyond_memory.svg"
# Colours of Okabe and Ito, which the colour-blind tell apart, and the words of the legend.
LINES = {
    "stored": ("#0072B2", "from the file"),
    "memory": ("#D55E00", "in memory"),
    "sgd": ("#009E73", "SGD, one penalty"),
}
GREY = "#595959"
TOLD = [
    "rows",
    "way",
    "seconds",
    "processor",
    "peak_mb",
    "passes",
    "n_features",
    "gap",
    "objective",
    "killed",
]
Floats = NDArray[np.floating]


def make_table(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """Write the features and the labels, unless they are there."""
    table, labels = folder / f"features-{n_rows}.npy", folder / f"labels-{n_rows}.npy"
    if not labels.exists():
        found: list[Floats] = []
        write_columns(table, draw_blocks(n_rows, found), n_rows, N_FEATURES, np.dtype(np.float32))
        np.save(labels, np.concatenate(found))
    return table, labels


def draw_blocks(n_rows: int, labels: list[Floats]) -> Iterator[Floats]:
    """Give blocks of rows, each from a seed of its own, and put their labels into the list."""
    random = np.random.default_rng(0)
    loadings = random.normal(size=(N_CAUSES, N_FEATURES)).astype(np.float32) / np.sqrt(N_CAUSES)
    weights = np.where(random.random(N_CAUSES) < 0.2, random.normal(size=N_CAUSES), 0.0)
    for first in range(0, n_rows, ROWS_AT_ONCE):
        random = np.random.default_rng([1, first])
        size = min(ROWS_AT_ONCE, n_rows - first)
        causes = random.standard_normal((size, N_CAUSES), dtype=np.float32)
        score = causes @ weights + random.logistic(size=size)
        positive = score > np.quantile(score, 1 - POSITIVES)
        labels.append(np.where(positive, random.choice([0.25, 0.5, 0.75, 1.0], size), 0.0))
        yield causes @ loadings + NOISE * random.standard_normal((size, N_FEATURES), dtype=np.float32)


def fit(way: str, table: Path, labels: Path, memory_mb: float, kill_every: float) -> dict[str, float]:
    """Fit in this process; return time, peak memory and what was found."""
    y = np.load(labels)
    began, used = time.perf_counter(), time.process_time()
    found: dict[str, float] = {}
    if way == "read":
        for _ in ColumnFile(table).read_columns(range(N_FEATURES)):
            pass
    elif way == "sgd":
        fit_sgd(table, y)
    else:
        from overread.models import SoftMILPath

        with open_cluster(kill_every) if way == "spread" else nullcontext() as cluster:
            client, killed = cluster or (None, [])
            X = np.load(table) if way == "memory" else StoredInstances(table, client=client)
            path = SoftMILPath(n_alphas=N_LAMBDAS, memory_mb=memory_mb).fit(X, y)
        last = path.fit_reports_[-1]
        found = {
            "killed": len(killed),
            "passes": last.file_passes,
            "n_features": int(path.n_features_[-1]),
            "gap": max(report.gap for report in path.fit_reports_),
            "objective": float(path.objectives_[-1]),
        }
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - used,
        "peak_mb": read_peak() / 1e6,
        **found,
    }


@contextmanager
def open_cluster(kill_every: float) -> Iterator[tuple[Any, list[int]]]:
    """Start two workers on loopback; give the client and the ids of workers that were killed, one every so often."""
    from distributed import Client, LocalCluster

    killed: list[int] = []
    over = threading.Event()

    def kill(client: Any) -> None:
        while not over.wait(kill_every):
            pids = list(client.run(os.getpid).values())
            # None: those that were killed before are not replaced yet.
            if pids:
                killed.append(pids[len(killed) % len(pids)])
                os.kill(killed[-1], signal.SIGKILL)

    options: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        killer = threading.Thread(target=kill, args=(client,))
        if kill_every:
            killer.start()
        try:
            yield client, killed
        finally:
            over.set()
            if kill_every:
                killer.join()


def fit_sgd(table: Path, y: Floats) -> None:
    """Go over the file in blocks of rows, which a column-major file gives by its columns' parts."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-4, random_state=0)
    for _ in range(EPOCHS):
        for first in range(0, len(y), ROWS_AT_ONCE):
            # The file is mapped again for each block, so that pages of the others are not counted as this process's.
            block = np.ascontiguousarray(np.load(table, mmap_mode="r")[first : first + ROWS_AT_ONCE])
            model.partial_fit(block, y[first : first + ROWS_AT_ONCE] >= 0.5, classes=[False, True])


def read_peak() -> int:
    """Peak memory of this process in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def run_apart(way: str, table: Path, memory_mb: float, kill_every: float) -> dict[str, float]:
    """Fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.beyond_memory", str(table.parent), "--one", way]
    command += ["--rows", table.stem.split("-")[1], "--memory-mb", str(memory_mb)]
    command += ["--kill-every", str(kill_every)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def compare(
    folder: Path, n_rows: int, memory_mb: float, ways: list[str], kill_every: float
) -> list[dict[str, object]]:
    """Run each way on one table."""
    table, _ = make_table(folder, n_rows)
    rows: list[dict[str, object]] = []
    for way in ways:
        rows.append({"rows": n_rows, "way": way, **run_apart(way, table, memory_mb, kill_every)})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--memory-mb", type=float, default=4000)
    parser.add_argument("--held-mb", type=float, default=8000, help="what the way `memory` may take")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--draw", action="store_true", help="measure nothing; draw what WORK/rows.json has")
    parser.add_argument("--kill-every", type=float, default=0.0, help="seconds; 0: no worker is killed")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=["read", "stored"])
    parser.add_argument("--one", choices=WAYS)
    given = parser.parse_args()
    if given.one:
        files = make_table(given.work, given.rows)
        print(json.dumps(fit(given.one, *files, given.memory_mb, given.kill_every)))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    journal = given.work / "rows.json"
    rows = json.loads(journal.read_text()) if given.draw else measure(given, journal)
    print(markdown_table(TOLD, [[tell(row.get(name, "")) for name in TOLD] for row in rows]))
    if given.growth or given.draw:
        print(f"\nExponent of processor time over rows: {find_exponent(rows):.2f}")
        draw(rows, given.memory_mb)


def measure(given: argparse.Namespace, journal: Path) -> list[dict[str, Any]]:
    """Measure one size, or all; what was measured is written down after each size."""
    rows: list[dict[str, Any]] = []
    for size in GROWTH if given.growth else (given.rows,):
        fits = size * N_FEATURES * HELD <= given.held_mb * 1e6
        ways = [way for way in given.ways if way != "memory" or fits]
        rows += compare(given.work, size, given.memory_mb, ways, given.kill_every)
        journal.write_text(json.dumps(rows, indent=1))
        if given.growth:
            for file in make_table(given.work, size):
                file.unlink()
    return rows


def pick(rows: list[dict[str, Any]], way: str, name: str) -> tuple[Floats, Floats]:
    """Sizes and values of a way."""
    chosen = [row for row in rows if row["way"] == way]
    return np.array([row["rows"] for row in chosen]), np.array([row[name] for row in chosen])


def find_exponent(rows: list[dict[str, Any]]) -> float:
    """Slope of log time over log size of the fit from a file."""
    sizes, seconds = pick(rows, "stored", "processor")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def draw(rows: list[dict[str, Any]], memory_mb: float) -> None:
    """Draw time and memory over rows."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axis, name, title in zip(
        figure.subplots(1, 2), ("processor", "peak_mb"), ("processor time, s", "peak memory, MB"), strict=True
    ):
        for way, (colour, words) in LINES.items():
            sizes, values = pick(rows, way, name)
            axis.loglog(sizes, values, "o-", color=colour, label=words, linewidth=1.8, markersize=4.5)
        sizes, values = pick(rows, "stored", name)
        if name == "processor":
            axis.loglog(sizes, values[0] * sizes / sizes[0], ":", color=GREY, linewidth=1, label="linear")
        else:
            axis.loglog(sizes, sizes * N_FEATURES * 4 / 1e6, ":", color=GREY, linewidth=1, label="the file")
            axis.axhline(memory_mb, color=GREY, linewidth=1, label="memory_mb")
        axis.set_xlabel("rows", fontsize=9)
        axis.set_ylabel(title, fontsize=9)
        axis.legend(fontsize=7.5, frameon=False)
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#E5E5E5", linewidth=0.6)
    with mpl.rc_context({"svg.hashsalt": "overread", "svg.fonttype": "path"}):
        figure.savefig(FIGURE, metadata={"Date": None})


def tell(value: object) -> str:
    """Return a number as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
