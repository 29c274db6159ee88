"""Is the figure of a nested run right? Simulated small studies against many unseen patients.

    python -m benchmarks.nested [--studies 100] [--images 60]

One population of candidates without pixels (`overread.simulate.candidate_cohort`), of which small studies are drawn;
all others are patients that nobody has seen. Of each study the nested figure at 1 FP per image is set against what the
very detectors of its outer folds find in them at their locked thresholds: the optimism. Beside it, what one test third
of the same study says. With shuffled features nothing can be found but by chance. Seeds are fixed in advance.
``docs/reference/study.md`` has the figures; ``tests/study/stages/test_nested.py`` asserts them on fewer studies.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from overread._text import markdown_table
from overread.froc import Counting, Matching, bootstrap, performance_at
from overread.simulate import candidate_cohort
from overread.study import KEYS, MODELS, Cohort, Features, Fold, Settings, Split, make_folds, parse_settings
from overread.study.stages.nested import do_outer_fold
from overread.study.stages.scores import name_scale
from overread.truth import candidate_hits, merge_marks

FP_TARGET = 1.0
SCALE = name_scale("out_of_fold", "ignore")
# So many that a sensitivity is known to about one point.
POPULATION = 2000
SETTINGS = parse_settings(
    {
        "models": {"wanted": ["soft"], "folds": 3, "choice_fp_targets": [FP_TARGET]},
        "soft": {"normalizations": ["bags"], "n_lambdas": 8},
    }
)


@dataclass(frozen=True)
class Figures:
    """Sensitivity at 1 FP per image of one study: nested with its interval, and in unseen patients; and FP there."""

    nested: float
    lower: float
    upper: float
    fp_per_image: float
    unseen: float
    unseen_fp: float

    @property
    def covers(self) -> bool:
        """Whether the interval holds what unseen patients say."""
        return self.lower <= self.unseen <= self.upper


class Matrix:
    """Features in memory."""

    def __init__(self, values: np.ndarray) -> None:
        self._values, self.shape = values, values.shape

    def take(self, rows: Any, columns: Any = None) -> np.ndarray:
        """Return some rows, of some columns."""
        return np.asfortranarray(self._values[rows] if columns is None else self._values[rows][:, columns])


@cache
def draw_population(n_images: int = POPULATION, *, shuffled: bool = False) -> Cohort:
    """Draw all images; ``shuffled`` gives each candidate the features of another."""
    drawn = candidate_cohort(n_images, n_features=40, n_informative=6, seed=14)
    truth = merge_marks(drawn.marks, drawn.readings)
    values = drawn.features.drop(columns=KEYS).to_numpy(np.float64)
    if shuffled:
        values = np.random.default_rng(0).permutation(values)
    settings = Settings()
    rule = settings.hits.hit_rule()
    names = tuple(name for name in drawn.features if name not in KEYS)
    store: Any = Matrix(values)
    return Cohort(
        images=drawn.images.assign(split=np.where(np.arange(n_images) % 2, "training", "validation")),
        readings=drawn.readings,
        marks=drawn.marks,
        truth=truth,
        candidates=drawn.candidates,
        features=Features(
            names, store, np.arange(len(values)), pd.MultiIndex.from_frame(drawn.candidates[KEYS])
        ),
        hits=candidate_hits(drawn.candidates, truth, rule),
        counting=Counting(rule=rule, single_reader="ignore", repeats=settings.hits.repeats),
        n_max=int(drawn.readings["image_id"].value_counts().max()),
        is_nested=True,
    )


def draw_study(population: Cohort, n_images: int, seed: int) -> Split:
    """Draw a small study; all other patients of the population are those that nobody has seen."""
    ids = population.images["image_id"].to_numpy()
    return population.of_images(np.random.default_rng(seed).choice(ids, n_images, replace=False))


def measure_study(population: Cohort, study: Split, seed: int, *, n_bootstrap: int = 500) -> Figures:
    """Do a study's outer folds; each scores its own patients and all that are not in the study."""
    settings = SETTINGS.model_copy(update={"seed": seed})
    ids = population.images["image_id"]
    unseen = population.of_images(ids[~ids.isin(study.images["image_id"])])
    tables, elsewhere = [], []
    for fold in make_folds(study, settings.evaluation.outer_folds, seed):
        others = population.of_images(ids[~ids.isin(fold.rest.images["image_id"])])
        table, _, _ = do_outer_fold(Fold(others, fold.rest), MODELS["soft"], settings)
        tables.append(table[table["image_id"].isin(fold.held_out.images["image_id"])])
        elsewhere.append(measure_at(match_table(unseen, table)))
    pooled = match_table(study, pd.concat(tables))
    found = bootstrap(pooled, thresholds=[-FP_TARGET], n_bootstrap=n_bootstrap, seed=seed).intervals(0.95)
    row = found[found["measure"] == "gt_sensitivity"].iloc[0]
    there = np.mean(elsewhere, axis=0)
    return Figures(row["estimate"], row["lower"], row["upper"], measure_at(pooled)[1], *there)


