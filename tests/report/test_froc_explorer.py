from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.report import Headline
from overread.report._figures import BOTTOM, LEFT, NAME_GAP, RIGHT, TOP, lay_out_explorer


@pytest.fixture(scope="module")
def explorer(results):
    return lay_out_explorer(results)


def values(points, max_fp):
    """Undo the places: FP per image and share of each point."""
    places = np.array([[float(part) for part in point.split(",")] for point in points.split()])
    fp = (places[:, 0] - LEFT) / (RIGHT - LEFT) * max_fp
    return fp, (BOTTOM - places[:, 1]) / (BOTTOM - TOP)


def test_the_slider_takes_every_twentieth_and_leaves_the_rest_of_the_grid(explorer, results):
    assert explorer.steps == pytest.approx(np.linspace(0, 3, 61))
    assert explorer.steps[explorer.start] == results.verdict.fp_target


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
    locked = counted.locked[counted.locked["source"] == "out_of_fold"]
    for is_test, rows in ((False, counted.training.band), (True, locked)):
        at = rows[rows["fp_target"].isin(results.fp_targets)]
        wanted = at[at["measure"] == "fp_per_image"]["estimate"].to_numpy()
        wanted = wanted[wanted <= explorer.max_fp]
        places = [(one.x - LEFT) / (RIGHT - LEFT) * explorer.max_fp for one in own if one.is_test == is_test]
        assert places == pytest.approx(wanted, abs=0.01)


def test_band_and_diamonds_are_the_detector_s_alone(explorer, results):
    assert explorer.detector == "Soft"
    other = explorer.colours["Noisy"]
    for panel in explorer.panels:
        assert {curve.colour for curve in panel.curves if curve.is_detector} == {explorer.colours["Soft"]}
        assert not any(curve.band for curve in panel.curves if curve.colour == other or not curve.is_test)
        assert not any(diamond.colour == other for diamond in panel.diamonds)


def test_what_the_folds_chose_has_a_curve_of_its_own_where_they_differ(results):
    counted = results.models[1].counted[0]
    alike, mixed = (
        lay_out_explorer(replace(results, headline=Headline("nested", chosen, counted)))
        for chosen in (["soft", "soft"], ["soft", "noisy"])
    )
    assert list(alike.colours) == ["Soft", "Noisy"]
    assert list(mixed.colours) == ["Soft", "Noisy", "model chosen per fold"]
    assert mixed.detector == "model chosen per fold"
    assert mixed.models[2] == mixed.models[1]


def test_every_reader_has_a_name_that_covers_no_other(explorer, results):
    judged = results.reader_points
    points, images = (panel.readers for panel in explorer.panels)
    assert images == []
    assert sorted(point.name for point in points) == sorted(judged["reader_id"])
    heights = [point.name_y for point in points]
    assert np.diff(heights).min() >= NAME_GAP[1] - 0.11  # places are rounded to 0.1
    assert min(heights) >= TOP
    assert max(heights) <= BOTTOM
    assert all(point.name_x > max(one.x for one in points) for point in points)


def test_names_of_many_readers_at_one_place_stay_in_the_frame(results):
    readers = pd.concat([results.reader_points] * 6).assign(sensitivity=0.01, fp_per_image=0.4)
    crowd = lay_out_explorer(replace(results, reader_points=readers))
    heights = [point.name_y for point in crowd.panels[0].readers]
    assert len(heights) == len(readers)
    assert np.diff(heights).min() > 0
    assert TOP <= min(heights) < max(heights) <= BOTTOM


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
