"""Tables of docs/explanation/baselines.md: ``python -m benchmarks.baseline_checks screening|importance|public``.

screening    B1 with and without screening, trained on a third of 60,000 x 1150 generated rows, tested on the rest
importance   Spearman's correlation of a reader's weight in B2 with the skill planted in simulated cohorts
public       ten-fold accuracy and AUC of B1 on MUSK1 and Elephant (``--data`` names their folder)

Each writes a Markdown table to standard output. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr, t
from sklearn.metrics import roc_auc_score

from benchmarks import problem
from benchmarks.mil_benchmarks import DATASETS, read_dataset
from overread.bags import Bags, make_bags, reader_bags
from overread.models import RVMMIL, ReaderMixture
from overread.simulate import candidate_cohort
from overread.truth import merge_marks

SCREENS = (None, 400, 200)
SCORES = ("in_sample", "out_of_fold")


def screening(*, rows: int) -> Iterator[str]:
    yield "| screen | processor s | features | log evidence | gain left out | test KL per bag | test AUC |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    data = problem.generate(rows, 1150, seed=7)
    y = (data.bag_labels() >= 2 / 8).astype(np.float64)
    bags = Bags(np.ascontiguousarray(data.X), data.offsets)
    train, test = np.split(np.arange(len(bags)), [len(bags) // 3])
    training, held_out = bags[train], bags[test]
    for screen in SCREENS:
        start = time.process_time()
        model = RVMMIL(screen=screen).fit(training, y[train])
        seconds, report = time.process_time() - start, model.fit_report_
        area = roc_auc_score(y[test], model.decision_function(held_out))
        yield (
            f"| {screen or 'off'} | {seconds:.1f} | {report.n_features} | {report.log_evidence[-1]:.1f} "
            f"| {report.left_out_gain:.1f} | {-model.score(held_out, y[test]):.4f} | {area:.4f} |"
        )


def importance(*, cohorts: int, images: int) -> Iterator[str]:
    yield "| scores | mean, 95 % interval of the mean | range |"
    yield "|---|---|---|"
    for scores in SCORES:
        values = [rank_correlation(seed, images=images, scores=scores) for seed in range(cohorts)]
        low, high = mean_interval(values)
        yield (
            f"| {scores} | {np.mean(values):.2f} ({low:.2f} to {high:.2f}) "
            f"| {min(values):.2f} to {max(values):.2f} |"
        )


def rank_correlation(seed: int, *, images: int, scores: str) -> float:
    """Spearman's correlation, over the readers of one simulated cohort, of weight and planted skill."""
    cohort = candidate_cohort(images, seed=seed)
    truth = merge_marks(cohort.marks, cohort.readings)
    tables = (cohort.candidates, cohort.features)
    bags = make_bags(*tables, truth, labels="golden", images=cohort.images)
    readers = reader_bags(*tables, cohort.marks, cohort.readings, images=cohort.images)
    # Some readers' evidence changes by just the tolerance after the default of 1,000 rounds.
    mixture = ReaderMixture(scores=scores, n_bootstrap=0, max_iter=3000)
    model = mixture.fit(bags, reader_bags=readers)
    # The simulation gives reader R1 the least skill and the last reader the most.
    return float(spearmanr(model.importance_, np.arange(len(model.importance_)))[0])


def mean_interval(values: list[float]) -> tuple[float, float]:
    """95 % interval of the mean over cohorts, by Student's t."""
    reach = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return float(np.mean(values) - reach), float(np.mean(values) + reach)


def public(*, folder: Path, repetitions: int) -> Iterator[str]:
    yield "| data | accuracy | AUC | features | fits converged |"
    yield "|---|---:|---:|---:|---:|"
    for name in DATASETS:
        bags, y, folds = read_dataset(folder, name)
        accuracies, areas, reports = [], [], []
        for fold_of_bag in folds[:repetitions]:
            z = np.empty(len(y))
            for fold in np.unique(fold_of_bag):
                held_out = fold_of_bag == fold
                model = RVMMIL().fit(bags[~held_out], y[~held_out])
                z[held_out] = model.decision_function(bags[held_out])
                reports.append(model.fit_report_)
            accuracies.append(np.mean((z > 0) == (y == 1)))
            areas.append(roc_auc_score(y, z))
        size = np.mean([report.n_features for report in reports])
        settled = sum(report.converged for report in reports)
        yield (
            f"| {name} | {np.mean(accuracies):.3f} | {np.mean(areas):.3f} | {size:.1f} "
            f"| {settled} of {len(reports)} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=("screening", "importance", "public"))
    parser.add_argument("--rows", type=int, default=60_000, help="screening: rows generated")
    parser.add_argument("--cohorts", type=int, default=10, help="importance: cohorts, seeds 0, 1, ...")
    parser.add_argument("--images", type=int, default=600, help="importance: images of a cohort")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/mil"), help="public: folder")
    parser.add_argument("--repetitions", type=int, default=5, help="public: how many of the sets of folds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = {
        "screening": lambda: screening(rows=arguments.rows),
        "importance": lambda: importance(cohorts=arguments.cohorts, images=arguments.images),
        "public": lambda: public(folder=arguments.data, repetitions=arguments.repetitions),
    }
    for line in lines[arguments.table]():
        print(line, flush=True)


if __name__ == "__main__":
    main()
