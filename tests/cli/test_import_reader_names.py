"""One reader under two spellings is one reader, or a question, in every format and in tables."""

import json

import pytest

from overread.cli import main
from overread.marks import read_folder, read_marks
from overread.tables import read_table

IMAGES = "image_id,mm_per_px_x,mm_per_px_y,width_px,height_px\na,0.5,0.5,400,400\nb,0.5,0.5,400,400\n"
COMPOSED, DECOMPOSED = "Ann\u00e9", "Anne\u0301"


@pytest.fixture
def take(tmp_path, capsys):
    """Import into a study of two images; exit code, all that was said, and the readers that the study has."""
    (tmp_path / "images.csv").write_text(IMAGES)
    out = tmp_path / "study"

    def run(*arguments):
        told = ["--images", str(tmp_path / "images.csv"), "--output", str(out), *map(str, arguments)]
        code = main(["import", *told])
        said = capsys.readouterr()
        assert out.exists() == (code == 0)
        readers = sorted(set(read_table(out / "readings.csv", "readings")["reader_id"])) if code == 0 else []
        return code, said.out + said.err, readers

    return run


def write_sheet(path, first, second):
    path.write_text(f"image,reader,x,y,diameter\na,{first},100,100,20\nb,{second},120,120,20\n")
    return path


SHEET = ("--unit", "px", "--all-read-all")


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("1", "01"), ("01", "1.0"), ("A", "\uff21")])
def test_one_reader_in_two_spellings_is_a_question(take, tmp_path, one, other):
    file = write_sheet(tmp_path / "m.csv", one, other)
    code, said, _ = take(file, *SHEET)
    assert code == 4
    assert "are the same name, and count as 2 readers" in said
    assert "--reader-names" in said
    # The answers that the question names: one reader, or two with other names.
    code, _, readers = take(file, *SHEET, "--reader-names", f"{other}=R")
    assert (code, readers) == (0, sorted([one, "R"]))
    code, _, readers = take(file, *SHEET, "--overwrite", "--reader-names", f"{other}={one}")
    assert (code, readers) == (0, [one])
    assert len(read_folder(tmp_path / "study").marks) == 2


@pytest.mark.parametrize(("one", "other"), [(COMPOSED, DECOMPOSED), ("A", "A\u200b"), ("A", "\ufeffA")])
def test_spellings_that_nobody_sees_are_one_reader(take, tmp_path, one, other):
    code, _, readers = take(write_sheet(tmp_path / "m.csv", one, other), *SHEET)
    assert (code, readers) == (0, [one])


@pytest.mark.parametrize("other", ["\u0410", "a", "\u0391"])
def test_letters_that_look_alike_are_warned_of(take, tmp_path, other):
    code, said, readers = take(write_sheet(tmp_path / "m.csv", "A", other), *SHEET)
    assert (code, len(readers)) == (0, 2)
    assert said.count("look alike, and count as 2 readers") == 1
    code, _, readers = take(
        write_sheet(tmp_path / "m.csv", "A", other), *SHEET, "--overwrite", "--reader-names", f"{other}=A"
    )
    assert (code, readers) == (0, ["A"])


def test_names_that_the_user_gives_are_spelled_alike_too(take, tmp_path):
    file = write_sheet(tmp_path / "m.csv", DECOMPOSED, "B")
    code, _, readers = take(file, "--unit", "px", "--readers", f"{COMPOSED},B")
    assert (code, readers) == (0, [COMPOSED, "B"])
    (tmp_path / "r.csv").write_text(f"image,reader\na,{COMPOSED}\nb,{DECOMPOSED}\nb,B\n")
    code, _, readers = take(file, "--unit", "px", "--overwrite", "--readings", tmp_path / "r.csv")
    assert (code, readers) == (0, [COMPOSED, "B"])


def test_two_readers_do_not_become_one(take, tmp_path):
    code, said, _ = take(write_sheet(tmp_path / "m.csv", "A", "B"), *SHEET, "--reader-names", "B=A")
    assert code == 2
    assert "two readers would become one" in said


