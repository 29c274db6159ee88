from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.report.froc_explorer import BOTTOM, LEFT, RIGHT, TOP, lay_out_explorer


@pytest.fixture(scope="module")
def explorer(results):
    return lay_out_explorer(results)


def values(points, max_fp):
    """Undo the places: FP per image and share of each point."""
    places = np.array([[float(part) for part in point.split(",")] for point in points.split()])
    fp = (places[:, 0] - LEFT) / (RIGHT - LEFT) * max_fp
    return fp, (BOTTOM - places[:, 1]) / (BOTTOM - TOP)


def test_the_slider_takes_every_twentieth_and_leaves_the_rest_of_the_grid(explorer):
    assert explorer.steps == pytest.approx(np.linspace(0, 3, 61))
    assert explorer.steps[explorer.start] == 1.0


def test_numbers_at_the_steps_are_those_of_the_band(explorer, results):
    for at, model in zip(explorer.models, results.models, strict=True):
        band = model.counted[0].test.band
        for measure in ("gt_sensitivity", "image_sensitivity"):
            rows = band[(band["measure"] == measure) & (band["fp_target"] <= 3)]
            for name, column in (("", "estimate"), ("_lower", "lower"), ("_upper", "upper")):
                assert at[measure + name] == pytest.approx(rows[column].to_numpy(), rel=1e-5)


@pytest.mark.parametrize(("number", "measure"), [(0, "gt_sensitivity"), (1, "image_sensitivity")])
def test_a_line_runs_through_the_curve(explorer, results, number, measure):
    counted = results.models[0].counted[0]
    lines = [curve for curve in explorer.panels[number].curves if curve.colour == explorer.colours["Soft"]]
    assert [line.is_test for line in lines] == [False, True]
    for line, part in zip(lines, (counted.training, counted.test), strict=True):
        fp, share = values(line.points, explorer.max_fp)
        assert (np.diff(fp) >= -1e-9).all()
        inside = part.curve[part.curve["fp_per_image"] <= explorer.max_fp]
        assert share.max() == pytest.approx(inside[measure].max(), abs=0.002)
        for row in inside.iloc[1:].itertuples():
            reached = share[fp <= row.fp_per_image + 0.006].max()
            assert reached >= getattr(row, measure) - 0.002
        assert fp[-1] == pytest.approx(min(explorer.max_fp, part.curve["fp_per_image"].max()), abs=0.01)


def test_the_band_encloses_the_estimates_of_the_test_set(explorer, results):
    band = results.models[0].counted[0].test.band
    rows = band[(band["measure"] == "gt_sensitivity") & (band["fp_target"] <= explorer.max_fp)]
    (outline,) = [
        curve.band
        for curve in explorer.panels[0].curves
        if curve.band and curve.colour == explorer.colours["Soft"]
    ]
    fp, share = values(outline, explorer.max_fp)
    n = len(rows)
    assert fp[:n] == pytest.approx(rows["fp_target"].to_numpy(), abs=0.01)
    assert share[:n] == pytest.approx(rows["upper"].to_numpy(), abs=0.002)
    assert share[n:][::-1] == pytest.approx(rows["lower"].to_numpy(), abs=0.002)


def test_diamonds_stand_at_the_targets_in_training_and_at_the_induced_fp_on_test(explorer, results):
    counted = results.models[0].counted[0]
    own = [one for one in explorer.panels[0].diamonds if one.colour == explorer.colours["Soft"]]
    locked = counted.locked[counted.locked["source"] == "in_sample"]
    for is_test, rows in ((False, counted.training.band), (True, locked)):
        at = rows[rows["fp_target"].isin(results.fp_targets)]
        wanted = at[at["measure"] == "fp_per_image"]["estimate"].to_numpy()
        wanted = wanted[wanted <= explorer.max_fp]
        places = [(one.x - LEFT) / (RIGHT - LEFT) * explorer.max_fp for one in own if one.is_test == is_test]
        assert places == pytest.approx(wanted, abs=0.01)


def test_numbers_that_do_not_exist_are_none_and_leave_no_band(results):
    model = results.models[0]
    test = model.counted[0].test
    unknown = test.band.assign(estimate=np.nan, lower=np.nan, upper=np.nan, threshold=np.inf)
    is_fp = test.band["measure"] == "fp_per_image"
    unknown.loc[is_fp, "estimate"] = test.band.loc[is_fp, "estimate"]
    curve = test.curve.assign(gt_sensitivity=np.nan, image_sensitivity=np.nan)
    counted = replace(model.counted[0], test=replace(test, band=unknown, curve=curve))
    explorer = lay_out_explorer(replace(results, models=[replace(model, counted=[counted])]))
    assert set(explorer.models[0]["gt_sensitivity"]) == {None}
    assert set(explorer.models[0]["threshold"]) == {None}
    assert [curve.band for curve in explorer.panels[0].curves] == ["", ""]


def test_ticks_are_few_however_long_the_axis_is(results):
    explorer = lay_out_explorer(replace(results, fp_targets=[0.5, 1.5, 3.0, 8.0]))
    assert explorer.max_fp == pytest.approx(9.36)
    assert [label for _, label in explorer.panels[0].x_ticks] == ["0", "2", "4", "6", "8"]
