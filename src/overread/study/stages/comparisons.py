"""Models side by side on the test set: Table 1, and every two of them compared."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from overread.froc import compare, compare_figures, performance_table
from overread.froc.merit.comparison import whole_curve_figures
from overread.models.tuning import count_features
from overread.report.lengths import UNIT_WORDS, name_in_unit
from overread.report.results import Comparison, Table1
from overread.study.models import MODELS
from overread.study.stages.scores import TREATMENTS, MatchedScores
from overread.study.stages.stage import Inputs

__all__ = ["compare_models", "tabulate_performance"]

# What the rows of Table 1 are called that are not those of a test set.
NESTED = "all patients, each unseen (nested cross-validation)"


def tabulate_performance(matched: Mapping[str, MatchedScores], inputs: Inputs) -> list[Table1]:
    """Make Table 1: as in the paper, with single-reader GTs ignored, and with the detector's thresholds."""
    settings = inputs.settings
    wanted = [
        ("in_sample", "fp"),
        ("in_sample", "ignore"),
        ("out_of_fold", settings.hits.single_reader),
    ]
    models = {name: inputs[f"models/{name}.json"] for name in matched}
    titles = {name: MODELS[name].title for name in matched}
    options = settings.evaluation
    nested: dict[str, Any] = {}
    if inputs["cohort"].is_nested:
        nested = {"test_thresholds": [-fp for fp in options.fp_targets], "test_name": NESTED}
    tables = []
    for source, treatment in wanted:
        sets = {titles[name]: one.under(treatment) for name, one in matched.items()}
        table = performance_table(
            {title: (one.training, one.test_at(source)) for title, one in sets.items()},
            n_features={titles[name]: count_features(model) for name, model in models.items()},
            notes={
                titles[name]: f"lambda={model.lam:.3g}"
                for name, model in models.items()
                if hasattr(model, "lam")
            },
            thresholds_from=(
                {title: one.out_of_fold for title, one in sets.items()} if source == "out_of_fold" else None
            ),
            **nested,
            fp_targets=options.fp_targets,
            n_bootstrap=options.n_bootstrap,
            seed=settings.seed,
            level=options.level,
        )
        named = replace(table, rule=name_in_unit(table.rule, UNIT_WORDS[settings.units.unit]))
        tables.append(Table1(source, treatment, named))  # type: ignore[arg-type]
    return tables


def compare_models(matched: Mapping[str, MatchedScores], settings: Any) -> list[Comparison]:
    """Compare every two models on the test set under both treatments; whole curves under the study's own."""
    options = settings.evaluation
    found = []
    for treatment, (first, second) in itertools.product(TREATMENTS, itertools.combinations(matched, 2)):
        one, two = (matched[name].under(treatment).test for name in (first, second))
        draws: dict[str, Any] = {
            "n_bootstrap": options.n_bootstrap,
            "n_permutations": options.n_bootstrap,
            "seed": settings.seed,
        }
        points = compare(one, two, fp_targets=options.fp_targets, **draws).table(options.level)
        is_shown = treatment == settings.hits.single_reader and one.n_gts
        figures = (
            compare_figures(one, two, whole_curve_figures(one), level=options.level, **draws)
            if is_shown
            else ()
        )
        found.append(Comparison(first, second, treatment, points, tuple(figures)))
    return found
