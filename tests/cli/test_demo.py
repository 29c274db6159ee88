"""The demo is the whole chain on pixels, small: here it is looked at from the outside."""

import html
import re

import cv2
import numpy as np
import pandas as pd
import pytest

from overread import _commands
from overread.cli import main
from overread.domains import FINDERS
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


def test_the_report_says_what_is_simulated_and_what_was_trained_before(output):
    page = (output / "runs" / "main" / "report.html").read_text(encoding="utf-8")
    assert "The nodules and the readers are simulated" in page
    assert "patients, simulated (" in page
    assert FINDERS["curvature"].trained_on in html.unescape(page)


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


class Unseen:
    """The golden objects of a demo and the scores of models that did not see their images, counted by hand."""

    def __init__(self, study):
        tables = study / "runs" / "main" / "tables"
        read = {
            name: pd.read_parquet(tables / f"{name}.parquet")
            for name in ("truth", "candidates", "scores", "split")
        }
        self.study, self.n_images = study, len(read["split"])
        model = read_results(tables.parent / "results.json").supported
        table = read["candidates"].merge(read["scores"], on=["image_id", "candidate_id"]).merge(read["split"])
        score = np.where(table["split"] == "test", table[model], table[f"{model}_out_of_fold"])
        truth = read["truth"]
        best, on_nothing = np.full(len(truth), -np.inf), np.ones(len(table), dtype=bool)
        for row, one in enumerate(truth.itertuples()):
            dx, dy, turn = table["x_mm"] - one.x_mm, table["y_mm"] - one.y_mm, np.radians(one.angle_deg)
            along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
            a, b = max(one.semi_major_mm, 5.0), max(one.semi_minor_mm, 5.0)
            inside = (table["image_id"] == one.image_id) & ((along / a) ** 2 + (across / b) ** 2 <= 1)
            on_nothing &= ~inside.to_numpy()
            best[row] = score[inside].max(initial=-np.inf)
        self.false = np.sort(score[on_nothing])[::-1]
        self.golden = truth[truth["golden"]].assign(best=best[truth["golden"]])

    def found_at(self, fp_per_image):
        return self.golden["best"] > self.false[round(fp_per_image * self.n_images)]


def measure_bone(study, objects, radius):
    """Share of each object behind ribs or clavicles."""
    shares = []
    for one, reach in zip(objects.itertuples(), radius, strict=True):
        bits = cv2.imread(str(study / "known" / "anatomy" / f"{one.image_id}.png"), cv2.IMREAD_UNCHANGED)
        y, x = (np.indices(bits.shape) + 0.5) * 0.7
        inside = np.hypot(x - one.x_mm, y - one.y_mm) < reach
        shares.append(((bits[inside] & 0b1100) > 0).mean())
    return np.array(shares)


def read_nodules(study):
    """All nodules, marked or not, with the share of readings that marked each."""
    nodules = pd.read_csv(study / "known" / "nodules.csv")
    readers = pd.read_csv(study / "marks.csv", dtype=str)[["mark_id", "reader_id"]]
    marks = pd.read_csv(study / "known" / "marks.csv", dtype=str, na_filter=False).merge(readers)
    n_readings = pd.read_csv(study / "readings.csv").groupby("image_id").size()
    n_readers = marks.groupby(["image_id", "object_id"])["reader_id"].nunique()
    keys = pd.MultiIndex.from_frame(nodules[["image_id", "nodule_id"]])
    seen = n_readers.reindex(keys, fill_value=0).to_numpy()
    return nodules.assign(read=seen / nodules["image_id"].map(n_readings))


def test_candidates_reach_the_consensus_and_the_curve_rises(output):
    unseen = Unseen(output)
    assert np.isfinite(unseen.golden["best"]).mean() > 0.9
    assert unseen.found_at(3.0).mean() > unseen.found_at(0.25).mean()


# Four minutes of a processor: the demo as the user sees it.
@pytest.mark.slow
def test_the_whole_demo_shows_the_problem(tmp_path):
    study = tmp_path / "study"
    assert main(["demo", "--output", str(study)]) == 0
    unseen, results = Unseen(study), read_results(study / "runs" / "main" / "results.json")
    assert results.verdict.n_readers == 8
    assert np.isfinite(unseen.golden["best"]).mean() > 0.95
    found = [unseen.found_at(fp).mean() for fp in (0.25, 0.5, 1.0, 3.0)]
    assert found == sorted(found)
    assert found[-1] - found[0] > 0.10
    # Readers miss small nodules and those behind bone more than others; the detector hardly minds bone.
    nodules = read_nodules(study)
    size, read = nodules["diameter_mm"], nodules["read"]
    assert read[size >= 15].mean() - read[size < 15].mean() > 0.1
    behind = measure_bone(study, nodules, size / 2) >= 1 / 3
    assert read[~behind].mean() - read[behind].mean() > 0.1
    hidden = measure_bone(study, unseen.golden, unseen.golden["semi_minor_mm"]) >= 1 / 3
    detected = unseen.found_at(0.5)
    assert detected[~hidden].mean() - detected[hidden].mean() < read[~behind].mean() - read[behind].mean()


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
