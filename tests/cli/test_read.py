import re
import threading
import time

import pandas as pd
import pytest
import uvicorn

from overread.apps.room import _app as server
from overread.apps.room._room import open_room
from overread.cli import main
from overread.marks import read_folder
from overread.tables import write_table
from reading_process import Client
from reading_room import make_study, write_detections


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study", 4)


def test_readers_get_links_that_keep_to_the_address_and_nobody_twice(study, capsys):
    code, out, _ = run(capsys, "read", study, "--add-reader", "Anna", "--add-reader", "Ben", "--owner-link")
    assert code == 0
    links = re.findall(r"^(\w+): http://127\.0\.0\.1:8765/#s=(\S{43})$", out, flags=re.MULTILINE)
    assert [name for name, _ in links] == ["Anna", "Ben", "owner"]
    assert len({secret for _, secret in links}) == 3
    code, _, err = run(capsys, "read", study, "--add-reader", "Anna")
    assert (code, "already has a link" in err) == (2, True)
    code, out, _ = run(capsys, "read", study, "--revoke", "Anna", "--add-reader", "Anna", "--port", "9000")
    assert (code, "Anna: http://127.0.0.1:9000/#s=" in out) == (0, True)
    run(capsys, "read", study, "--owner-link", "--url", "https://a.org/r")
    assert "Cleo: https://a.org/r/#s=" in run(capsys, "read", study, "--add-reader", "Cleo")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "the room has no readers"),
        (("--assign", "none"), "--assign"),
        (("--design", "odd"), "--design"),
        (("--revoke", "Zoe"), "no person of this name"),
        (("--export",), "no reading is finished"),
        (("--import-marks",), "has no marks.csv"),
        (("--host", "0.0.0.0"), "--url"),
        (("--url", "here", "--owner-link"), "--url"),
        (("--seed", "-1"), "--seed"),
        (("--training", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_told_in_a_line(study, capsys, arguments, told):
    code, _, err = run(capsys, "read", study, *arguments)
    assert code in (2, 4)
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_a_folder_that_is_no_study(tmp_path, capsys):
    assert run(capsys, "read", tmp_path / "none")[0] == 2
    code, _, err = run(capsys, "read", tmp_path, "--add-reader", "Anna")
    assert (code, "overread init" in err) == (4, True)
    assert list(tmp_path.iterdir()) == []


def test_settings_stay_and_later_readers_join_an_open_room(study, capsys):
    plan = ("--assign", "1", "--labels", "nodule, mass", "--repeats", "1")
    run(capsys, "read", study, "--add-reader", "Anna", *plan)
    room = open_room(study)
    assert (room.plan.fewest, room.plan.repeats, room.labels) == (1, 1, ("nodule", "mass"))
    room.prepare()
    room.store.close()
    code, out, _ = run(capsys, "read", study, "--add-reader", "Ben")
    assert (code, "images on the worklist" in out) == (0, False)
    code, _, err = run(capsys, "read", study, "--assign", "2")
    assert (code, "cannot change any more" in err) == (2, True)


def test_earlier_marks_are_taken_in(study, capsys):
    marks = pd.DataFrame(
        {"image_id": ["case0"], "reader_id": "Old", "mark_id": "m1", "x_mm": 10.0, "y_mm": 10.0}
    )
    write_table(marks.assign(semi_major_mm=4.0, semi_minor_mm=3.0, angle_deg=0.0), study / "marks.csv")
    write_table(pd.DataFrame({"image_id": ["case0", "case1"], "reader_id": "Old"}), study / "readings.csv")
    code, out, _ = run(capsys, "read", study, "--import-marks")
    assert (code, "imported 2 readings with 1 marks" in out) == (0, True)
    code, out, _ = run(capsys, "read", study, "--export")
    assert (code, out.count("wrote")) == (0, 3)


def test_a_room_is_opened_read_in_and_closed(study, capsys, monkeypatch, tmp_path):
    """The whole way of the command, with a detector, in this process: the server is stopped by its reader."""
    detector = write_detections(tmp_path / "d.csv", [("case0", 20, 30)])
    _, out, _ = run(capsys, "read", study, "--add-reader", "Anna", "--add-reader", "Ben")
    secret = re.search(r"Anna: .*#s=(\S+)", out)[1]
    servers = []
    plain = uvicorn.Server

    def remember(config):
        servers.append(plain(config))
        servers[-1].install_signal_handlers = lambda: None
        return servers[-1]

    monkeypatch.setattr(uvicorn, "Server", remember)
    problems = []

    def visit():
        try:
            while not servers or not servers[0].started:
                time.sleep(0.01)
            port = servers[0].servers[0].sockets[0].getsockname()[1]
            client = Client(port, secret)
            item = client.get("/api/worklist")[0]["item"]
            client.send("POST", f"/api/items/{item}/nothing", {"op": "op-000001", "on": True})
            client.send("POST", f"/api/items/{item}/lock", {"op": "op-000002"})
            client.close()
        except BaseException as error:
            problems.append(error)
        finally:
            servers[0].should_exit = True

    visitor = threading.Thread(target=visit)
    visitor.start()
    code, out, _ = run(capsys, "read", study, "--port", "0", "--detector", detector)
    visitor.join()
    assert problems == []
    assert code == 0
    assert "Anna: 4 images on the worklist" in out
    assert "is open at http://127.0.0.1:" in out
    assert "closed; the same command opens it again" in out
    assert (study / "readings.csv").read_text().count("Anna") == 1
    with pytest.raises(Exception, match="0 readings"):
        read_folder(study)


def test_a_room_with_phantoms_readers_and_a_detector(tmp_path, capsys, monkeypatch):
    """All but the serving itself, which the test above does; given again it goes on with new links."""
    served = []
    monkeypatch.setattr(
        server, "serve", lambda room, *rest, **more: served.append(room.items.worklist("Anna"))
    )
    write_detections(tmp_path / "d.csv", [("case00001", 180, 180)])
    command = ["demo-read", "-o", str(tmp_path / "room"), "--n-images", "2", "--port", "0"]
    command += ["--detector", str(tmp_path / "d.csv")]
    secrets = []
    for _ in range(2):
        assert main(command) == 0
        links = re.findall(
            r"^(\w+): http://127\.0\.0\.1:\d+/#s=(\S+)$", capsys.readouterr().out, flags=re.MULTILINE
        )
        assert [name for name, _ in links] == ["Anna", "Ben", "Cleo", "Chair", "owner"]
        secrets += [secret for _, secret in links]
    assert len(set(secrets)) == 10
    # Three training images, two to read, one of them twice.
    assert [[row["state"] for row in rows] for rows in served] == [["open"] * 6] * 2
    room = open_room(tmp_path / "room/study")
    assert room.plan.design == "sequential"
    assert not (tmp_path / "room/study/marks.csv").exists()
    assert room.store.rows("SELECT count(*) FROM detected")[0][0] == 2
    room.store.close()
