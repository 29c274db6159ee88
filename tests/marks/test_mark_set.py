"""A folder of tables is read whole, checked whole, and written whole.

Readings that the user tells.
"""

import os

import pandas as pd
import pytest

from overread.errors import TableError, UsageError
from overread.files import digest_of_bytes
from overread.marks import (
    ImageNames,
    MarkSet,
    MarkSetBuilder,
    Spacings,
    combine,
    cross_readings,
    read_folder,
    read_hashed_folder,
    read_readings,
    replace_readings,
    scan_folder,
    write_folder,
)

MARKS = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\n"


@pytest.fixture
def mark_set() -> MarkSet:
    return MarkSet(
        pd.DataFrame(
            {
                "image_id": ["NA", "00123"],
                "reader_id": ["=1+1", "R2"],
                "mark_id": ["1.10", "1.1"],
                "x_mm": [0.1, 2.0],
                "y_mm": [1 / 3, 2.0],
                "semi_major_mm": [5.0, 6.0],
                "semi_minor_mm": [4.0, 3.0],
                "angle_deg": [0.0, 179.9],
            }
        ),
        pd.DataFrame({"image_id": ["NA", "00123", "NA"], "reader_id": ["=1+1", "R2", "R3"]}),
        pd.DataFrame({"image_id": ["NA", "00123"], "mm_per_px_x": [0.1, 0.2], "mm_per_px_y": [0.1, 0.2]}),
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_was_written_comes_back(tmp_path, mark_set, ending):
    paths = write_folder(mark_set, tmp_path / "new" / "study", ending=ending)
    assert sorted(path.name for path in paths) == sorted(
        f"{kind}.{ending}" for kind in ("marks", "readings", "images")
    )
    back = read_folder(tmp_path / "new" / "study")
    for kind in ("marks", "readings", "images"):
        pd.testing.assert_frame_equal(getattr(back, kind), getattr(mark_set, kind))


def test_a_study_without_readings_is_refused_with_words(tmp_path, mark_set):
    write_folder(mark_set, tmp_path)
    (tmp_path / "readings.csv").unlink()
    (tmp_path / "images.csv").unlink()
    with pytest.raises(TableError, match="the readings table is missing"):
        read_folder(tmp_path)
    derived = read_folder(tmp_path, derive_readings=True)
    assert derived.readings.to_dict("list") == {"image_id": ["NA", "00123"], "reader_id": ["=1+1", "R2"]}
    messages = [problem.message for problem in scan_folder(tmp_path).problems]
    assert messages == ["the readings table is missing"]
    assert scan_folder(tmp_path, derive_readings=True).problems == []


def test_strange_marks_are_warned_of(tmp_path, mark_set):
    odd = mark_set.marks.assign(semi_minor_mm=1e-9)
    write_folder(MarkSet(odd, mark_set.readings, mark_set.images), tmp_path)
    with pytest.warns(
        UserWarning, match=r"marks\.csv, row 2, column semi_minor_mm: 1e-09 is under 0\.001 mm"
    ):
        assert len(read_folder(tmp_path).marks) == 2


def test_two_tables_of_one_kind_are_refused(tmp_path, mark_set):
    write_folder(mark_set, tmp_path)
    for ending, overwrite in (("csv", False), ("parquet", False), ("parquet", True)):
        with pytest.raises(TableError, match="already"):
            write_folder(mark_set, tmp_path, ending=ending, overwrite=overwrite)
    write_folder(mark_set, tmp_path, overwrite=True)
    (tmp_path / "marks.parquet").write_bytes(b"")
    with pytest.raises(TableError, match="Keep one"):
        read_folder(tmp_path)


def test_no_folder_and_no_marks(tmp_path):
    for read in (read_folder, scan_folder):
        with pytest.raises(TableError, match="no such folder"):
            read(tmp_path / "absent")
    with pytest.raises(TableError, match="marks table is missing"):
        read_folder(tmp_path)
    assert [problem.message for problem in scan_folder(tmp_path).problems] == [
        "the marks table is missing",
        "the readings table is missing",
    ]


def test_a_scan_finds_the_problems_of_all_files_at_once(tmp_path):
    (tmp_path / "marks.csv").write_text(MARKS + "i,R1,1,a,2,0,4,0\ni,R9,2,1,2,5,4,0\n")
    (tmp_path / "readings.csv").write_text("image_id,reader_id\ni,R1\ni,R1\nj,R1\n")
    (tmp_path / "images.csv").write_text("image_id,mm_per_px_x,mm_per_px_y\ni,inf,0.1\nk,0.1,0.1\n")
    found = {(p.file.rpartition("/")[2], p.row, p.column) for p in scan_folder(tmp_path).problems}
    assert found == {
        ("marks.csv", 2, "x_mm"),
        ("marks.csv", 2, "semi_major_mm"),
        ("marks.csv", 3, "reader_id"),
        ("readings.csv", 3, "reader_id"),
        ("readings.csv", 4, "image_id"),
        ("readings.csv", None, "image_id"),
        ("images.csv", 2, "mm_per_px_x"),
    }


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path):
    (tmp_path / "marks.csv").write_text(MARKS + "i,R1,1,1,2,0,4,0\n")
    (tmp_path / "readings.csv").write_text("image_id,reader_id\ni,R")
    found = [(p.file.rpartition("/")[2], p.row, p.column) for p in scan_folder(tmp_path).problems]
    assert found == [("readings.csv", 2, None), ("marks.csv", 2, "semi_major_mm")]
    (tmp_path / "marks.csv").write_text("nothing\n")
    assert len(scan_folder(tmp_path).problems) == 2