def match_table(split: Split, table: pd.DataFrame) -> Matching:
    """Match the places of a table on the FP scale."""
    return split.matching.with_scores(split.candidates[KEYS].merge(table, on=KEYS)[SCALE].to_numpy())


def measure_at(matching: Matching) -> tuple[float, float]:
    """Return sensitivity and FP per image at the thresholds locked for the target."""
    point = performance_at(matching, [-FP_TARGET]).iloc[0]
    return float(point["gt_sensitivity"]), float(point["fp_per_image"])


def measure_test_third(study: Split, seed: int) -> float:
    """Return what one test third of a study says, its detector made of the rest."""
    fold = make_folds(study, 3, seed)[0]
    table, _, _ = do_outer_fold(fold, MODELS["soft"], SETTINGS.model_copy(update={"seed": seed}))
    return measure_at(match_table(fold.held_out, table))[0]


def tell_chance(split: Split) -> float:
    """Sensitivity of scores that say nothing, at the target: the share of all shown marks that are shown there."""
    blind = split.matching.with_scores(np.random.default_rng(1).normal(size=len(split.candidates)))
    return float(bootstrap(blind, fp_targets=[FP_TARGET], n_bootstrap=1).points["gt_sensitivity"].iloc[0])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--images", type=int, default=60)
    arguments = parser.parse_args()
    rows = []
    for shuffled in (False, True):
        population = draw_population(shuffled=shuffled)
        studies = [draw_study(population, arguments.images, seed) for seed in range(arguments.studies)]
        found = [measure_study(population, study, seed) for seed, study in enumerate(studies)]
        nested, there = (np.array([getattr(one, name) for one in found]) for name in ("nested", "unseen"))
        thirds = np.array([measure_test_third(study, seed) for seed, study in enumerate(studies)])
        golden = np.mean([int(study.truth["golden"].sum()) for study in studies])
        rows.append(
            [
                "shuffled" if shuffled else "simulated",
                f"{golden:.0f}",
                f"{100 * there.mean():.1f}",
                f"{100 * nested.mean():.1f}",
                f"{100 * (nested - there).mean():+.1f} ({100 * (nested - there).std() / len(nested) ** 0.5:.1f})",
                f"{100 * (nested - there).std():.1f}",
                f"{100 * np.nanstd(thirds - there):.1f}",
                f"{100 * np.mean([one.covers for one in found]):.0f}",
                f"{np.mean([one.fp_per_image for one in found]):.2f}",
                f"{np.mean([one.unseen_fp for one in found]):.2f}",
                f"{100 * tell_chance(population):.1f}",
            ]
        )
    header = [
        "features",
        "golden",
        "unseen %",
        "nested %",
        "difference (its error)",
        "spread",
        "spread of a test third",
    ]
    print(markdown_table([*header, "interval covers %", "FP nested", "FP unseen", "chance %"], rows))


if __name__ == "__main__":
    main()
