"""Does the run choose the right model? Test sensitivity of what it chose beside the best penalty, and B1 and B2.

    python -m benchmarks.right_model demo WORK --seeds 10
    python -m benchmarks.right_model folds STUDY WORK
    python -m benchmarks.right_model runs RUN [RUN ...]

``demo`` runs `overread demo` with each seed, ``folds`` runs a study three times with each third of its patients as the
test set (the images are worked on once), ``runs`` takes runs that are there. What is there already is kept.

Sensitivities are of golden GTs on the test set, averaged over 0.5, 1 and 2 FP per image. The best penalty of the
soft model's path is picked on the test set itself, which flatters it: by how much is estimated as the optimism of a
bootstrap over patients (Efron, "How biased is the apparent error rate of a prediction rule?", 1986): the best penalty
of a resampling is worth more there than on the test set, on average by that much. Calibration is that of the score map
on the test set. FP per image are those of the supported model at its locked threshold for 1 FP, each mark counted, and
with one mark per place. Writes Markdown to standard output.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread._text import markdown_table
from overread.bags import split_by_patient
from overread.errors import InvalidInputError
from overread.files import read_json
from overread.froc import Matching
from overread.froc._bootstrap import estimates_at, replicate_at_targets
from overread.study import Run, make_path, open_run
from overread.study.models.base import score_linearly

TARGETS = np.array([0.5, 1.0, 2.0])
N_FOLDS = 3
# Enough for an optimism to 0.1 points.
N_BOOTSTRAP = 1000
LOCKED_FP = 1.0


@dataclass(frozen=True)
class Outcome:
    """What one run chose, in per cent on its test set."""

    run: str
    n_golden: int
    supported: str
    soft_features: int
    soft: float
    best_features: int
    best: float
    optimism: float
    b1_features: int
    b1: float
    b2_features: int
    b2: float
    slope: float
    slope_lower: float
    slope_upper: float
    intercept: float
    fp_counted: float
    fp_shown: float


def measure_run(run: Run) -> Outcome:
    """Judge a run's choices on its test set."""
    models = {model.name: model for model in run.results.models}
    means = {name: 100 * mean_sensitivity(run.matched(name).test) for name in models}
    best = find_best_penalty(run)
    calibration = models[run.results.supported].calibration
    if calibration is None:
        raise InvalidInputError(
            f"{run.root}: had too little to calibrate with, so there is no slope to judge"
        )
    counted, shown = count_repeats(run)
    return Outcome(
        run=run.study.name,
        n_golden=run.matched("soft").test.n_gts,
        supported=run.results.supported,
        soft_features=models["soft"].n_features,
        soft=means["soft"],
        best_features=best["n_features"],
        best=100 * float(best["sensitivity"]),
        optimism=100 * best["optimism"],
        b1_features=models["b1"].n_features,
        b1=means["b1"],
        b2_features=models["b2"].n_features,
        b2=means["b2"],
        slope=calibration.slope.estimate,
        slope_lower=calibration.slope.lower,
        slope_upper=calibration.slope.upper,
        intercept=calibration.intercept.estimate,
        fp_counted=counted,
        fp_shown=shown,
    )


def mean_sensitivity(matching: Matching) -> float:
    """GT sensitivity averaged over the targets."""
    return float(estimates_at(matching, TARGETS)["gt_sensitivity"].mean())


def find_best_penalty(run: Run) -> dict[str, Any]:
    """Fit the path to training + validation, pick the best penalty on the test set, and estimate its optimism."""
    cohort, settings = run.cohort, run.settings
    merged, test = cohort.split("training", "validation"), cohort.split("test")
    bags = merged.bags("soft")
    grid = pd.DataFrame(read_json(run.root / "tuning" / "soft_grid.json"))
    scores, counts = [], []
    for name, group in grid.groupby("normalization", sort=False):
        path = make_path(merged, settings, name, alphas=group["lam"].tolist()).fit(bags, bags.labels)
        scores.append(score_linearly(path.coef_path_.T, path.intercept_path_, test.features))
        counts += path.n_features_.tolist()
    matchings = [test.matching.with_scores(column) for column in np.column_stack(scores).T]
    values = np.array([mean_sensitivity(matching) for matching in matchings])
    replicates = np.column_stack([resample(matching) for matching in matchings])
    winners = replicates.argmax(axis=1)
    excess = replicates[np.arange(len(replicates)), winners] - values[winners]
    best = int(values.argmax())
    return {"n_features": counts[best], "sensitivity": values[best], "optimism": float(excess.mean())}


def resample(matching: Matching) -> np.ndarray:
    """Mean sensitivity in each resampling of the patients, the same ones for every matching."""
    found = replicate_at_targets(matching, TARGETS, N_BOOTSTRAP, 0)
    return np.asarray(found["gt_sensitivity"].mean(axis=1))


