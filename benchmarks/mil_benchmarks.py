"""MUSK1 and Elephant: ten-fold accuracy and AUC of the four poolings, lambda chosen inside each training fold.

    python benchmarks/mil_benchmarks.py ../shared/data/mil

Writes a Markdown table to standard output. One process, fixed seeds: the same machine gives the same table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from overread.bags import Bags, SoftStratifiedGroupKFold, mean_soft_kl
from overread.models import SoftMILPath

DATASETS = ("musk1", "elephant")
POOLINGS = ("noisy_or", "noisy_or_mean", "log_sum_exp", "mean")
INNER_FOLDS = 4
N_LAMBDAS = 15
MIN_RATIO = 0.03

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Result:
    """What one pooling reached on one data set: means over seeds, and the deviation between seeds."""

    accuracy: float
    accuracy_spread: float
    auc: float
    auc_spread: float
    n_features: float
    seconds: float


@dataclass(frozen=True)
class FoldOutcome:
    """Log-odds of the held-out bags, and the number of features of the model that gave them."""

    log_odds: Floats
    n_features: int


def read_dataset(folder: Path, name: str) -> tuple[Bags, Floats, NDArray[np.int64]]:
    """Bags, labels, and the fold of each bag for each seed."""
    stored = np.load(folder / f"{name}.npz", allow_pickle=False)
    return Bags.from_ids(stored["X"], stored["bag"]), stored["y"].astype(float), stored["folds"]


def choose_lambda(bags: Bags, y: Floats, pooling: str) -> tuple[Floats, int]:
    """Grid of the training set, and the index with the smallest mean soft KL over inner folds."""
    grid = SoftMILPath(n_alphas=N_LAMBDAS, min_ratio=MIN_RATIO, pooling=pooling, tol=1e-3).fit(bags, y)
    divergence = np.zeros(N_LAMBDAS)
    splitter = SoftStratifiedGroupKFold(INNER_FOLDS, shuffle=True, random_state=0)
    for train, test in splitter.split(bags, y):
        path = SoftMILPath(grid.alphas_, pooling=pooling, tol=1e-3).fit(bags[train], y[train])
        log_odds = path.decision_function(bags[test])
        for index in range(N_LAMBDAS):
            log_proba = -np.logaddexp(0, np.outer(log_odds[:, index], [1.0, -1.0]))
            divergence[index] += len(test) * mean_soft_kl(
                y[test], log_proba=log_proba, classes=np.array([0, 1])
            )
    return grid.alphas_, int(divergence.argmin())


def run_fold(bags: Bags, y: Floats, held_out: NDArray[np.bool_], pooling: str) -> FoldOutcome:
    """Choose lambda and fit on the other bags; score the held-out ones."""
    train = np.flatnonzero(~held_out)
    lambdas, chosen = choose_lambda(bags[train], y[train], pooling)
    path = SoftMILPath(lambdas[: chosen + 1], pooling=pooling, tol=1e-3).fit(bags[train], y[train])
    model = path.model(chosen)
    return FoldOutcome(model.decision_function(bags[held_out]), int(path.n_features_[chosen]))


def run(bags: Bags, y: Floats, folds: NDArray[np.int64], pooling: str) -> Result:
    """All seeds and folds of one data set; accuracy and AUC are of all bags' held-out log-odds, seed by seed."""
    begun = time.process_time()
    accuracies, aucs, sizes = [], [], []
    for fold_of_bag in folds:
        log_odds = np.empty(len(y))
        for fold in np.unique(fold_of_bag):
            held_out = fold_of_bag == fold
            outcome = run_fold(bags, y, held_out, pooling)
            log_odds[held_out] = outcome.log_odds
            sizes.append(outcome.n_features)
        accuracies.append(np.mean((log_odds > 0) == (y == 1)))
        aucs.append(roc_auc_score(y, log_odds))
    return Result(
        float(np.mean(accuracies)),
        float(np.std(accuracies)),
        float(np.mean(aucs)),
        float(np.std(aucs)),
        float(np.mean(sizes)),
        time.process_time() - begun,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with musk1.npz and elephant.npz")
    parser.add_argument("--seeds", type=int, default=5, help="how many of the five sets of folds to use")
    arguments = parser.parse_args()
    # Small inner folds separate perfectly at small lambdas; the choice of lambda deals with it.
    warnings.simplefilter("ignore")
    print("| data | pooling | accuracy | AUC | features | CPU s |")
    print("|---|---|---|---|---|---|")
    for name in DATASETS:
        bags, y, folds = read_dataset(arguments.data, name)
        for pooling in POOLINGS:
            result = run(bags, y, folds[: arguments.seeds], pooling)
            print(
                f"| {name} | {pooling} | {result.accuracy:.3f} +- {result.accuracy_spread:.3f} "
                f"| {result.auc:.3f} +- {result.auc_spread:.3f} | {result.n_features:.1f} | {result.seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
