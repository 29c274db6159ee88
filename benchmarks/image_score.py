"""One score for an image from those of its candidates, three ways, on untouched radiographs.

    python -m benchmarks.learned_gain STUDY RUN MODELS
    python -m benchmarks.image_score NIH STUDY MODELS WORK [--workers 2]

NIH has images.csv (of which the 240 without finding are the benchmark's backgrounds), findings.csv (Nodule or Mass) and
other_findings.csv, each with a folder of its name. The area under the ROC curve of images labelled Nodule or Mass is
that against those without finding, and that against those with other findings: where only the first is large, it is
illness that is seen, not nodules. Backgrounds are scored by the fold that has not seen their patient, the others by
the mean of all folds. Models are those with and those without the learned features; before them the finder's response.
WORK gets one Parquet file an image; what is there already is kept. Intervals are over patients. Writes Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.right_model import divide_study
from benchmarks.whole_chain import N_FOLDS, markdown, measured
from overread.models import load_model

N_BOOTSTRAP = 2000
LIMIT = 60
TABLES = {"images": "images.csv", "findings": "findings.csv", "other_findings": "other_findings.csv"}


def pool_scores(scores: NDArray[np.float64]) -> dict[str, float]:
    """Pool the log-odds of an image's candidates.

    max is the highest, top-3 the mean of the three highest, noisy-or the log-odds that at least one candidate is a
    nodule if they were independent: log(exp(-sum_i log(1 - p_i)) - 1).
    """
    highest = np.sort(scores)[::-1]
    none = -np.logaddexp(0.0, scores).sum()
    # log(exp(a) - 1) without overflow: a is the negative logarithm of the chance that there is none.
    any_of_them = -none + np.log(-np.expm1(none))
    return {"max": float(highest[0]), "top-3": float(highest[:3].mean()), "noisy-or": float(any_of_them)}


def area(high: pd.DataFrame, low: pd.DataFrame, column: str, *, seed: int = 0) -> tuple[float, float, float]:
    """Area under the ROC curve of two groups of images, with its 95 % interval over patients."""
    wins = (high[column].to_numpy()[:, None] > low[column].to_numpy()).astype(np.float64)
    wins += 0.5 * (high[column].to_numpy()[:, None] == low[column].to_numpy())
    random = np.random.default_rng(seed)
    counts = [draw_patients(group["patient"], random) for group in (high, low)]
    drawn = np.einsum("bi,ij,bj->b", counts[0], wins, counts[1]) / (
        counts[0].sum(axis=1) * counts[1].sum(axis=1)
    )
    lower, upper = np.quantile(drawn, [0.025, 0.975])
    return float(wins.mean()), float(lower), float(upper)


def draw_patients(patients: pd.Series, random: np.random.Generator) -> NDArray[np.float64]:
    """How often each image is drawn in each resampling of the patients: (resampling, image)."""
    names, code = np.unique(patients, return_inverse=True)
    times = random.multinomial(len(names), np.full(len(names), 1 / len(names)), size=N_BOOTSTRAP)
    return times[:, code].astype(np.float64)


def read_images(nih: Path) -> pd.DataFrame:
    """Read the tables, each image once, with the group it belongs to."""
    parts = []
    for folder, name in TABLES.items():
        table = pd.read_csv(nih / name, dtype={"file": str, "patient": str})
        clean = table["finding_labels"] == "No Finding"
        table = table[clean] if folder == "images" else table[~clean]
        parts.append(table.assign(group=folder, path=[nih / folder / file for file in table["file"]]))
    images = pd.concat(parts, ignore_index=True)
    return images.assign(image_id=images["file"])


def find_folds(study: Path) -> dict[str, int]:
    """Tell for every patient of the benchmark which fold has not seen it."""
    patients = pd.read_csv(study / "images.csv", dtype=str)["patient_id"].to_numpy()
    return {
        patient: fold
        for fold, split in enumerate(divide_study(study))
        for patient in patients[(split == "test").to_numpy()]
    }


def score_images(
    images: pd.DataFrame, models: Sequence[Any], fold_of: Mapping[str, int], found: pd.DataFrame
) -> pd.DataFrame:
    """Images with the three pooled scores: of the fold that has not seen their patient, else the mean of all."""
    folds = []
    for model in models:
        columns = list(model.feature_names_in_)
        scores = pd.Series(model.instance_decision_function(found[columns]), index=found["image_id"])
        pooled = {image: pool_scores(part.to_numpy()) for image, part in scores.groupby(level=0)}
        folds.append(pd.DataFrame(pooled).T.reindex(images["image_id"]))
    seen = images["patient"].map(fold_of).where(images["group"] == "images")
    values = np.stack([fold.to_numpy() for fold in folds])
    own = values[seen.fillna(0).astype(int), np.arange(len(images))]
    pooled_values = np.where(seen.notna().to_numpy()[:, None], own, values.mean(axis=0))
    return images.assign(**dict(zip(folds[0].columns, pooled_values.T, strict=True)))


def score_by_response(images: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Images with the pooled responses of the finder, which no model has seen."""
    responses = found.set_index("image_id")["response"]
    pooled = {image: pool_scores(part.to_numpy()) for image, part in responses.groupby(level=0)}
    return images.merge(pd.DataFrame(pooled).T, left_on="image_id", right_index=True)


def compare_groups(images: pd.DataFrame) -> list[dict[str, Any]]:
    """Area of every kind of lesion against both controls, by every way of pooling."""
    labels = images["finding_labels"].str.split("|")
    sick = images["group"] == "findings"
    kinds: Mapping[str, Any] = {
        "Nodule or Mass": sick,
        "Nodule": sick & labels.map(lambda found: "Nodule" in found),
        "Mass": sick & labels.map(lambda found: "Mass" in found),
        "only these": sick & labels.map(lambda found: set(found) <= {"Nodule", "Mass"}),
        "other findings": images["group"] == "other_findings",
    }
    controls = {
        "no finding": images["group"] == "images",
        "other findings": images["group"] == "other_findings",
    }
    rows = []
    for kind, members in kinds.items():
        for control, others in controls.items():
            if kind != control:
                line = {"images": f"{kind} ({members.sum()})", "against": f"{control} ({others.sum()})"}
                for column in ("max", "top-3", "noisy-or"):
                    line[column] = "{:.3f} ({:.3f}-{:.3f})".format(
                        *area(images[members], images[others], column)
                    )
                rows.append(line)
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nih", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    images = read_images(given.nih)
    found = measured(images, given.work, LIMIT, given.workers)
    print("the finder's response\n")
    print(markdown(compare_groups(score_by_response(images, found))), flush=True)
    fold_of = find_folds(given.study)
    for kind in ("without", "with"):
        models = [load_model(given.models / f"{kind}-{fold}.json") for fold in range(N_FOLDS)]
        print(f"{kind} learned features\n")
        print(markdown(compare_groups(score_images(images, models, fold_of, found))), flush=True)


if __name__ == "__main__":
    main()
