"""FROC: the curve beside MONAI and picai_eval, paired bootstraps at full size, growth with images and candidates.

Events are random: 50 candidates an image with normal scores, 0.3 GTs an image of which 10 % are missed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.rows import Row, compare
from overread.froc import Matching, compare_models, froc_curve, sensitivity_at

PEERS = Path(__file__).parents[1] / ".venv-peers" / "bin" / "python"
TIME_LIMIT = 120
TARGET = "target <= 1 s"


def run(*, quick: bool) -> list[Row]:
    images = 2_000 if quick else 20_000
    return [*curve_rows(100 if quick else 400), *bootstrap_rows(images, 50), *growth_rows(images)]


def events(n_images: int, n_candidates: int, seed: int) -> Matching:
    """One model; the same GTs for every seed, so that two seeds make a pair."""
    rng = np.random.default_rng(seed)
    n_gts = round(0.3 * n_images)
    gt_scores = rng.normal(2, 1, n_gts)
    gt_scores[rng.random(n_gts) < 0.1] = -np.inf
    return Matching.from_events(
        n_images=n_images,
        fp_scores=rng.normal(size=n_images * n_candidates),
        fp_images=np.repeat(np.arange(n_images), n_candidates),
        gt_scores=gt_scores,
        gt_images=np.random.default_rng(0).integers(0, n_images, n_gts),
    )


def curve_rows(n_images: int) -> list[Row]:
    """Time the curve on a problem small enough for the peers, whose cost grows with its square."""
    matching = events(n_images, 50, 1)
    ours = median_seconds(lambda: froc_curve(matching), 9)
    expected = sensitivity_at(froc_curve(matching), 1.0)["gt_sensitivity"].iloc[0]
    rows = []
    for name, answer in peer_curves(matching).items():
        agrees = abs(answer["sensitivity_at_1"] - expected) < 0.01
        note = f"{name} {answer['version']}, agrees at 1 FP per image: {'yes' if agrees else 'no'}"
        rows.append(compare(f"FROC curve, {n_images} images x 50", ours, answer["seconds"], "s", note))
    return rows or [compare(f"FROC curve, {n_images} images x 50", ours, None, "s", "no peer installed")]


def peer_curves(matching: Matching) -> dict[str, Any]:
    """Time the peers in their own environment; scores as probabilities, missed GTs as 0, as they expect."""
    if not PEERS.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.npz"
        np.savez(
            path,
            n_images=matching.n_images,
            fp_scores=expit(matching.fp_scores),
            fp_images=matching.fp_images,
            gt_scores=expit(matching.gt_scores),
            gt_images=matching.gt_images,
        )
        command = [PEERS, "-m", "benchmarks.froc_peers", path]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=Path(__file__).parents[1]
        )
    return dict(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else {}


def bootstrap_rows(n_images: int, n_candidates: int) -> list[Row]:
    """Time curves and 1,000 paired bootstraps of two models at six FP targets, and their memory."""
    size = f"{n_images:,} images x {n_candidates}"
    pair = [events(n_images, n_candidates, seed) for seed in (1, 2)]

    def paired() -> object:
        return [froc_curve(model) for model in pair], compare_models(
            *pair, n_bootstrap=1000, n_permutations=1
        )

    def permuted() -> object:
        return compare_models(*pair, n_bootstrap=1, n_permutations=1000)

    what = f"FROC + 1,000 paired bootstraps, 6 FPs, {size}"
    held = sum(model.fp_scores.nbytes + model.fp_images.nbytes for model in pair) / 1e6
    return [
        compare(what, median_seconds(paired, 3), None, "s", TARGET),
        compare(f"1,000 paired permutations, 6 FPs, {size}", median_seconds(permuted, 3), None, "s"),
        compare(
            f"{what}: peak memory", peak_megabytes(paired), None, "MB", f"beyond the events, {held:.0f} MB"
        ),
        compare(f"FROC curve, {size}", median_seconds(lambda: froc_curve(pair[0]), 5), None, "s"),
    ]


def growth_rows(largest: int) -> list[Row]:
    """Time 1,000 paired bootstraps with a tenth of the images, a fifth and four times of the candidates."""
    rows = []
    for n_images, n_candidates in ((largest // 10, 50), (largest, 50), (largest, 10), (largest, 200)):
        pair = [events(n_images, n_candidates, seed) for seed in (1, 2)]
        seconds = median_seconds(lambda pair=pair: compare_models(*pair, n_permutations=1), 3)
        what = f"1,000 paired bootstraps alone, 6 FPs, {n_images:,} images x {n_candidates}"
        rows.append(compare(what, seconds, None, "s", "growth"))
    return rows


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median processor time, after one run that compiles."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


def peak_megabytes(work: Callable[[], object]) -> float:
    """Peak of what NumPy and Python allocate during the work."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6
