"""A cell that cannot be read is never "nothing marked", and no number is taken in two ways."""

import itertools
import json
import re
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import FormatError
from overread.marks import SheetOptions, Spacings, read_folder, understand_sheet

IMAGES = "image_id,mm_per_px_x,mm_per_px_y,width_px,height_px\n" + "".join(
    f"case0000{k},0.7,0.7,500,610\n" for k in (1, 2, 3)
)
HEADER = ["image", "reader", "x", "y", "diameter"]


@pytest.fixture
def take(tmp_path, capsys):
    """Import a file into a new study of three images; exit code and all that was said."""
    (tmp_path / "images.csv").write_text(IMAGES)

    def run(file, *more):
        out = tmp_path / "study"
        code = main(
            [
                "import",
                str(file),
                "--images",
                str(tmp_path / "images.csv"),
                "--output",
                str(out),
                *map(str, more),
            ]
        )
        said = capsys.readouterr()
        assert out.exists() == (code == 0)
        return code, said.out + said.err

    return run


def sheet(path: Path, *rows: list[object]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def change_parts(path: Path, change) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, change(name, content))
    return path


TOLD = ("--yes", "--all-read-all", "--unit", "px")


@pytest.mark.parametrize("place", range(5))
def test_a_formula_in_any_cell_that_is_used_is_seen(take, tmp_path, place):
    row: list[object] = ["case00001", "A", 100, 200, 20]
    row[place] = '="case0000"&1' if place == 0 else "=7"
    code, said = take(sheet(tmp_path / "m.xlsx", HEADER, row), *TOLD)
    assert code == 4
    assert f"row 2, column {HEADER[place]}: the formula has no stored value" in said


def test_a_row_of_nothing_but_formulas_and_one_in_a_column_that_is_not_used(take, tmp_path):
    code, said = take(sheet(tmp_path / "m.xlsx", HEADER, ["=A9", "=A9", "=A9", "=A9", "=A9"]), *TOLD)
    assert code == 4
    assert "row 2, column x: the formula" in said
    good = sheet(tmp_path / "m.xlsx", [*HEADER, "area"], ["case00001", "A", 100, 200, 20, "=E2*E2"])
    assert take(good, *TOLD)[0] == 0


def test_values_that_a_spreadsheet_program_stored_are_read(take, tmp_path):
    """Computed formulas: 110 and 210; a formula that gives an empty text is an empty cell."""

    def compute(name, content):
        content = content.replace('<c r="C2"><f>C3+1</f><v /></c>', '<c r="C2"><f>C3+1</f><v>110</v></c>')
        content = content.replace('<c r="F2"><f>""</f><v /></c>', '<c r="F2" t="str"><f>""</f><v></v></c>')
        return content.replace(' fullCalcOnLoad="1"', "")

    rows = [*HEADER, "label"], ["case00001", "A", "=C3+1", 210, 20, '=""']
    path = change_parts(sheet(tmp_path / "m.xlsx", *rows), compute)
    assert take(path, *TOLD)[0] == 0
    marks = read_folder(tmp_path / "study").marks
    assert marks[["x_mm", "y_mm"]].to_numpy().tolist() == [[pytest.approx(77.0), pytest.approx(147.0)]]


def test_a_zero_that_a_writer_stores_for_a_formula_is_not_its_value(take, tmp_path):
    """Writers that compute nothing store 0 and ask the program that opens the file to compute."""

    def store_zero(name, content):
        return content.replace("<v />", "<v>0</v>")

    path = change_parts(sheet(tmp_path / "m.xlsx", HEADER, ["case00001", "A", "=50+50", 200, 20]), store_zero)
    code, said = take(path, *TOLD)
    assert code == 4
    assert "row 2, column x: the formula has no stored value" in said


