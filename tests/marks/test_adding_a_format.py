"""docs/how-to/add_an_import_format.md, done as it says."""

import importlib
import json
import re
import sys
import types
from pathlib import Path

import pytest

from overread.errors import FormatError, UsageError
from overread.marks import FORMATS, read_marks
from overread.marks import _importing as importing

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add_an_import_format.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CSV = next(text for kind, text in BLOCKS if kind == "csv")
MODULE, ENTRY, CALL = (text for kind, text in BLOCKS if kind == "python")


@pytest.fixture
def circles(tmp_path, monkeypatch):
    """The format of the page, installed; gives the folder with its file."""
    module = types.ModuleType("overread.marks.formats.circles")
    exec(compile(MODULE, str(PAGE), "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = eval(ENTRY, vars(importing))
    monkeypatch.setitem(FORMATS, entry.name, entry)
    monkeypatch.chdir(tmp_path)
    Path("circles.csv").write_text(CSV)
    return tmp_path


def test_the_call_of_the_page_reads_the_file_of_the_page(circles):
    names: dict[str, object] = {}
    exec(CALL, names)
    found = names["found"]
    assert found.marks.iloc[0].tolist() == ["chest1.png", "Ann", "row2", 50.0, 25.0, 5.0, 5.0, 0.0]
    assert found.readings["reader_id"].tolist() == ["Ann", "Bob"]
    assert len(read_marks("circles.csv", "circles", mm_per_px=0.5, smallest=30).marks) == 0


def test_mistakes_are_told_as_those_of_the_other_formats(circles):
    with pytest.raises(FormatError, match="mm per pixel"):
        read_marks("circles.csv", "circles")
    with pytest.raises(UsageError, match="has no option largest; it has: smallest"):
        read_marks("circles.csv", "circles", largest=3)
    Path("circles.csv").write_text(CSV.replace("100", "wide"))
    with pytest.raises(FormatError, match="row 2: wide is not a number"):
        read_marks("circles.csv", "circles", mm_per_px=1)


def test_the_command_offers_it_without_being_changed(circles, capsys, monkeypatch):
    from cyclopts import App

    from overread.cli import import_marks

    fresh = importlib.reload(import_marks)
    app = App(name="import", result_action="return_value")
    app.default(fresh.import_marks)
    try:
        command = re.search(r"`overread import (circles[^`]*)`", PAGE.read_text()).group(1)
        app([*command.split(), "--json"])
        assert json.loads(capsys.readouterr().out)["marks"] == 1
        app(["--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert "circles (circles in a spreadsheet)" in told.replace("│ │ ", "")
        assert "circles: least diameter in pixels." in told
    finally:
        monkeypatch.undo()
        importlib.reload(import_marks)
