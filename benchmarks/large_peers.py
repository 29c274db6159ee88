"""What a user would pick instead of ours for a table that does not fit: one L1 penalty, one problem for all.

    python -m benchmarks.large_peers WORK --rows 200000 --peers .venv-large-peers/bin/python

takes the table of `benchmarks.beyond_memory` with hard labels (soft label at least one half) and minimizes the mean log
loss + 1e-4 |w|_1, intercept free, features as they are. Ours runs here; dask-ml, Spark's MLlib and H2O run in the
environment that ``make large-peers`` sets up (Spark and H2O need Java). Each is its own process tree, whose processor
time and memory are read from /proc. The objective is computed here for all, from the coefficients that each found.
Spark and H2O read rows from a Parquet file that is written before and not counted; each may take 4 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PENALTY = 1e-4
ROWS_AT_ONCE = 20_000
EPOCHS = 5
EVERY_SECONDS = 0.1
PEERS = ("spark", "h2o", "dask_ml_proximal", "dask_ml_admm")
Floats = NDArray[np.floating]


def fit_ours(table: Path, y: Floats) -> Floats:
    from overread.bags import StoredInstances
    from overread.models import SoftMILLogisticRegression

    model = SoftMILLogisticRegression(PENALTY, standardize=False, memory_mb=4000)
    model.fit(StoredInstances(table), y)
    return np.append(model.coef_.ravel(), model.intercept_)


def fit_sgd(table: Path, y: Floats) -> Floats:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=PENALTY, random_state=0)
    for _ in range(EPOCHS):
        for rows in blocks(len(y)):
            block = np.ascontiguousarray(np.load(table, mmap_mode="r")[rows])
            model.partial_fit(block, y[rows], classes=[0.0, 1.0])
    return np.append(model.coef_.ravel(), model.intercept_)


def fit_dask_ml(table: Path, y: Floats, solver: str) -> Floats:
    import dask
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression

    stored = np.load(table, mmap_mode="r")
    X = da.from_array(stored, chunks=(ROWS_AT_ONCE, -1)).astype(np.float64)
    labels = da.from_array(y, chunks=ROWS_AT_ONCE)
    with dask.config.set(scheduler="threads", num_workers=2):
        model = LogisticRegression(penalty="l1", C=1 / (PENALTY * len(y)), solver=solver, max_iter=100)
        model.fit(X, labels)
    return np.append(model.coef_.ravel(), model.intercept_)


def fit_spark(rows: Path) -> Floats:
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    frame = spark.read.parquet(str(rows))
    frame = frame.select("label", array_to_vector("features").alias("features"))
    model = LogisticRegression(regParam=PENALTY, elasticNetParam=1.0, standardization=False, maxIter=100).fit(
        frame
    )
    found = np.append(model.coefficients.toArray(), model.intercept)
    spark.stop()
    return found


def fit_h2o(rows: Path) -> Floats:
    import h2o
    from h2o.estimators import H2OGeneralizedLinearEstimator

    h2o.init(ip="127.0.0.1", bind_to_localhost=True, nthreads=2, max_mem_size="4g", verbose=False)
    frame = h2o.import_file(str(rows))
    frame["label"] = frame["label"].asfactor()
    model = H2OGeneralizedLinearEstimator(
        family="binomial", alpha=1.0, lambda_=PENALTY, standardize=False, max_iterations=100
    )
    names = [name for name in frame.columns if name != "label"]
    model.train(x=names, y="label", training_frame=frame)
    found = model.coef()
    h2o.cluster().shutdown()
    return np.array([*(found.get(name, 0.0) for name in names), found["Intercept"]])


def fit_one(way: str, table: Path, labels: Path, rows: Path) -> Floats:
    """Fit in this process; return coefficients and intercept."""
    y = (np.load(labels) >= 0.5).astype(float)
    if way in ("spark", "h2o"):
        return fit_spark(rows) if way == "spark" else fit_h2o(rows)
    if way.startswith("dask_ml"):
        return fit_dask_ml(table, y, {"dask_ml_admm": "admm"}.get(way, "proximal_grad"))
    return {"ours": fit_ours, "sgd": fit_sgd}[way](table, y)


def blocks(n_rows: int) -> list[slice]:
    return [slice(first, first + ROWS_AT_ONCE) for first in range(0, n_rows, ROWS_AT_ONCE)]


def write_rows(way: str, table: Path, labels: Path, place: Path) -> None:
    """Write the table as rows, as Spark (a column of arrays) or H2O (a column a feature) reads it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored, y = np.load(table, mmap_mode="r"), (np.load(labels) >= 0.5).astype(float)
    writer = None
    for rows in blocks(len(y)):
        block = np.ascontiguousarray(stored[rows])
        if way == "spark":
            lists = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), block.shape[1])
            part = pa.table({"label": y[rows], "features": lists.cast(pa.list_(pa.float32()))})
        else:
            part = pa.table({"label": y[rows]} | {f"x{k}": block[:, k] for k in range(block.shape[1])})
        writer = writer or pq.ParquetWriter(place, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def objective(found: Floats, table: Path, labels: Path) -> float:
    """Mean log loss + penalty."""
    y = (np.load(labels) >= 0.5).astype(float)
    total = 0.0
    for rows in blocks(len(y)):
        margin = np.load(table, mmap_mode="r")[rows].astype(np.float64) @ found[:-1] + found[-1]
        total += float((np.logaddexp(0, margin) - y[rows] * margin).sum())
    return total / len(y) + PENALTY * float(np.abs(found[:-1]).sum())


def measure(python: str, arguments: list[str], limit: float) -> dict[str, Any]:
    """Run a fit in its own process tree and read what the tree takes; a failure, or a limit, is told."""
    from benchmarks.study_memory import descendants, status_of, times_of

    began, peak, spent = time.perf_counter(), 0, 0.0
    with tempfile.TemporaryFile("w+") as errors:
        command = [python, "-m", "benchmarks.large_peers", *arguments]
        process = subprocess.Popen(command, stdout=errors, stderr=errors)
        while process.poll() is None and spent < limit:
            tree = [process.pid, *descendants(process.pid)]
            peak = max(peak, sum((status_of(one) or {}).get("VmRSS", 0) for one in tree))
            spent = max(spent, sum(times_of(one) for one in tree))
            time.sleep(EVERY_SECONDS)
        late = process.poll() is None
        if late:
            for one in (process.pid, *descendants(process.pid)):
                os.kill(one, signal.SIGKILL)
        process.wait()
        errors.seek(0)
        last = [line for line in errors.read().splitlines() if line.strip()][-1:]
    told = f"stopped after {limit:.0f} s" if late else "" if process.returncode == 0 else "".join(last)[:80]
    return {
        "seconds": time.perf_counter() - began,
        "processor": spent,
        "peak_mb": peak / 1e6,
        "failed": told,
    }


def compare(work: Path, n_rows: int, ways: list[str], peers: str, limit: float) -> list[dict[str, Any]]:
    """Fit by each way, each with its own rows where it needs them."""
    from benchmarks.beyond_memory import make_table

    table, labels = make_table(work, n_rows)
    rows, out, results = work / "rows.parquet", work / "found.npy", []
    for way in ways:
        if way in ("spark", "h2o"):
            write_rows(way, table, labels, rows)
        given = [str(work), "--rows", str(n_rows), "--one", way]
        found = measure(peers if way in PEERS else sys.executable, given, limit)
        if not found["failed"]:
            found["objective"] = objective(np.load(out), table, labels)
            found["n_features"] = int((np.load(out)[:-1] != 0).sum())
        results.append({"rows": n_rows, "way": way, **found})
        print(json.dumps(results[-1]), flush=True)
        for file in (rows, out):
            file.unlink(missing_ok=True)
    return results


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--peers", default=sys.executable, help="python of the environment of the peers")
    parser.add_argument("--ways", nargs="+", choices=("ours", "sgd", *PEERS), default=["ours", "sgd", *PEERS])
    parser.add_argument("--limit", type=float, default=3600, help="processor seconds of a fit")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        files = (given.work / f"{name}-{given.rows}.npy" for name in ("features", "labels"))
        np.save(given.work / "found.npy", fit_one(given.one, *files, given.work / "rows.parquet"))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    compare(given.work, given.rows, given.ways, given.peers, given.limit)


if __name__ == "__main__":
    main()
