"""The page of a run shows the numbers of its results.json."""

from __future__ import annotations

import json
import re

import pytest
from overread.study.finished import open_run
from overread.study.reporting import study_content

from overread.report import study_page


@pytest.fixture(scope="module")
def run(original):
    return open_run(original / "runs" / "main")


@pytest.fixture(scope="module")
def results(run):
    return json.loads((run.root / "results.json").read_text())


@pytest.fixture(scope="module")
def page(run):
    return (run.root / "report.html").read_text(encoding="utf-8")


def cells(table):
    """Texts of a table's rows."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.S)
    return [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in rows
    ]


def test_the_page_is_what_the_finished_run_gives_again(run, page):
    assert study_page(study_content(run)).html() == page


@pytest.mark.parametrize(
    ("number", "source", "treatment"),
    [(0, "in_sample", "fp"), (1, "in_sample", "ignore"), (2, "out_of_fold", "ignore")],
)
def test_table_1_has_the_numbers_of_the_results(page, results, number, source, treatment):
    tables = [
        table
        for table in re.findall(r"<table[^>]*>.*?</table>", page, re.S)
        if "Number selected features" in table
    ]
    printed = [row for row in cells(tables[number]) if row[0] in ("GT sensitivity", "Image sensitivity")]
    (wanted,) = [
        one["table"]
        for one in results["table1"]
        if (one["source"], one["single_reader"]) == (source, treatment)
    ]
    expected = [
        [f"{100 * value:.2f}" for value in rows[measure]["values"]]
        for model in wanted["models"]
        for rows in model["rows"]
        for measure in ("gt_sensitivity", "image_sensitivity")
    ]
    assert [row[1:] for row in printed] == expected


def test_the_headline_is_the_first_model_s_locked_point(page, results):
    cards = re.findall(r'<div class="card"><b>(.*?)</b>', page)
    model = results["models"][0]
    locked = [
        row
        for row in model["counted"][0]["locked"]
        if row["source"] == "out_of_fold" and row["fp_target"] == 0.5  # of 0.5 and 2 the nearest to 1
    ]
    value = {row["measure"]: row["estimate"] for row in locked}
    assert cards == [
        f"{100 * value['gt_sensitivity']:.1f} %",
        f"{100 * value['image_sensitivity']:.1f} %",
        f"{value['fp_per_image']:.2f}",
        str(model["n_features"]),
    ]


def test_counts_chance_sizes_and_features(page, results):
    study = results["study"]
    assert f"{study['n_marks']}, merged into {study['n_objects']} objects, {study['n_golden']} golden" in page
    model = results["models"][0]
    counted = model["counted"][0]
    for row in counted["chance"]:
        assert f"<td>{row['fp_target']:g}</td><td>{100 * row['gt_sensitivity']:.1f} %</td>" in page
    sizes = [row for row in counted["by_size"] if row["fp_target"] == 0.5]
    assert sum(row["n_gts"] for row in sizes) == counted["test"]["n_gts"]
    assert f"<td>under 15 mm</td><td>{sizes[0]['n_gts']}</td>" in page
    for feature in model["features"]:
        assert f"<td>{feature['name']}</td><td>{feature['standardized']:+.3f}</td>" in page


def test_paired_differences_are_those_of_the_results(page, results):
    rows = [
        row
        for row in results["comparisons"]
        if row["single_reader"] == "ignore" and row["measure"] == "gt_sensitivity"
    ]
    assert rows
    for row in rows:
        values = f"<td>{100 * row['first']:.1f} %</td><td>{100 * row['second']:.1f} %</td>"
        assert f"{values}<td>{100 * row['difference']:+.1f}</td>" in page


def test_there_are_pictures_and_no_names(page):
    assert page.count('<image href="data:image/png;base64,') > 5
    for name in ("Smith", "Jones", "Meier", "Weber", "Rossi"):
        assert name not in page


def test_a_study_of_other_features_has_no_detector(run):
    assert not (run.root / "detector.json").exists()
