"""Operating points, curves and sizes of results.json, counted again from the tables."""

import math

import numpy as np
import pandas as pd
import pytest

from overread.froc import MEASURES
from overread.report import StudyResults
from overread.study import Run, parse_settings
from overread.study.stages.performance import keep_corners, shown_point
from study_chain import Chain
from study_recount import BOTH, Recount

MODELS = ["soft", "b1", "b2", "boosted"]


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
