import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.apps.reader_study._analysis import (
    ArmComparison,
    ArmRow,
    DecisionRow,
    Reference,
    _crossed_cases,
    _rate,
    compare_arms,
    find_reference,
    render_reader_study,
    tell_result,
    turn_round,
)
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
            image, row = room.image_of(item), room.room.items.find(name, item)
            if row["mode"] != "aided":
                visitor.act("POST", f"/api/items/{item}/time", active_ms=3000, paused_ms=0)
                if image in found:
                    visitor.draw(item, 20, 30)
                    visitor.act("POST", f"/api/items/{item}/lock")
                else:
                    visitor.pass_over(item)
            if row["mode"] == "unaided":
                continue
            visitor.act("POST", f"/api/items/{item}/time", active_ms=1000, paused_ms=0)
            marks = []
            for shown in visitor.get(f"/api/items/{item}")["detections"]:
                marks = visitor.act(
                    "POST", f"/api/items/{item}/decisions/{shown['id']}", decision="accept", confidence=60
                )["marks"]
            if not marks and not visitor.get(f"/api/items/{item}")["marks"]:
                visitor.act("POST", f"/api/items/{item}/nothing", on=True)
            visitor.act("POST", f"/api/items/{item}/finish")
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
    yield room, compare_arms(room.room.store, room.room.images_table, request.param, KNOWN)
    room.room.store.close()


def test_counts_are_those_of_the_hands(both_ways):
    _, found = both_ways
    rows = {(row.reader, row.arm): row for row in found.readers}
    assert len(found.cases) == 12
    assert found.figure == "wAFROC"
    for name, own in FINDS.items():
        unaided, aided = rows[name, "unaided"], rows[name, "aided"]
        assert (unaided.n_found, unaided.n_objects, unaided.n_false) == (len(own), 6, 0)
        assert (aided.n_found, aided.n_false, aided.fp_per_image) == (5, 1, pytest.approx(1 / 12))
        assert unaided.sensitivity == pytest.approx(len(own) / 6)
        assert (unaided.median_seconds, aided.median_seconds) == (3.0, 1.0)


def test_figures_are_those_of_ratings_written_by_hand(both_ways):
    _, found = both_ways
    row = next(row for row in found.readers if (row.reader, row.arm) == ("Anna", "unaided"))
    nothing = -np.inf
    by_hand = CaseRatings(
        np.full(12, nothing), np.arange(6), np.array([80, 80, 80, nothing, nothing, nothing])
    )
    assert row.figure == pytest.approx(figure_of_merit(by_hand, "wAFROC"))


def test_the_detector_helped_and_the_test_says_so(both_ways):
    _, found = both_ways
    assert found.study is not None
    assert found.study.modalities == ("unaided", "aided")
    gain = found.study.differences[0]
    assert (gain.modality_a, gain.modality_b) == ("aided", "unaided")
    assert gain.estimate > 0
    assert found.study.n_cases == 12


def test_decisions_are_counted_right_and_wrong(both_ways):
    _, found = both_ways
    for row in found.decisions:
        assert (row.true_accepted, row.false_accepted, row.true_dismissed, row.false_dismissed) == (
            5,
            1,
            0,
            0,
        )


def test_only_images_that_all_read_both_ways_count(tmp_path):
    folder = make_study(tmp_path / "study", 4)
    room = read_with_detector(folder, [("case0", 20, 30)], {"Anna": {"case0"}})
    from overread.apps.room._people import add_person

    room.secrets["Ben"] = add_person(room.room.store, "Ben", "reader")
    room.room.prepare()
    arms = {arm: read_arm(room.room.store, arm) for arm in ("unaided", "aided")}
    assert _crossed_cases(arms)[0] == ["Anna"]
    ben = room.visit("Ben")
    item = room.item_of("Ben", "case1")
    ben.pass_over(item)
    ben.act("POST", f"/api/items/{item}/finish")
    arms = {arm: read_arm(room.room.store, arm) for arm in ("unaided", "aided")}
    assert _crossed_cases(arms) == (["Anna", "Ben"], ["case1"])
    room.room.store.close()


def test_too_few_readings_are_said(open_one):
    room = open_one(3)
    with pytest.raises(UsageError, match="nobody has read an image without and with"):
        compare_arms(room.room.store, room.room.images_table, "sequential", KNOWN)


