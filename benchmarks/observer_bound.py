"""What can an observer reach on nih-240x3? One that is told what to look for, beside the detector and the readers.

    overread simulate STUDY --benchmark nih-240x3 --backgrounds NIH/images --images-csv NIH/images.csv --format png
    python -m benchmarks.right_model folds STUDY WORK
    python -m benchmarks.observer_bound STUDY WORK NIH [--observer] [-o observer_bound.png]

Places are those of all inserted nodules, and the candidates of the runs in WORK that lie on none. At a nodule the
observer is told place, size, form, contrast and noise; at another place it is told a nodule of the cohort, drawn at
random, with its conspicuity there. "told all" is an observer who knows what was inserted and nothing of what the
readers did: it ranks the nodules by the share of readers expected to mark them, and marks nothing else. All are judged
by the code that judges the detector; a candidate on an object of one reader counts as false. Writes Markdown to
standard output.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd

from benchmarks.observer import View, answer, look_for, move_nodule
from benchmarks.reader_share import expected_share
from benchmarks.whole_chain import (
    CONTRASTS,
    N_FOLDS,
    PAPER_COUNTING,
    SIZES,
    TARGETS,
    markdown,
    row,
    with_contrast,
)
from overread._plots import empty_figure, save_figure
from overread.domains import find_anatomy
from overread.froc import (
    Matching,
    compare_models,
    froc_curve,
    lesion_sizes,
    match_detections,
    sensitivity_by,
)
from overread.images import from_array
from overread.simulate import Nodule, frozen_cohort
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._cases import Background, pixels_with_nodules
from overread.simulate._frozen import NIH_GRID_MM, nih_background, nih_files
from overread.simulate._tables import nodules_by_image
from overread.truth import merge_marks, reader_statistics

SEED = 3
DETECTOR, OBSERVER, TOLD_ALL = "detector", "observer, told what to look for", "told all"
COLOURS = ("#b2182b", "#4d4d4d", "#2166ac")
# A hit's least semi-axis.
LEAST_HIT_MM = 5.0
# Share of rib at the centre; and depth in the lung fields in mm, negative outside. Set by judgement.
RIB = (0.0, 0.25, 0.75, 1.01)
DEPTH = (-1000.0, 0.0, 5.0, 10.0, 1000.0)


@dataclass(frozen=True, eq=False)
class Task:
    """One background with its images: what was inserted, what was found, and which nodules to look for there."""

    file: BackgroundFile
    nodules: Mapping[str, Sequence[Nodule]]
    candidates: pd.DataFrame
    truth: pd.DataFrame
    cohort: Sequence[Nodule]
    number: int


@dataclass(frozen=True, eq=False)
class Looked:
    """What the observer looked at: places and views of the same length, and the golden objects' anatomy."""

    places: pd.DataFrame
    views: list[View]
    anatomy: pd.DataFrame


def look_at_background(task: Task) -> Looked:
    """Look at all places of the images of a background."""
    cv2.setNumThreads(1)
    clean = nih_background(task.file).pixels
    anatomy = find_anatomy(from_array(clean.astype(np.float32), NIH_GRID_MM))
    background = nih_background(task.file, anatomy.lungs)
    random = np.random.default_rng([SEED, task.number])
    rows: list[dict[str, Any]] = []
    views: list[View] = []
    for image_id, nodules in task.nodules.items():
        pixels = pixels_with_nodules(background, nodules) * (background.white / 65535.0)
        for nodule in nodules:
            rows.append(describe_place(image_id, nodule, share=expected_share(nodule)))
            views.append(look_for(nodule, pixels, background))
        found = task.candidates[task.candidates["image_id"] == image_id]
        for x_mm, y_mm in found[["x_mm", "y_mm"]].to_numpy():
            if not any(lies_on(x_mm, y_mm, nodule) for nodule in nodules):
                other = task.cohort[random.integers(len(task.cohort))]
                wanted = move_nodule(other, x_mm, y_mm, background, background.pixels)
                rows.append(describe_place(image_id, wanted, share=-1.0))
                views.append(look_for(wanted, pixels, background))
    return Looked(pd.DataFrame(rows), views, describe_anatomy(task.truth, anatomy, background))


