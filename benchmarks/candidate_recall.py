"""How many golden nodules of the frozen benchmark the candidates reach, by size and contrast, beside chance.

Usage: python -m benchmarks.candidate_recall ../shared/data/nih [--every 1]

Chance is the recall of the candidates of the clean background at the same places. Writes Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from overread.candidates import generate
from overread.images import from_array
from overread.simulate.benchmarks.frozen import FrozenCohort, frozen_cohort
from overread.simulate.benchmarks.nih import NIH_GRID_MM, nih_background, nih_files, nih_image
from overread.truth import HIT, STRICT_HIT, HitRule, candidate_hits, merge_marks

LIMITS = (20, 60, 100)
RULES = {"hit": HIT, "strict hit": STRICT_HIT}
SIZES_MM = (6, 8, 10, 15, 20, 30)
CONTRASTS = (1.0, 1.5, 2.0, 2.5, 3.5)


@dataclass(frozen=True, eq=False)
class Found:
    """Candidates of the images and of their clean backgrounds, under the same image ids."""

    candidates: pd.DataFrame
    chance: pd.DataFrame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every n-th background only")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    cohort = frozen_cohort("nih-240x3")
    backgrounds = sorted(set(cohort.images["background"]))[:: arguments.every]
    images = cohort.images[cohort.images["background"].isin(backgrounds)]
    found = find(cohort, images, arguments.folder)
    for name, objects in golden_objects(cohort, images).items():
        print(f"\n### {name}: {len(objects)} on {len(images)} images\n")
        print("\n".join(tables(objects, found)))


def find(cohort: FrozenCohort, images: pd.DataFrame, folder: Path) -> Found:
    """Run the candidate generator on every image and on every clean background."""
    files = nih_files(cohort, folder / "images", folder / "images.csv")
    found, chance = [], []
    for background, rows in images.groupby("background"):
        clean = candidates_of(nih_background(files[background]).pixels)
        for image_id in rows["image_id"]:
            pixels = nih_image(cohort, image_id, files[background])
            found.append(candidates_of(pixels).assign(image_id=image_id))
            chance.append(clean.assign(image_id=image_id))
    return Found(pd.concat(found, ignore_index=True), pd.concat(chance, ignore_index=True))


def candidates_of(pixels: np.ndarray) -> pd.DataFrame:
    table = generate(from_array(pixels.astype(np.float32), NIH_GRID_MM), limit=max(LIMITS))
    return table.assign(rank=np.arange(len(table)))


def golden_objects(cohort: FrozenCohort, images: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Golden nodules by their known outline, and all golden objects as the readers' marks were merged."""
    ids = set(images["image_id"])
    marks, readings = (t[t["image_id"].isin(ids)] for t in (cohort.marks, cohort.readings))
    truth = merge_marks(marks.drop(columns="object_id"), readings)
    golden = truth[truth["golden"]]
    meant = marks.set_index("mark_id")["object_id"]
    named = golden["mark_ids"].map(lambda keys: sorted(name for name in meant[list(keys)] if name))
    keys = {(i, n) for i, names in zip(golden["image_id"], named, strict=True) for n in names}
    nodules = cohort.nodules[
        [key in keys for key in zip(cohort.nodules["image_id"], cohort.nodules["nodule_id"], strict=True)]
    ]
    radius = nodules["diameter_mm"] / 2
    ratio = np.sqrt(nodules["axis_ratio"])
    known = nodules.assign(semi_major_mm=radius / ratio, semi_minor_mm=radius * ratio)
    marked = golden.assign(diameter_mm=2 * np.sqrt(golden["semi_major_mm"] * golden["semi_minor_mm"]))
    return {
        "Golden nodules, by their known outline": known.reset_index(drop=True),
        "All golden objects as merged, distractors too": marked.reset_index(drop=True),
    }


def tables(objects: pd.DataFrame, found: Found) -> Iterator[str]:
    """Recall of all objects, then by size and contrast."""
    yield "| objects | n | " + " | ".join(f"{r} @{n}" for r in RULES for n in LIMITS) + " |"
    yield "|---|---:|" + "---:|" * (len(RULES) * len(LIMITS))
    ranks = {name: first_ranks(objects, found.candidates, rule) for name, rule in RULES.items()}
    chance = {name: first_ranks(objects, found.chance, rule) for name, rule in RULES.items()}
    everything = np.ones(len(objects), dtype=bool)
    yield line("all", everything, ranks)
    yield line("chance (clean image)", everything, chance)
    for column, edges, unit in (
        ("diameter_mm", SIZES_MM, "mm"),
        ("conspicuity", CONTRASTS, "contrast to noise"),
    ):
        if column in objects:
            for low, high in pairwise(edges):
                inside = objects[column].between(low, high, inclusive="left").to_numpy()
                if inside.any():
                    yield line(f"{low} to {high} {unit}", inside, ranks)


def line(name: str, rows: np.ndarray, ranks: dict[str, np.ndarray]) -> str:
    figures = [f"{100 * np.mean(ranks[rule][rows] < n):.1f}" for rule in RULES for n in LIMITS]
    return f"| {name} | {rows.sum()} | " + " | ".join(figures) + " |"


def first_ranks(objects: pd.DataFrame, candidates: pd.DataFrame, rule: HitRule) -> np.ndarray:
    """Rank of the first candidate that hits each object; beyond all where none does."""
    hits = candidate_hits(candidates, objects, rule)
    ranks = candidates["rank"].to_numpy()[hits["candidate_row"]]
    first = np.full(len(objects), max(LIMITS), dtype=np.int64)
    np.minimum.at(first, hits["truth_row"].to_numpy(), ranks)
    return first


if __name__ == "__main__":
    main()
