"""What `overread init` and `overread check` find in a folder of images, cure, propose and suggest."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import InvalidInputError, TableError, UsageError
from overread.images import DicomFacts, write_dicom, write_png16
from overread.marks import FOUND_FILE, MarkSet, Spacings, list_found_files, scan_folder, write_folder
from overread.report import FoundFiles, Spread
from overread.study import Finding, check_pictures
from overread.study._inputs import read_found_files
from overread.study.intake._columns import MOST_VALUES, choose_subgroups, describe_columns, suggest_import
from overread.study.intake._issues import (
    DIRECTORY,
    FoundImage,
    choose_dropped,
    drop_rows,
    find_common_spacing,
    find_findings,
    find_unread,
    look_at_files,
    merge_patients,
)
from overread.tables import read_table, write_table


def image(image_id, patient, pixels="", **facts):
    found = FoundImage(f"{image_id}.dcm", (1.0, 1.0), (10, 10), DicomFacts(**facts), pixels or image_id)
    return image_id, patient, found


def kinds(*images):
    return [(finding.kind, finding.image_id, finding.other) for finding in find_findings(images)]


def test_ordinary_images_give_nothing():
    assert kinds(image("a", "p", view_position="PA", study="1"), image("b", "q", study="2")) == []


def test_repeats_name_the_first_and_say_where_the_patient_differs():
    found = find_findings([image("a", "p", "X"), image("b", "q", "X"), image("c", "p", "X")])
    assert [(one.image_id, one.other) for one in found] == [("b", "a"), ("c", "a")]
    assert "under another patient" in str(found[0])
    assert "under another patient" not in str(found[1])
    assert found[0].cure(Path("s")) == "overread init s --drop b, or all such: --drop duplicate"


def test_one_patient_under_two_ids():
    assert kinds(image("a", "p", study="1"), image("b", "q", study="1")) == [("patient", "b", "a")]
    named = {"name": "N", "birth_date": "19670412"}
    assert kinds(image("a", "p", **named), image("b", "q", **named)) == [("patient", "b", "a")]
    assert kinds(*[image(str(n), f"p{n}", **named) for n in range(6)]) == []
    (finding,) = find_findings([image("a", "p", study="1"), image("b", "q", study="1")])
    assert finding.cure(Path("s")).endswith("--same-patient a=b")


def test_views_and_text():
    _, _, turned = image("d", "p")
    odd = FoundImage(
        turned.path, turned.mm_per_px, turned.shape, turned.facts, "d", frontal=False, letters=30
    )
    found = kinds(
        image("a", "p", view_position="LL"), image("b", "p", view_position="AP"), image("c", "p", body_part="HAND"),
        ("d", "p", odd), image("e", "p", view_position="PA"),
    )  # fmt: skip
    assert [kind for kind, *_ in found] == ["lateral", "ap", "non-chest", "not-frontal", "text"]


def test_files_are_looked_at_once_and_an_index_is_no_damage(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 4000, (60, 80)).astype(np.uint16)
    write_dicom(tmp_path / "a.dcm", pixels, 0.5, patient_id="P", image_id="1")
    write_png16(tmp_path / "b.png", pixels)
    index = b"\0" * 128 + b"DICM" + b"\x02\x00\x02\x00UI\x14\x00" + b"1.2.840.10008.1.3.10"
    (tmp_path / "DICOMDIR").write_bytes(index)
    files = [tmp_path / name for name in ("a.dcm", "b.png", "DICOMDIR")]
    found, unreadable = look_at_files(files, tmp_path, Spacings((0.5, 0.5)))
    assert unreadable == {"DICOMDIR": DIRECTORY}
    assert found[0].fingerprint == found[1].fingerprint
    assert [one.path for one in found] == ["a.dcm", "b.png"]


IMAGES = pd.DataFrame(
    {"image_id": ["a", "b", "c"], "patient_id": ["p", "q", ""], "path": ["x/a.dcm", "x/b.dcm", "x/c.dcm"]},
    dtype="str",
)
SHAPE = {"x_mm": 1.0, "y_mm": 1.0, "semi_major_mm": 1.0, "semi_minor_mm": 1.0, "angle_deg": 0.0}


def test_what_to_drop_is_named_by_kind_id_or_file():
    findings = [Finding("lateral", "b"), Finding("duplicate", "c", "a")]
    assert list(choose_dropped(["lateral"], IMAGES, findings, [])) == ["b"]
    assert list(choose_dropped(["c.dcm", "unread"], IMAGES, findings, ["a"])) == ["c", "a"]
    assert "same pixels" in choose_dropped(["c"], IMAGES, findings, [])["c"]
    with pytest.raises(UsageError, match="--drop sideways: no such image, and no kind; kinds are duplicate"):
        choose_dropped(["sideways"], IMAGES, findings, [])


def test_rows_of_dropped_images_are_kept_elsewhere(tmp_path):
    readings = pd.DataFrame({"image_id": ["a", "b"], "reader_id": ["R", "R"]}, dtype="str")
    write_table(readings, tmp_path / "readings.csv")
    write_table(readings.assign(mark_id=["1", "2"], **SHAPE), tmp_path / "marks.csv")
    assert find_unread(tmp_path, IMAGES) == ["c"]
    assert drop_and_write(tmp_path, ["b", "c"]) == 1
    assert read_table(tmp_path / "marks.csv", "marks")["image_id"].tolist() == ["a"]
    assert read_table(tmp_path / "left_out_marks.csv", "marks")["mark_id"].tolist() == ["2"]
    # A mark that comes again under its id and is dropped again: the later one is kept.
    again = read_table(tmp_path / "left_out_marks.csv", "marks").assign(x_mm=9.0)
    write_table(pd.concat([read_table(tmp_path / "marks.csv", "marks"), again]), tmp_path / "marks.csv")
    assert drop_and_write(tmp_path, ["a", "b"]) == 2
    assert read_table(tmp_path / "left_out_readings.csv", "readings")["image_id"].tolist() == ["b", "a"]
    kept = read_table(tmp_path / "left_out_marks.csv", "marks").set_index("mark_id")
    assert kept.loc["2", "x_mm"] == 9.0
    assert len(kept) == 2


def drop_and_write(folder, image_ids):
    new, n_marks = drop_rows(folder, image_ids)
    for name, content in new.items():
        (folder / name).write_bytes(content)
    return n_marks


def test_two_ids_of_one_patient_are_joined_not_dropped():
    with pytest.raises(UsageError, match="--same-patient"):
        choose_dropped(["patient"], IMAGES, [], [])


def test_patients_are_joined_by_image_or_id():
    assert merge_patients(IMAGES, [("a", "b")])["patient_id"].tolist() == ["p", "p", ""]
    assert merge_patients(IMAGES, [("q", "p")])["patient_id"].tolist() == ["q", "q", ""]
    assert merge_patients(IMAGES, [("c.dcm", "a")])["patient_id"].tolist() == ["p", "q", "p"]
    with pytest.raises(UsageError, match="no image and no patient 'z'"):
        merge_patients(IMAGES, [("a", "z")])


OUTSIDE = {"x_mm": 10.0, "y_mm": 500.0, "semi_major_mm": 3.0, "semi_minor_mm": 3.0, "angle_deg": 0.0}


def test_repeats_in_two_splits_leak_and_marks_are_held_against_the_file(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 60000, (60, 80)).astype(np.uint16)
    for name, values in (("a", pixels), ("b", pixels), ("c", pixels[::-1].copy())):
        write_png16(tmp_path / f"{name}.png", values)
    (tmp_path / "d.png").write_bytes(b"nothing")
    names = ["a", "b", "c", "d"]
    images = pd.DataFrame(
        {
            "image_id": names,
            "path": [f"{n}.png" for n in names],
            "split": ["training", "test", "test", "test"],
        }
    )
    readings = pd.DataFrame({"image_id": names, "reader_id": "R"})
    marks = pd.DataFrame({"image_id": ["a"], "reader_id": ["R"], "mark_id": ["1"], **OUTSIDE})
    write_folder(MarkSet(marks, readings, images), tmp_path)
    found = check_pictures(scan_folder(tmp_path), tmp_path)
    told = [one for one in found if one.column == "path"]
    assert [(one.row, one.severity) for one in told] == [(5, "warning"), (3, "leakage")]
    # A run in mm would give them up, after a check that told of nothing.
    assert [one.row for one in found if one.column == "mm_per_px_x"] == [2, 3, 4]
    assert "--drop missing" in told[0].remedy
    assert "the same pixels as an image before it ('a')" in told[1].message
    sized = images.assign(mm_per_px_x=0.5, mm_per_px_y=0.5)
    write_folder(MarkSet(marks, readings, sized), tmp_path, overwrite=True)
    write_png16(tmp_path / "a.png", pixels)
    found = check_pictures(scan_folder(tmp_path), tmp_path)
    assert [(one.row, one.severity) for one in found if one.column == "y_mm"] == [(2, "error")]
    assert not any(one.column == "mm_per_px_x" for one in found)


@pytest.mark.parametrize(
    ("widths", "common"), [([0.2, 0.2], (0.2, 0.3)), ([0.2, 0.4], None), ([np.nan, np.nan], None)]
)
def test_the_size_of_a_pixel_that_init_was_told_is_that_of_the_table(widths, common):
    images = pd.DataFrame({"image_id": ["a", "b"], "mm_per_px_x": widths, "mm_per_px_y": 0.3})
    assert find_common_spacing(images) == common
    assert find_common_spacing(images[["image_id"]]) is None


PLACE = Path("study.toml")


def images(n: int = 12, **columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"image_id": [f"i{k}" for k in range(n)], "path": "x.png", **columns})


def test_known_columns_that_divide_the_images_are_taken() -> None:
    table = images(
        sex=["F", "M", ""] * 4, site=["one"] * 12, scanner=[f"s{k}" for k in range(12)], mine=["a", "b"] * 6
    )
    chosen = choose_subgroups(table, None, PLACE)
    assert list(chosen) == ["sex"]
    assert set(chosen["sex"].values()) == {"F", "M", "not stated"}
    assert chosen["sex"]["i1"] == "M"


def test_columns_can_be_named_or_all_left_out() -> None:
    table = images(sex=["F", "M"] * 6, mine=["a", "b", "c"] * 4)
    assert list(choose_subgroups(table, ["mine"], PLACE)) == ["mine"]
    assert choose_subgroups(table, [], PLACE) == {}


@pytest.mark.parametrize("name", ["sexx", "path", "image_id"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(name: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"no column '{name}' of yours \(it has: sex\)"):
        choose_subgroups(images(sex=["F", "M"] * 6), [name], PLACE)


@pytest.mark.parametrize("values", [["x"] * 12, [str(k) for k in range(12)]])
def test_a_column_that_makes_no_groups_is_refused(values: list[str]) -> None:
    with pytest.raises(InvalidInputError, match=f"different values; it takes 2 to {MOST_VALUES}"):
        choose_subgroups(images(age=values), ["age"], PLACE)


def test_images_are_described_by_what_is_known() -> None:
    told = describe_columns(images(n=4, kvp=["120", "", "125", "140"], manufacturer=["A", "A", "B", ""]))
    assert told.numbers == {"tube voltage, kV": Spread(120.0, 125.0, 140.0)}
    assert told.counts == {"manufacturer": {"A": 2, "B": 1, "not stated": 1}}
    nothing = describe_columns(images(kvp=["unknown"] * 12))
    assert (nothing.numbers, nothing.counts) == ({}, {})


def test_everything_found_is_listed_or_left_out(tmp_path: Path) -> None:
    write_table(
        list_found_files(
            ["a.png", "=b.png"], {"c.png": "broken, cut", "d.png": "broken, cut", "e.png": "none"}
        ),
        tmp_path / FOUND_FILE,
    )
    told = read_found_files(tmp_path, ["a.png", "=b.png"])
    assert told == FoundFiles(5, {"broken, cut": 2, "none": 1}, 0, 0)


def test_changes_by_hand_are_counted(tmp_path: Path) -> None:
    write_table(list_found_files(["a.png", "b.png"], {"c.png": "no spacing"}), tmp_path / FOUND_FILE)
    # b was taken out, c was put in with a spacing of the user's, x came from elsewhere.
    assert read_found_files(tmp_path, ["a.png", "c.png", "x.png"]) == FoundFiles(3, {}, 1, 1)


def test_a_study_made_by_hand_knows_nothing_of_it(tmp_path: Path) -> None:
    assert read_found_files(tmp_path, ["a.png"]) is None


def test_a_table_that_is_none_names_itself(tmp_path: Path) -> None:
    (tmp_path / FOUND_FILE).write_text("file,why\na,b\n")
    with pytest.raises(TableError, match=FOUND_FILE):
        read_found_files(tmp_path, [])


COLUMNS = "Dateiname;Arzt;X;Y;Breite;Höhe"


@pytest.fixture
def two_images(tmp_path: Path) -> Path:
    """Make a study of two images, without marks, and a table beside it that has none either."""
    folder = tmp_path / "my study"
    folder.mkdir()
    for number in (1, 2):
        pixels = np.random.default_rng(number).integers(0, 4000, (300, 320)).astype(np.uint16)
        write_dicom(folder / f"CXR_{number}.dcm", pixels, 0.9, patient_id=f"P{number}", image_id=str(number))
    (tmp_path / "a_price_list.csv").write_text("thing;price\nscrew;1\n")
    return folder


def command_of(said: str) -> list[str]:
    """Words of the command that a hint prints."""
    found = re.search(r"overread (import .+? --output \S+( study\')?)", said)
    assert found is not None
    return shlex.split(found.group(1))


@pytest.mark.parametrize(
    ("header", "row", "told"),
    [
        (COLUMNS, "CXR_1.dcm;AB;300;200,5;20;18", ["--xy", "corner"]),
        ("file,reader,x_min,y_min,x_max,y_max", "CXR_2.dcm,AB,100.5,250.5,300.5,290.5", []),
        ("image;reader;x;y;diameter;angle", "CXR_1;AB;100,5;290;20;0", []),
    ],
)
@pytest.mark.parametrize("beside", [True, False])
def test_the_command_works_as_printed(two_images, capsys, header, row, told, beside):
    sheet = (two_images.parent if beside else two_images) / "the marks.csv"
    sheet.write_text(f"{header}\n{row}\n")
    assert main(["init", str(two_images)]) == 0
    words = command_of(capsys.readouterr().out)
    assert words[:2] == ["import", str(sheet)]
    assert words[2 : 2 + len(told)] == told
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"Next: overread run '{two_images}'" in said
    assert len(read_table(two_images / "marks.csv", "marks")) == 1
    assert len(read_table(two_images / "readings.csv", "readings")) == 2


def test_columns_that_may_be_meant_otherwise_are_spelled_out(two_images):
    (two_images / "marks of all.csv").write_text(
        "file,reader,doctor,x,y,diameter\nCXR_1,AB,CD,310.5,250.5,20\n"
    )
    assert main(["init", str(two_images)]) == 0
    words = command_of(suggest_import(two_images, read_table(two_images / "images.csv", "images")))
    assert words[2:4] == ["--columns", "image=file,reader=reader,x=x,y=y,diameter=diameter"]
    assert main(words) == 0


def test_without_a_spreadsheet_the_form_is_told(two_images):
    images = pd.DataFrame({"image_id": ["CXR_1", "CXR_2"]})
    (two_images / "marks.csv").write_text(
        f"{COLUMNS}\nCXR_1.dcm;AB;100;200,5;20;18\n"
    )  # its own table is no spreadsheet
    said = suggest_import(two_images, images)
    assert "overread import FILE --xy corner --all-read-all --output" in said
    assert "tool's export: overread import FILE --output" in said
