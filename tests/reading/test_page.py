"""Keys, drags and inversion of the reading page mean what the reader means, in a browser."""

import pandas as pd
import pydicom
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from overread.images import write_dicom
from reading_browser import (
    DETECTIONS,
    DOTS,
    ENTER,
    ESCAPE,
    MARKS,
    ServedRoom,
    View,
    dotted_picture,
    write_detections,
    write_study,
)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Three detections on each of two images, of which one is a DICOM file with low values white."""
    folder = write_study(tmp_path_factory.mktemp("page") / "study", {"plain": (0.2, 0.2), "mono": (0.2, 0.2)})
    (folder / "mono.png").unlink()
    mono = folder / "mono.dcm"
    write_dicom(mono, 65535 - dotted_picture(1), mm_per_px=(0.2, 0.2), patient_id="P1", image_id="mono")
    dataset = pydicom.dcmread(mono)
    dataset.PhotometricInterpretation = "MONOCHROME1"
    dataset.save_as(mono)
    images = pd.read_csv(folder / "images.csv")
    images["path"] = ["plain.png", "mono.dcm"]
    images.to_csv(folder / "images.csv", index=False)
    places = [(image, 30.0 + 30 * n, 60.0 + 20 * n) for image in ("plain", "mono") for n in range(3)]
    table = write_detections(folder.parent / "detections.csv", places)
    with ServedRoom(folder, readers=("Ada",), detector=table, design="sequential") as opened:
        yield opened


@pytest.fixture(scope="module")
def visitor(visit, room):
    found = visit(room)
    found.enter("Ada")
    return found


def shade(visitor, pixel):
    """Grey value of the screen at a pixel of the picture."""
    x, y = View(visitor).to_screen(pixel)
    return int(visitor.screenshot()[round(y), round(x)].mean())


def test_an_image_that_is_stored_inverted_is_not_called_inverted(visitor):
    """Bright dots on a dim field, as with every other image; only the reader inverts."""
    visitor.read("Ada", "mono")
    says = "document.querySelector('.facts').textContent.includes('inverted')"
    pressed = "document.querySelector('.tool.invert').getAttribute('aria-pressed')"
    background = (DOTS[0][0] + 60, DOTS[0][1])
    assert (visitor.run(says), visitor.run(pressed)) == (False, "false")
    assert shade(visitor, DOTS[0]) > shade(visitor, background) + 100
    before = shade(visitor, background)
    visitor.press("b", "b", "b")
    visitor.still()
    assert shade(visitor, background) > before
    visitor.press("r", "i")
    visitor.still()
    assert (visitor.run(says), visitor.run(pressed)) == (True, "true")
    assert shade(visitor, DOTS[0]) < shade(visitor, background) - 100
    visitor.press("i")
    visitor.still()
    assert visitor.run(says) is False


def test_a_drag_that_begins_beside_the_image_does_nothing(visitor):
    """A mark was made at the border, far from the pointer."""
    visitor.read("Ada", "plain")
    view = View(visitor)
    left, middle = view.to_screen((0, 400))
    assert left - view.box["left"] > 30
    visitor.drag((left - 20, middle), (left + 60, middle))
    visitor.press("t")
    visitor.click(left - 20, middle)
    visitor.click(left + 40, middle)
    visitor.press(ESCAPE, "e")
    assert visitor.count(MARKS) == 0
    # A drag from the image outwards is one that was meant.
    visitor.drag((left + 40, middle), (left - 20, middle))
    visitor.shows(MARKS, 1)
    visitor.press("u")
    visitor.shows(MARKS, 0)


def test_keys_work_after_a_label_was_chosen(visitor, room):
    """By mouse, and by keys: L, a letter, Enter. The digit was swallowed, and Enter did not finish."""
    visitor.read("Ada", "plain")
    for number, (x, y) in enumerate(View(visitor).to_screen(dot) for dot in DOTS[:2]):
        visitor.drag((x, y), (x + 20, y))
        visitor.shows(MARKS, number + 1)
        if number == 0:
            field = visitor.browser.find_element(By.CSS_SELECTOR, "select[name=label]")
            Select(field).select_by_visible_text("calcification")
        else:
            visitor.press("l", "n", ENTER)
        assert visitor.run("document.activeElement.tagName") == "BODY"
        visitor.press("7" if number == 0 else "3")
    visitor.saved()
    stored = [(mark["label"], mark["confidence"]) for mark in room.stored("Ada", "plain")]
    assert stored == [("calcification", 70.0), ("nodule", 30.0)]


def test_accept_digit_dismiss_goes_from_mark_to_mark(visitor, room):
    """After the digit the next one's turn comes: D dismisses it, and another digit changes nothing."""
    item = visitor.read("Ada", "mono")
    visitor.press("o", ENTER)
    visitor.shows(DETECTIONS, 3)
    toast = "document.querySelector('.toast')?.textContent ?? ''"
    visitor.press("a", "7", "d")
    visitor.answer(ENTER)
    visitor.press("2")
    assert "None of your marks is selected" in visitor.run(toast)
    visitor.press("a", "4", "2", "d")
    assert "None of the detector's marks is selected" in visitor.run(toast)
    visitor.saved()
    aided = [(mark["origin"], mark["confidence"]) for mark in room.stored("Ada", "mono", "aided")]
    assert aided == [("accepted", 70.0), ("accepted", 40.0)]
    query = "SELECT decision FROM decisions WHERE item = ? ORDER BY detection"
    decided = [row["decision"] for row in room.room.store.rows(query, (item,))]
    assert decided == ["accept", "dismiss", "accept"]
    assert visitor.errors() == []