CVAT = """<annotations><image id="0" name="{}.png" width="400" height="400">
<ellipse label="n" cx="50" cy="50" rx="9" ry="5"/></image></annotations>"""
COCO = {"categories": [{"id": 1, "name": "n"}], "annotations": []}


def coco_of(path, reader):
    annotation = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [40, 50, 10, 10], "reader": reader}
    document = COCO | {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [annotation]}
    path.write_text(json.dumps(document))
    return ("--reader-key", "reader", "--derive-readings")


def plain_of(path, reader):
    header = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg"
    (path / "marks.csv").write_text(f"{header}\na,{reader},{path.name},20,20,5,5,0\n")
    (path / "readings.csv").write_text(f"image_id,reader_id\na,{reader}\n")


def test_files_of_one_reader_in_two_spellings_and_formats(take, tmp_path):
    """CVAT with the reader on the command line, COCO with a key, our own tables: spellings meet across files."""
    for name in "ab":
        (tmp_path / f"{name}.xml").write_text(CVAT.format(name))
    code, said, _ = take("--reader", f"1={tmp_path / 'a.xml'}", "--reader", f"1.0={tmp_path / 'b.xml'}")
    assert code == 4
    assert "'1' and '1.0' are the same name" in said
    names = {"a": COMPOSED, "b": DECOMPOSED}
    told = [
        part for name, reader in names.items() for part in ("--reader", f"{reader}={tmp_path / name}.xml")
    ]
    assert take(*told)[2] == [COMPOSED]
    told = coco_of(tmp_path / "c.json", DECOMPOSED)
    assert read_marks(tmp_path / "c.json", mm_per_px=0.5, reader_key="reader", derive_readings=True).readings[
        "reader_id"
    ].tolist() == [COMPOSED]
    (tmp_path / "p").mkdir()
    plain_of(tmp_path / "p", DECOMPOSED)
    assert read_marks(tmp_path / "p").marks["reader_id"].tolist() == [COMPOSED]


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), (COMPOSED, DECOMPOSED), ("A", "A\u200b")])
def test_tables_of_a_study_are_refused(tmp_path, capsys, monkeypatch, one, other):
    monkeypatch.setenv("COLUMNS", "400")
    header = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg"
    (tmp_path / "marks.csv").write_text(f"{header}\na,{one},m,20,20,5,5,0\na,{other},n,20,20,5,5,0\n")
    (tmp_path / "readings.csv").write_text(f"image_id,reader_id\na,{one}\na,{other}\n")
    (tmp_path / "images.csv").write_text(IMAGES.replace("b,0.5,0.5,400,400\n", ""))
    for command in (["check", "--skip-files"], ["merge"], ["readers"]):
        assert main([command[0], str(tmp_path), *command[1:]]) == 4
        said = capsys.readouterr()
        assert "are the same name" in " ".join((said.out + said.err).split()), command


def test_an_image_is_found_however_its_accents_are_coded(take, tmp_path):
    """File names of one system come decomposed, those of another composed."""
    (tmp_path / "images.csv").write_text(IMAGES.replace("a,", f"{DECOMPOSED},", 1))
    file = write_sheet(tmp_path / "m.csv", "R", "R")
    file.write_text(file.read_text().replace("a,R", f"{COMPOSED}.png,R"))
    assert take(file, *SHEET)[0] == 0
    assert set(read_folder(tmp_path / "study").marks["image_id"]) == {DECOMPOSED, "b"}


def test_two_codings_of_one_image_are_refused(tmp_path, capsys):
    file = write_sheet(tmp_path / "m.csv", "R", "R")
    file.write_text(file.read_text().replace("a,R", f"{COMPOSED},R").replace("b,R", f"{DECOMPOSED},R"))
    told = ["--unit", "px", "--all-read-all", "--mm-per-px", "0.5", "--output", str(tmp_path / "study")]
    assert main(["import", str(file), *told]) == 4
    assert "look the same" in capsys.readouterr().err
