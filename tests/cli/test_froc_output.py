"""What `overread froc` and `overread compare` print for people, from plain records."""

from __future__ import annotations

from math import inf, nan

import pytest

from overread.cli.froc import print_comparison, print_froc, print_locked

SUMMARY = {
    "n_images": 10,
    "images_from": "images.csv",
    "n_gts": 4,
    "n_positive_images": 3,
    "n_single_reader_gts": 2,
    "rule": "centre near",
    "counting": {"single_reader": "ignore"},
    "resampled": "patients",
    "level": 0.95,
}


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def measure(estimate, lower=nan, upper=nan):
    return {"estimate": estimate, "lower": lower, "upper": upper}


def point(threshold, gt):
    return {
        "fp_target": 0.5,
        "threshold": threshold,
        "fp_per_image": measure(0.4),
        "gt_sensitivity": gt,
        "image_sensitivity": measure(nan),
        "gt_sensitivity_reached": measure(1.0),
    }


def test_a_model_is_printed_under_both_treatments(capsys):
    model = {
        "name": "[soft]",
        "chance": None,
        "points": [point(0.25, measure(0.5, 0.2, 0.8))],
        "other_treatment": {"single_reader": "fp", "points": [point(inf, measure(0.0, 0.0, 0.3))]},
        "figures_of_merit": [{"figure": "AFROC", "estimate": 0.7, "lower": nan, "upper": nan}],
    }
    print_froc(SUMMARY | {"models": [model]})
    text = capsys.readouterr().out
    assert "10 images (from images.csv), 4 GTs to find in 3 of them; 2 single-reader GTs" in text
    assert "[soft]" in text
    assert "50.0 (20.0-80.0)" in text
    assert "AFROC 0.700 (no interval)" in text
    assert "candidates on single-reader GTs counted as false positives" in text
    last = text.strip().splitlines()[-1].split()
    assert last == ["0.5", "(0.40)", "none", "0.0", "(0.0-30.0)", "-", "100.0"]


def test_a_lock_of_other_scores_is_asked_about(capsys):
    locked = point(0.25, measure(0.5, 0.2, 0.8)) | {"fp_per_image": measure(0.4, 0.3, 0.5)}
    report = {"model": "b1", "locked_model": "soft", "lock": "l.json", "locked_at": "today", "point": locked}
    print_locked(SUMMARY | report | {"lock_checksum": "c" * 64, "locked_fp_per_image": 0.45})
    text = capsys.readouterr().out
    assert "is this the same model?" in text
    assert "0.400 (0.300-0.500)" in text


def test_differences_have_signs(capsys):
    row = {
        "first": 0.5,
        "second": 0.4,
        "difference": -0.1,
        "lower": -0.2,
        "upper": 0.0,
        "p_permutation": 0.25,
    }
    points = [row | {"fp_target": 1.0, "measure": "gt_sensitivity"}]
    figures = [row | {"figure": "wAFROC"}]
    report = {"first": "A", "second": "B", "points": points, "figures_of_merit": figures, "verdict": ["So."]}
    print_comparison(SUMMARY | report)
    text = capsys.readouterr().out
    assert "-10.0 (-20.0 to +0.0)" in text
    assert "-0.100 (-0.200 to +0.000)" in text
    assert text.rstrip().endswith("So.")