def test_what_one_file_leaves_open_another_may_tell(mark_set):
    first = mark_set.images.assign(width_px=[100.0, float("nan")], path=["", "b.png"])
    second = mark_set.images.assign(width_px=[float("nan"), 200.0], patient_id=["P1", ""])
    none = mark_set.marks[:0]
    joined = combine([MarkSet(none, mark_set.readings, first), MarkSet(none, mark_set.readings, second)])
    assert joined.images.drop(columns=["mm_per_px_x", "mm_per_px_y"]).to_dict("list") == {
        "image_id": ["NA", "00123"],
        "width_px": [100.0, 200.0],
        "path": ["", "b.png"],
        "patient_id": ["P1", ""],
    }


def test_joining_files(mark_set):
    other = MarkSet(mark_set.marks.assign(mark_id=["x", "y"], label="a"), mark_set.readings, mark_set.images)
    joined = combine([mark_set, other])
    assert len(joined.marks) == 4
    assert len(joined.readings) == 3
    assert len(joined.images) == 2
    assert list(joined.marks["label"]) == ["", "", "a", "a"]
    with pytest.raises(TableError, match="already in row"):
        combine([mark_set, mark_set])
    with pytest.raises(TableError, match="another mm_per_px_x"):
        combine([mark_set, MarkSet(other.marks, other.readings, mark_set.images.assign(mm_per_px_x=9.0))])


def test_tables_that_were_being_replaced_are_refused(tmp_path, mark_set, monkeypatch):
    write_folder(mark_set, tmp_path)
    replace, seen = os.replace, []

    def killed(*paths):
        if len(seen) == 2:  # the marker, and the first table
            raise KeyboardInterrupt
        seen.append(paths)
        replace(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write_folder(mark_set, tmp_path, overwrite=True)
    with pytest.raises(TableError, match=r"writes marks\.csv, readings\.csv, images\.csv was interrupted"):
        read_folder(tmp_path)
    assert "was interrupted" in scan_folder(tmp_path).problems[0].message
    write_folder(mark_set, tmp_path, overwrite=True)
    read_folder(tmp_path)


def test_digests_are_those_of_the_bytes_that_were_read(tmp_path, mark_set):
    write_folder(mark_set, tmp_path)
    found = read_hashed_folder(tmp_path)
    assert found.digests == {
        kind: digest_of_bytes((tmp_path / f"{kind}.csv").read_bytes())
        for kind in ("marks", "readings", "images")
    }


NAMES = ImageNames({"a": "a.dcm", "b": "b.dcm"})


@pytest.fixture
def found() -> MarkSet:
    builder = MarkSetBuilder("f", Spacings.of(1.0))
    for reader in ("R", "S"):
        builder.add_image("a")
        builder.add_reading("a", reader)
        builder.add_mark("a", reader, reader, centre=(5, 5), semi_axes=(1, 1))
    return builder.build()


def test_everybody_read_everything(found):
    pairs = cross_readings(found, ["a", "b"])
    assert pairs.to_numpy().tolist() == [["a", "R"], ["a", "S"], ["b", "R"], ["b", "S"]]
    assert len(cross_readings(found, ["a"], ["R", "S", "T"])) == 3
    with pytest.raises(UsageError, match=r"marks by .S. too"):
        cross_readings(found, ["a"], ["R"])


def test_a_table_of_readings_with_any_names(found, tmp_path):
    path = tmp_path / "who.csv"
    path.write_text("Datei;Arzt\na.dcm;R\na;S\nb.DCM;R\na.dcm;R\n")
    readings = read_readings(path, NAMES)
    assert readings.to_numpy().tolist() == [["a", "R"], ["a", "S"], ["b", "R"]]
    assert len(replace_readings(found, readings, "who.csv").readings) == 3
    with pytest.raises(TableError, match="'S' marked image 'a'"):
        replace_readings(found, readings[readings["reader_id"] == "R"], "who.csv")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Datei;Arzt\nc;R\n", "row 2: no image 'c'"),
        ("Datei;Arzt\na;\n", "row 2: no reader"),
        ("x;Arzt\n1;2\n", "the image"),
    ],
)
def test_mistakes_of_the_table(tmp_path, text, words):
    path = tmp_path / "who.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=words):
        read_readings(path, NAMES)
