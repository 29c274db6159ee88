"""Tables keep ids exactly, name the place of every fault, and are written whole or not at all.

The tables' columns are those of the design.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import StorageError, TableError
from overread.tables import SCHEMAS, read_table, scan_table, schema_of, write_table

HOSTILE_IDS = [
    "NA", "None", "nan", "00123", "1.10", "1.1", " x ", "../../etc/passwd", "=1+1", "'=1+1", "''=1+1",
    "+1", "-5", "@SUM(A1)", "\tx", "\rx", "'x", "''x", "a\0b", "x" * 10_000, 'a"b', "a,b", "a\nb",
    "a\r\nb", "é", "\ufeffx", "true", "1e5",
]  # fmt: skip


def readings_of(ids: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"image_id": pd.Series(ids, dtype="str"), "reader_id": "R"})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_hostile_ids_come_back_exactly(tmp_path, ending):
    path = write_table(readings_of(HOSTILE_IDS), tmp_path / f"readings.{ending}")
    assert list(read_table(path, "readings")["image_id"]) == HOSTILE_IDS


@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_any_text_comes_back_exactly_from_csv_and_parquet(tmp_path_factory, ids):
    folder = tmp_path_factory.mktemp("ids")
    for ending in ("csv", "parquet"):
        path = write_table(readings_of(ids), folder / f"readings.{ending}")
        assert list(read_table(path, "readings")["image_id"]) == ids


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False, width=64), min_size=1))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_numbers_come_back_exactly(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("numbers")
    ids = [str(place) for place in range(len(values))]
    frame = pd.DataFrame({"image_id": "i", "candidate_id": ids, "model": values}).astype({"image_id": "str"})
    for ending in ("csv", "parquet"):
        back = read_table(write_table(frame, folder / f"scores.{ending}"), "scores")
        np.testing.assert_array_equal(back["model"].to_numpy(), np.array(values))


def test_float32_features_stay_float32_in_parquet_and_exact_in_csv(tmp_path):
    values = np.float32([0.1, 1e-30, 3.4e38])
    frame = pd.DataFrame({"image_id": "i", "candidate_id": ["a", "b", "c"], "mean": values})
    stored = read_table(write_table(frame, tmp_path / "features.parquet"), "features")
    assert stored["mean"].dtype == np.float32
    text = read_table(write_table(frame, tmp_path / "features.csv"), "features")
    np.testing.assert_array_equal(text["mean"].to_numpy(np.float32), values)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_truth_with_its_lists_of_ids_makes_the_round_trip(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "image_id": ["i"],
            "truth_id": ["1"],
            "x_mm": [1.5],
            "y_mm": [2.5],
            "semi_major_mm": [3.0],
            "semi_minor_mm": [2.0],
            "angle_deg": [0.0],
            "n_marks": [2],
            "n_readers": [2],
            "n_readings": [3],
            "probability": [2 / 3],
            "weight": [1.0],
            "golden": [True],
            "mark_ids": [("a,b", '"=1')],
        }
    )
    back = read_table(write_table(frame, tmp_path / f"truth.{ending}"), "truth")
    pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("image_id;reader_id\na;b\n", "commas"),
        ("image_id,reader\na,b\n", "reader_id"),
        ("image_id,reader_id,image_id\na,b,c\n", "twice"),
        ("image_id,reader_id\na,b\nc\n", "row 3"),
        ("image_id,reader_id\na,b\nc,d,e\n", "row 3"),
        ("image_id,reader_id\na,b\nc,", "truncated"),
        ("image_id,reader_id\na,b\nc,dd", "truncated"),
        ('image_id,reader_id\na,"b\n', "truncated"),
        ("image_id,reader_id\na,b\n\nc,d\n", "row 3"),
        ("image_id,reader_id\na,b\n,d\n", "row 3, column image_id"),
        ("image_id,reader_id\na,b\nc,d\na,b\n", "already in row 2"),
    ],
)
def test_faults_of_a_csv_are_named(tmp_path, text, words):
    path = tmp_path / "readings.csv"
    path.write_bytes(text.encode())
    with pytest.raises(TableError, match=words) as caught:
        read_table(path, "readings")
    assert "readings.csv" in str(caught.value)


def test_every_cut_of_a_csv_is_noticed(tmp_path):
    whole = (
        b'image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\na,"b",c,1,2,3,4,55\n'
    )
    path = tmp_path / "marks.csv"
    header_end = whole.index(b"\n") + 1
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        if length == header_end:
            assert read_table(path, "marks").empty
            continue
        with pytest.raises(TableError):
            read_table(path, "marks")


def test_every_bad_cell_is_reported_not_only_the_first(tmp_path):
    path = tmp_path / "marks.csv"
    header = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\n"
    path.write_text(header + '"a","r","1","0,143",2,3,4,1_0\n' + "a,r,2,1e999,0x10,4 mm,١,\n")
    problems = scan_table(path, "marks").problems
    assert [(problem.row, problem.column) for problem in problems] == [
        (2, "x_mm"),
        (3, "x_mm"),
        (3, "y_mm"),
        (3, "semi_major_mm"),
        (3, "semi_minor_mm"),
        (2, "angle_deg"),
    ]
    with pytest.raises(TableError, match=r"and 1 more"):
        read_table(path, "marks")


def test_a_parquet_file_with_numbers_for_ids_is_refused(tmp_path):
    path = tmp_path / "readings.parquet"
    pq.write_table(pa.table({"image_id": [123], "reader_id": ["a"]}), path)
    with pytest.raises(TableError, match="image_id"):
        read_table(path, "readings")


def test_nulls_in_parquet_ids_are_refused(tmp_path):
    path = tmp_path / "readings.parquet"
    pq.write_table(pa.table({"image_id": ["a", None, ""], "reader_id": ["a", "a", "a"]}), path)
    problems = scan_table(path, "readings").problems
    assert [problem.row for problem in problems if problem.column == "image_id"] == [3]
    pq.write_table(pa.table({"image_id": ["a", ""], "reader_id": ["a", "a"]}), path)
    with pytest.raises(TableError, match="row 3"):
        read_table(path, "readings")


@pytest.mark.parametrize("cut", [0, 1, 10, -1, -5])
def test_a_damaged_parquet_file_is_refused(tmp_path, cut):
    path = write_table(readings_of(["a"]), tmp_path / "readings.parquet")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(TableError, match=r"readings\.parquet"):
        read_table(path, "readings")


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    folder = tmp_path / "site=a"
    folder.mkdir()
    path = write_table(readings_of(["a"]), folder / "readings.parquet")
    assert list(read_table(path, "readings").columns) == ["image_id", "reader_id"]


@pytest.mark.parametrize("value", [123, None, float("nan"), "", b"a"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_id_that_is_not_text_is_not_written(tmp_path, value, ending):
    frame = pd.DataFrame({"image_id": pd.Series(["a", value], dtype="object")})
    with pytest.raises(TableError, match="row 3, column image_id"):
        write_table(frame, tmp_path / f"images.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_text_that_is_no_unicode_is_refused(tmp_path, ending):
    frame = pd.DataFrame({"image_id": pd.Series(["\ud800"], dtype="object")})
    with pytest.raises(TableError):
        write_table(frame, tmp_path / f"images.{ending}")


def test_other_endings_and_kinds_are_refused(tmp_path):
    with pytest.raises(TableError, match="ends in"):
        read_table(tmp_path / "marks.xlsx", "marks")
    with pytest.raises(TableError, match="ends in"):
        write_table(readings_of(["a"]), tmp_path / "marks.xlsx")
    with pytest.raises(ValueError, match="there are"):
        read_table(tmp_path / "marks.csv", "mark")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "marks.csv", "marks")
    with pytest.raises(StorageError):
        write_table(readings_of(["a"]), tmp_path / "absent" / "readings.csv")


def test_columns_come_in_the_schemas_order_and_others_stay_text(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("note,reader_id,image_id\n007,r,i\n")
    frame = read_table(path, "readings")
    assert list(frame.columns) == ["image_id", "reader_id", "note"]
    assert frame["note"].iloc[0] == "007"


def test_every_key_is_required_and_every_name_is_there_once():
    for kind, schema in SCHEMAS.items():
        names = [column.name for column in schema.columns]
        assert schema.kind == kind
        assert len(set(names)) == len(names)
        assert set(schema.key) <= set(schema.required)
        assert all(schema.type_of(name) == "id" for name in schema.key)


def test_a_length_says_its_unit():
    for schema in SCHEMAS.values():
        for unit in ("mm", "px", "percent"):
            for plain, column in zip(
                schema.columns, schema.of_header([f"x_{unit}"], "x").columns, strict=True
            ):
                is_length = plain.name in ("x", "y", "semi_major", "semi_minor", "radius")
                assert column.name == (f"{plain.name}_{unit}" if is_length else plain.name)


def test_other_columns_have_the_type_of_the_kind():
    assert schema_of("marks").type_of("site") == "text"
    assert schema_of("features").type_of("glcm_contrast") == "number"


def test_an_unknown_kind_is_refused_with_those_that_are_there():
    with pytest.raises(ValueError, match="no table of kind 'excel'; there are images, readings"):
        schema_of("excel")
