"""What the owner says is kept or refused, and readers read the pictures that the others read."""

import os
import shutil
import stat

import numpy as np
import pytest

from overread.apps.room._room import open_room
from overread.errors import ImageError
from overread.images import write_png16
from reading_room import HEIGHT, WIDTH, OpenRoom, make_study, write_detections


@pytest.mark.parametrize(
    "act", [("--add-reader", "Ben"), ("--chair", "Dora"), ("--owner-link",), ("--revoke", "Ada")]
)
def test_a_detector_that_is_given_with_another_act_is_kept(tmp_path, command, act):
    """The room that opened afterwards had none, and the sequential design was lost for good."""
    study = make_study(tmp_path / "study", 2)
    detector = write_detections(tmp_path / "d.csv", [("case0", 20, 30), ("case1", 40, 30)])
    assert command("read", study, "--add-reader", "Ada", "--add-reader", "Eva")[0] == 0
    assert command("read", study, *act, "--detector", detector, "--fp", "2")[0] == 0
    room = open_room(study)
    assert room.plan.design == "sequential"
    assert room.store.setting("detector")[1] == 2.0
    assert len(room.store.rows("SELECT * FROM detections")) == 2
    room.prepare()
    assert {row["mode"] for row in room.store.rows("SELECT mode FROM items")} == {"sequential"}
    room.store.close()


def test_a_detector_that_comes_later_with_another_act_adds_the_second_session(tmp_path, command):
    study = make_study(tmp_path / "study", 2)
    room = OpenRoom(study)
    room.finish("Anna", ["case0"], mark=False)
    room.room.store.close()
    detector = write_detections(tmp_path / "d.csv", [("case0", 20, 30)])
    assert command("read", study, "--export", "--detector", detector)[0] == 0
    again = open_room(study)
    assert again.plan.design == "independent"
    again.prepare()
    assert len(again.store.rows("SELECT 1 FROM items WHERE mode = 'aided'")) == 4
    again.store.close()


def test_a_detector_that_is_refused_leaves_the_plan_as_it_was(tmp_path, command):
    study = make_study(tmp_path / "study", 2)
    code, out, err = command("read", study, "--add-reader", "Ada", "--detector", tmp_path / "none.json")
    assert (code, "none.json: no such file. Give --detector" in err, "Ada" in out) == (2, True, False)
    code, _, err = command("read", study, "--add-reader", "Ada", "--fp", "2")
    assert (code, "--fp" in err) == (2, True)
    room = open_room(study)
    assert room.plan.design == "unaided"
    room.store.close()


@pytest.mark.parametrize("where", ["the study itself", "a copy under other names"])
def test_images_on_a_worklist_cannot_be_trained_on(tmp_path, command, where):
    """Their feedback showed what others had marked, before the same image was read."""
    study = make_study(tmp_path / "study", 3)
    room = OpenRoom(study)
    room.finish("Anna")
    room.finish("Ben")
    room.room.export()
    room.room.store.close()
    training = study
    if where != "the study itself":
        training = make_study(tmp_path / "training", 3, seed=1)
        for name in ("marks.csv", "readings.csv"):
            shutil.copy(study / name, training / name)
        shutil.copy(study / "images/case2.png", training / "images/case0.png")
    code, _, err = command("read", study, "--training", training, "--add-reader", "Eva")
    assert code == 2
    assert "--training" in err
    assert str(training / "images/case0.png") in err
    assert ("'case0'" if training == study else "'case2'") in err
    # Nothing of it is kept: the room opens as before.
    again = open_room(study)
    assert again.training_folder is None
    again.prepare()
    assert not again.store.rows("SELECT 1 FROM items WHERE kind = 'training'")
    again.store.close()


def replace_picture(path, height=HEIGHT):
    """Another picture under the same name."""
    pixels = np.random.default_rng(9).integers(0, 60000, (height, WIDTH), dtype=np.uint16)
    write_png16(path, pixels)
    # Not the time of before, however coarse the clock of the file system is.
    later = path.stat().st_mtime_ns + 5_000_000_000
    os.utime(path, ns=(later, later))


