"""The page of a reader study has one sign, intervals of areas, no test of equal arms, and cautions on top."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from overread.apps.reader_study._analysis import compare_arms, find_reference
from overread.apps.room._room import open_room
from overread.cli import main
from overread.froc import CaseRatings, obuchowski_rockette, plot_reader_study, reader_study
from overread.froc.merit._multi_reader import ModalityMean
from reading_room import OpenRoom, make_study, write_detections

# What each reader marks without the detector, in case0 to case7; lesions are in case0 to case3.
FINDS = {"Anna": (0, 1, 2, 5), "Ben": (0, 2, 3), "Cleo": (0, 1)}


def read_both_ways(folder: Path, shown: list[int], *, confidence: int | None = 80) -> Path:
    """Let readers read eight images without the detector and with it, and accept all that it shows."""
    make_study(folder, 8)
    detector = write_detections(folder.parent / "d.csv", [(f"case{i}", 60, 45) for i in shown])
    room = OpenRoom(folder, tuple(FINDS), detector=detector, design="sequential")
    for name, found in FINDS.items():
        visitor = room.visit(name)
        for item in visitor.items():
            if int(room.image_of(item).removeprefix("case")) in found:
                visitor.draw(item, 20, 30, confidence=confidence)
                visitor.do(item, "lock")
            else:
                visitor.pass_over(item)
            for one in visitor.get(f"/api/items/{item}")["detections"]:
                visitor.do(item, f"decisions/{one['id']}", decision="accept", confidence=90)
            visitor.do(item, "finish")
    room.room.store.close()
    return folder


@pytest.fixture(scope="module")
def harmed(tmp_path_factory):
    """The detector marks what is nothing, in images without a lesion."""
    return read_both_ways(tmp_path_factory.mktemp("harmed") / "study", [4, 6])


def write_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    assert main(["reader-study", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return lines, (folder / "reading/reader_study.html").read_text()


def test_sentence_and_figure_have_one_sign(harmed, capsys):
    """Aided minus unaided in both: the review saw -0.249 in the sentence and +0.25 in the figure."""
    lines, page = write_page(harmed, capsys)
    said = re.match(r"Aided minus unaided, wAFROC differs by ([-+][0-9.]+) \(", lines[0])
    assert said is not None
    room = open_room(harmed)
    found = compare_arms(room, find_reference(room, None))
    room.store.close()
    assert found.study is not None
    _, right = plot_reader_study(found.study).axes
    assert [tick.get_text() for tick in right.get_yticklabels()] == ["aided - unaided"]
    figures = {
        arm: np.mean([row["figure"] for row in found.readers if row["arm"] == arm])
        for arm in ("unaided", "aided")
    }
    gain = figures["aided"] - figures["unaided"]
    assert gain < -0.05
    assert float(said[1]) == pytest.approx(gain, abs=0.0005)
    assert right.lines[1].get_xdata()[0] == pytest.approx(gain)
    assert "the difference (aided minus unaided)" in page


def test_cautions_stand_under_the_result(tmp_path, capsys):
    lines, page = write_page(read_both_ways(tmp_path / "study", [4], confidence=None), capsys)
    cautions = [
        "The reference is the objects that at least two readers marked without the detector. It is based on the "
        "readings that it judges, which favours the reading without the detector. Give an independent one with "
        "--truth.",
        # Nine marks, each in both arms.
        "18 marks without a confidence count as 100, fully certain.",
    ]
    assert lines[1:3] == cautions
    result = re.escape(lines[0])
    notes = re.search(rf"<p>{result}</p>\s*((?:<p class=\"note\">[^<]*</p>\s*)*)", unescape(page))
    assert notes is not None
    assert re.findall(r">([^<]+)</p>", notes[1]) == cautions


def test_equal_arms_are_called_identical_and_not_tested(tmp_path, capsys):
    """The review: "differs by -0.000 (-0.000 to -0.000); p = 1" of a detector that showed nothing."""
    lines, page = write_page(read_both_ways(tmp_path / "study", []), capsys)
    assert lines[0] == (
        "wAFROC of every reader is the same without and with the detector: the two arms are identical here, "
        "and there is nothing to test."
    )
    assert lines[0] in page
    assert "p = 1" not in page


def rate(rng: np.random.Generator, found: float) -> CaseRatings:
    lesions = np.where(rng.random(6) < found, rng.uniform(40, 100, 6), -np.inf)
    return CaseRatings(
        np.where(rng.random(12) < 0.4, rng.uniform(0, 100, 12), -np.inf), np.arange(6), lesions
    )


def test_intervals_are_those_of_areas():
    """Few cases and readers: the plain interval of a mean leaves 0 to 1; it is cut there, and else as it was."""
    rng = np.random.default_rng(1)
    n_cut = 0
    for _ in range(20):
        arms = {"unaided": 0.3, "aided": 0.8}
        study = reader_study({arm: {name: rate(rng, found) for name in "ABC"} for arm, found in arms.items()})
        for one in (*study.means, *study.differences):
            half = stats.t.ppf(0.975, one.df) * one.standard_error
            lowest = 0.0 if isinstance(one, ModalityMean) else -1.0
            limits = max(one.estimate - half, lowest), min(one.estimate + half, 1.0)
            n_cut += limits[1] - limits[0] < 1.999 * half
            assert (one.lower, one.upper) == pytest.approx(limits)
    assert n_cut > 5


def test_a_difference_without_an_estimate_of_error_has_no_interval():
    nothing = np.zeros((2, 2, 2, 2))
    for figures in ([[0.7, 0.8], [0.7, 0.8]], [[0.7, 0.8], [0.8, 0.9]]):
        study = obuchowski_rockette(figures, nothing)
        assert np.isnan([study.p_value, study.differences[0].lower, study.differences[0].upper]).all()