def lies_on(x_mm: float, y_mm: float, nodule: Nodule) -> bool:
    """Whether a place is on a nodule, as a hit is."""
    return bool(np.hypot(x_mm - nodule.x_mm, y_mm - nodule.y_mm) <= max(nodule.radius_mm, LEAST_HIT_MM))


def describe_place(image_id: str, nodule: Nodule, *, share: float) -> dict[str, Any]:
    """Describe a place as a candidate; the share is -1 where nothing was inserted."""
    return {
        "image_id": image_id,
        "x_mm": nodule.x_mm,
        "y_mm": nodule.y_mm,
        "radius_mm": nodule.radius_mm,
        "share": share,
    }


def describe_anatomy(truth: pd.DataFrame, anatomy: Any, background: Background) -> pd.DataFrame:
    """Tell how much rib is at the centre of each object, and how deep in the lung fields it lies."""
    inside, outside = (
        cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
        for mask in (background.lungs, ~background.lungs)
    )
    rows = np.clip((truth["y_mm"] / NIH_GRID_MM).astype(int), 0, inside.shape[0] - 1)
    columns = np.clip((truth["x_mm"] / NIH_GRID_MM).astype(int), 0, inside.shape[1] - 1)
    return pd.DataFrame(
        {
            "image_id": truth["image_id"],
            "truth_id": truth["truth_id"],
            "rib": np.clip(anatomy.ribs[rows, columns], 0.0, 1.0),
            "depth_mm": (inside - outside)[rows, columns] * NIH_GRID_MM,
        }
    )


