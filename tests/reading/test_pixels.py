import gzip
import threading

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from overread.apps.room import _pixels as pixels
from overread.apps.room._pixels import ShownFile, ViewerPictures, list_images, read_images
from overread.apps.room._store import RefusalError
from overread.errors import TableError
from overread.images import read_for_viewing, write_dicom
from overread.tables import write_table
from reading_room import HEIGHT, MM, WIDTH, make_study


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study", 6)


def pictures_of(store, folder):
    """Pictures of a study, and why some cannot be shown."""
    pictures = ViewerPictures(store, {"reading": list_images(folder), "training": {}})
    return pictures, pictures.prepare("reading")


def test_pixels_go_over_the_wire_as_they_are_stored(store, study):
    pictures, bad = pictures_of(store, study)
    assert bad == {}
    sent = np.frombuffer(pictures.content("reading", "case1"), "<u2").reshape(HEIGHT, WIDTH)
    np.testing.assert_array_equal(sent, np.asarray(Image.open(study / "images/case1.png")))
    assert gzip.decompress(pictures.content("reading", "case1", zipped=True)) == sent.tobytes()
    facts = pictures.facts("reading", "case1")
    assert (facts["width"], facts["height"], facts["mm_per_px"]) == (WIDTH, HEIGHT, {"x": MM, "y": MM})
    assert (facts["channels"], facts["left_right"]) == (1, None)


def test_dicom_and_colour(store, tmp_path):
    grey = np.random.default_rng(0).integers(0, 4096, (30, 20), dtype=np.uint16)
    write_dicom(tmp_path / "a.dcm", grey, mm_per_px=(0.2, 0.3), patient_id="P", image_id="a")
    rgb = np.random.default_rng(1).integers(0, 256, (10, 12, 3), dtype=np.uint8)
    Image.fromarray(rgb).save(tmp_path / "b.png")
    files = {"a": ShownFile(tmp_path / "a.dcm", None), "b": ShownFile(tmp_path / "b.png", (0.1, 0.1))}
    pictures = ViewerPictures(store, {"reading": files})
    assert pictures.prepare("reading") == {}
    assert pictures.content("reading", "a") == grey.astype("<u2").tobytes()
    assert pictures.content("reading", "b") == rgb.tobytes()
    assert pictures.facts("reading", "b")["window"] is None
    assert pictures.facts("reading", "a")["mm_per_px"] == pytest.approx({"x": 0.2, "y": 0.3})


def test_what_cannot_be_read_is_named_and_costs_no_other(store, study):
    (study / "images/case0.png").write_bytes(b"no picture")
    (study / "images/case1.png").unlink()
    table = read_images(study)
    table.loc[2, ["mm_per_px_x", "mm_per_px_y"]] = np.nan
    write_table(table, study / "images.csv")
    pictures, bad = pictures_of(store, study)
    assert set(bad) == {"case0", "case1", "case2"}
    assert "case0.png" in bad["case0"]
    assert "no such file" in bad["case1"]
    assert "does not state the pixel size" in bad["case2"]
    # A reader learns no path of an image that breaks later.
    (study / "images/case3.png").unlink()
    with pytest.raises(RefusalError) as caught:
        pictures.content("reading", "case3")
    assert str(study) not in str(caught.value)
    with pytest.raises(RefusalError):
        pictures.facts("reading", "no such")


def test_facts_are_read_once_and_again_when_the_file_changes(store, study, monkeypatch):
    pictures_of(store, study)
    read = []
    monkeypatch.setattr(
        pixels, "read_for_viewing", lambda path: read.append(path.name) or read_for_viewing(path)
    )
    pictures_of(store, study)
    assert read == []
    Image.fromarray(np.zeros((7, 9), np.uint16)).save(study / "images/case1.png")
    assert pictures_of(store, study)[0].facts("reading", "case1")["width"] == 9
    assert read == ["case1.png"]


def test_the_shelf_is_bounded_and_keeps_what_was_used_last(store, study, monkeypatch):
    monkeypatch.setattr(pixels, "LARGEST_SHELF", 3 * WIDTH * HEIGHT * 2)
    pictures, _ = pictures_of(store, study)
    for name in ("case0", "case1", "case2", "case0", "case3"):
        pictures.content("reading", name)
    assert [key[1] for key in pictures._shelf] == ["case2", "case0", "case3"]


def test_many_who_ask_at_once_wait_for_one_decoder(store, study, monkeypatch):
    pictures, _ = pictures_of(store, study)
    decoded = []
    monkeypatch.setattr(pixels, "read_for_viewing", lambda path: decoded.append(1) or read_for_viewing(path))
    threads = [threading.Thread(target=pictures.content, args=("reading", "case0")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decoded == [1]


def test_a_study_without_images_is_told_what_to_do(tmp_path):
    with pytest.raises(TableError, match="overread init"):
        read_images(tmp_path)
    write_table(pd.DataFrame({"image_id": ["a"], "path": [""]}), tmp_path / "images.csv")
    with pytest.raises(TableError, match="row 2, column path"):
        list_images(tmp_path)
