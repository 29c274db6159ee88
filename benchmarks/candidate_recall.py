"""How many golden nodules of the frozen benchmark the candidates reach, by size and contrast, beside chance.

Usage: python -m benchmarks.candidate_recall ../shared/data/nih [--every 1] [--finder curvature] [--workers 2]
       python -m benchmarks.candidate_recall --phantoms 100

Chance is the recall of the candidates of the clean background at the same places. Writes Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from benchmarks.freeze_nih import LAW
from overread.domains import DEFAULT_FINDER, find_candidates, list_finders
from overread.images import from_array
from overread.simulate import Nodule, frozen_cohort, phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import Background, draw_case, pixels_with_nodules
from overread.simulate._frozen import nih_background, nih_files
from overread.simulate._readers import draw_readings
from overread.simulate._tables import mark_rows, nodule_rows, nodules_by_image
from overread.truth import HIT, STRICT_HIT, HitRule, candidate_hits, merge_marks

SEED = 7_000
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
    parser.add_argument("folder", type=Path, nargs="?", help="backgrounds of nih-240x3")
    parser.add_argument("--every", type=int, default=1, help="take every n-th background only")
    parser.add_argument("--phantoms", type=int, default=0, help="take that many phantoms instead")
    parser.add_argument("--finder", choices=list_finders("chest"), default=DEFAULT_FINDER)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.phantoms:
        drawn = phantom_cases(arguments.phantoms)
    elif arguments.folder is not None:
        drawn = frozen_cases(arguments.folder, arguments.every)
    else:
        parser.error("give the folder of the backgrounds, or --phantoms N")
    found = find(drawn, arguments.finder, arguments.workers)
    for name, objects in golden_objects(drawn).items():
        print(f"\n### {name}: {len(objects)} on {sum(len(c.nodules) for c in drawn.cases)} images\n")
        print("\n".join(tables(objects, found)))


@dataclass(frozen=True, eq=False)
class Insertions:
    """A background by what makes it, and its nodules by image id."""

    background: Callable[[], Background]
    nodules: dict[str, list[Nodule]]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Backgrounds with what is inserted, and the tables of nodules, marks and readings."""

    cases: list[Insertions]
    nodules: pd.DataFrame
    marks: pd.DataFrame
    readings: pd.DataFrame


def frozen_cases(folder: Path, every: int) -> Drawn:
    """Every n-th background of the frozen benchmark with its three images."""
    cohort = frozen_cohort("nih-240x3")
    files = nih_files(cohort, folder / "images", folder / "images.csv")
    chosen = sorted(set(cohort.images["background"]))[::every]
    images = cohort.images[cohort.images["background"].isin(chosen)]
    nodules = nodules_by_image(cohort.nodules)
    cases = [
        Insertions(partial(nih_background, files[name]), {i: nodules.get(i, []) for i in rows["image_id"]})
        for name, rows in images.groupby("background")
    ]
    kept = (
        t[t["image_id"].isin(images["image_id"])] for t in (cohort.nodules, cohort.marks, cohort.readings)
    )
    return Drawn(cases, *kept)


def phantom_cases(n: int) -> Drawn:
    """Phantoms with nodules in the lungs by the frozen benchmark's law."""
    cases, nodules, marks, readings = [], [], [], []
    for seed in range(n):
        image_id = f"phantom-{seed}"
        random = np.random.default_rng([SEED, seed])
        log = draw_readings([image_id], LAW.readers, random)
        background = partial(phantom_at, seed)
        case = draw_case(background(), list(log["reader_id"]), LAW, random)
        cases.append(Insertions(background, {image_id: list(case.nodules)}))
        nodules += nodule_rows(image_id, case.nodules)
        marks += mark_rows(image_id, case)
        readings.append(log)
    return Drawn(cases, pd.DataFrame(nodules), pd.DataFrame(marks), pd.concat(readings, ignore_index=True))


def phantom_at(seed: int) -> Background:
    return phantom_background(phantom(seed=SEED + seed))


def find(drawn: Drawn, finder: str, workers: int) -> Found:
    """Run a candidate finder on every image and on every clean background."""
    # Phantoms were drawn with threads of the compiled kernels; a forked child would wait for them for ever.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tables = [
            table for part in pool.map(partial(find_in, finder), drawn.cases, chunksize=2) for table in part
        ]
    return Found(*(pd.concat(part, ignore_index=True) for part in zip(*tables, strict=True)))


def find_in(finder: str, case: Insertions) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Candidates of every image of one background, and those of the clean one under the same image id."""
    cv2.setNumThreads(1)
    background = case.background()
    found_in = partial(candidates_of, mm_per_px=background.mm_per_px, finder=finder)
    clean = found_in(pixels_with_nodules(background, []))
    return [
        (
            found_in(pixels_with_nodules(background, nodules)).assign(image_id=image_id),
            clean.assign(image_id=image_id),
        )
        for image_id, nodules in case.nodules.items()
    ]


def candidates_of(pixels: np.ndarray, mm_per_px: float, finder: str) -> pd.DataFrame:
    radiograph = from_array(pixels.astype(np.float32), mm_per_px)
    table = find_candidates(radiograph, finder=finder, limit=max(LIMITS))
    return table.assign(rank=np.arange(len(table)))


def golden_objects(drawn: Drawn) -> dict[str, pd.DataFrame]:
    """Golden nodules by their known outline, and all golden objects as the readers' marks were merged."""
    marks = drawn.marks
    truth = merge_marks(marks.drop(columns="object_id"), drawn.readings)
    golden = truth[truth["golden"]]
    meant = marks.set_index("mark_id")["object_id"]
    named = golden["mark_ids"].map(lambda keys: sorted(name for name in meant[list(keys)] if name))
    keys = {(i, n) for i, names in zip(golden["image_id"], named, strict=True) for n in names}
    nodules = drawn.nodules[
        [key in keys for key in zip(drawn.nodules["image_id"], drawn.nodules["nodule_id"], strict=True)]
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