def read_runs(study: Path, work: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the images with their fold, and the candidates with the score of the fold that has not seen them."""
    images = pd.read_csv(study / "images.csv", dtype=str)[["image_id", "patient_id"]]
    parts = []
    for fold in range(N_FOLDS):
        place = work / f"{study.name}-fold-{fold}"
        split = pd.read_csv(place / "images.csv", dtype=str)
        tables = place / "runs" / "main" / "tables"
        found, scores = (pd.read_parquet(tables / f"{name}.parquet") for name in ("candidates", "scores"))
        test = split["image_id"][split["split"] == "test"]
        table = found.merge(scores[["image_id", "candidate_id", "soft"]], on=["image_id", "candidate_id"])
        parts.append(table[table["image_id"].isin(test)].assign(fold=fold))
    candidates = pd.concat(parts, ignore_index=True)
    fold_of = candidates.drop_duplicates("image_id").set_index("image_id")["fold"]
    return images.assign(fold=images["image_id"].map(fold_of)), candidates


def list_tasks(nih: Path, candidates: pd.DataFrame, truth: pd.DataFrame) -> list[Task]:
    """List the backgrounds with all that is known of them."""
    cohort = frozen_cohort("nih-240x3")
    files = nih_files(cohort, nih / "images", nih / "images.csv")
    nodules = nodules_by_image(cohort.nodules)
    everything = [nodule for part in nodules.values() for nodule in part]
    tasks = []
    for number, (name, part) in enumerate(cohort.images.groupby("background")):
        ids = list(part["image_id"])
        mine = {image_id: nodules.get(image_id, []) for image_id in ids}
        tables = (table[table["image_id"].isin(ids)] for table in (candidates, truth))
        tasks.append(Task(files[str(name)], mine, *tables, everything, number))
    return tasks


def judge(places: pd.DataFrame, truth: pd.DataFrame, images: pd.DataFrame, scores: Any) -> Matching:
    """Match places with scores against the golden objects."""
    ids = [f"{number:05d}" for number in range(len(places))]
    numbered = places.assign(candidate_id=ids).reset_index(drop=True)
    return match_detections(numbered, truth, images, scores=np.asarray(scores), counting=PAPER_COUNTING)


def compare_strata(title: str, matchings: Mapping[str, Matching], by: str, bins: Any) -> list[dict[str, Any]]:
    """Sensitivity at 1 FP of every observer, by kind of object."""
    tables = {}
    for name, matching in matchings.items():
        values = lesion_sizes(matching) if by == "size" else by
        tables[name] = sensitivity_by(matching, values, fp_target=1.0, bins=bins, n_bootstrap=200)
    first = next(iter(tables.values()))
    lines = [
        {title: str(stratum), "number": int(n)}
        for stratum, n in zip(first["stratum"], first["n_gts"], strict=True)
    ]
    for name, table in tables.items():
        for line, value in zip(lines, table["gt_sensitivity"], strict=True):
            line[name] = f"{100 * value:.1f}"
    return lines


def draw(matchings: Mapping[str, Matching], readers: pd.DataFrame) -> Any:
    """FROC curves of all, and one point a reader."""
    figure = empty_figure(6.5, 4.5)
    axes = figure.subplots()
    for (name, matching), colour in zip(matchings.items(), COLOURS, strict=False):
        curve = froc_curve(matching)
        axes.step(curve.fp_per_image, curve.gt_sensitivity, where="post", color=colour, label=name)
    axes.plot(
        readers["loo_fp_per_image"],
        readers["loo_sensitivity"],
        "k^",
        label="readers, against the others' golden objects",
    )
    axes.set(xlim=(0, 3), ylim=(0, 1), xlabel="FP per image", ylabel="sensitivity, golden objects")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False)
    return figure


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("nih", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("observer_bound.png"))
    parser.add_argument(
        "--observer", action="store_true", help="also the observer: 2 s of processor time a background"
    )
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    images, candidates = read_runs(given.study, given.work)
    marks = pd.read_csv(given.study / "marks.csv", dtype={"image_id": str, "reader_id": str, "mark_id": str})
    readings = pd.read_csv(given.study / "readings.csv", dtype=str)
    truth = with_contrast(merge_marks(marks, readings), given.study)
    matchings = {DETECTOR: judge(candidates, truth, images, candidates["soft"])}
    if given.observer:
        with ProcessPoolExecutor(given.workers) as pool:
            looked = list(pool.map(look_at_background, list_tasks(given.nih, candidates, truth)))
        truth = truth.merge(pd.concat([part.anatomy for part in looked]), on=["image_id", "truth_id"])
        matchings[DETECTOR] = judge(candidates, truth, images, candidates["soft"])
        matchings[OBSERVER] = judge_observer(looked, truth, images)
    told = list_inserted()
    matchings[TOLD_ALL] = judge(told, truth, images, told["share"])
    report(matchings, reader_statistics(marks, readings).readers, given.output)


def judge_observer(looked: Sequence[Looked], truth: pd.DataFrame, images: pd.DataFrame) -> Matching:
    """Match what the observer answers."""
    places = pd.concat([part.places for part in looked], ignore_index=True)
    views = [view for part in looked for view in part.views]
    fold = places["image_id"].map(images.set_index("image_id")["fold"]).to_numpy(dtype=np.int64)
    return judge(places, truth, images, answer(views, fold, places["share"].to_numpy() < 0))


def list_inserted() -> pd.DataFrame:
    """List all inserted nodules with the share of readers expected to mark them."""
    inserted = nodules_by_image(frozen_cohort("nih-240x3").nodules)
    return pd.DataFrame(
        [describe_place(i, one, share=expected_share(one)) for i, part in inserted.items() for one in part]
    )


def report(matchings: Mapping[str, Matching], readers: pd.DataFrame, output: Path) -> None:
    """Write the tables and the figure."""
    print(markdown([row(name, matching, []) for name, matching in matchings.items()]))
    if OBSERVER in matchings:
        gain = compare_models(matchings[DETECTOR], matchings[OBSERVER], fp_targets=TARGETS).table()
        print(f"{OBSERVER} minus {DETECTOR}:\n")
        print(markdown(gain[gain["measure"] == "gt_sensitivity"].round(3).to_dict("records")))
    strata = (
        ("size, mm", "size", SIZES),
        ("contrast to noise", "contrast", CONTRASTS),
        ("share of rib at the centre", "rib", RIB),
        ("depth in the lung fields, mm", "depth_mm", DEPTH),
    )
    for title, by, bins in strata if OBSERVER in matchings else strata[:2]:
        print(markdown(compare_strata(title, matchings, by, bins)))
    shown = readers[["reader_id", "loo_sensitivity", "loo_fp_per_image"]]
    print(markdown(shown.round(3).to_dict("records")))
    save_figure(draw(matchings, readers), output)


if __name__ == "__main__":
    main()
