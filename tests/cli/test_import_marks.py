"""``overread import``."""

import json

import pytest

from overread.marks import read_folder

CVAT = """<annotations><image id="0" name="a.png" width="100" height="100">{}</image>
<image id="1" name="b.png" width="100" height="100"/></annotations>"""
ELLIPSE = '<ellipse label="nodule" cx="50" cy="50" rx="10" ry="5" rotation="30"/>'


@pytest.fixture
def exports(tmp_path):
    (tmp_path / "ann.xml").write_text(CVAT.format(ELLIPSE))
    (tmp_path / "bob.xml").write_text(CVAT.format(""))
    return tmp_path


def test_one_file_for_each_reader(run, exports, capsys):
    readers = ["--reader", f"R1={exports / 'ann.xml'}", "--reader", f"R2={exports / 'bob.xml'}"]
    assert run(["import", *readers, "--mm-per-px", "0.1,0.1", "--output", exports / "study"]) == 0
    assert "readings without marks" in capsys.readouterr().out
    found = read_folder(exports / "study")
    assert len(found.readings) == 4
    assert found.marks[["semi_major_mm", "angle_deg"]].to_numpy().tolist() == [[1.0, 30.0]]


def test_json_and_parquet(run, exports, capsys):
    arguments = ["--reader", f"R1={exports / 'ann.xml'}", "--mm-per-px", "0.1", "--parquet", "--json"]
    assert run(["import", *arguments, "--label", "nodule", "--output", exports / "study"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {
        key: told[key] for key in ("images", "readers", "readings", "readings_without_marks", "marks")
    } == {"images": 2, "readers": 1, "readings": 2, "readings_without_marks": 1, "marks": 1}
    assert all(name.endswith(".parquet") for name in told["files"])
    assert len(read_folder(exports / "study").marks) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "no file to import"),
        (["--reader", "R1"], 2, "NAME=FILE"),
        (["ann.xml"], 2, "needs reader"),
        (["--reader", "R1=ann.xml"], 4, "states its pixel size. Give mm_per_px"),
        (["--reader", "R1=ann.xml", "--mm-per-px", "wide"], 2, "positive"),
        (["--reader", "R1=ann.xml", "--mm-per-px", "1", "--radius-mm", "3"], 2, "no option radius_mm"),
        (["--reader", "R1=ann.xml", "--mm-per-px", "1", "--label", "mass"], 2, "no mark has the label"),
        (["--reader", "R1=ann.xml", "--reader", "R1=ann.xml", "--mm-per-px", "1"], 4, "already in row"),
        (["gone.xml"], 4, "no such file"),
        (["ann.xml", "--format", "pdf"], 2, "no format 'pdf'"),
    ],
)
def test_mistakes_get_one_line_and_a_code(run, exports, monkeypatch, capsys, arguments, code, words):
    monkeypatch.chdir(exports)
    assert run(["import", *arguments, "--output", "study"]) == code
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert not (exports / "study").exists()


def test_a_mark_outside_its_image_is_said_and_kept(run, exports, capsys):
    path = exports / "ann.xml"
    path.write_text(path.read_text().replace('cx="50"', 'cx="150"'))
    assert run(["import", "--reader", f"R1={path}", "--mm-per-px", "0.1", "--output", exports / "study"]) == 0
    said = capsys.readouterr().err
    assert "overread: warning: marks, row 2, column x_mm: 15 is outside its image" in said
    path.write_text(path.read_text().replace('cx="150"', 'cx="250"'))
    assert run(["import", "--reader", f"R1={path}", "--mm-per-px", "0.1", "--output", exports / "next"]) == 4
    assert "percent exported as pixels" in capsys.readouterr().err


def test_what_comes_next_is_said(run, exports, tmp_path, capsys):
    arguments = [
        "import",
        "--reader",
        f"R1={exports / 'ann.xml'}",
        "--mm-per-px",
        "1",
        "--output",
        str(tmp_path / "s"),
    ]
    assert run([*arguments, "--dry-run"]) == 0
    assert "Next: run the same command without --dry-run" in capsys.readouterr().out
    assert run(arguments) == 0
    assert capsys.readouterr().out.endswith(f"then: overread init {tmp_path / 's'}\n")
