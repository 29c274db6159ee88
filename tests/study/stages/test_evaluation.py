"""The numbers of results.json, made again from the tables."""

import math
import socket
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from overread.files import to_json
from overread.froc import MEASURES
from overread.report import StudyResults
from overread.study import Run, parse_settings
from overread.study._settings import leave_out_unused
from overread.study._store import json_bytes
from overread.study.stages.performance import keep_corners, shown_point
from study_chain import Chain
from study_recount import BOTH, Recount

MODELS = ["soft", "b1", "b2", "boosted"]


def test_weights_and_intercept_give_the_scores(run: Run, results: StudyResults) -> None:
    features, scores = run.features(), run.table("scores")
    matrix = features.drop(columns=["image_id", "candidate_id"]).astype(float)
    inside = in_parts(run, features, BOTH)
    for model in results.models[:3]:
        assert len(model.features) >= 1
        by_hand = sum((one.weight * matrix[one.name] for one in model.features), start=0.0) + model.intercept
        assert scores[model.name].to_numpy() == pytest.approx(by_hand.to_numpy(), rel=1e-9, abs=1e-9)
        for one in model.features:
            deviation = matrix.loc[inside, one.name].std(ddof=0)
            assert one.importance == pytest.approx(one.weight * deviation, rel=1e-6)
        importance = [abs(one.importance) for one in model.features]
        assert importance == sorted(importance, reverse=True)


def test_a_model_without_weights_has_shares_of_the_gain(results: StudyResults) -> None:
    boosted = results.model("boosted")
    assert all(math.isnan(one.weight) for one in boosted.features)
    assert math.isnan(boosted.intercept)
    assert sum(one.importance for one in boosted.features) == pytest.approx(1.0)
    assert len(boosted.features) == boosted.n_features


def in_parts(run: Run, table: pd.DataFrame, parts: set[str]) -> np.ndarray:
    split = run.table("images").set_index("image_id")["split"]
    return table["image_id"].map(split).isin(parts).to_numpy()


def test_reader_statistics_carry_codes(results: StudyResults, chain: Chain) -> None:
    readings = pd.read_csv(chain.study / "readings.csv")
    codes = pd.read_csv(chain.study / "reader_codes.csv").set_index("code")["reader_id"]
    readers = results.readers.readers
    assert readers["reader_id"].tolist() == [f"R{number}" for number in range(1, len(codes) + 1)]
    for row in readers.to_dict("records"):
        assert row["n_readings"] == int((readings["reader_id"] == codes[row["reader_id"]]).sum())
    assert set(results.model("b2").reader_importance["reader_id"]) <= set(readers["reader_id"])


def test_alone_the_stage_gives_the_bytes_of_the_run(chain: Chain, results: StudyResults) -> None:
    (made,) = chain.call("results").values()
    content = chain.folder.path("results.json").read_bytes()
    assert json_bytes(to_json(made)) == content
    assert json_bytes(to_json(results)) == content


def test_results_hold_no_time_no_machine_and_no_path(chain: Chain) -> None:
    text = chain.folder.path("results.json").read_text()
    for word in (
        socket.gethostname(),
        "written_at",
        "locked_at",
        "evaluated_at",
        "started",
        str(chain.study),
    ):
        assert word not in text


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("treatment", ["ignore", "fp"])
def test_operating_points_and_test_figures(
    run: Run, results: StudyResults, model: str, treatment: str
) -> None:
    counted = next(one for one in results.model(model).counted if one.single_reader == treatment)
    locked = counted.locked
    test = Recount(run, model, {"test"}, model, single_reader=treatment)
    for source, column in (("in_sample", model), ("out_of_fold", f"{model}_out_of_fold")):
        training = Recount(run, model, BOTH, column, single_reader=treatment)
        for target in results.fp_targets:
            rows = locked[(locked["source"] == source) & (locked["fp_target"] == target)]
            row = rows.set_index("measure")["estimate"]
            threshold = training.threshold(target)
            assert rows["threshold"].iloc[0] == threshold
            assert row["fp_per_image"] == pytest.approx(test.fp_per_image(threshold), abs=1e-12)
            for measure, value in test.sensitivities(threshold).items():
                assert row[measure] == pytest.approx(value, abs=1e-12)
    band = counted.test.band
    for target in results.fp_targets:
        rows = band[band["fp_target"] == target].set_index("measure")
        for measure, value in test.sensitivities(test.threshold(target)).items():
            assert rows.loc[measure, "estimate"] == pytest.approx(value, abs=1e-12)
            assert rows.loc[measure, "lower"] <= value <= rows.loc[measure, "upper"]
    assert counted.test.n_gts == len(test.best)
    assert counted.test.n_images == len(test.images)


