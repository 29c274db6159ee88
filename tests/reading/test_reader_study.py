import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.apps.reader_study._analysis import (
    ArmComparison,
    Reference,
    _crossed_cases,
    _rate,
    compare_arms,
    find_reference,
    render_reader_study,
    tell_result,
    turn_round,
)
from overread.apps.room._people import add_person
from overread.apps.room._tables import read_arm
from overread.errors import UsageError
from overread.froc import CaseRatings, figure_of_merit, reader_study
from overread.marks import ELLIPSE_COLUMNS
from overread.tables import write_table
from overread.truth import candidate_hits
from reading_room import MM, OpenRoom, make_study, write_detections


def objects(*places):
    rows = [(image, x * MM, y * MM, 5.0, 5.0, 0.0) for image, x, y in places]
    return pd.DataFrame(rows, columns=["image_id", *ELLIPSE_COLUMNS])


KNOWN = Reference(objects(*[(f"case{i}", 20, 30) for i in range(6)]), "what was put in", is_independent=True)


def read_with_detector(folder, detector_rows, finds, design="sequential"):
    """Each reader finds the lesions of these images alone and accepts every mark of the detector."""
    detector = write_detections(folder.parent / "d.csv", detector_rows)
    room = OpenRoom(folder, tuple(finds), detector=detector, design=design)
    for name, found in finds.items():
        visitor = room.visit(name)
        for item in visitor.items():
            mode = room.room.items.find(name, item)["mode"]
            if mode != "aided":
                visitor.do(item, "time", active_ms=3000, paused_ms=0)
                if room.image_of(item) in found:
                    visitor.draw(item, 20, 30)
                    visitor.do(item, "lock")
                else:
                    visitor.pass_over(item)
            if mode == "unaided":
                continue
            visitor.do(item, "time", active_ms=1000, paused_ms=0)
            for shown in visitor.state(item)["detections"]:
                visitor.do(item, f"decisions/{shown['id']}", decision="accept", confidence=60)
            if not visitor.state(item)["marks"]:
                visitor.do(item, "nothing", on=True)
            visitor.do(item, "finish")
    return room


FINDS = {
    "Anna": {"case0", "case1", "case2"},
    "Ben": {"case0", "case3"},
    "Cleo": {"case1", "case2", "case4"},
}
SHOWN = [(f"case{i}", 20, 30) for i in range(5)] + [("case8", 60, 40)]


@pytest.fixture(scope="module", params=["sequential", "independent"])
def both_ways(request, tmp_path_factory):
    folder = make_study(tmp_path_factory.mktemp(request.param) / "study", 12)
    room = read_with_detector(folder, SHOWN, FINDS, request.param)
    yield room, compare_arms(room.room, KNOWN)
    room.room.store.close()


def test_counts_and_figures_are_those_of_the_hands(both_ways):
    _, found = both_ways
    rows = {(row["reader"], row["arm"]): row for row in found.readers}
    assert (len(found.cases), found.figure) == (12, "wAFROC")
    for name, own in FINDS.items():
        unaided, aided = rows[name, "unaided"], rows[name, "aided"]
        assert (unaided["n_found"], unaided["n_objects"], unaided["n_false"]) == (len(own), 6, 0)
        assert (aided["n_found"], aided["n_false"], aided["fp_per_image"]) == (5, 1, pytest.approx(1 / 12))
        assert unaided["sensitivity"] == pytest.approx(len(own) / 6)
        assert (unaided["median_seconds"], aided["median_seconds"]) == (3.0, 1.0)
    lesions = np.array([80, 80, 80, -np.inf, -np.inf, -np.inf])
    by_hand = CaseRatings(np.full(12, -np.inf), np.arange(6), lesions)
    assert rows["Anna", "unaided"]["figure"] == pytest.approx(figure_of_merit(by_hand, "wAFROC"))
    counts = {"true_accepted": 5, "true_dismissed": 0, "false_accepted": 1, "false_dismissed": 0}
    assert found.decisions == [{"reader": name, **counts} for name in FINDS]


def test_the_detector_helped_and_the_test_says_so(both_ways):
    _, found = both_ways
    assert found.study is not None
    assert (found.study.modalities, found.study.n_cases) == (("unaided", "aided"), 12)
    gain = found.study.differences[0]
    assert (gain.modality_a, gain.modality_b) == ("aided", "unaided")
    assert gain.estimate > 0


def test_only_images_that_all_read_both_ways_count(tmp_path):
    folder = make_study(tmp_path / "study", 4)
    room = read_with_detector(folder, [("case0", 20, 30)], {"Anna": {"case0"}})
    room.secrets["Ben"] = add_person(room.room.store, "Ben", "reader")
    room.room.prepare()

    def crossed():
        return _crossed_cases({arm: read_arm(room.room.store, arm) for arm in ("unaided", "aided")})

    assert crossed()[0] == ["Anna"]
    ben = room.visit("Ben")
    item = room.item_of("Ben", "case1")
    ben.pass_over(item)
    ben.do(item, "finish")
    assert crossed() == (["Anna", "Ben"], ["case1"])
    room.room.store.close()


def test_too_few_readings_are_said(open_one):
    room = open_one(3)
    with pytest.raises(UsageError, match="no image was read without and with"):
        compare_arms(room.room, KNOWN)


