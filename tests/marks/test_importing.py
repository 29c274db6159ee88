"""Formats by name and by content; options that exist and options that do not.

docs/how-to/add_an_import_format.md, done as it says.
"""

import importlib
import inspect
import json
import re
import sys
import types
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from overread.errors import FormatError, TableError, UsageError
from overread.marks import FORMATS, detect_format, read_marks, write_marks
from overread.marks import _importing as importing

MARKS = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg,label\n"
VINDR = "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\na,No finding,14,R1,,,,\n"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("marks.csv", MARKS.encode(), "plain"),
        ("train.csv", VINDR.encode(), "vindr"),
        ("train.csv.gz", b"\x1f\x8b", "vindr"),
        ("a.xml", b"<?xml version='1.0'?>\n<annotations><image", "cvat"),
        ("a.xml", b'<LidcReadMessage xmlns="http://www.nih.gov">', "lidc"),
        ("a.xml", b'\xef\xbb\xbf<IdriReadMessage xmlns="http://www.nih.gov/idri"/>', "lidc"),
        ("a.sqlite", b"SQLite format 3\0", "pylidc"),
        ("a.dcm", b"\0" * 128 + b"DICM", "dicom-sr"),
        ("a.json", b'[{"id": 1, "annotations": [], "data": {}}]', "label-studio"),
        ("a.json", b'[{"annotation_id": 1}]', "label-studio"),
        ("a.json", b'{"images": [], "annotations": []}', "coco"),
    ],
)
def test_the_content_tells_the_format(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content)
    assert detect_format(path) == expected


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.parquet", b"PAR1"),
        ("a.xml", b"<svg/>"),
        ("a.xml", b'<!DOCTYPE a [<!ENTITY x "y">]><annotations/>'),
        ("a.json", b"{}"),
        ("a.png", b"\x89PNG"),
        ("a", b""),
    ],
)
def test_what_is_not_certain_is_not_guessed(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match="the format is not recognized"):
        detect_format(path)


def test_a_folder_is_plain(tmp_path):
    assert detect_format(tmp_path) == "plain"


def test_wrong_names_and_options(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(VINDR)
    with pytest.raises(FormatError, match="no such file"):
        read_marks(tmp_path / "absent.csv")
    with pytest.raises(UsageError, match="the formats are plain"):
        read_marks(path, "excel")
    with pytest.raises(UsageError, match="has no option radius_mm; its options: none"):
        read_marks(path, radius_mm=3)
    with pytest.raises(UsageError, match="needs reader"):
        read_marks(path, "cvat")
    with pytest.raises(FormatError, match="a folder without marks"):
        read_marks(tmp_path, mm_per_px=0.1)
    (tmp_path / "marks.csv").touch()
    with pytest.raises(UsageError, match="Remove mm_per_px"):
        read_marks(tmp_path, mm_per_px=0.1)
    with pytest.raises(UsageError, match="no mark has the label 'Mas'"):
        read_marks(path, labels=["Mas"])
    for value in (0, -1, float("inf"), float("nan"), (0.1, 0)):
        with pytest.raises(ValueError, match="positive"):
            read_marks(path, mm_per_px=value)
    found = read_marks(path)
    with pytest.raises(
        UsageError, match=r"cannot be written. Choose one of plain, label-studio, via, dicom-sr"
    ):
        write_marks(found, tmp_path / "x", "cvat")
    with pytest.raises(UsageError, match="has no option speed"):
        write_marks(found, tmp_path / "x", speed=3)


def test_an_images_table_gives_spacings_and_what_else_is_known(tmp_path):
    path, images = tmp_path / "train.csv", tmp_path / "images.csv"
    path.write_text(VINDR + "a,Mass,8,R2,0,0,10,10\nb,Mass,8,R2,0,0,10,10\n")
    images.write_text("image_id,patient_id,mm_per_px_x,mm_per_px_y,site\na,P1,0.1,0.2,x\nc,P9,1,1,y\n")
    found = read_marks(path, images=images, mm_per_px=0.5)
    assert found.marks["semi_major_mm"].tolist() == [1.0, 2.5]
    assert found.images.to_dict("list") == {
        "image_id": ["a", "b"],
        "patient_id": ["P1", ""],
        "mm_per_px_x": [0.1, 0.5],
        "mm_per_px_y": [0.2, 0.5],
        "site": ["x", ""],
    }


def test_one_row_of_an_images_table_tells_of_one_image(tmp_path):
    path, images = tmp_path / "train.csv", tmp_path / "images.csv"
    path.write_text(VINDR + "a/1.png,Mass,8,R2,0,0,10,10\nb/1.png,Mass,8,R2,0,0,10,10\n")
    images.write_text("image_id,patient_id,mm_per_px_x,mm_per_px_y\n1.png,P1,0.1,0.2\n")
    with pytest.raises(TableError, match=r"'a/1\.png' and 'b/1\.png' both match the id '1\.png'"):
        read_marks(path, images=images)
    images.write_text("image_id,patient_id,mm_per_px_x,mm_per_px_y\n1.png,P1,0.1,0.2\nb/1.png,P2,0.3,0.3\n")
    found = read_marks(path, images=images)
    told = found.images.set_index("image_id").loc[["a/1.png", "b/1.png"]]
    assert told["patient_id"].tolist() == ["P1", "P2"]
    assert told["mm_per_px_x"].tolist() == [0.1, 0.3]


def test_every_format_has_a_row_and_a_convention():
    """Each module says in its docstring where pixel (0, 0) lies or that it has millimetres."""
    docs = Path(__file__).parents[2] / "docs" / "reference" / "formats"
    index = (docs / "index.md").read_text()
    for name, entry in FORMATS.items():
        assert f"| {f'[{name}]({name}.md)' if (docs / f'{name}.md').is_file() else f'`{name}`'} |" in index
        module = __import__(f"overread.marks.formats.{entry.reader}", fromlist=["read"])
        assert "pixel" in module.__doc__.lower() or "mm" in module.__doc__


def test_the_options_of_the_registry_are_those_of_the_modules():
    for entry in FORMATS.values():
        module = importlib.import_module(f"overread.marks.formats.{entry.reader}")
        hints = get_type_hints(module.read)
        own = {
            name: next(iter(get_args(hints[name])), hints[name])
            for name, parameter in inspect.signature(module.read).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name not in ("spacings", "reader")
        }
        assert {option.name: option.type for option in entry.options} == own, entry.name


def test_a_written_export_is_recognised(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text(VINDR)
    (target,) = write_marks(read_marks(path), tmp_path / "tasks.json", "label-studio")
    assert detect_format(target) == "label-studio"
    assert json.loads(target.read_text())[0]["annotations"][0]["result"] == []


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
    with pytest.raises(FormatError, match="pixel size"):
        read_marks("circles.csv", "circles")
    with pytest.raises(UsageError, match="has no option largest; its options: smallest"):
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
