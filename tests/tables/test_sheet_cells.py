"""Spreadsheets come as text, whatever separator, encoding or program wrote them."""

import contextlib
import zipfile

import numpy as np
import openpyxl
import pytest

from overread.errors import TableError
from overread.tables import read_sheet

ROWS = [["Datei", "Größe", "x"], ["a,b.dcm", "1,5", "7"], ["ü.dcm", "", "8"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_every_separator_and_encoding_gives_the_same_cells(tmp_path, separator, name, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("".join(separator.join(row) + "\r\n" for row in ROWS).encode(encoding))
    sheet = read_sheet(path)
    assert [list(sheet.header), *map(list, sheet.rows)] == ROWS
    assert f"separated by {name}" in sheet.notes
    assert any("1252" in note for note in sheet.notes) == (encoding == "cp1252")
    assert sheet.numbers == (2, 3)


def test_commas_with_quotes_and_empty_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\nimage,note\n\na,"x, y"\n,\nb,\n')
    sheet = read_sheet(path)
    assert sheet.rows == (("a", "x, y"), ("b", ""))
    assert sheet.numbers == (4, 6)
    assert sheet.notes == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("image;x\na;1;2\n", "row 2 has 3 cells where the header has 2 separated by semicolons"),
        ("image;x\na;1", "no line end"),
        ("image\na\n", "one column"),
        ("x;x\n1;2\n", "twice"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(tmp_path, text, words):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=words):
        read_sheet(path)


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_a_workbook_gives_numbers_as_text_without_a_false_point(tmp_path):
    path = book(
        tmp_path / "t.xlsx",
        Marks=[["image", "x"], ["00123", 7.0], ["b", 7.25], [None, None], ["c", 3]],
        Empty=[],
    )
    sheet = read_sheet(path)
    assert sheet.rows == (("00123", "7"), ("b", "7.25"), ("c", "3"))
    assert sheet.numbers == (2, 3, 5)


def test_of_several_sheets_one_is_named(tmp_path):
    path = book(tmp_path / "t.xlsx", A=[["image"], ["a"]], B=[["image"], ["b"]])
    with pytest.raises(TableError, match=r"A, B .*--sheet"):
        read_sheet(path)
    assert read_sheet(path, "B").rows == (("b",),)
    with pytest.raises(TableError, match="no sheet 'C'; there are A, B"):
        read_sheet(path, "C")


def test_what_is_no_workbook_is_refused(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK nothing")
    with pytest.raises(TableError, match=r"as \.xlsx"):
        read_sheet(tmp_path / "t.xlsx")
    (tmp_path / "t.xls").write_bytes(b"old")
    with pytest.raises(TableError, match=r"save it as \.xlsx or as CSV"):
        read_sheet(tmp_path / "t.xls")


def rewrite_sheet(path, change):
    """Change the XML of a workbook's first sheet."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = next(one for one in parts if one.startswith("xl/worksheets/"))
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w") as archive:
        for one, content in parts.items():
            archive.writestr(one, content)


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    for row in (["image", "x"], ["a", 1], ["b", 2], ["c", 3]):
        book.active.append(row)
    path = tmp_path / "marks.xlsx"
    book.save(path)
    return path


def test_a_workbook_that_states_too_few_rows_loses_none(workbook):
    rewrite_sheet(workbook, lambda xml: xml.replace(b'ref="A1:B4"', b'ref="A1:B2"'))
    assert [row[0] for row in read_sheet(workbook).rows] == ["a", "b", "c"]


def test_a_gap_of_millions_of_rows_is_refused(workbook):
    rewrite_sheet(
        workbook, lambda xml: xml.replace(b'r="4"', b'r="40000000"').replace(b'"A4"', b'"A40000000"')
    )
    with pytest.raises(TableError, match="rows or"):
        read_sheet(workbook)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_workbook_is_read_or_refused(workbook, seed):
    content = bytearray(workbook.read_bytes())
    random = np.random.default_rng(seed)
    for place in random.integers(0, len(content), 3):
        content[place] ^= 1 << int(random.integers(8))
    workbook.write_bytes(bytes(content))
    with contextlib.suppress(TableError):
        read_sheet(workbook)


def test_shared_strings_have_a_bound(tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * 1001)
    monkeypatch.setattr("overread.tables._sheets.MOST_STRING_BYTES", 1000)
    with pytest.raises(TableError, match="of text in cells"):
        read_sheet(path)
    monkeypatch.setattr("overread.tables._sheets.MOST_STRING_BYTES", 1001)
    with pytest.raises(TableError, match=r"cannot be read as \.xlsx"):
        read_sheet(path)
