"""Table 1 and the comparisons of results.json, counted again from the tables."""

from __future__ import annotations

from itertools import combinations

import pytest

from overread.report import StudyResults
from overread.study import Run
from study_recount import BOTH, Recount

MODELS = ["soft", "b1", "b2", "boosted"]


def test_table_1_says_the_same(run: Run, results: StudyResults) -> None:
    wanted = [("in_sample", "fp"), ("in_sample", "ignore"), ("out_of_fold", "ignore")]
    assert [(one.source, one.single_reader) for one in results.tables] == wanted
    for entry in results.tables:
        for told in entry.table.models:
            name = told.name.lower()
            column = name if entry.source == "in_sample" else f"{name}_out_of_fold"
            training = Recount(run, name, BOTH, column, single_reader=entry.single_reader)
            test = Recount(run, name, {"test"}, name, single_reader=entry.single_reader)
            thresholds = [training.threshold(target) for target in results.fp_targets]
            rows = told.rows[1]
            assert rows.induced
            assert rows.fp_per_image == pytest.approx([test.fp_per_image(one) for one in thresholds])
            values = [test.sensitivities(one)["gt_sensitivity"] for one in thresholds]
            assert rows.gt_sensitivity.values == pytest.approx(values)
            assert told.n_features == results.model(name).n_features


def test_comparisons_are_of_every_two_models(results: StudyResults) -> None:
    found = [(one.first, one.second, one.single_reader) for one in results.comparisons]
    assert found == [(*pair, how) for how in ("ignore", "fp") for pair in combinations(MODELS, 2)]
    for one in results.comparisons:
        rows = one.points
        assert rows["difference"].to_numpy() == pytest.approx((rows["second"] - rows["first"]).to_numpy())
        assert bool(one.figures) == (one.single_reader == "ignore")
