"""The whole chain on the frozen benchmark nih-240x3, three folds by background.

    overread simulate STUDY --benchmark nih-240x3 --backgrounds NIH/images --images-csv NIH/images.csv --format png
    python -m benchmarks.whole_chain STUDY WORK [--limit 100] [--ablate] [--workers 2]

WORK gets one Parquet shard an image with candidates and features, and scores.json. What is there already is kept. In
each fold a path of penalties is fitted to two thirds of the backgrounds, and the smallest penalty with at most 80
features is taken: nothing is chosen by looking at detections. Every image is scored once, by the fold that has not
seen its background. Writes Markdown to standard output. (`benchmarks.image_score` judges untouched radiographs.)
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.bags import Bags, make_bags, split_by_patient
from overread.froc import (
    Counting,
    bootstrap,
    chance_level,
    compare_models,
    lesion_sizes,
    match_detections,
    sensitivity_by,
)
from overread.models import SoftMILLogisticRegression, SoftMILPath
from overread.truth import HIT, STRICT_HIT, merge_marks

PAPER_COUNTING = Counting(single_reader="fp")
TARGETS = (0.5, 1.0, 2.0)
MOST_FEATURES = 80
N_FOLDS = 3
KEYS = ["image_id", "candidate_id"]
SIZES = (0.0, 10.0, 15.0, 20.0, 1000.0)
CONTRASTS = (0.0, 1.5, 2.0, 2.5, 10.0)


@dataclass(frozen=True, eq=False)
class Cohort:
    """The benchmark with its candidates and features, and the fold of every image."""

    images: pd.DataFrame
    truth: pd.DataFrame
    candidates: pd.DataFrame
    features: pd.DataFrame
    fold: pd.Series

    def part(self, inside: Any) -> Cohort:
        """Restrict every table to some images."""
        ids = set(self.images["image_id"][inside])
        tables = (
            table[table["image_id"].isin(ids)].reset_index(drop=True)
            for table in (self.images, self.truth, self.candidates, self.features)
        )
        return Cohort(*tables, self.fold[inside].reset_index(drop=True))

    def bags(self, labels: str, columns: Sequence[str]) -> Bags:
        """Bags of all candidates."""
        features = self.features[[*KEYS, *columns]]
        return make_bags(self.candidates, features, self.truth, labels=labels, images=self.images)  # type: ignore[arg-type]

    def matching(self, scores: Any) -> Any:
        """Candidates under some scores, against the golden objects."""
        return match_detections(
            self.candidates, self.truth, self.images, scores=np.asarray(scores), counting=PAPER_COUNTING
        )


def work_on(task: tuple[Path, tuple[float, float], Path, int]) -> None:
    """Candidates and features of one image, as one Parquet file."""
    from overread.domains import find_anatomy, find_candidates
    from overread.features import extract_features
    from overread.images import read_image

    source, mm_per_px, shard, limit = task
    radiograph = read_image(source, mm_per_px=mm_per_px)
    regions = find_anatomy(radiograph)
    found = find_candidates(radiograph, anatomy=regions, limit=limit)
    values = extract_features(radiograph, found, regions, n_threads=1)
    table = pd.concat([found, values.drop(columns="candidate_id")], axis=1)
    part = shard.with_suffix(".part")
    table.to_parquet(part)
    part.rename(shard)


def measured(images: pd.DataFrame, shards: Path, limit: int, workers: int) -> pd.DataFrame:
    """Candidates and features of every image, from shards where they are there."""
    shards.mkdir(parents=True, exist_ok=True)
    spacing = images[["mm_per_px_x", "mm_per_px_y"]].astype(float).itertuples(index=False, name=None)
    tasks = [
        (Path(path), mm_per_px, shards / f"{number:05d}.parquet", limit)
        for number, (path, mm_per_px) in enumerate(zip(images["path"], spacing, strict=True))
    ]
    missing = [task for task in tasks if not task[2].exists()]
    started = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        for number, _ in enumerate(pool.map(work_on, missing, chunksize=2), 1):
            if number % 60 == 0:
                rate = (time.perf_counter() - started) / number
                print(f"<!-- {number} of {len(missing)} images, {rate:.2f} s each -->", flush=True)
    tables = [
        pd.read_parquet(task[2]).assign(image_id=image)
        for task, image in zip(tasks, images["image_id"], strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


def load(study: Path, work: Path, limit: int, workers: int) -> Cohort:
    """Read the benchmark and measure its images."""
    images = pd.read_csv(study / "images.csv", dtype=str)
    marks = pd.read_csv(study / "marks.csv", dtype={"image_id": str, "reader_id": str, "mark_id": str})
    readings = pd.read_csv(study / "readings.csv", dtype=str)
    truth = with_contrast(merge_marks(marks, readings), study)
    placed = images.assign(path=[study / path for path in images["path"]])
    table = measured(placed, work / f"shards-{limit}", limit, workers)
    found = ["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm", "response"]
    candidates, features = table[found], table.drop(columns=found[2:])
    names = [str(fold) for fold in range(N_FOLDS)]
    fold = split_by_patient(images, truth, names=names, random_state=0).astype(int)
    return Cohort(images, truth, candidates, features, fold.reset_index(drop=True))


def with_contrast(truth: pd.DataFrame, study: Path) -> pd.DataFrame:
    """Truth with the contrast to noise of the nodule that its marks mean; none where they mean no nodule."""
    meant = pd.read_csv(study / "known" / "marks.csv", dtype=str)
    nodules = pd.read_csv(study / "known" / "nodules.csv").rename(columns={"nodule_id": "object_id"})
    contrast = (
        meant.merge(nodules[["image_id", "object_id", "conspicuity"]], how="left")
        .set_index("mark_id")["conspicuity"]
        .astype(float)
    )
    return truth.assign(contrast=[contrast[list(marks)].max() for marks in truth["mark_ids"]])


def fitted(training: Cohort, labels: str, columns: Sequence[str]) -> SoftMILLogisticRegression:
    """Model with the smallest penalty that leaves at most `MOST_FEATURES`."""
    bags = training.bags(labels, columns)
    path = SoftMILPath(n_alphas=40, min_ratio=0.025).fit(bags, bags.labels)
    return path.model(int(np.flatnonzero(path.n_features_ <= MOST_FEATURES)[-1]))


def out_of_fold(
    cohort: Cohort, labels: str, columns: Sequence[str]
) -> tuple[np.ndarray, list[SoftMILLogisticRegression]]:
    """Scores of all candidates by models that did not see their background, and the models by fold."""
    scores, models = np.empty(len(cohort.candidates)), []
    for fold in range(N_FOLDS):
        model = fitted(cohort.part(cohort.fold != fold), labels, columns)
        held_out = (
            cohort.candidates["image_id"].isin(set(cohort.images["image_id"][cohort.fold == fold])).to_numpy()
        )
        scores[held_out] = model.instance_decision_function(cohort.features.loc[held_out, list(columns)])
        models.append(model)
    return scores, models


def sizes_of(models: Sequence[SoftMILLogisticRegression]) -> list[int]:
    """Numbers of features."""
    return [int(np.count_nonzero(model.coef_)) for model in models]


def row(name: str, matching: Any, sizes: Sequence[int]) -> dict[str, Any]:
    """One line of the table."""
    result = bootstrap(matching, fp_targets=TARGETS, n_bootstrap=1000)
    intervals = result.intervals().set_index(["measure", "fp_target"])
    line: dict[str, Any] = {"model": name, "features": "/".join(map(str, sizes))}
    for measure, short in (("gt_sensitivity", "GT"), ("image_sensitivity", "image")):
        for target in TARGETS:
            value = intervals.loc[(measure, target)]
            line[f"{short} at {target:g}"] = (
                f"{100 * value['estimate']:.1f} ({100 * value['lower']:.1f}-{100 * value['upper']:.1f})"
            )
    return line


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return (
        "\n".join([*lines, *("| " + " | ".join(str(r[name]) for name in header) + " |" for r in rows)]) + "\n"
    )


def recall_rows(cohort: Cohort) -> list[dict[str, Any]]:
    """Share of golden objects that some candidate hits, by number of candidates and rule."""
    rows = []
    rank = cohort.candidates.groupby("image_id").cumcount()
    for rule, rule_name in ((HIT, "hit"), (STRICT_HIT, "strict hit")):
        line: dict[str, Any] = {"recall": rule_name}
        for n in (20, 60, 100):
            few = cohort.candidates[rank < n]
            matching = match_detections(
                few, cohort.truth, cohort.images, scores=np.zeros(len(few)), counting=Counting(rule=rule)
            )
            line[f"at {n}"] = f"{100 * matching.gt_reached.mean():.1f}"
        rows.append(line)
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "study", type=Path, help="folder of the benchmark, made by overread simulate --benchmark"
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ablate", action="store_true")
    given = parser.parse_args()
    cohort = load(given.study, given.work, given.limit, given.workers)
    columns = [name for name in cohort.features.columns if name not in KEYS]
    print(
        f"{len(cohort.images)} images, {int(cohort.truth['golden'].sum())} golden objects, {len(columns)} features\n"
    )
    print(markdown(recall_rows(cohort)))
    soft, soft_models = out_of_fold(cohort, "soft", columns)
    hard, hard_models = out_of_fold(cohort, "golden", columns)
    soft_sizes = sizes_of(soft_models)
    matchings = {"soft": cohort.matching(soft), "hard": cohort.matching(hard)}
    rows = [
        row("candidate response", cohort.matching(cohort.candidates["response"]), []),
        row("soft labels", matchings["soft"], soft_sizes),
        row("hard labels", matchings["hard"], sizes_of(hard_models)),
        row(
            "soft, single-reader objects ignored",
            matchings["soft"].with_counting(single_reader="ignore"),
            soft_sizes,
        ),
    ]
    print(markdown(rows))
    print("Hit:", HIT.describe(), "\n")
    chance = chance_level(
        cohort.candidates,
        cohort.truth,
        cohort.images,
        scores=soft,
        counting=PAPER_COUNTING,
        fp_targets=TARGETS,
        n_shifts=10,
    )
    print(markdown(chance.points.round(3).to_dict("records")))
    shown = [
        "stratum",
        "n_gts",
        "n_reached",
        "gt_sensitivity",
        "gt_sensitivity_lower",
        "gt_sensitivity_upper",
    ]
    for by, bins in ((lesion_sizes(matchings["soft"]), SIZES), ("contrast", CONTRASTS)):
        strata = sensitivity_by(matchings["soft"], by, fp_target=1.0, bins=bins)
        print(markdown(strata[shown].round(3).to_dict("records")))
    paired = compare_models(matchings["hard"], matchings["soft"], fp_targets=TARGETS).table()
    print("Soft minus hard:\n")
    print(
        markdown(
            paired[paired["measure"].isin(["gt_sensitivity", "image_sensitivity"])]
            .round(3)
            .to_dict("records")
        )
    )
    kept = np.all([model.coef_[0] != 0 for model in soft_models], axis=0)
    print("Features kept in all folds:", ", ".join(np.asarray(columns)[kept]), "\n")
    if given.ablate:
        print(markdown(ablations(cohort, columns)))
    (given.work / "scores.json").write_text(json.dumps({"soft": soft.tolist(), "hard": hard.tolist()}))


def ablations(cohort: Cohort, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Leave out each family, and take each kind alone."""
    from overread.features import CATALOGUE

    family = {name: feature.family for name, feature in CATALOGUE.items()}
    kind = {name: feature.kind for name, feature in CATALOGUE.items()}
    choices = {
        f"without {name}": [c for c in columns if family[c] != name]
        for name in dict.fromkeys(family.values())
    }
    choices |= {f"{name} alone": [c for c in columns if kind[c] == name] for name in ("specific", "texture")}
    rows = []
    for name, chosen in choices.items():
        scores, models = out_of_fold(cohort, "soft", chosen)
        rows.append(row(name, cohort.matching(scores), sizes_of(models)))
        print(f"<!-- {rows[-1]} -->", flush=True)
    return rows


if __name__ == "__main__":
    main()