def test_one_reader_gives_numbers_but_no_test(tmp_path):
    folder = make_study(tmp_path / "study", 3)
    room = read_with_detector(folder, [("case0", 20, 30)], {"Anna": set()})
    known = Reference(objects(("case0", 20, 30)), "", is_independent=True)
    found = compare_arms(room.room.store, room.room.images_table, "sequential", known)
    assert found.study is None
    assert found.why_no_study
    assert [row.n_found for row in found.readers] == [0, 1]
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
    with pytest.raises(UsageError, match="nobody has finished"):
        find_reference(room.room.store, folder, None)
    for name in ("Anna", "Ben"):
        visitor = room.visit(name)
        visitor.draw(room.item_of(name, "case0"), 20, 30)
        visitor.act("POST", f"/api/items/{room.item_of(name, 'case0')}/lock")
    made = find_reference(room.room.store, folder, None)
    assert (made.is_independent, len(made.objects)) == (False, 1)
    (folder / "known").mkdir()
    nodules = pd.DataFrame({"image_id": ["case1"], "x_mm": [9.0], "y_mm": [8.0], "diameter_mm": [12.0]})
    write_table(nodules, folder / "known/nodules.csv")
    known = find_reference(room.room.store, folder, None)
    assert (known.is_independent, known.objects["semi_major_mm"].tolist()) == (True, [6.0])
    room.room.store.close()


def ratings(gain, seed):
    rng = np.random.default_rng(seed)
    lesions = np.where(rng.random(20) < 0.4 + gain, rng.uniform(50, 100, 20), -np.inf)
    false = np.where(rng.random(40) < 0.2, rng.uniform(0, 60, 40), -np.inf)
    return CaseRatings(false, np.arange(20), lesions)


def comparison(gain=0.4, name="Anna"):
    readers = [name, "Ben", "Cleo", "Dan"]
    study = reader_study(
        {
            "unaided": {reader: ratings(0.0, 7 * n) for n, reader in enumerate(readers)},
            "aided": {reader: ratings(gain, 7 * n) for n, reader in enumerate(readers)},
        }
    )
    study = replace(study, differences=tuple(map(turn_round, study.differences)))
    rows = [
        ArmRow(reader, arm, 20, 9, 0.45, 0.25, 0.66, 8, 0.2, 0.7, 12.0)
        for reader in readers
        for arm in ("unaided", "aided")
    ]
    reference = Reference(
        pd.DataFrame(columns=["image_id", *ELLIPSE_COLUMNS]), "the truth", is_independent=True
    )
    decisions = [DecisionRow(reader, 5, 1, 2, 9) for reader in readers]
    return ArmComparison("sequential", reference, ["a"] * 40, "wAFROC", rows, decisions, study, "", 3, 0)


def test_the_sentence_says_better_where_the_test_does():
    assert "read better with the detector" in tell_result(comparison(0.4))
    assert "nothing to test" in tell_result(comparison(0.0))
    assert "not proof" in tell_result(comparison(0.05))


def test_the_sentence_tells_the_gain_with_its_sign():
    found = comparison(0.4)
    difference = found.study.differences[0]
    assert (
        f"Aided minus unaided, wAFROC differs by {difference.estimate:+.3f} "
        f"({difference.lower:+.3f} to {difference.upper:+.3f})" in tell_result(found)
    )


def test_without_a_test_the_reason_is_told():
    told = tell_result(replace(comparison(), study=None, why_no_study="wAFROC needs lesions"))
    assert "cannot be compared by a test: wAFROC needs lesions" in told


@pytest.fixture(scope="module")
def page():
    return render_reader_study("Study & Sons", comparison(name="<b>Anna</b>"))


def test_the_page_escapes_names_and_fetches_nothing(page):
    assert "<b>Anna" not in page
    assert "&lt;b&gt;Anna" in page
    assert "Study &amp; Sons" in page
    assert not re.search(r"""(src|href)=["']?https?://""", page)
    assert "default-src 'none'" in page


def test_the_page_has_every_reader_arm_and_decision(page):
    assert page.count("9 of 20") == 8
    for word in (
        "45.0 (25.0-66.0)",
        "wrong ones dismissed",
        "<svg",
        "read again at once",
        "3 marks without a confidence count as 100",
    ):
        assert word in page


def test_a_reference_made_of_the_readings_is_warned_about():
    found = comparison()
    weak = replace(found, reference=replace(found.reference, is_independent=False))
    assert "flatters" in render_reader_study("S", weak)
    assert "flatters" not in render_reader_study("S", found)


def test_a_detector_that_knows_the_images_is_warned_about():
    found = comparison()
    assert "trained on 7 of these images" in render_reader_study("S", replace(found, n_trained_on=7))
    assert "trained on" not in render_reader_study("S", found)