@pytest.mark.parametrize("model", MODELS)
def test_the_curve_keeps_every_step(run: Run, results: StudyResults, model: str) -> None:
    test = Recount(run, model, {"test"}, model, single_reader="ignore")
    curve = results.model(model).counted[0].test.curve
    assert np.all(np.diff(curve["fp_per_image"]) >= 0)
    for row in curve.dropna().to_dict("records"):
        assert row["fp_per_image"] == pytest.approx(test.fp_per_image(row["threshold"]), abs=1e-12)
        assert row["gt_sensitivity"] == pytest.approx(
            test.sensitivities(row["threshold"])["gt_sensitivity"], abs=1e-12
        )
    levels = {
        test.sensitivities(score)["gt_sensitivity"] for score in test.best.values() if score > -math.inf
    }
    assert {round(level, 12) for level in levels} <= {round(level, 12) for level in curve["gt_sensitivity"]}


def test_sizes_lose_no_object(results: StudyResults) -> None:
    for model in results.models:
        shown, other = model.counted
        assert (shown.single_reader, other.single_reader) == ("ignore", "fp")
        assert shown.by_size["n_gts"].sum() == shown.test.n_gts
        assert other.by_size.empty


def test_corners_keep_the_step_curve() -> None:
    random = np.random.default_rng(0)
    steps = np.cumsum(random.random((200, 4)) < 0.05, axis=0) / 20
    curve = pd.DataFrame(steps, columns=list(MEASURES)).assign(fp_per_image=np.arange(200) / 50)
    corners = keep_corners(curve)
    assert 2 < len(corners) < 80
    assert corners.index[0] == 0
    assert corners.index[-1] == 199
    # Drawn as steps, the corners are the curve: between two corners nothing changes.
    filled = corners.reindex(curve.index).ffill()
    assert np.array_equal(filled[list(MEASURES)], curve[list(MEASURES)])


def test_a_curve_of_one_point() -> None:
    curve = pd.DataFrame({name: [np.nan] for name in MEASURES})
    assert len(keep_corners(curve)) == 1


@pytest.mark.parametrize(
    ("own", "targets", "expected"),
    [
        ({}, [0.5, 2.0], 0.5),
        ({}, [0.25, 0.75, 4.0], 0.25),
        ({}, [3.0], 3.0),
        ({"operating_fp": 1.0}, [0.5, 1.0, 2.0], 1.0),
    ],
)
def test_the_point_that_the_page_speaks_of(
    own: dict[str, float], targets: list[float], expected: float
) -> None:
    settings = parse_settings({"evaluation": own | {"fp_targets": targets}})
    assert settings.evaluation.find_operating_fp() == expected


def test_the_shown_point_is_locked_out_of_fold(chain: Chain, run: Run) -> None:
    assert shown_point(run.matched("b1"), chain.settings) == (0.5, run.threshold("b1", 0.5))


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


def test_counts_of_the_study(run: Run, results: StudyResults, chain: Chain) -> None:
    marks, readings = pd.read_csv(chain.study / "marks.csv"), pd.read_csv(chain.study / "readings.csv")
    study = results.study
    assert (study.n_images, study.n_patients) == (36, 18)
    assert (study.n_marks, study.n_readings) == (len(marks), len(readings))
    assert study.n_readers == readings["reader_id"].nunique()
    truth, images = run.table("truth"), run.table("images")
    assert study.n_golden == int((truth["n_readers"] >= 2).sum())
    for part in study.splits:
        inside = images.loc[images["split"] == part.name, "image_id"]
        assert part.n_images == len(inside)
        assert part.n_golden == int((truth["image_id"].isin(inside) & (truth["n_readers"] >= 2)).sum())
    patients = [set(images.loc[images["split"] == part.name, "patient_id"]) for part in study.splits]
    assert all(one.isdisjoint(other) for one, other in combinations(patients, 2))


def test_settings_are_those_that_matter(chain: Chain, results: StudyResults) -> None:
    plain = leave_out_unused(chain.settings.to_plain())
    assert results.settings == {
        name: value for name, value in plain.items() if name not in ("limits", "execution", "name")
    }


def test_quarantined_images_are_told(chain: Chain) -> None:
    lost = [{"image_id": "case 099", "kind": "image", "reason": "is not an image"}]
    (made,) = chain.call("results", quarantined=lost).values()
    assert to_json(made.study.quarantined) == lost


def test_decisions_of_a_chair_are_counted(chain: Chain, results: StudyResults) -> None:
    assert results.study.decisions == {}
    said = pd.DataFrame({"decision": ["lesion", "not", "lesion", "open"]})
    (made,) = chain.call("results", **{"input/adjudication": said}).values()
    assert made.study.decisions == {"lesion": 2, "not": 1, "unsure": 0, "open": 1}