@pytest.mark.parametrize("number", [2, 1])
def test_a_row_that_is_there_twice_is_refused(take, tmp_path, number):
    rows = [["case00001", "A", 100, 200, 20], ["case00002", "A", 110, 210, 20]]

    def repeat(name, content):
        return re.sub(r'r="([A-E]?)3"', rf'r="\g<1>{number}"', content) if "sheet1" in name else content

    code, said = take(change_parts(sheet(tmp_path / "m.xlsx", HEADER, *rows), repeat), *TOLD)
    assert code == 4
    assert f"row {number} comes after row 2" in said


def test_a_cell_that_is_there_twice_is_refused(take, tmp_path):
    path = sheet(tmp_path / "m.xlsx", HEADER, ["case00001", "A", 100, 200, 20])
    code, said = take(change_parts(path, lambda name, content: content.replace('r="D2"', 'r="C2"')), *TOLD)
    assert code == 4
    assert "cell C2 is there twice" in said


VALUES = (0.5, 12.5, 1.234, 12.0, 100.25, 1234.0, 1234.5, 123456.0, 1234567.0)


def write_number(value: float, decimal: str, *, thousands: bool) -> str:
    """As a spreadsheet of one country shows it; Python's own format is the judge."""
    text = f"{value:,}" if thousands else f"{value}"
    text = text.removesuffix(".0")
    return text.translate(str.maketrans(",.", ".,")) if decimal == "comma" else text


@pytest.mark.parametrize("decimal", ["comma", "point"])
@pytest.mark.parametrize("thousands", [False, True])
def test_whatever_a_country_writes_is_read_rightly_or_asked_for(tmp_path, decimal, thousands):
    """All pairs of nine numbers in four ways of writing: the value, a question or a refusal, never another value."""
    path, read = tmp_path / "t.csv", 0
    for pair in itertools.product(VALUES, repeat=2):
        cells = [write_number(value, decimal, thousands=thousands) for value in pair]
        path.write_text("image;reader;x;y;diameter\n" + f"a;R;{cells[0]};{cells[1]};3\n")
        for told in (None, "comma", "point"):
            options = SheetOptions(unit="px", decimal=told)
            try:
                layout = understand_sheet(path, options, Spacings(), has_reader=False)
            except FormatError:
                assert told != decimal
                continue
            if layout.questions:
                assert told is None
                continue
            found = (layout.numbers["x"][0], layout.numbers["y"][0])
            if told in (None, decimal):
                assert found == pair
                read += told is None
    # Asked for is only what a thousands mark, or three decimals, makes ambiguous.
    assert read >= (16 if thousands else 63)


