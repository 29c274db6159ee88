"""FROC curves of MONAI and picai_eval, timed: ``.venv-peers/bin/python -m benchmarks.froc_peers EVENTS.npz``.

Prints one JSON line: for each peer that is installed its version, the processor time of its curve, and the
sensitivity that it gives at 1 FP per image. A peer that fails is left out.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

Events = dict[str, NDArray[np.float64]]
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def monai(events: Events) -> Callable[[], Curve]:
    from monai.metrics import compute_froc_curve_data

    n_images = int(events["n_images"])
    return lambda: compute_froc_curve_data(
        events["fp_scores"], events["gt_scores"], len(events["gt_scores"]), n_images
    )


def picai_eval(events: Events) -> Callable[[], Curve]:
    from picai_eval.metrics import Metrics

    cases: dict[str, list[tuple[int, float, float]]] = {str(k): [] for k in range(int(events["n_images"]))}
    for kind, is_lesion in (("fp", 0), ("gt", 1)):
        for score, image in zip(events[f"{kind}_scores"], events[f"{kind}_images"], strict=True):
            cases[str(int(image))].append((is_lesion, float(score), 1.0))
    targets = {name: int(any(lesion for lesion, *_ in found)) for name, found in cases.items()}
    highest = {name: max([score for _, score, _ in found], default=0.0) for name, found in cases.items()}
    metrics = Metrics(lesion_results=cases, case_target=targets, case_pred=highest)

    def curve() -> Curve:
        counts = metrics.calculate_counts()
        return counts["FP"] / metrics.num_cases, counts["TP"] / metrics.num_lesions

    return curve


def main() -> None:
    events = dict(np.load(sys.argv[1]))
    answers = {}
    for name, prepare in (("monai", monai), ("picai_eval", picai_eval)):
        with contextlib.redirect_stdout(sys.stderr):
            try:
                curve = prepare(events)
            except ImportError:
                continue
            start = time.process_time()
            fps, sensitivity = curve()
            seconds = time.process_time() - start
        at_one = float(sensitivity[fps <= 1].max())
        answers[name] = {"version": version(name), "seconds": seconds, "sensitivity_at_1": at_one}
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
