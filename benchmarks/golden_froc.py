"""Golden FROC values, written by picai_eval and MONAI.

Run by ``.venv-peers/bin/python -m benchmarks.golden_froc``; writes ``tests/golden/froc.json``, which
``tests/froc/test_against_peers.py`` reads. MONAI needs torch; where it is not installed its values are kept as
they are. Scores are probabilities, since both peers give a missed lesion the score 0.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from picai_eval.metrics import Metrics

TARGET = Path(__file__).parents[1] / "tests" / "golden" / "froc.json"
SEEDS = (1, 2, 3, 4)
FP_TARGETS = (0.27, 0.51, 1.03, 1.97)


def problem(seed: int) -> dict[str, Any]:
    """Random events; every second problem has ties."""
    rng = np.random.default_rng(seed)
    n_images = 12
    fp_images = rng.integers(0, n_images, 50)
    gt_images = rng.integers(0, n_images, 15)
    decimals = 1 if seed % 2 else 6
    gt_scores = np.round(rng.uniform(0.3, 0.99, 15), decimals)
    gt_scores[rng.random(15) < 0.2] = 0
    return {
        "n_images": n_images,
        "fp_scores": np.round(rng.uniform(0.1, 0.9, 50), decimals).tolist(),
        "fp_images": fp_images.tolist(),
        "gt_scores": gt_scores.tolist(),
        "gt_images": gt_images.tolist(),
    }


def with_picai(events: dict[str, Any]) -> dict[str, Any]:
    """Count at each threshold but the lowest, which picai_eval replaces by infinitely many false positives."""
    cases: dict[str, list[tuple[int, float, float]]] = {str(k): [] for k in range(events["n_images"])}
    for kind, is_lesion in (("fp", 0), ("gt", 1)):
        for score, image in zip(events[f"{kind}_scores"], events[f"{kind}_images"], strict=True):
            cases[str(image)].append((is_lesion, score, 1.0 if score else 0.0))
    metrics = Metrics(
        lesion_results=cases,
        case_target={name: int(any(lesion for lesion, *_ in found)) for name, found in cases.items()},
        case_pred={name: max([score for _, score, _ in found], default=0.0) for name, found in cases.items()},
    )
    counts = metrics.calculate_counts()
    return {
        "thresholds": metrics.thresholds[:-1].tolist(),
        "fps": counts["FP"][:-1].tolist(),
        "found": counts["TP"][:-1].tolist(),
    }


def with_monai(events: dict[str, Any]) -> dict[str, Any]:
    """Curve and mean sensitivity at ``FP_TARGETS``."""
    from monai.metrics import compute_froc_curve_data, compute_froc_score

    fps, sensitivity = compute_froc_curve_data(
        np.array(events["fp_scores"]),
        np.array(events["gt_scores"]),
        len(events["gt_scores"]),
        events["n_images"],
    )
    return {
        "fp_per_image": fps.tolist(),
        "sensitivity": sensitivity.tolist(),
        "mean_sensitivity": float(compute_froc_score(fps, sensitivity, FP_TARGETS)),
    }


def monai_section(problems: list[dict[str, Any]]) -> dict[str, Any]:
    """MONAI on the problems, and on logits of one of them, where it finds missed lesions."""
    try:
        release = version("monai")
    except ImportError:
        return json.loads(TARGET.read_text())["monai"]
    logits = {
        "n_images": 2,
        "fp_scores": [-3.0],
        "fp_images": [0],
        "gt_scores": [-1.0, 0.0],
        "gt_images": [0, 1],
    }
    return {
        "version": release,
        "fp_targets": list(FP_TARGETS),
        "results": [with_monai(events) for events in problems],
        "logits": logits | with_monai(logits),
    }


def main() -> None:
    problems = [problem(seed) for seed in SEEDS]
    content = {
        "written_by": "benchmarks/golden_froc.py",
        "problems": problems,
        "picai_eval": {
            "version": version("picai_eval"),
            "results": [with_picai(events) for events in problems],
        },
        "monai": monai_section(problems),
    }
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
