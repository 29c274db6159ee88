"""Four real readers: hard exudates and red lesions on the fundus photographs of DIARETDB1.

    python -m benchmarks.fundus STUDY IMAGES WORK [--only FILE] [--nested votes] [--limit 250]

STUDY is a folder with marks and readings (lengths at 0.1 mm a pixel, labels as in the data), IMAGES the folder of its
photographs; --only names a file with the ids of some images, one a line. WORK gets one Parquet file an image and group
with candidates and features; what is there is kept. Five folds by image; in each the penalty of the soft model is
chosen by `choose_setting` on out-of-fold scores of the other four. No image or mark is written anywhere.
Writes Markdown to standard output.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.bags import make_bags
from overread.fields import BlobFinder, extract_generic, read_field
from overread.fields.blob_finder import radii_from_marks
from overread.froc import Counting, bootstrap, choose_setting, match
from overread.marks.mark_set import read_folder
from overread.models import SoftMILPath
from overread.truth import EllipseHit, MergeOptions, merge_marks
from overread.words import markdown_table

MM_PER_PX = 0.1
GREEN = (0.0, 1.0, 0.0)
GROUPS = {
    "hard exudates": (("Hard_exudates",), "bright"),
    "red lesions": (("Haemorrhages", "Red_small_dots"), "dark"),
}
TARGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
CHOICE_TARGETS = (1.0, 2.0, 4.0)
# 15 pixels: three times the tool's point marks.
COUNTING = Counting(rule=EllipseHit(min_semi_axis_mm=1.5), single_reader="fp", repeats="count")
N_FOLDS = 5
KEYS = ["image_id", "candidate_id"]


def measure(task: tuple[Path, Path, str, tuple[float, float], int]) -> None:
    """Candidates and features of one image, as one Parquet file."""
    source, shard, polarity, radii, limit = task
    field = read_field(source, mm_per_px=MM_PER_PX, weights=GREEN)
    found = BlobFinder(polarity, *radii)(field, limit=limit)  # type: ignore[arg-type]
    table = pd.concat([found, extract_generic(field, found).drop(columns="candidate_id")], axis=1)
    part = shard.with_suffix(".part")
    table.assign(image_id=source.stem).to_parquet(part)
    part.rename(shard)


def gather(
    images: list[str], folder: Path, work: Path, polarity: str, radii: tuple[float, float], limit: int
) -> pd.DataFrame:
    """All images of a group, from files where they are there."""
    work.mkdir(parents=True, exist_ok=True)
    tasks = [(folder / f"{name}.png", work / f"{name}.parquet", polarity, radii, limit) for name in images]
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(measure, [task for task in tasks if not task[1].exists()]))
    return pd.concat([pd.read_parquet(task[1]) for task in tasks], ignore_index=True)


def score_out_of_fold(
    table: pd.DataFrame,
    names: list[str],
    truth: pd.DataFrame,
    images: pd.DataFrame,
    fold: np.ndarray,
    labels: Any,
) -> tuple[np.ndarray, list[int]]:
    """Scores of every candidate by a model that saw neither its image nor chose its penalty on it."""
    bags_of = {}

    def fit(inside: np.ndarray, lambdas: Any = None) -> SoftMILPath:
        key = tuple(inside)
        if key not in bags_of:
            ids = images["image_id"][inside]
            rows = table["image_id"].isin(ids)
            bags_of[key] = make_bags(
                table.loc[rows, [*KEYS, "x_mm", "y_mm", "radius_mm", "response"]].reset_index(drop=True),
                table.loc[rows, [*KEYS, *names]].reset_index(drop=True),
                truth[truth["image_id"].isin(ids)].reset_index(drop=True),
                labels=labels,
                images=images[inside].reset_index(drop=True),
                rule=COUNTING.rule,
            )
        bags = bags_of[key]
        return SoftMILPath(lambdas=lambdas, n_lambdas=30, min_ratio=0.01).fit(bags, bags.labels)

    values = table[names].to_numpy(np.float64)
    row_fold = table["image_id"].map(dict(zip(images["image_id"], fold, strict=True))).to_numpy()
    scores, sizes = np.empty(len(table)), []
    for outer in range(N_FOLDS):
        rest = fold != outer
        path = fit(rest)
        inner_scores = np.zeros((len(table), len(path.lambdas_)))
        counts = []
        for inner in range(N_FOLDS):
            if inner != outer:
                one = fit(rest & (fold != inner), path.lambdas_)
                rows = row_fold == inner
                inner_scores[rows] = values[rows] @ one.coefs_.T + one.intercepts_
                counts.append(one.n_features_)
        inside = row_fold != outer
        matching = match(
            table.loc[inside].reset_index(drop=True),
            truth[truth["image_id"].isin(images["image_id"][rest])].reset_index(drop=True),
            images[rest].reset_index(drop=True),
            scores=np.zeros(int(inside.sum())),
            counting=COUNTING,
        )
        choice = choose_setting(
            matching, inner_scores[inside], np.mean(counts, axis=0), fp_targets=CHOICE_TARGETS
        )
        chosen = choice.position
        sizes.append(int(path.n_features_[chosen]))
        held = row_fold == outer
        scores[held] = values[held] @ path.coefs_[chosen] + path.intercepts_[chosen]
    return scores, sizes


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", type=Path)
    parser.add_argument("--nested", choices=["no", "votes"], default="no")
    parser.add_argument("--limit", type=int, default=250)
    given = parser.parse_args()
    study = read_folder(given.study)
    only = set(given.only.read_text().split()) if given.only else None
    ids = sorted(one for one in study.readings["image_id"].unique() if only is None or one in only)
    images = pd.DataFrame({"image_id": ids, "patient_id": ids})
    readings = study.readings[study.readings["image_id"].isin(ids)]
    fold = np.random.default_rng(0).permutation(len(ids)) % N_FOLDS
    for group, (labels, polarity) in GROUPS.items():
        chosen = study.marks["label"].isin(labels) & study.marks["image_id"].isin(ids)
        marks = study.marks[chosen].drop(columns="label")
        truth = merge_marks(marks, readings, options=MergeOptions(nested=given.nested))
        radii = radii_from_marks(np.sqrt(marks["semi_major_mm"] * marks["semi_minor_mm"]).to_numpy())
        work = given.work / f"{group.replace(' ', '_')}-{given.limit}-{radii[0]:.2f}-{radii[1]:.2f}"
        table = gather(ids, given.images, work, polarity, radii, given.limit)
        names = [name for name in table if name not in (*KEYS, "x_mm", "y_mm", "radius_mm", "response")]
        rows = []
        for kind, score, sizes in (
            ("response", table["response"].to_numpy(), [0]),
            *(
                (label, *score_out_of_fold(table, names, truth, images, fold, label))
                for label in ("soft", "golden")
            ),
        ):
            matching = match(table, truth, images, scores=score, counting=COUNTING)
            intervals = bootstrap(matching, fp_targets=TARGETS, n_bootstrap=1000).intervals()
            wanted = intervals[intervals["measure"] == "gt_sensitivity"]
            cells = [f"{r.estimate:.3f} ({r.lower:.3f}-{r.upper:.3f})" for r in wanted.itertuples()]
            rows.append([kind, "/".join(map(str, sizes)), *cells])
        reached = match(
            table, truth, images, scores=np.zeros(len(table)), counting=COUNTING
        ).gt_reached.mean()
        print(
            f"## {group}, nested {given.nested}: {len(ids)} images, {int(truth['golden'].sum())} golden, radii "
            f"{radii[0]:.2f} to {radii[1]:.2f} mm, reached by {given.limit} candidates: {reached:.3f}\n"
        )
        print(
            markdown_table(["labels", "features", *(f"at {target:g} FP" for target in TARGETS)], rows) + "\n",
            flush=True,
        )


if __name__ == "__main__":
    main()
