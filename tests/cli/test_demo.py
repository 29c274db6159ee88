"""The demo is the whole chain on pixels, small: here it is looked at from the outside."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from overread import _commands
from overread.cli import main
from overread.report import read_results, sum_up
from overread.study import Detector

N_IMAGES = "14"
PHONE, DESK = 390, 1200
# The demo's own settings, with less of what only costs time.
QUICK = {
    "folds = 5": "folds = 2",
    "n_bootstrap = 500": "n_bootstrap = 100",
    "n_bootstrap = 50\n": 'n_bootstrap = 0\nmin_positives = 2\n[features]\nonly = ["profile.*", "blob.*"]\n',
}


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "study"
    with pytest.MonkeyPatch.context() as patch:
        for usual, quick in QUICK.items():
            assert usual in _commands.DEMO_STUDY
            patch.setattr(_commands, "DEMO_STUDY", _commands.DEMO_STUDY.replace(usual, quick))
        assert main(["demo", "--output", str(folder), "--n-images", N_IMAGES]) == 0
        yield folder


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_report_opens_without_errors_or_sideways_scrolling(browser, output, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    browser.get_log("browser")
    browser.get((output / "runs" / "main" / "report.html").as_uri())
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect()).map(r => r.width)"
    )
    assert len(sizes) > 12
    assert min(sizes) > 100
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []


def test_the_report_says_that_its_cohort_is_simulated(output):
    page = (output / "runs" / "main" / "report.html").read_text(encoding="utf-8")
    assert "The nodules and the readers are simulated" in page
    assert "patients, simulated (" in page


def test_the_detector_gives_a_new_image_the_scores_of_the_run(output, tmp_path):
    run = output / "runs" / "main"
    images = pd.read_csv(output / "images.csv", dtype=str).head(2)
    files = [str(output / path) for path in images["path"]]
    options = ["--mm-per-px", "0.7", "--all-candidates", "-o", str(tmp_path)]
    assert main(["detect", str(run), *files, *options]) == 0
    found = pd.read_csv(tmp_path / "detections.csv", dtype={"candidate_id": str})
    image_of = dict(zip(files, images["image_id"], strict=True))
    found["image_id"] = found["image"].map(image_of)
    scores = pd.read_parquet(run / "tables" / "scores.parquet")
    both = found.merge(scores, on=["image_id", "candidate_id"], validate="one_to_one")
    assert len(both) == len(found) == scores["image_id"].isin(images["image_id"]).sum()
    supported = read_results(run / "results.json").supported
    np.testing.assert_allclose(both["score"], both[supported], rtol=0, atol=1e-5)


def test_again_it_does_nothing_and_says_where_the_report_is(output, capsys):
    page = output / "runs" / "main" / "report.html"
    before = page.read_bytes(), page.stat().st_mtime_ns
    assert main(["demo", "--output", str(output), "--n-images", N_IMAGES]) == 0
    assert (page.read_bytes(), page.stat().st_mtime_ns) == before
    told = capsys.readouterr().out
    said = sum_up(read_results(page.parent / "results.json"))
    assert "\n".join(said) in told
    assert Detector.read(page.parent / "detector.json").verdict == " ".join(said)
    for words in (str(page), "overread init", "overread run", "overread detect", "overread explain"):
        assert words in told


@pytest.mark.slow
def test_the_demo_of_chests_runs_whole(tmp_path):
    assert main(["demo", "--output", str(tmp_path / "study"), "--n-images", "30"]) == 0
    results = read_results(tmp_path / "study" / "runs" / "main" / "results.json")
    assert {model.name for model in results.models} == {"soft", "b1", "b2"}


# Half a minute of two processors; tests/cli/test_pictures.py runs a study of pictures in `make test`.
@pytest.mark.slow
def test_the_demo_of_fields_runs_whole(tmp_path, capsys):
    folder = tmp_path / "study"
    assert main(["demo", "--kind", "field", "--output", str(folder), "--n-images", "16"]) == 0
    told = capsys.readouterr().out
    page = (folder / "runs" / "main" / "report.html").read_text(encoding="utf-8")
    assert "bright" in page
    assert "dark" in page
    # Encoded pictures hold every short word by chance.
    words = re.sub(r'"data:[^"]*"', "", page).lower()
    for word in ("lung", "radiograph", "nodule"):
        assert word not in words
    assert "report.html" in told
    images = pd.read_csv(folder / "images.csv")
    assert len(images) == 16