def csv(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("unit", ["px", "fraction", "percent"])
def test_a_unit_that_the_columns_contradict_is_refused(take, tmp_path, unit):
    file = csv(tmp_path / "m.csv", "image,reader,x_mm,y_mm,diameter_mm", "case00001,A,100,200,20")
    code, said = take(file, "--yes", "--all-read-all", "--unit", unit)
    assert code == 4
    assert "the column 'x_mm' states mm" in said
    assert take(file, "--yes", "--all-read-all", "--unit", "mm")[0] == 0


@pytest.mark.parametrize(
    ("header", "row", "good"),
    [
        ("x,y,diameter,radius", "100,200,10,{}", "5"),
        ("x_min,y_min,x_max,y_max,width,height", "10,20,40,60,{},40", "30"),
        ("x_min,y_min,x_max,y_max,width,height", "10,20,40,60,30,{}", "40"),
    ],
)
def test_a_size_that_two_columns_state_differently_is_refused(take, tmp_path, header, row, good):
    rows = [f"case00001,A,{row.format(20)}", f"case00002,A,{row.format(20)}"]
    code, said = take(csv(tmp_path / "m.csv", f"image,reader,{header}", *rows), *TOLD)
    assert code == 4
    assert "row 2: the columns" in said
    assert "contradict each other (2 rows)" in said
    file = csv(tmp_path / "m.csv", f"image,reader,{header}", f"case00001,A,{row.format(good)}")
    assert take(file, *TOLD)[0] == 0


def test_angles_that_look_like_radians_are_refused(take, tmp_path):
    header = "image,reader,cx,cy,width,height,angle"
    told = (*TOLD, "--angle", "counterclockwise")
    three = [f"case0000{k},A,100,200,20,10,{angle}" for k, angle in ((1, 1.5708), (2, 0.3), (3, 3.1))]
    code, said = take(csv(tmp_path / "m.csv", header, *three), *told)
    assert code == 4
    assert "look like radians" in said
    rows = ("case00001,A,100,200,20,10,1.5708", "case00001,A,200,200,20,10,35")
    assert take(csv(tmp_path / "m.csv", header, *rows), *told)[0] == 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_small_angles_are_degrees_and_more_can_be_stated(take, tmp_path, n):
    """One ellipse of 3.5 degrees was refused, and the advice was to round it."""
    angles = [3.5, 2.25, 0.5][:n]
    rows = [f"case0000{k},A,100,200,20,10,{angle}" for k, angle in enumerate(angles, start=1)]
    header = "image,reader,cx,cy,width,height," + ("angle" if n < 3 else "angle_deg")
    assert take(csv(tmp_path / "m.csv", header, *rows), *TOLD, "--angle", "clockwise")[0] == 0
    marks = pd.read_csv(tmp_path / "study" / "marks.csv")
    assert marks["angle_deg"].tolist() == pytest.approx(angles)


def test_one_column_is_not_read_with_points_and_with_commas(take, tmp_path):
    """37.5 was read as 37.5 and 1.125 as 1125, under --decimal comma."""
    rows = ["image;reader;x;y;diameter", "case00001;A;37.5;200;20", "case00002;A;1.125;200;20"]
    code, said = take(csv(tmp_path / "m.csv", *rows), *TOLD, "--decimal", "comma")
    assert code == 4
    assert "row 2, column x: '37.5' is not a number with a decimal comma" in said


@pytest.mark.parametrize("told", [(), ("--decimal", "comma"), ("--decimal", "point")])
@pytest.mark.parametrize("diameter", [20.125, "20"])
def test_typed_numbers_of_a_workbook_are_not_asked_about(take, tmp_path, told, diameter):
    path = sheet(tmp_path / "m.xlsx", HEADER, ["case00001", "A", 37.125, 120.375, diameter])
    assert take(path, *TOLD, *told)[0] == 0
    mark = read_folder(tmp_path / "study").marks[["x_mm", "y_mm", "semi_major_mm"]].to_numpy()[0]
    assert mark == pytest.approx([37.125 * 0.7, 120.375 * 0.7, float(diameter) / 2 * 0.7])


def test_forty_large_marks_are_one_line_in_every_command(take, tmp_path, capsys, monkeypatch):
    """The review: five of forty lines in each of import, check, merge and readers."""
    monkeypatch.setenv("COLUMNS", "400")
    rows = [
        f"case0000{1 + k % 3},{reader},{100 + 7 * k},{200 + 5 * k},400"
        for k in range(20)
        for reader in ("A", "B")
    ]
    file = csv(tmp_path / "m.csv", "image,reader,x,y,diameter", *rows)
    code, said = take(file, *TOLD)
    assert code == 0
    study = str(tmp_path / "study")
    lines = {"import": said}
    for command in (["check", study, "--skip-files"], ["merge", study], ["readers", study]):
        assert main(command) == 0
        told = capsys.readouterr()
        lines[command[0]] = told.out + told.err
    for command, text in lines.items():
        words = " ".join(text.split())
        assert words.count("of its image as a full axis") == 1, command
    assert "and 39 more like it" in lines["import"]
    assert main(["check", study, "--skip-files", "--json"]) == 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert sum("of its image as a full axis" in problem["message"] for problem in problems) == 40
