"""What the learned features add on nih-240x3: the soft model with and without them, three folds, paired.

    python -m benchmarks.learned_gain STUDY RUN SCRATCH [--weights weights.npz] [--only-learned]

RUN is a run of STUDY or of one of its folds, whose candidates and features serve all folds; with --weights the learned
features are those of other weights. SCRATCH gets columns and models. Penalty and normalization are chosen inside each
fold by the rule of a run. Every image is scored by the fold that has not seen its patient. Writes Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.right_model import divide_study
from benchmarks.whole_chain import CONTRASTS, PAPER_COUNTING, SIZES, TARGETS, markdown, row, with_contrast
from overread.features import ImageMaps
from overread.features._learned import LearnedNetwork, cut_squares
from overread.files import write_columns
from overread.froc import Matching, compare_models, lesion_sizes, match_detections, sensitivity_by
from overread.images import read_image
from overread.models import count_features, save_model
from overread.study import Cohort, Features, Fold, Run, Soft, choose_from_trials, make_folds, score_held_out
from overread.truth import merge_marks

LEARNED = "learned."


def measure_learned(run: Run, network: LearnedNetwork) -> NDArray[np.float32]:
    """Learned features of all candidates of a run, in their order."""
    cv2.setNumThreads(1)
    candidates = run.cohort.candidates
    values = np.empty((len(candidates), network.n_units + 1), np.float32)
    for image_id, rows in candidates.groupby("image_id", sort=False).indices.items():
        radiograph = read_image(run.image_path(str(image_id)), mm_per_px=run.mm_per_px(str(image_id)))
        x, y = candidates[["x", "y"]].to_numpy()[rows].T
        # The bands need no anatomy.
        bands = ImageMaps(radiograph, None).bands  # type: ignore[arg-type]
        squares = cut_squares(bands, radiograph.to_pixels(x), radiograph.to_pixels(y))
        values[rows] = network.answer(squares)
    return values


def name_columns(n_columns: int) -> list[str]:
    """Name the answers of a network as the family does: its units, then its score."""
    units = [f"{LEARNED}unit_{unit:02d}" for unit in range(n_columns - 1)]
    return [*units, f"{LEARNED}score"] if n_columns else []


def choose_columns(cohort: Cohort, kept: Sequence[str], learned: NDArray[np.float32], place: Path) -> Cohort:
    """Give a cohort some of its own features, and learned ones (candidates x features, maybe none) after them."""
    features = cohort.features
    own = features.store.take(np.arange(len(features.keys)), [features.names.index(name) for name in kept])
    rows = np.empty_like(learned)
    rows[features.rows] = learned
    names = (*kept, *name_columns(learned.shape[1]))
    store = write_columns(place, [np.hstack([own, rows])], len(rows), len(names), np.dtype(np.float32))
    return replace(cohort, features=Features(names, store, features.rows, features.keys))


def fit_fold(cohort: Cohort, settings: Any, place: Path) -> tuple[pd.DataFrame, int]:
    """Choose and fit on training + validation as a run does, keep the model, score the test set, count the features."""
    model, rest, test = Soft(), cohort.split("training", "validation"), cohort.split("test")
    grid = model.grid(rest, settings)
    folds = make_folds(rest, settings.models.folds, settings.seed)
    trials = [score_held_out(model, grid, Fold(one.held_out, one.rest), settings) for one in folds]
    choice, _ = choose_from_trials(rest, trials, settings)
    fitted = model.build(grid[choice.position], settings)
    model.fit(fitted, rest)
    save_model(fitted, place)
    return test.candidates.assign(score=model.score(fitted, test.features)), count_features(fitted)


def fit_all(
    cohort: Cohort, splits: Sequence[pd.Series], settings: Any, places: Sequence[Path]
) -> tuple[pd.DataFrame, list[int]]:
    """Score every image by the fold that has not seen its patient, and count the features of each fold."""
    parts, counts = [], []
    for split, place in zip(splits, places, strict=True):
        fold = replace(cohort, images=cohort.images.assign(split=cohort.images["image_id"].map(split)))
        scored, count = fit_fold(fold, settings, place)
        parts.append(scored)
        counts.append(count)
    return pd.concat(parts, ignore_index=True), counts


def read_truth(study: Path) -> pd.DataFrame:
    """Merge the marks of a study, with the contrast of what was inserted."""
    marks = pd.read_csv(study / "marks.csv", dtype={"image_id": str, "reader_id": str, "mark_id": str})
    return with_contrast(merge_marks(marks, pd.read_csv(study / "readings.csv", dtype=str)), study)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument(
        "--weights", type=Path, help="made by benchmarks.train_learned; else those of the run"
    )
    parser.add_argument("--only-learned", action="store_true", help="without the other features")
    given = parser.parse_args()
    given.scratch.mkdir(parents=True, exist_ok=True)
    run = Run(given.run.resolve())
    cohort, place = run.cohort, given.scratch / "columns.npy"
    other = [name for name in cohort.features.names if not name.startswith(LEARNED)]
    if given.weights is not None:
        learned = measure_learned(run, LearnedNetwork.from_arrays(np.load(given.weights)))
    else:
        names = [name for name in cohort.features.names if name.startswith(LEARNED)]
        learned = cohort.features.read(names).to_numpy(np.float32)
    ids = pd.read_csv(given.study / "images.csv", dtype=str)["image_id"]
    splits = [pd.Series(split.to_numpy(), index=ids) for split in divide_study(given.study)]
    for name, score in (
        ("the response", cohort.candidates["response"]),
        ("the network's score", learned[:, -1]),
    ):
        alone = cohort.candidates.assign(score=np.asarray(score, dtype=np.float64))
        print(markdown([row(f"{name} alone", judge(alone, given.study), [])]), flush=True)
    matchings = {}
    for name, kept, columns in (
        ("without", other, learned[:, :0]),
        ("with the learned ones", [] if given.only_learned else other, learned),
    ):
        models = [given.scratch / f"{name.split()[0]}-{fold}.json" for fold in range(len(splits))]
        table, counts = fit_all(choose_columns(cohort, kept, columns, place), splits, run.settings, models)
        matchings[name] = judge(table, given.study)
        print(markdown([row(name, matchings[name], counts)]), flush=True)
    write_gain(matchings)


def judge(table: pd.DataFrame, study: Path) -> Matching:
    """Match scored candidates of all images."""
    images = pd.read_csv(study / "images.csv", dtype=str)[["image_id", "patient_id"]]
    return match_detections(table, read_truth(study), images, scores="score", counting=PAPER_COUNTING)


def write_gain(matchings: dict[str, Matching]) -> None:
    """Write the difference of two models, and the strata of each."""
    gain = compare_models(*matchings.values(), fp_targets=TARGETS).table()
    print(markdown(gain[gain["measure"] == "gt_sensitivity"].round(3).to_dict("records")))
    for by, bins in (("size", SIZES), ("contrast", CONTRASTS)):
        for name, matching in matchings.items():
            values = lesion_sizes(matching) if by == "size" else by
            strata = sensitivity_by(matching, values, fp_target=1.0, bins=bins)
            shown = strata[
                ["stratum", "n_gts", "gt_sensitivity", "gt_sensitivity_lower", "gt_sensitivity_upper"]
            ]
            print(f"{name}\n\n{markdown(shown.round(3).to_dict('records'))}")


if __name__ == "__main__":
    main()
