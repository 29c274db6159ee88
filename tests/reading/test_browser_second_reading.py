"""The detector's marks after the reader's own are locked, and the chair's decisions, in a browser."""

import pandas as pd
import pytest

from reading_browser import (
    DELETE,
    DETECTIONS,
    DOWN,
    ENTER,
    MARKS,
    ServedRoom,
    View,
    write_detections,
    write_study,
)
from reading_room import write_readings

IMAGES = {f"image{number}": (0.2, 0.2) for number in range(4)}


@pytest.fixture(scope="module")
def aided_room(tmp_path_factory):
    folder = write_study(tmp_path_factory.mktemp("aided") / "study", IMAGES)
    places = [("image0", 20.0 + 30 * n, 60.0 + 20 * n) for n in range(3)]
    places += [(f"image{n}", 20.0, 60.0) for n in range(1, 4)]
    table = write_detections(folder.parent / "detections.csv", places)
    with ServedRoom(folder, readers=("Ada", "Ben"), detector=table, design="sequential") as opened:
        yield opened


def test_detections_are_shown_after_the_lock_and_each_is_decided(visit, aided_room):
    visitor = visit(aided_room)
    visitor.enter("Ada")
    item = visitor.read("Ada", "image0")
    visitor.drag((500, 300), (530, 300))
    visitor.press("6")
    visitor.saved()
    assert visitor.count(DETECTIONS) == 0
    assert visitor.run("document.querySelector('.second').hidden")
    visitor.press(ENTER)
    visitor.shows(DETECTIONS, 3)
    assert visitor.run("location.hash") == f"#/read/{item}"

    # One is accepted and gets a confidence, one dismissed by its reason, one by words; a mark is added.
    visitor.press("a", "8")
    visitor.shows(".overlay .accepted", 1)
    visitor.press("j")
    visitor.click_on(".detections li:nth-child(2) .acts button:last-child")
    visitor.answer(DOWN, ENTER)
    visitor.press(ENTER)
    visitor.shows(".toast")
    assert visitor.run("location.hash") == f"#/read/{item}"
    visitor.press("d")
    visitor.shows("dialog.ask")
    visitor.click_on("dialog.ask input[placeholder]")
    visitor.press("vessel end on", ENTER)
    visitor.shows("dialog.ask", 0)
    visitor.drag((440, 560), (460, 580))
    visitor.press("3")
    visitor.saved()
    visitor.finish()
    visitor.saved()

    (own,) = aided_room.stored("Ada", "image0", "unaided")
    assert own["confidence"] == 60
    aided = aided_room.stored("Ada", "image0", "aided")
    assert [(mark["origin"], mark["confidence"]) for mark in aided] == [
        ("drawn", 60.0),
        ("accepted", 80.0),
        ("drawn", 30.0),
    ]
    decided = aided_room.room.store.rows("SELECT * FROM decisions WHERE item = ?", (item,))
    assert sorted((row["decision"], row["reason"]) for row in decided) == [
        ("accept", ""),
        ("dismiss", "benign"),
        ("dismiss", "vessel end on"),
    ]
    assert aided_room.room.items.describe("Ada", item)["phase"] == "done"


@pytest.mark.slow
def test_a_second_reading_goes_on_where_it_was_left(visit, aided_room):
    visitor = visit(aided_room)
    visitor.enter("Ben")
    visitor.read("Ben", "image1")
    visitor.press("o", ENTER)
    visitor.shows(DETECTIONS, 1)
    visitor.press("a", "5")
    visitor.saved()
    visitor.browser.refresh()
    visitor.ready()
    visitor.shows(".overlay .accepted", 1)
    # A mark that was accepted and deleted leaves the detection undecided.
    visitor.press("j", DELETE)
    visitor.shows(DETECTIONS, 1)
    visitor.saved()
    assert aided_room.stored("Ben", "image1", "aided") == []
    visitor.press("j", "d")
    visitor.answer(ENTER)
    visitor.press("o")
    visitor.finish()
    visitor.saved()
    assert aided_room.room.items.describe("Ben", aided_room.item("Ben", "image1"))["phase"] == "done"
    assert visitor.errors() == []


def test_training_shows_what_was_there(visit, tmp_path):
    """Two findings, one of them marked, and a mark on nothing."""
    training = write_study(tmp_path / "training", {"known": (0.2, 0.2)}, first_seed=9)
    marks = [("known", reader, x, y) for reader in "XY" for x, y in ((40.0, 50.0), (86.0, 62.0))]
    write_readings(training, ["known"], ["X", "Y"], marks)
    study = write_study(tmp_path / "study", {"one": (0.2, 0.2)})
    with ServedRoom(study, readers=("Ada",), training=training) as room:
        visitor = visit(room)
        visitor.enter("Ada")
        item = visitor.read("Ada", "known")
        view = View(visitor)
        for pixel in ((200, 250), (300, 700)):
            x, y = view.to_screen(pixel)
            visitor.drag((x, y), (x + 20, y))
            visitor.press("5")
        assert visitor.count(".overlay .truth") == 0
        visitor.press(ENTER)
        visitor.shows(".overlay .truth", 2)
        assert visitor.run("location.hash") == f"#/read/{item}"
        told = visitor.text(".note")
        assert told == "You found 1 of 2. 1 of your marks hits no finding."
        visitor.finish()
        visitor.ready(room.item("Ada", "one"))


