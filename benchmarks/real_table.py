"""Features of real radiographs for the contest of solvers: nih-240x3, the first image of each background.

    python -m benchmarks.real_table ../shared/data/nih TABLE.npz

Real features are correlated far more strongly than drawn ones: hundreds of them measure the same place in slightly
different ways. The table has some 18,000 candidates of 240 radiographs and all features, standardized, in float32; it
takes some minutes, and the benchmarks keep it beside the synthetic problems (see `benchmarks/problem.py`). A candidate
on a marked object has the object's soft label.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from overread.bags import Bags, make_bags
from overread.domains import find_anatomy, find_candidates
from overread.features import extract_features
from overread.images import from_array
from overread.simulate import Nodule, frozen_cohort
from overread.simulate._cases import Background, pixels_with_nodules
from overread.simulate._frozen import nih_background, nih_files
from overread.simulate._tables import nodules_by_image
from overread.truth import merge_marks

COHORT = "nih-240x3"
CANDIDATES_AN_IMAGE = 76
KEYS = ["image_id", "candidate_id"]
FOUND = [*KEYS, "x_mm", "y_mm", "radius_mm", "response"]


def make_table(folder: Path) -> dict[str, np.ndarray]:
    """Bags of the first image of each background: instances X, offsets, soft labels and groups of the bags."""
    bags = real_bags(folder)
    X = bags.instances.astype(np.float64)
    varying = X.std(axis=0) > 0
    X = X[:, varying]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return {
        "X": np.asfortranarray(X, dtype=np.float32),
        "offsets": bags.offsets,
        "bag_soft": bags.labels,
        "soft": np.repeat(bags.labels, bags.sizes),
        "hard": np.repeat(bags.labels > 0, bags.sizes).astype(np.float64),
        "groups": np.asarray(bags.groups, dtype=str),
    }


def real_bags(folder: Path) -> Bags:
    """Candidates and features of the images, in bags by their soft labels."""
    cohort = frozen_cohort(COHORT)
    files = nih_files(cohort, folder / "images", folder / "images.csv")
    nodules = nodules_by_image(cohort.nodules)
    chosen = cohort.images.groupby("background", sort=True).head(1)
    started, tables = time.perf_counter(), []
    for image_id, name in zip(chosen["image_id"], chosen["background"], strict=True):
        table = measure(nih_background(files[name]), nodules.get(image_id, []))
        tables.append(table.assign(image_id=image_id))
        if len(tables) % 40 == 0:
            each = (time.perf_counter() - started) / len(tables)
            print(f"{len(tables)} of {len(chosen)} images, {each:.2f} s each", flush=True)
    table = pd.concat(tables, ignore_index=True)
    marks, readings = (
        part[part["image_id"].isin(chosen["image_id"])] for part in (cohort.marks, cohort.readings)
    )
    truth = merge_marks(marks.drop(columns="object_id"), readings)
    return make_bags(
        table[FOUND],
        table.drop(columns=FOUND[2:]),
        truth,
        images=chosen.rename(columns={"background": "patient_id"})[["image_id", "patient_id"]],
    )


def measure(background: Background, nodules: list[Nodule]) -> pd.DataFrame:
    """Candidates of a background with nodules in it, and their features."""
    pixels = pixels_with_nodules(background, nodules)
    radiograph = from_array(pixels.astype(np.float32), background.mm_per_px)
    regions = find_anatomy(radiograph)
    found = find_candidates(radiograph, anatomy=regions, limit=CANDIDATES_AN_IMAGE)
    values = extract_features(radiograph, found, regions, n_threads=1)
    return pd.concat([found, values.drop(columns="candidate_id")], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="backgrounds of nih-240x3")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    np.savez(arguments.out, **make_table(arguments.folder))


if __name__ == "__main__":
    main()
