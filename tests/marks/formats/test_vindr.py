"""VinDr-CXR csv, small and whole."""

import gzip

import pytest

from overread.errors import FormatError, TableError
from overread.marks import MarkSet, Spacings, read_marks
from overread.marks.formats import vindr

HEADER = "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n"
ROWS = "00a,No finding,14,R1,,,,\n00a,Nodule/Mass,8,R2,10.0,20.0,30.0,60.0\n00a,Mass,8,R2,1,2,3,4\n"


def read(tmp_path, text: str) -> MarkSet:
    path = tmp_path / "train.csv"
    path.write_text(text)
    return vindr.read(path, spacings=Spacings.of(0.5))


def test_boxes_and_readings(tmp_path):
    found = read(tmp_path, HEADER + ROWS)
    columns = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    assert found.marks[columns].to_numpy().tolist()[0] == [10, 20, 10, 5, 90]
    assert found.readings.to_numpy().tolist() == [["00a", "R1"], ["00a", "R2"]]
    assert found.marks["mark_id"].tolist() == ["row3", "row4"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER.replace("rad_id", "reader") + ROWS, "rad_id is missing"),
        (HEADER + "a,No finding,14,R1,1,2,3,4\n", "has a box"),
        (HEADER + "a,Mass,8,R1,1,2,3,x\n", "row 2"),
        (HEADER + "a,Mass,8,R1,,,,\n", "not finite"),
        (HEADER + "a,Mass,8,R1,30,2,10,4\n", "semi-axes"),
        (HEADER + "a,Mass,8,,1,2,3,4\n", "without a reader"),
        (HEADER + ",Mass,8,R1,1,2,3,4\n", "without an id"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, text, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, text)


def test_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "train.csv.gz"
    whole = gzip.compress((HEADER + ROWS).encode())
    for raw in (whole[:-9], whole[:20], b"not gzip", whole[:30] + b"\xff" * 20 + whole[50:]):
        path.write_bytes(raw)
        with pytest.raises(TableError, match="gzip"):
            vindr.read(path)


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(vindr, "LARGEST_FILE", 1000)
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(b"a" * 100_000))
    with pytest.raises(TableError, match="unpacked"):
        vindr.read(path)


def test_the_training_set_whole(package_file):
    """Figures of the published set."""
    path = package_file("torchxrayvision", "data/vinbigdata-train.csv.gz")
    found = read_marks(path, mm_per_px=0.15, labels=["Nodule/Mass"])
    assert len(found.images) == 15_000
    assert set(found.readings.groupby("image_id").size()) == {3}
    assert found.readings["reader_id"].nunique() == 17
    assert len(found.marks) == 2_580
    assert found.marks["image_id"].nunique() == 826