def test_one_reader_gives_numbers_but_no_test(tmp_path):
    folder = make_study(tmp_path / "study", 3)
    room = read_with_detector(folder, [("case0", 20, 30)], {"Anna": set()})
    known = Reference(objects(("case0", 20, 30)), "", is_independent=True)
    found = compare_arms(room.room, known)
    assert (found.study, bool(found.why_no_study)) == (None, True)
    assert [row["n_found"] for row in found.readers] == [0, 1]
    room.room.store.close()


def test_ratings_are_the_highest_of_each_object_and_of_the_false_ones():
    marks = pd.DataFrame(
        {
            "image_id": ["a", "a", "b", "b"],
            "x_mm": [10.0, 10.5, 60.0, 70.0],
            "y_mm": [10.0, 10.0, 10.0, 10.0],
            "rating": [30.0, 70.0, 100.0, 20.0],
        }
    )
    known = pd.DataFrame([("a", 10.0, 10.0, 5.0, 5.0, 0.0)], columns=["image_id", *ELLIPSE_COLUMNS])
    found = _rate(marks, candidate_hits(marks, known), ["a", "b", "c"], known)
    assert found.lesion_rating.tolist() == [70.0]
    assert found.highest_fp.tolist() == [-np.inf, 100.0, -np.inf]


def test_the_reference_is_given_known_or_made_of_the_readings(tmp_path):
    folder = make_study(tmp_path / "study", 2)
    room = OpenRoom(folder)
    with pytest.raises(UsageError, match="no reading is finished"):
        find_reference(room.room, None)
    for name in ("Anna", "Ben"):
        visitor = room.visit(name)
        visitor.draw(room.item_of(name, "case0"), 20, 30)
        visitor.do(room.item_of(name, "case0"), "lock")
    made = find_reference(room.room, None)
    assert (made.is_independent, len(made.objects)) == (False, 1)
    (folder / "known").mkdir()
    nodules = pd.DataFrame({"image_id": ["case1"], "x_mm": [9.0], "y_mm": [8.0], "diameter_mm": [12.0]})
    write_table(nodules, folder / "known/nodules.csv")
    known = find_reference(room.room, None)
    assert (known.is_independent, known.objects["semi_major_mm"].tolist()) == (True, [6.0])
    room.room.store.close()


def ratings(gain, seed):
    rng = np.random.default_rng(seed)
    lesions = np.where(rng.random(20) < 0.4 + gain, rng.uniform(50, 100, 20), -np.inf)
    false = np.where(rng.random(40) < 0.2, rng.uniform(0, 60, 40), -np.inf)
    return CaseRatings(false, np.arange(20), lesions)


def comparison(gain=0.4, name="Anna"):
    readers = [name, "Ben", "Cleo", "Dan"]
    gains = {"unaided": 0.0, "aided": gain}
    study = reader_study(
        {
            arm: {reader: ratings(more, 7 * n) for n, reader in enumerate(readers)}
            for arm, more in gains.items()
        }
    )
    study = replace(study, differences=tuple(map(turn_round, study.differences)))
    row = {"n_objects": 20, "n_found": 9, "sensitivity": 0.45, "lower": 0.25, "upper": 0.66}
    row |= {"n_false": 8, "fp_per_image": 0.2, "figure": 0.7, "median_seconds": 12.0}
    rows = [{"reader": reader, "arm": arm, **row} for reader in readers for arm in gains]
    nothing = pd.DataFrame(columns=["image_id", *ELLIPSE_COLUMNS])
    reference = Reference(nothing, "the truth", is_independent=True)
    done = {"true_accepted": 5, "true_dismissed": 1, "false_accepted": 2, "false_dismissed": 9}
    decisions = [{"reader": reader, **done} for reader in readers]
    return ArmComparison("sequential", reference, ["a"] * 40, "wAFROC", rows, decisions, study, "", 3, 0)


def test_the_sentence_says_what_the_test_does_and_the_gain_with_its_sign():
    found = comparison(0.4)
    assert "read better with the detector" in tell_result(found)
    assert "nothing to test" in tell_result(comparison(0.0))
    assert "neither that the detector helps nor that it does not" in tell_result(comparison(0.05))
    gain = found.study.differences[0]
    numbers = f"{gain.estimate:+.3f} ({gain.lower:+.3f} to {gain.upper:+.3f})"
    assert f"Aided minus unaided, wAFROC differs by {numbers}" in tell_result(found)
    without = replace(found, study=None, why_no_study="wAFROC needs lesions")
    assert "cannot be compared by a test: wAFROC needs lesions" in tell_result(without)


def test_the_page_escapes_names_fetches_nothing_and_has_every_reader_arm_and_decision():
    page = render_reader_study("Study & Sons", comparison(name="<b>Anna</b>"))
    assert "<b>Anna" not in page
    assert not re.search(r"""(src|href)=["']?https?://""", page)
    assert page.count("9 of 20") == 8
    for word in ("&lt;b&gt;Anna", "Study &amp; Sons", "default-src 'none'", "45.0 (25.0-66.0)", "<svg"):
        assert word in page
    for word in (
        "<th>false, dismissed</th>",
        "at once read again",
        "3 marks without a confidence count as 100",
    ):
        assert word in page


def test_a_reference_of_the_readings_and_a_detector_that_knows_the_images_are_warned_about():
    found = comparison()
    weak = replace(found, reference=replace(found.reference, is_independent=False))
    for warned, word in (
        (weak, "favours the reading without the detector"),
        (replace(found, n_trained_on=7), "trained on 7 of these images"),
    ):
        assert word in render_reader_study("S", warned)
        assert word[:10] not in render_reader_study("S", found)