@pytest.fixture
def disputed_room(tmp_path):
    with ServedRoom(
        write_study(tmp_path / "study", IMAGES), readers=("Ada", "Ben", "Cleo"), chair="Dora"
    ) as opened:
        yield opened


def test_a_chair_decides_without_names_and_the_owner_sees_who_has_read(visit, disputed_room):
    room, visitor = disputed_room, visit(disputed_room)
    # Ada marks each image at a place, Ben too but on the last one, Cleo nothing.
    for number, image in enumerate(IMAGES):
        room.finish("Ada", image, (200, 250, 20))
        room.finish("Ben", image, *([(202, 251, 22)] if number < 3 else []))
        room.finish("Cleo", image)

    visitor.enter("Dora")
    assert visitor.count(".items a") == 4
    visitor.click_on(".start")
    for turn in range(4):
        visitor.shows(".crops canvas")
        seen = visitor.run("document.body.innerText")
        assert not any(name in seen for name in ("Ada", "Ben", "Cleo"))
        assert visitor.count(MARKS) in (1, 2)
        visitor.press("s")
        assert visitor.count(MARKS) == 0
        here = visitor.run("location.hash")
        visitor.press("2" if turn == 0 else "1")
        visitor.wait(f"location.hash !== '{here}'")
    visitor.wait("document.querySelector('.page .lead')?.textContent === '4 of 4 objects decided'")
    visitor.saved()
    decisions = [row["decision"] for row in room.room.store.rows("SELECT decision FROM adjudications")]
    assert sorted(decisions) == ["lesion", "lesion", "lesion", "not"]

    visitor.enter("owner")
    visitor.wait("document.querySelectorAll('.owner tbody tr').length >= 3")
    told = visitor.run(
        "[...document.querySelectorAll('.owner table')[0].rows].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [(row[0], row[1]) for row in told[1:]] == [(name, "4 of 4") for name in ("Ada", "Ben", "Cleo")]
    visitor.click_on(".owner button.main")
    visitor.shows(".toast")
    assert (room.room.folder / "marks.csv").is_file()
    assert len(pd.read_csv(room.room.folder / "readings.csv")) == 12
    assert visitor.errors() == []


def test_the_second_session_comes_when_the_first_is_done(visit, tmp_path):
    """Independent design: all images without the detector, then all again with its marks from the start."""
    folder = write_study(tmp_path / "study", dict(list(IMAGES.items())[:2]))
    write_detections(tmp_path / "d.csv", [("image0", 40.0, 50.0), ("image1", 86.0, 62.0)])
    with ServedRoom(folder, readers=("Ada",), detector=tmp_path / "d.csv", design="independent") as room:
        visitor = visit(room)
        visitor.enter("Ada")
        heads = visitor.run("[...document.querySelectorAll('.worklist h2')].map((one) => one.textContent)")
        assert heads == ["Reading", "Second session, with the detector's marks"]
        # The second session cannot be had before its time.
        visitor.click_on(".worklist section:last-of-type a")
        visitor.shows(".failed .lead")
        assert "2 images are left" in visitor.text(".failed .lead")
        assert len(visitor.errors()) == 1
        visitor.click_on(".failed button:last-of-type")
        visitor.shows("button.start")
        visitor.click_on(".start")
        for _ in range(2):
            visitor.ready()
            assert visitor.count(DETECTIONS) == 0
            visitor.drag((400, 300), (420, 300))
            visitor.press("6")
            visitor.finish()
        # Nothing of the first session is there, and the detector's mark is.
        for turn in range(2):
            visitor.ready()
            visitor.shows(DETECTIONS, 1)
            assert visitor.count(".overlay .own") == 0
            assert "with the detector" in visitor.run("document.getElementById('place').textContent")
            if turn:
                visitor.press("d")
                visitor.answer(ENTER)
                visitor.press("o")
            else:
                visitor.press("a", "8")
                visitor.shows(".overlay .accepted", 1)
            visitor.finish()
        visitor.shows(".lead.good")
        visitor.saved()
        written = {path.relative_to(folder).as_posix() for path in room.room.export()}
        assert {"marks.csv", "reading/aided/marks.csv", "reading/aided/readings.csv"} <= written
        unaided, aided = (pd.read_csv(folder / name) for name in ("marks.csv", "reading/aided/marks.csv"))
        assert unaided["confidence"].tolist() == [60, 60]
        assert aided["confidence"].tolist() == [80]
        assert len(pd.read_csv(folder / "reading/aided/readings.csv")) == 2
        assert visitor.errors() == []
