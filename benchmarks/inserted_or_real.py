"""Do inserted nodules look like what is marked on real radiographs with nodules? A two-sample test by the features.

    python -m benchmarks.learned_gain STUDY RUN MODELS --weights weights.npz
    python -m benchmarks.image_score NIH STUDY MODELS WORK
    python -m benchmarks.inserted_or_real NIH STUDY RUN MODELS WORK weights.npz

Nobody drew where the real nodules are, so the best candidate of each image labelled Nodule or Mass and nothing else
stands for them; many of these are no nodules. Beside it the best candidates of images without finding, which are none.
Both are told from candidates that hit inserted nodules, the best of each image, by a logistic regression on other
patients. An area under the ROC curve of 0.5 means that they cannot be told apart. Writes Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.image_score import LIMIT, area, read_images
from benchmarks.learned_gain import measure_learned, name_columns
from benchmarks.whole_chain import N_FOLDS, markdown, measured
from overread.features import CATALOGUE
from overread.features.learned.network import LearnedNetwork
from overread.models.persistence import load
from overread.study.run_reader import Run

# Inverse strength of the penalty. Chosen by eye: hundreds of features, about sixty real images.
STRENGTH = 0.01
FOLDS = 5


def find_inserted(run: Run, models: list[Any], network: LearnedNetwork) -> pd.DataFrame:
    """Find the best candidate on a golden object in each image of the benchmark, with its features and patient."""
    cohort = run.cohort
    learned = measure_learned(run, network)
    names = name_columns(learned.shape[1])
    table = pd.concat(
        [cohort.features.read(cohort.features.names), pd.DataFrame(learned, columns=names)], axis=1
    )
    golden = cohort.truth["golden"].to_numpy()[cohort.hits["truth_row"]]
    rows = np.unique(cohort.hits["candidate_row"].to_numpy()[golden])
    table = table.assign(image_id=cohort.candidates["image_id"].to_numpy()).iloc[rows]
    patients = cohort.images.set_index("image_id")["patient_id"]
    return keep_best(table, models).assign(patient=lambda best: best["image_id"].map(patients))


def keep_best(table: pd.DataFrame, models: list[Any]) -> pd.DataFrame:
    """Keep the candidate of each image with the highest score, the mean of the models."""
    scores = np.mean(
        [model.decision_instance_function(table[list(model.feature_names_in_)]) for model in models], axis=0
    )
    best = (
        table.assign(score=scores)
        .sort_values("score", kind="stable")
        .drop_duplicates("image_id", keep="last")
    )
    return best.reset_index(drop=True)


def tell_apart(some: pd.DataFrame, others: pd.DataFrame, columns: list[str]) -> str:
    """Area under the ROC curve of the held-out answers, with its interval over patients."""
    both = pd.concat([some.assign(other=0), others.assign(other=1)], ignore_index=True)
    model = make_pipeline(
        StandardScaler(), LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
    )
    answers = cross_val_predict(
        model,
        both[columns].to_numpy(np.float64),
        both["other"],
        groups=both["patient"],
        cv=GroupKFold(FOLDS),
        method="decision_function",
    )
    answered = both[["patient", "other"]].assign(answer=answers)
    found = area(answered[answered["other"] == 1], answered[answered["other"] == 0], "answer")
    return "{:.3f} ({:.3f}-{:.3f})".format(*found)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("nih", "study", "run", "models", "work", "weights"):
        parser.add_argument(name, type=Path)
    given = parser.parse_args()
    models = [load(given.models / f"with-{fold}.json") for fold in range(N_FOLDS)]
    network = LearnedNetwork.from_arrays(np.load(given.weights))
    inserted = find_inserted(Run(given.run.resolve()), models, network)
    images = read_images(given.nih)
    best = keep_best(measured(images, given.work, LIMIT, workers=1), models)
    best = best.merge(images[["image_id", "patient", "group", "finding_labels"]], on="image_id")
    only = best["finding_labels"].str.split("|").map(lambda labels: set(labels) <= {"Nodule", "Mass"})
    samples = {
        "only Nodule or Mass": best[(best["group"] == "findings") & only],
        "other findings": best[best["group"] == "other_findings"],
        "no finding": best[best["group"] == "images"],
    }
    rows = []
    for name, sample in samples.items():
        line: dict[str, Any] = {"best candidates of": f"{name} ({len(sample)})", "inserted": len(inserted)}
        for kind in ("specific", "texture", "learned"):
            columns = [feature.name for feature in CATALOGUE.kind(kind)]
            line[kind] = tell_apart(inserted, sample, columns)
        rows.append(line)
    print(markdown(rows))


if __name__ == "__main__":
    main()
