"""Each tutorial is followed to the letter, in an empty folder; what it shows of the output is there."""

import re
from pathlib import Path

import pandas as pd
import pytest
from tutorial_page import follow, list_steps, missing_lines

from overread.apps.room._app import Address, make_app
from overread.apps.room._room import open_room
from overread.froc import read_detections
from overread.marks import read_folder
from overread.study import open_run
from reading_room import URL, Visitor, open_limits

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # What a terminal has that is neither narrow nor wide.
    monkeypatch.setenv("COLUMNS", "100")


def test_a_line_that_is_not_printed_is_noticed():
    assert missing_lines(["b  c", "a"], "a\n\u2502 b \u2502 c \u2502") == ["a"]
    assert missing_lines(["a", "c"], "a b c") == []


def test_commands_go_on_in_the_next_line():
    (first, second) = list_steps("$ one \\\n> two\nshown\n> shown too\n$ three\n")
    assert first.command == "one two"
    assert first.shown == ["shown", "> shown too"]
    assert second.command == "three"


def test_the_first_study():
    follow(TUTORIALS / "first_study.md")
    run = open_run("first_study/runs/main")
    known = pd.read_csv("first_study/known/nodules.csv")
    # The page teaches nothing if what it finds is not there.
    assert run.results.verdict.sensitivity > 0.4
    assert len(known) > run.results.study.n_golden / 2


@pytest.mark.slow
def test_from_a_spreadsheet_to_a_report():
    follow(TUTORIALS / "own_spreadsheet.md")
    imported, drawn = pd.read_csv("scans/marks.csv"), pd.read_csv("made_up/marks.csv")
    # Boxes are rounded to a tenth of a pixel of 0.7 mm, and turn no ellipse.
    assert imported[["x_mm", "y_mm"]].to_numpy() == pytest.approx(drawn[["x_mm", "y_mm"]].to_numpy(), abs=0.1)
    assert len(pd.read_csv("scans/readings.csv")) == len(pd.read_csv("made_up/readings.csv"))
    assert "Dr R" not in Path("scans/runs/main/report.html").read_text(encoding="utf-8")


def test_from_detections_to_a_curve():
    names = follow(TUTORIALS / "own_detections.md")
    assert len(read_detections("ours.csv").candidates) == len(names["places"])


def test_a_reading_room_of_three_readers():
    simulated = ("R1", "R2", "R3")

    def read_all(folder: Path, printed: str) -> None:
        """Three readers, who draw by the page's own requests what simulated ones drew."""
        drawn = pd.read_csv("phantoms/marks.csv")
        room = open_room(folder)
        room.prepare(None)
        app = make_app(room, Address(URL), open_limits())
        secrets = re.findall(r"#s=(\S+)", printed)
        for secret, stands_for in zip(secrets, simulated, strict=True):
            visitor = Visitor(app, secret)
            for item in visitor.items():
                query = "SELECT image_id FROM items WHERE item = ?"
                image = str(room.store.rows(query, (item,))[0][0])
                own = drawn[(drawn["image_id"] == image) & (drawn["reader_id"] == stands_for)]
                for mark in own.itertuples():
                    visitor.draw(item, mark.x_mm / 0.7, mark.y_mm / 0.7, label="nodule")
                if own.empty:
                    visitor.act("POST", f"/api/items/{item}/nothing", on=True)
                visitor.act("POST", f"/api/items/{item}/lock")

    follow(TUTORIALS / "reading_room.md", read_all)
    drawn = pd.read_csv("phantoms/marks.csv").query("reader_id in @simulated")
    found = read_folder(Path("room"))
    assert len(found.marks) == len(drawn) > 3
    assert sorted(found.marks["x_mm"]) == pytest.approx(sorted(drawn["x_mm"]), abs=1e-6)
    assert set(found.readings["reader_id"]) == {"Anna", "Ben", "Cleo"}
