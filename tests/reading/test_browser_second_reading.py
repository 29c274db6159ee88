"""The detector's marks after the reader's own are locked, and the chair's decisions, in a browser."""

import pandas as pd
import pytest

from reading_browser import ServedRoom, View, Visitor, leave, write_study

IMAGES = {f"image{number}": (0.2, 0.2) for number in range(4)}
ENTER, DELETE, DOWN, PAGE_DOWN = "\ue007", "\ue017", "\ue015", "\ue00f"


@pytest.fixture(autouse=True, scope="module")
def left_as_found(browser):
    yield
    leave(browser)


@pytest.fixture(scope="module")
def aided_room(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aided") / "study"
    write_study(folder, IMAGES)
    rows = [
        (image, f"{image}-{number}", 20.0 + 30 * number, 60.0 + 20 * number, 6.0, 0.9 - 0.2 * number)
        for image in IMAGES
        for number in range(3 if image == "image0" else 1)
    ]
    columns = ["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm", "score"]
    table = folder.parent / "detections.csv"
    pd.DataFrame(rows, columns=columns).to_csv(table, index=False)
    opened = ServedRoom(folder, readers=("Ada", "Ben"), detector=table, design="sequential")
    yield opened
    opened.close()


def finish(visitor):
    here = visitor.run("location.hash")
    visitor.press(ENTER)
    visitor.wait(f"location.hash !== '{here}'")


def test_detections_are_shown_after_the_lock_and_each_is_decided(browser, aided_room):
    visitor = Visitor(browser, aided_room)
    visitor.enter("Ada")
    item = visitor.read("Ada", "image0")
    visitor.drag((500, 300), (530, 300))
    visitor.press("6")
    visitor.saved()
    assert visitor.run("document.querySelectorAll('.overlay .detection').length") == 0
    assert visitor.run("document.querySelector('.second').hidden")
    visitor.press(ENTER)
    visitor.wait("document.querySelectorAll('.overlay .detection').length === 3")
    assert visitor.run("location.hash") == f"#/read/{item}"

    # One is accepted and gets a confidence, one dismissed by its reason, one by words; a mark is added.
    visitor.press("a", "8")
    visitor.wait("document.querySelectorAll('.overlay .accepted').length === 1")
    visitor.press("j")
    visitor.click_on(".detections li:nth-child(2) .acts button:last-child")
    visitor.wait("document.querySelector('dialog.ask') !== null")
    visitor.press(DOWN, ENTER)
    visitor.wait("document.querySelector('dialog.ask') === null")
    visitor.press(ENTER)
    visitor.wait("document.querySelector('.toast') !== null")
    assert visitor.run("location.hash") == f"#/read/{item}"
    visitor.press("d")
    visitor.wait("document.querySelector('dialog.ask') !== null")
    visitor.click_on("dialog.ask input[placeholder]")
    visitor.press("vessel end on", ENTER)
    visitor.wait("document.querySelector('dialog.ask') === null")
    visitor.drag((440, 560), (460, 580))
    visitor.press("3")
    visitor.saved()
    finish(visitor)
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
def test_a_second_reading_goes_on_where_it_was_left(browser, aided_room):
    visitor = Visitor(browser, aided_room)
    visitor.enter("Ben")
    visitor.read("Ben", "image1")
    visitor.press("o", ENTER)
    visitor.wait("document.querySelectorAll('.overlay .detection').length === 1")
    visitor.press("a", "5")
    visitor.saved()
    visitor.browser.refresh()
    visitor.ready()
    visitor.wait("document.querySelectorAll('.overlay .accepted').length === 1")
    # A mark that was accepted and deleted leaves the detection undecided.
    visitor.press("j", DELETE)
    visitor.wait("document.querySelectorAll('.overlay .detection').length === 1")
    visitor.saved()
    assert aided_room.stored("Ben", "image1", "aided") == []
    visitor.press("j", "d")
    visitor.wait("document.querySelector('dialog.ask') !== null")
    visitor.press(ENTER)
    visitor.wait("document.querySelector('dialog.ask') === null")
    visitor.press("o")
    finish(visitor)
    visitor.saved()
    assert aided_room.room.items.describe("Ben", aided_room.item("Ben", "image1"))["phase"] == "done"
    assert visitor.errors() == []


def test_training_shows_what_was_there(browser, tmp_path):
    """Two findings, one of them marked, and a mark on nothing."""
    training = write_study(tmp_path / "training", {"known": (0.2, 0.2)}, first_seed=9)
    rows = [
        ("known", reader, f"{reader}{number}", x, y, 5.0, 5.0, 0.0)
        for reader in ("X", "Y")
        for number, (x, y) in enumerate([(40.0, 50.0), (86.0, 62.0)])
    ]
    columns = [
        "image_id",
        "reader_id",
        "mark_id",
        "x_mm",
        "y_mm",
        "semi_major_mm",
        "semi_minor_mm",
        "angle_deg",
    ]
    pd.DataFrame(rows, columns=columns).to_csv(training / "marks.csv", index=False)
    readings = pd.DataFrame([("known", "X"), ("known", "Y")], columns=columns[:2])
    readings.to_csv(training / "readings.csv", index=False)
    study = write_study(tmp_path / "study", {"one": (0.2, 0.2)})
    room = ServedRoom(study, readers=("Ada",), training=training)
    try:
        visitor = Visitor(browser, room)
        visitor.enter("Ada")
        item = visitor.read("Ada", "known")
        view = View(visitor)
        for pixel in ((200, 250), (300, 700)):
            x, y = view.to_screen(pixel)
            visitor.drag((x, y), (x + 20, y))
            visitor.press("5")
        assert visitor.run("document.querySelectorAll('.overlay .truth').length") == 0
        visitor.press(ENTER)
        visitor.wait("document.querySelectorAll('.overlay .truth').length === 2")
        assert visitor.run("location.hash") == f"#/read/{item}"
        told = visitor.run("document.querySelector('.note').textContent")
        assert told == "You found 1 of 2. 1 of your marks is on nothing."
        finish(visitor)
        visitor.ready(room.item("Ada", "one"))
    finally:
        room.close()


@pytest.fixture
def disputed_room(tmp_path):
    opened = ServedRoom(write_study(tmp_path / "study", IMAGES), readers=("Ada", "Ben", "Cleo"), chair="Dora")
    yield opened
    opened.close()


def test_a_chair_decides_without_names_and_the_owner_sees_who_has_read(browser, disputed_room):
    room, visitor = disputed_room, Visitor(browser, disputed_room)
    # Ada marks each image at a place, Ben too but on the last one, Cleo nothing.
    for number, image in enumerate(IMAGES):
        room.finish("Ada", image, (200, 250, 20))
        room.finish("Ben", image, *([(202, 251, 22)] if number < 3 else []))
        room.finish("Cleo", image)

    visitor.enter("Dora")
    assert visitor.run("document.querySelectorAll('.items a').length") == 4
    visitor.click_on(".start")
    for turn in range(4):
        visitor.wait("document.querySelector('.crops canvas') !== null")
        seen = visitor.run("document.body.innerText")
        assert not any(name in seen for name in ("Ada", "Ben", "Cleo"))
        assert visitor.run("document.querySelectorAll('.overlay .mark').length") in (1, 2)
        visitor.press("s")
        assert visitor.run("document.querySelectorAll('.overlay .mark').length") == 0
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
    visitor.wait("document.querySelector('.toast') !== null")
    assert (room.room.folder / "marks.csv").is_file()
    assert len(pd.read_csv(room.room.folder / "readings.csv")) == 12
    assert visitor.errors() == []


def test_the_second_session_comes_when_the_first_is_done(browser, tmp_path):
    """Independent design: all images without the detector, then all again with its marks from the start."""
    folder = write_study(tmp_path / "study", dict(list(IMAGES.items())[:2]))
    columns = ["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm", "score"]
    found = [("image0", "c0", 40.0, 50.0, 6.0, 0.9), ("image1", "c1", 86.0, 62.0, 6.0, 0.8)]
    pd.DataFrame(found, columns=columns).to_csv(tmp_path / "d.csv", index=False)
    room = ServedRoom(folder, readers=("Ada",), detector=tmp_path / "d.csv", design="independent")
    try:
        visitor = Visitor(browser, room)
        visitor.enter("Ada")
        heads = visitor.run("[...document.querySelectorAll('.worklist h2')].map((one) => one.textContent)")
        assert heads == ["Reading", "Again, with the detector's marks"]
        # The second session cannot be had before its time.
        visitor.click_on(".worklist section:last-of-type a")
        visitor.wait("document.querySelector('.failed .lead') !== null")
        assert "2 images are left" in visitor.run("document.querySelector('.failed .lead').textContent")
        assert len(visitor.errors()) == 1
        visitor.click_on(".failed button:last-of-type")
        visitor.wait("document.querySelector('button.start') !== null")
        visitor.click_on(".start")
        for _ in range(2):
            visitor.ready()
            assert visitor.run("document.querySelectorAll('.overlay .detection').length") == 0
            visitor.drag((400, 300), (420, 300))
            visitor.press("6")
            finish(visitor)
        # Nothing of the first session is there, and the detector's mark is.
        for turn in range(2):
            visitor.ready()
            visitor.wait("document.querySelectorAll('.overlay .detection').length === 1")
            assert visitor.run("document.querySelectorAll('.overlay .own').length") == 0
            assert "with the detector" in visitor.run("document.getElementById('place').textContent")
            if turn:
                visitor.press("d")
                visitor.wait("document.querySelector('dialog.ask') !== null")
                visitor.press(ENTER)
                visitor.wait("document.querySelector('dialog.ask') === null")
                visitor.press("o")
            else:
                visitor.press("a", "8")
                visitor.wait("document.querySelectorAll('.overlay .accepted').length === 1")
            finish(visitor)
        visitor.wait("document.querySelector('.lead.good') !== null")
        visitor.saved()
        written = {path.relative_to(folder).as_posix() for path in room.room.export()}
        assert {"marks.csv", "reading/aided/marks.csv", "reading/aided/readings.csv"} <= written
        unaided, aided = (pd.read_csv(folder / name) for name in ("marks.csv", "reading/aided/marks.csv"))
        assert unaided["confidence"].tolist() == [60, 60]
        assert aided["confidence"].tolist() == [80]
        assert len(pd.read_csv(folder / "reading/aided/readings.csv")) == 2
        assert visitor.errors() == []
    finally:
        room.close()