def count_repeats(run: Run) -> tuple[float, float]:
    """FP per image of the supported model at its locked threshold, every mark counted, and one mark per place."""
    name = run.results.supported
    threshold = run.threshold(name, LOCKED_FP)
    if threshold is None:
        return float("nan"), float("nan")
    test = run.matched(name).test
    return tuple(
        float((test.with_counting(repeats=way).fp_scores >= threshold).sum() / test.n_images)
        for way in ("count", "suppress")
    )  # type: ignore[return-value]


def run_command(*arguments: str) -> None:
    """Run an overread command and let it talk on standard error."""
    command = [
        sys.executable,
        "-c",
        "import sys; from overread.cli import main; sys.exit(main())",
        *arguments,
    ]
    subprocess.run(command, stdout=sys.stderr, check=True)


def make_demos(work: Path, n_seeds: int) -> list[Path]:
    """Run the demo with each seed."""
    for seed in range(n_seeds):
        if not (work / f"demo-{seed}" / "runs" / "main" / "results.json").exists():
            run_command("demo", "-o", str(work / f"demo-{seed}"), "--seed", str(seed))
    return [work / f"demo-{seed}" / "runs" / "main" for seed in range(n_seeds)]


def make_folds(study: Path, work: Path) -> list[Path]:
    """Run a study with each third of its patients as the test set; the first fold's features serve all."""
    runs = []
    for fold, split in enumerate(divide_study(study)):
        place = work / f"{study.name}-fold-{fold}"
        runs.append(place / "runs" / "main")
        if not (runs[-1] / "results.json").exists():
            lay_out_fold(study, place, split)
            if fold and not (place / "runs").exists():
                shutil.copytree(runs[0], runs[-1])
            run_command("run", str(place))
    return runs


def divide_study(study: Path) -> list[pd.Series]:
    """Return for each third of the patients the split in which it is the test set; half of the rest is validation."""
    from overread.truth import merge_marks

    images = pd.read_csv(study / "images.csv", dtype=str)
    marks = pd.read_csv(study / "marks.csv", dtype={"image_id": str, "reader_id": str, "mark_id": str})
    truth = merge_marks(marks, pd.read_csv(study / "readings.csv", dtype=str))
    names = [str(k) for k in range(N_FOLDS)]
    third = split_by_patient(images, truth, names=names, random_state=0)
    splits = []
    for fold in names:
        others = [name for name in names if name != fold]
        splits.append(third.map({fold: "test", others[0]: "training", others[1]: "validation"}))
    return splits


def lay_out_fold(study: Path, place: Path, split: pd.Series) -> None:
    """Write the study's tables with a split; the images stay where they are."""
    place.mkdir(parents=True, exist_ok=True)
    images = pd.read_csv(study / "images.csv", dtype=str).assign(split=split.to_numpy())
    images["path"] = [os.path.relpath(study / path, place) for path in images["path"]]
    images.to_csv(place / "images.csv", index=False)
    for name in ("marks.csv", "readings.csv", "study.toml"):
        if (study / name).exists():
            shutil.copyfile(study / name, place / name)


def write_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Markdown of all runs, their means, and the standard errors of the differences that were promised."""
    table = pd.DataFrame([asdict(outcome) for outcome in outcomes])
    numbers = table.drop(columns=["run", "supported"])
    mean = pd.DataFrame([{"run": "mean", "supported": "", **numbers.mean()}])
    shown = pd.concat([table, mean], ignore_index=True).round(2)
    lines = [markdown_table(list(shown), shown.astype(str).to_numpy().tolist()), ""]
    for name in ("best", "b1", "b2"):
        gap = table["soft"] - table[name]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        lines.append(f"Soft minus {name}: {gap.mean():+.1f} points (standard error {error:.1f})")
    lines.append(
        f"The best penalty, picked on the test set, flatters itself by {table['optimism'].mean():.1f} points."
    )
    return "\n".join(lines)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ways = parser.add_subparsers(dest="way", required=True)
    demo = ways.add_parser("demo")
    demo.add_argument("work", type=Path)
    demo.add_argument("--seeds", type=int, default=10)
    folds = ways.add_parser("folds")
    folds.add_argument("study", type=Path)
    folds.add_argument("work", type=Path)
    runs = ways.add_parser("runs")
    runs.add_argument("run", type=Path, nargs="+")
    given = parser.parse_args()
    if given.way == "demo":
        paths = make_demos(given.work, given.seeds)
    elif given.way == "folds":
        paths = make_folds(given.study, given.work)
    else:
        paths = given.run
    outcomes = []
    for path in paths:
        outcomes.append(measure_run(open_run(path)))
        print(f"<!-- {outcomes[-1]} -->", flush=True)
    print(write_outcomes(outcomes))


if __name__ == "__main__":
    main()
