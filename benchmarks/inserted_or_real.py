"""Do inserted nodules look like what is marked on real radiographs with nodules? A two-sample test by the features.

    python -m benchmarks.learned_gain STUDY RUN MODELS
    python -m benchmarks.image_score NIH STUDY MODELS SHARDS
    python -m benchmarks.inserted_or_real NIH RUN MODELS SHARDS WORK [--every 1] [--pictures FOLDER]

Nobody drew where the real nodules are, so the best candidate of each image labelled Nodule or Mass and nothing else
stands for them; many of these are no nodules. Beside it the best candidates of images without finding, which are none.
Both are told from candidates on inserted nodules by a logistic regression on other patients. An area under the ROC
curve of 0.5 means that they cannot be told apart. Inserted are the images of RUN (nih-240x3), and cohorts on the same
backgrounds, read as the real images are, which WORK gets: by the law of nih-240x3, by `VariedDistribution`, and by
that with images blurred and noisy. Of an inserted image the best candidate on a golden object is taken, or, as of a
real one, the best of all.
FOLDER gets a picture of candidates of each kind. It shows radiographs of others: not for the repository.
Writes Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.freeze_nih import LAW
from benchmarks.image_score import LIMIT, area, read_images
from benchmarks.whole_chain import N_FOLDS, markdown, measured
from overread._plots import empty_figure, save_figure
from overread.features import CATALOGUE
from overread.images import read_image
from overread.models import load_model
from overread.simulate import CaseDistribution, VariedDistribution, cohort
from overread.study import Run
from overread.truth import candidate_hits, merge_marks

# Inverse strength of the penalty. Set by judgement: hundreds of features, about sixty real images.
STRENGTH = 0.01
FOLDS = 5
SEED = 18
LAWS = {
    "plain law": LAW,
    "varied law": CaseDistribution(nodules=VariedDistribution()),
    "varied, images blurred and noisy": CaseDistribution(
        nodules=VariedDistribution(image_blur_mm=(0.0, 0.4), image_noise=(0.0, 0.5))
    ),
}
KINDS = ("specific", "texture", "learned")
# Of a picture: candidates in a row, and half the side of a crop, about twice the largest nodule's.
PICTURES = 10
HALF_MM = 25.0


def make_study(nih: Path, folder: Path, law: CaseDistribution, every: int, workers: int) -> Path:
    """Insert nodules once into every n-th background without finding; what is there already is kept."""
    table = pd.read_csv(nih / "images.csv", dtype=str)
    clean = table[table["finding_labels"] == "No Finding"].iloc[::every]
    folder.mkdir(parents=True, exist_ok=True)
    clean.to_csv(folder / "backgrounds.csv", index=False)
    return cohort(
        folder / "study",
        n_images=len(clean),
        seed=SEED,
        backgrounds=nih / "images",
        images_csv=folder / "backgrounds.csv",
        law=law,
        format="png",
        workers=workers,
    )


def read_inserted(folder: Path, workers: int) -> pd.DataFrame:
    """Read the candidates of a cohort with features, patient, file, and whether they hit a golden object."""
    study = folder / "study"
    images = pd.read_csv(study / "images.csv", dtype=str)
    # One image a background, in the order of their table: the patients are those of the real images.
    patients = pd.read_csv(folder / "backgrounds.csv", dtype=str)["patient"]
    images = images.assign(path=[study / path for path in images["path"]], patient=patients.to_numpy())
    found = measured(images, folder / "shards", LIMIT, workers)
    marks = pd.read_csv(study / "marks.csv", dtype={"image_id": str, "reader_id": str, "mark_id": str})
    truth = merge_marks(marks, pd.read_csv(study / "readings.csv", dtype=str))
    hits = candidate_hits(found, truth[truth["golden"]].reset_index(drop=True))
    on_golden = np.isin(np.arange(len(found)), hits["candidate_row"])
    of_image = images[["image_id", "patient", "path", "mm_per_px_x", "mm_per_px_y"]]
    return found.assign(golden=on_golden).merge(of_image, on="image_id")


def read_run(run: Run) -> pd.DataFrame:
    """Read the candidates of a run with features, patient, and whether they hit a golden object."""
    tables = run.cohort
    table = tables.features.read(tables.features.names)
    golden = tables.truth["golden"].to_numpy()[tables.hits["truth_row"]]
    rows = tables.hits["candidate_row"].to_numpy()[golden]
    patients = tables.images.set_index("image_id")["patient_id"]
    ids = tables.candidates["image_id"].to_numpy()
    return table.assign(
        image_id=ids, patient=patients[ids].to_numpy(), golden=np.isin(np.arange(len(table)), rows)
    )


def keep_best(table: pd.DataFrame, models: Sequence[Any]) -> pd.DataFrame:
    """Keep the candidate of each image with the highest score, the mean of the models."""
    scores = np.mean(
        [model.instance_decision_function(table[list(model.feature_names_in_)]) for model in models], axis=0
    )
    best = (
        table.assign(score=scores)
        .sort_values("score", kind="stable")
        .drop_duplicates("image_id", keep="last")
    )
    return best.sort_values("image_id").reset_index(drop=True)


def keep_like_real(table: pd.DataFrame, models: Sequence[Any]) -> pd.DataFrame:
    """Keep the best candidate of each image with a golden object, on that object or not."""
    with_object = table.groupby("image_id")["golden"].transform("any")
    return keep_best(table[with_object], models)


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


def read_real(nih: Path, shards: Path, models: Sequence[Any]) -> dict[str, pd.DataFrame]:
    """Read the best candidates of real images, by what they are labelled."""
    images = read_images(nih)
    best = keep_best(measured(images, shards, LIMIT, workers=1), models)
    shown = ["image_id", "patient", "group", "finding_labels", "path", "mm_per_px_x", "mm_per_px_y"]
    best = best.merge(images[shown], on="image_id")
    only = best["finding_labels"].str.split("|").map(lambda labels: set(labels) <= {"Nodule", "Mass"})
    return {
        "only Nodule or Mass": best[(best["group"] == "findings") & only],
        "other findings": best[best["group"] == "other_findings"],
        "no finding": best[best["group"] == "images"],
    }


def compare_samples(
    name: str, inserted: pd.DataFrame, real: Mapping[str, pd.DataFrame]
) -> list[dict[str, Any]]:
    """Tell an inserted sample from each real one, by each kind of features."""
    rows = []
    for label, sample in real.items():
        line: dict[str, Any] = {
            "inserted": f"{name} ({len(inserted)})",
            "best candidates of": f"{label} ({len(sample)})",
        }
        for kind in KINDS:
            line[kind] = tell_apart(inserted, sample, [feature.name for feature in CATALOGUE.kind(kind)])
        rows.append(line)
    return rows


def cut_crop(candidate: Any) -> NDArray[np.float32]:
    """Cut the surroundings of a candidate, grey from the second to the 98th percentile."""
    spacing = (float(candidate.mm_per_px_x), float(candidate.mm_per_px_y))
    radiograph = read_image(candidate.path, mm_per_px=spacing)
    half = round(HALF_MM / radiograph.mm_per_px)
    pixels = np.pad(radiograph.pixels, half, mode="edge")
    row, column = (int(value / radiograph.mm_per_px) for value in (candidate.y_mm, candidate.x_mm))
    crop = pixels[row : row + 2 * half, column : column + 2 * half]
    low, high = np.percentile(crop, [2, 98])
    return np.clip((crop - low) / max(high - low, 1e-6), 0, 1)


def draw_samples(samples: Mapping[str, pd.DataFrame]) -> Any:
    """Draw some candidates of each sample in a row, drawn at random."""
    figure = empty_figure(1.1 * PICTURES, 1.3 * len(samples))
    for number, (name, table) in enumerate(samples.items()):
        chosen = table.sample(min(PICTURES, len(table)), random_state=SEED)
        axes = figure.add_subplot(len(samples), 1, number + 1)
        axes.imshow(np.hstack([cut_crop(candidate) for candidate in chosen.itertuples()]), cmap="gray")
        axes.set_title(name, fontsize=8, loc="left", pad=2)
        axes.axis("off")
    return figure


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("nih", "run", "models", "shards", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every n-th background only")
    parser.add_argument("--pictures", type=Path, help="folder; not for the repository")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    models = [load_model(given.models / f"with-{fold}.json") for fold in range(N_FOLDS)]
    real = read_real(given.nih, given.shards, models)
    samples = {"nih-240x3": read_run(Run(given.run.resolve()))}
    for name, law in LAWS.items():
        folder = given.work / name.replace(", ", "_").replace(" ", "_")
        make_study(given.nih, folder, law, given.every, given.workers)
        samples[name] = read_inserted(folder, given.workers)
    on_object = {name: keep_best(table[table["golden"]], models) for name, table in samples.items()}
    print(markdown([row for name, best in on_object.items() for row in compare_samples(name, best, real)]))
    like_real = {name: keep_like_real(table, models) for name, table in samples.items()}
    few = {"only Nodule or Mass": real["only Nodule or Mass"]}
    print("Of inserted images, too, the best candidate of all:\n")
    print(markdown([row for name, best in like_real.items() for row in compare_samples(name, best, few)]))
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
        shown = {name: on_object[name] for name in LAWS} | real
        save_figure(draw_samples(shown), given.pictures / "inserted_or_real.png")


if __name__ == "__main__":
    main()
