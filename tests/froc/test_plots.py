"""What the figures show, read back from their artists; how they are written."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from overread._plots import save_figure
from overread.errors import StorageError, UsageError
from overread.froc import (
    FP_TARGETS,
    AlphaRule,
    Matching,
    PathModels,
    ScoredSplit,
    SettingChoice,
    afroc_curve,
    calibration,
    case_ratings,
    choose_alpha,
    match_detections,
    obuchowski_rockette,
    performance_at,
    plot_alpha_choice,
    plot_calibration,
    plot_froc,
    plot_reader_study,
    plot_setting_choices,
    sensitivity_at,
)
from overread.froc import froc_curve as curve_of
from overread.froc._plots import plot_afroc

RED, BLACK, BLUE = "#d55e00", "#000000", "#0072b2"


def simulated(seed, n_images=40):
    rng = np.random.default_rng(seed)
    gt_images = np.repeat(np.arange(n_images // 2), 2)
    fp_images = np.repeat(np.arange(n_images), 6)
    return Matching.from_events(
        n_images=n_images,
        fp_scores=rng.normal(size=len(fp_images)),
        fp_images=fp_images,
        gt_scores=rng.normal(1, 1, len(gt_images)),
        gt_images=gt_images,
    )


def diamonds(axes):
    return [line for line in axes.lines if line.get_marker() == "D"]


def chosen_lambda():
    """Two sets in which each image has a lesion under its first candidate."""
    alphas, sets = np.array([0.01, 0.03, 0.1]), []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        ids = [f"{i:02d}" for i in range(30)]
        truth = pd.DataFrame({"image_id": ids, "truth_id": "1", "x_mm": 50.0, "y_mm": 50.0})
        truth = truth.assign(semi_major_mm=6.0, semi_minor_mm=6.0, angle_deg=0.0, golden=True)
        rows = [(i, 50.0, 50.0) for i in ids] + [(i, 150.0, 20.0 * k) for i in ids for k in range(3)]
        candidates = pd.DataFrame(rows, columns=["image_id", "x_mm", "y_mm"])
        scores = rng.normal(size=(len(rows), 3))
        scores[:30] += 2
        sets.append(
            (
                match_detections(candidates, truth, pd.DataFrame({"image_id": ids}), scores=scores[:, 0]),
                scores,
            )
        )
    return choose_alpha(
        PathModels(alphas, [30, 20, 10]),
        ScoredSplit(*sets[0]),
        ScoredSplit(*sets[1]),
        AlphaRule(tolerance=1, max_gap=1),
        n_bootstrap=20,
    )


def test_figure_4_has_the_papers_colours_dashes_and_diamonds():
    models = {name: (simulated(seed), simulated(seed + 10)) for seed, name in enumerate(["Soft", "B1", "B2"])}
    figure = plot_froc(models, n_bootstrap=20)
    top, bottom = figure.axes
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("Sensitivity", "Image sensitivity")
    for axes, measure in ((top, "gt_sensitivity"), (bottom, "image_sensitivity")):
        curves = [line for line in axes.lines if line.get_marker() in ("None", None)]
        styles = [(to_hex(line.get_color()), line.get_linestyle()) for line in curves]
        assert styles == [(c, s) for c in (RED, BLACK, BLUE) for s in ("-", "--")]
        widths = [line.get_linewidth() for line in curves]
        assert min(widths[::2]) > max(widths[1::2])
        assert len(axes.collections) == 3
        for (training, test), own, carried in zip(
            models.values(), diamonds(axes)[::2], diamonds(axes)[1::2], strict=True
        ):
            expected = sensitivity_at(curve_of(training), FP_TARGETS)
            np.testing.assert_allclose(own.get_ydata(), expected[measure])
            induced = performance_at(test, expected["threshold"])
            np.testing.assert_allclose(carried.get_xdata(), induced["fp_per_image"])
            np.testing.assert_allclose(carried.get_ydata(), induced[measure])


def test_figure_4_of_one_set_without_bands():
    top = plot_froc({"theirs": (simulated(1), None)}, n_bootstrap=0, fp_targets=[1.0]).axes[0]
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["theirs"]
    assert len(top.collections) == 0


def test_figure_3_shows_both_sensitivities_and_the_choice():
    choice = chosen_lambda()
    figure = plot_alpha_choice(choice)
    assert len(figure.axes) == 8
    upper, other, lower, _, counts, _, last, _ = figure.axes
    assert (upper.get_title(), other.get_title()) == ("0.5 FP per image", "1 FP per image")
    part = choice.table[choice.table["fp_target"] == 0.5]
    drawn = {line.get_label(): line for line in upper.lines}
    for measure, name, colour in (
        ("gt_sensitivity", "Sensitivity", RED),
        ("image_sensitivity", "Image sensitivity", BLUE),
    ):
        training, validation = drawn[f"{name}, training"], drawn[f"{name}, validation"]
        np.testing.assert_allclose(training.get_ydata(), part[f"training_{measure}"])
        np.testing.assert_allclose(validation.get_ydata(), part[f"validation_{measure}"])
        assert training.get_linewidth() > validation.get_linewidth()
        assert (validation.get_linestyle(), to_hex(validation.get_color())) == ("--", colour)
    assert any(np.allclose(line.get_xdata(), choice.alpha) for line in lower.lines)
    assert any(np.array_equal(line.get_ydata(), part["n_features"]) for line in counts.lines)
    assert last.get_xscale() == "log"
    assert len(upper.patches) == 3


def test_afroc_legend_has_the_figures_of_merit():
    curve = afroc_curve(case_ratings(simulated(1)), "wAFROC")
    figure = plot_afroc({"Soft": curve})
    (text,) = figure.axes[0].get_legend().get_texts()
    assert text.get_text() == f"Soft: wAFROC = {curve.area:.3f}"
    assert figure.axes[0].get_xlabel() == "Share of cases without lesions with a false positive"


def test_calibration_plot_survives_missing_intervals():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=50)
    result = calibration(p, p, n_bootstrap=0)
    axes = plot_calibration({"Soft": result, "again": calibration(p, p, n_bootstrap=20)}).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[1] == "Soft: slope 1.00, Brier 0.0000"
    assert "(" in labels[2]


def test_no_marker_of_the_calibration_plot_is_cut():
    p = np.random.default_rng(1).uniform(size=200)
    models = {"Soft": calibration(p, p, n_bootstrap=0), "other": calibration(p**2, p, n_bootstrap=0)}
    top, bottom = plot_calibration(models).axes
    counts = np.concatenate([one.reliability.n_bags for one in models.values()])
    assert bottom.get_ylim()[0] == 0
    assert bottom.get_ylim()[1] >= 1.2 * counts.max()
    for axes in (top, bottom):
        for line in axes.lines:
            assert np.nanmax(line.get_ydata()) <= axes.get_ylim()[1]


def test_settings_of_all_models_share_one_panel():
    table = pd.DataFrame(
        {
            "normalization": ["bags", "bags", "class"],
            "n_features": [0.0, 12.0, 90.0],
            "sensitivity": [0.2, 0.6, 0.7],
            "difference_error": [0.05, 0.03, 0.0],
            "accepted": [False, True, True],
        }
    )
    chosen = SettingChoice(table=table, position=1, best=2, fp_targets=(0.5, 1.0), n_standard_errors=1.0)
    alone = replace(chosen, table=table.drop(columns="normalization").head(1), position=0, best=0)
    (axes,) = plot_setting_choices({"Soft": chosen, "B1": alone}).axes
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["Soft, normalization bags", "Soft, normalization class", "B1"]
    assert axes.get_ylabel() == "Sensitivity, mean over 0.5, 1 FP per image"
    diamonds = [part.get_offsets().tolist() for part in axes.collections if part.get_zorder() == 4]
    assert diamonds == [[[12.0, 0.6]], [[0.0, 0.2]]]
    assert axes.get_xlim()[0] == 0


def test_reader_study_plot():
    covariance = 1e-4 * (np.eye(6).reshape(2, 3, 2, 3) + 0.5)
    study = obuchowski_rockette(
        [[0.7, 0.72, 0.75], [0.74, 0.75, 0.79]], covariance, modalities=["without", "with"], figure="wAFROC"
    )
    left, right = plot_reader_study(study).axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["without", "with"]
    assert [tick.get_text() for tick in right.get_yticklabels()] == ["without - with"]
    np.testing.assert_allclose(
        right.lines[0].get_xdata(), [study.differences[0].lower, study.differences[0].upper]
    )


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_figure_gives_the_same_bytes(tmp_path, ending, start):
    written = [
        save_figure(
            plot_froc({"m": (simulated(1), None)}, n_bootstrap=5), tmp_path / f"{i}.{ending}"
        ).read_bytes()
        for i in range(2)
    ]
    assert written[0] == written[1]
    assert written[0].startswith(start)


def test_hostile_paths_are_refused(tmp_path):
    figure = plot_afroc({"Soft": afroc_curve(case_ratings(simulated(1)))})
    with pytest.raises(UsageError, match=r"\.png, \.svg or \.pdf"):
        save_figure(figure, tmp_path / "figure.exe")
    with pytest.raises(StorageError):
        save_figure(figure, tmp_path / "no" / "figure.png")
