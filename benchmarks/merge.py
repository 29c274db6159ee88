"""Merging marks beside panoptes_aggregation: 100,000 marks, and the same images one by one."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.rows import Row, compare
from overread.truth import MergeOptions, merge_marks

PEERS = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
ELLIPSE = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
N_READERS = 5


def run(*, quick: bool) -> list[Row]:
    n_images = 2_000 if quick else 20_000
    marks, readings = study(n_images)
    merge_marks(*study(20))
    repeats = 3 if quick else 5
    rows = []
    for method in ("star", "components", "dbscan", "fusion"):
        merge_marks(*study(20), options=MergeOptions(method=method))
        seconds = median(timed(marks, readings, method) for _ in range(repeats))
        note = "paper's method; target 2 s for 100,000 marks" if method == "star" else ""
        what = f"merge {len(marks):,} marks of {n_images:,} images, method {method}"
        rows.append(Row(what, seconds, None, None, "s", note))
    return rows + beside_panoptes(*study(500))


def beside_panoptes(marks: pd.DataFrame, readings: pd.DataFrame) -> list[Row]:
    """Time DBSCAN at 1 - IoU <= 0.5 with two marks a cluster on the same marks, the peer where installed."""
    options = MergeOptions(method="dbscan", same_reader_hits=True)
    start = time.process_time()
    truth = merge_marks(marks, readings, options=options)
    ours = time.process_time() - start
    what = f"DBSCAN on 1 - IoU, {len(marks):,} marks of {readings['image_id'].nunique():,} images"
    peer = panoptes(marks)
    if peer is None:
        return [Row(what, ours, None, None, "s", "panoptes_aggregation is not installed (make peers)")]
    clusters = int((truth["n_marks"] > 1).sum())
    note = (
        f"panoptes_aggregation {peer['version']}, estimate_average=True, shapely polygons;"
        f" clusters {clusters} against {peer['clusters']}"
    )
    return [compare(what, ours, peer["seconds"], "s", note)]


def panoptes(marks: pd.DataFrame) -> dict[str, Any] | None:
    """Answer of the peer, or None where it is not installed."""
    if not PEERS.exists():
        return None
    ordered = marks.sort_values("image_id", kind="stable")
    _, starts = np.unique(ordered["image_id"].to_numpy(dtype=object), return_index=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "marks.npz"
        np.savez(path, starts=[*starts, len(ordered)], ellipses=ordered[ELLIPSE].to_numpy())
        worker = Path(__file__).with_name("panoptes_dbscan.py")
        done = subprocess.run([PEERS, worker, path], capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def timed(marks: pd.DataFrame, readings: pd.DataFrame, method: Any) -> float:
    start = time.process_time()
    merge_marks(marks, readings, options=MergeOptions(method=method))
    return time.process_time() - start


def study(n_images: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Study of five readings an image: lesions that 60 % of the readers mark, and marks of nothing."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(n_images), rng.poisson(1.2, n_images))
    places, sizes = rng.uniform(50, 300, (len(images), 2)), np.exp(rng.normal(1.8, 0.3, len(images)))
    parts = []
    for reader in range(N_READERS):
        seen = rng.random(len(images)) < 0.6
        alone = rng.integers(0, n_images, int(0.28 * n_images))
        centres = np.vstack(
            [places[seen] + rng.normal(0, 1.5, (seen.sum(), 2)), rng.uniform(50, 300, (len(alone), 2))]
        )
        major = np.concatenate([sizes[seen], np.exp(rng.normal(1.8, 0.3, len(alone)))])
        major = major * np.exp(rng.normal(0, 0.15, len(major)))
        shapes = np.column_stack(
            [centres, major, major * rng.uniform(0.6, 1, len(major)), rng.uniform(0, 180, len(major))]
        )
        part = pd.DataFrame(shapes, columns=ELLIPSE)
        part.insert(0, "image_id", [f"image-{n}" for n in (*images[seen], *alone)])
        part.insert(1, "reader_id", f"R{reader}")
        parts.append(part)
    marks = pd.concat(parts, ignore_index=True)
    marks.insert(2, "mark_id", [f"m{row}" for row in range(len(marks))])
    pairs = [(f"image-{image}", f"R{reader}") for image in range(n_images) for reader in range(N_READERS)]
    return marks, pd.DataFrame(pairs, columns=["image_id", "reader_id"])
