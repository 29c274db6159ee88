"""Table 1 and the comparisons of results.json, counted again from the tables."""

from itertools import combinations

import pytest

from overread.report import StudyResults
from overread.study import Run
from study_recount import BOTH, Recount

MODELS = ["soft", "b1", "b2", "boosted"]


OWN = {"single_reader": "ignore", "repeats": "suppress"}
PAPER = {"single_reader": "fp", "repeats": "count"}


@pytest.mark.parametrize("which", ["own", "paper", "paper, all"])
def test_table_1_says_the_same(which: str, run: Run, results: StudyResults) -> None:
    counting = OWN if which == "own" else PAPER
    table = {"own": results.table, "paper": results.paper.of_reached, "paper, all": results.paper.of_all}[
        which
    ]
    end = "_reached" if which == "paper" else ""
    for told in table.models:
        name = told.name.lower()
        fitted = Recount(run, name, BOTH, name, **counting)
        locked = Recount(run, name, BOTH, f"{name}_out_of_fold", **counting) if which == "own" else fitted
        test = Recount(run, name, {"test"}, name, **counting)
        thresholds = [locked.threshold(target) for target in results.fp_targets]
        assert [rows.induced for rows in told.rows] == [which == "own", True]
        for rows, counted in zip(told.rows, (fitted, test), strict=True):
            assert rows.fp_per_image == pytest.approx([counted.fp_per_image(one) for one in thresholds])
            for measure in ("gt_sensitivity", "image_sensitivity"):
                values = [counted.sensitivities(one)[f"{measure}{end}"] for one in thresholds]
                assert getattr(rows, measure).values == pytest.approx(values)
            assert rows.n_gts == len(counted.reached if end else counted.best)
        assert told.n_features == results.model(name).n_features


def test_the_curves_of_the_paper_pass_through_its_table(results: StudyResults) -> None:
    """At the threshold of a row, on both sets, for all and for reached GTs."""
    for end, table in (("", results.paper.of_all), ("_reached", results.paper.of_reached)):
        for told in table.models:
            for curves, rows in zip((results.paper.training, results.paper.test), told.rows, strict=True):
                curve = curves[told.name]
                for fp, share in zip(rows.fp_per_image, rows.gt_sensitivity.values, strict=True):
                    before = curve[curve["fp_per_image"] <= fp + 1e-12]
                    assert before[f"gt_sensitivity{end}"].iloc[-1] == pytest.approx(share)


def test_comparisons_are_of_every_two_models(results: StudyResults) -> None:
    found = [(one.first, one.second, one.single_reader) for one in results.comparisons]
    assert found == [(*pair, how) for how in ("ignore", "fp") for pair in combinations(MODELS, 2)]
    for one in results.comparisons:
        rows = one.points
        assert rows["difference"].to_numpy() == pytest.approx((rows["second"] - rows["first"]).to_numpy())
        assert bool(one.figures) == (one.single_reader == "ignore")
        gts = rows[rows["measure"] == "gt_sensitivity"]
        assert one.mean.difference == pytest.approx(gts["difference"].mean())
        # The error of a mean is not larger than the mean of the errors.
        widths = (gts["upper"] - gts["lower"]).mean()
        assert one.mean.upper - one.mean.lower <= widths + 1e-12
