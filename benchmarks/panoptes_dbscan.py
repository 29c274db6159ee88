"""Cluster the ellipses of many images with panoptes_aggregation: ``python panoptes_dbscan.py marks.npz``.

Runs in ``.venv-peers``. Prints one JSON line: version, processor seconds, clusters and unclustered marks.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from itertools import pairwise

import numpy as np
from panoptes_aggregation.reducers.shape_reducer_dbscan import shape_reducer_dbscan

KEYS = ("x", "y", "rx", "ry", "angle")
OPTIONS = {"shape": "ellipse", "metric_type": "IoU", "eps": 0.5, "min_samples": 2, "estimate_average": True}


def main() -> None:
    with np.load(sys.argv[1]) as file:
        starts, ellipses = file["starts"], file["ellipses"]
    extracts = []
    for start, end in pairwise(starts):
        marks = [
            {"frame0": {f"T0_toolIndex0_{key}": [float(value)] for key, value in zip(KEYS, row, strict=True)}}
            for row in ellipses[start:end]
        ]
        extracts.append(marks)
    begin = time.process_time()
    reduced = [shape_reducer_dbscan(marks, user_id=list(range(len(marks))), **OPTIONS) for marks in extracts]
    seconds = time.process_time() - begin
    labels = [frame["T0_toolIndex0_cluster_labels"] for frame in (r["frame0"] for r in reduced)]
    answer = {
        "version": version("panoptes_aggregation"),
        "seconds": seconds,
        "clusters": sum(len(set(found) - {-1}) for found in labels),
        "alone": sum(found.count(-1) for found in labels),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