@pytest.mark.parametrize("height", [HEIGHT, HEIGHT + 7])
def test_a_file_that_changed_after_it_was_read_is_refused_by_name(tmp_path, command, height):
    """One reader's marks stood beside those of another, who had seen another picture."""
    study = make_study(tmp_path / "study", 3)
    room = OpenRoom(study)
    ben = room.visit("Ben")
    room.finish("Anna", ["case1"])
    unread = room.item_of("Ben", "case2")
    assert ben.ask("GET", f"/api/items/{unread}/pixels").status_code == 200
    for name in ("case1", "case2"):
        replace_picture(study / f"images/{name}.png", height)
    # While the room is open nobody gets pixels that do not belong to what is known of the image.
    for name in ("case1", "case2"):
        answer = ben.ask("GET", f"/api/items/{room.item_of('Ben', name)}/pixels")
        assert answer.status_code == 404
        assert "changed after the room was opened" in answer.json()["error"]
    before = [tuple(row) for row in room.room.store.rows("SELECT * FROM marks")]
    room.room.store.close()
    code, _, err = command("read", study, "--port", "0")
    assert code == 4
    assert str(study / "images/case1.png") in err
    assert "changed after a reader read" in err
    assert "case2" not in err
    # The readings are there, and are written.
    assert command("read", study, "--export")[0] == 0
    again = open_room(study)
    assert [tuple(row) for row in again.store.rows("SELECT * FROM marks")] == before
    # The one that nobody had read is taken as it is now.
    shutil.copy(make_study(tmp_path / "same", 3) / "images/case1.png", study / "images/case1.png")
    assert again.prepare()[0] == {}
    assert again.pictures.facts("reading", "case2")["height"] == height
    again.store.close()


def test_a_file_that_was_only_touched_is_served(tmp_path):
    study = make_study(tmp_path / "study", 1)
    room = OpenRoom(study)
    room.finish("Anna", mark=False)
    os.utime(study / "images/case0.png", ns=(1, 1))
    pixels = f"/api/items/{room.item_of('Ben', 'case0')}/pixels"
    assert room.visit("Ben").ask("GET", pixels).status_code == 200
    os.utime(study / "images/case0.png", ns=(2, 2))
    assert room.room.prepare_pictures() == {}
    room.room.store.close()


def test_the_detector_sees_a_changed_picture_again(tmp_path):
    """Of an image that nobody has read; its marks on the old picture are forgotten."""
    study = make_study(tmp_path / "study", 2)
    detector = write_detections(tmp_path / "d.csv", [("case0", 20, 30), ("case1", 20, 30)])
    room = open_room(study)
    room.prepare(detector)
    replace_picture(study / "images/case1.png")
    with pytest.raises(Exception, match="'case1' is new to the detector"):
        room.prepare()
    room.prepare(detector)
    room.store.close()


def test_changed_files_are_counted(tmp_path):
    study = make_study(tmp_path / "study", 3)
    room = OpenRoom(study)
    room.finish("Anna")
    for name in ("case0", "case2"):
        replace_picture(study / f"images/{name}.png")
    with pytest.raises(ImageError, match=r"case0\.png.*2 such"):
        room.room.prepare()
    room.room.store.close()


def test_the_folder_of_a_room_is_its_owners_alone(tmp_path, command):
    """Also where it was there before with other rights."""
    study = make_study(tmp_path / "study", 1)
    (study / "reading").mkdir()
    (study / "reading").chmod(0o755)
    assert command("read", study, "--add-reader", "Ada")[0] == 0
    assert stat.S_IMODE((study / "reading").stat().st_mode) == 0o700
    assert stat.S_IMODE((study / "reading/room.sqlite").stat().st_mode) == 0o600
    (study / "reading/room.sqlite").chmod(0o644)
    room = open_room(study)
    room.store.set_setting("labels", ["nodule"])
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (study / "reading").glob("room.sqlite*")
    }
    assert set(modes.values()) == {0o600}
    assert len(modes) == 3
    room.store.close()
