"""A wide table column by column, against pandas' reading of the whole file."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overread.errors import TableError
from overread.tables import _column_table as column_table
from overread.tables import open_columns, write_table

KEYS = ["image_id", "candidate_id"]


def make_frame(n_rows=20, n_columns=7, dtype=np.float64):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "image_id": [f"i{row // 4}" for row in range(n_rows)],
            "candidate_id": [str(row % 4) for row in range(n_rows)],
        },
        dtype="str",
    )
    values = random.normal(size=(n_rows, n_columns)).astype(dtype)
    return pd.concat([frame, pd.DataFrame(values, columns=[f"f{j}" for j in range(n_columns)])], axis=1)


@pytest.fixture(params=["csv", "parquet"])
def place(request, tmp_path):
    return tmp_path / f"features.{request.param}"


def test_it_is_what_pandas_reads(place):
    frame = make_frame()
    write_table(frame, place)
    table = open_columns(place, "features")
    if place.suffix == ".csv":
        # Python's float is exact in every version; pandas 3.0 rounded the last digit.
        whole = pd.read_csv(place, dtype="str")
        whole = whole.assign(**{name: whole[name].map(float) for name in whole.columns.drop(KEYS)})
    else:
        whole = pd.read_parquet(place)
    assert table.keys.to_numpy().tolist() == whole[KEYS].to_numpy().tolist()
    assert table.names == tuple(whole.columns[2:])
    columns = list(table.columns())
    assert all(column.dtype == table.dtype == np.float64 for column in columns)
    np.testing.assert_array_equal(np.column_stack(columns), whole[list(table.names)])


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ([np.float32, np.float32], np.float32),
        ([np.float32, np.float64], np.float64),
        ([np.float16, np.float32], np.float32),
        ([np.int64, np.float32], np.float64),
        ([np.float64, np.float64], np.float64),
    ],
)
def test_the_wider_type_of_the_columns(tmp_path, stored, expected):
    frame = make_frame(n_columns=2)
    for name, dtype in zip(("f0", "f1"), stored, strict=True):
        frame[name] = (10 * frame[name]).astype(dtype)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "f.parquet")
    table = open_columns(tmp_path / "f.parquet", "features")
    assert table.dtype == expected
    for name, column in zip(table.names, table.columns(), strict=True):
        assert column.dtype == expected
        assert np.array_equal(column, frame[name])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_without_a_number_is_named_by_row_and_column(tmp_path, value):
    frame = make_frame()
    frame.loc[13, "f4"] = value
    frame.to_parquet(tmp_path / "f.parquet", index=False)
    table = open_columns(tmp_path / "f.parquet", "features")
    columns = table.columns()
    assert len([next(columns) for _ in range(4)]) == 4
    with pytest.raises(TableError, match=r"f\.parquet, row 15, column f4: is empty or not a finite number"):
        next(columns)


def test_a_missing_cell_is_named_too(tmp_path):
    frame = make_frame()
    columns = {name: pa.array(frame[name].tolist()) for name in frame}
    columns["f2"] = pa.array([None, *frame["f2"].tolist()[1:]], pa.float64())
    pq.write_table(pa.table(columns), tmp_path / "f.parquet")
    with pytest.raises(TableError, match="row 2, column f2"):
        list(open_columns(tmp_path / "f.parquet", "features").columns())


def test_keys_twice_are_refused_at_once(place):
    frame = make_frame()
    frame.loc[5, KEYS] = frame.loc[4, KEYS]
    write_table(frame, place)
    with pytest.raises(TableError, match="row 7"):
        open_columns(place, "features")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.drop(columns="candidate_id"), "candidate_id"),
        (lambda frame: frame.assign(f1="text"), "column f1: stored as"),
        (lambda frame: frame.assign(image_id=range(20)), "column image_id: stored as int64"),
    ],
)
def test_columns_of_another_type_are_refused_at_once(tmp_path, change, told):
    change(make_frame()).to_parquet(tmp_path / "f.parquet", index=False)
    with pytest.raises(TableError, match=told):
        open_columns(tmp_path / "f.parquet", "features")


@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"not a table", None])
def test_what_is_no_parquet_file(tmp_path, content):
    make_frame().to_parquet(tmp_path / "f.parquet", index=False)
    whole = (tmp_path / "f.parquet").read_bytes()
    (tmp_path / "f.parquet").write_bytes(whole[:-50] if content is None else content)
    with pytest.raises(TableError, match="cannot be read as Parquet"):
        open_columns(tmp_path / "f.parquet", "features")


def test_one_column_is_read_at_a_time(tmp_path, monkeypatch):
    make_frame().to_parquet(tmp_path / "f.parquet", index=False)
    asked = []

    class Spy(pq.ParquetFile):
        def read(self, columns=None, **options):
            asked.append(columns)
            return super().read(columns, **options)

    monkeypatch.setattr(column_table.pq, "ParquetFile", Spy)
    table = open_columns(tmp_path / "f.parquet", "features")
    assert asked == [KEYS]
    columns = table.columns()
    next(columns)
    assert asked[1:] == [["f0"]]
    list(columns)
    assert asked[1:] == [[name] for name in table.names]


def test_a_large_table_is_never_held_whole(tmp_path):
    n_rows, n_columns = 20_000, 40
    frame = make_frame(n_rows, n_columns, np.float32)
    frame.to_parquet(tmp_path / "f.parquet", index=False)
    table = open_columns(tmp_path / "f.parquet", "features")
    held = pa.total_allocated_bytes()
    tracemalloc.start()
    most = 0
    try:
        for _ in table.columns():
            most = max(most, pa.total_allocated_bytes() - held)
        python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    column = 4 * n_rows
    assert most <= 8 * column  # of 40: pages, their dictionary and the column itself
    assert python <= 6 * column


@pytest.mark.parametrize("value", [1e300, -1e31])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_number_too_large_to_compute_with_is_named(tmp_path, value, ending):
    table = pd.DataFrame({"image_id": ["a"] * 3, "candidate_id": ["1", "2", "3"], "f": [0.0, value, 1.0]})
    path = write_table(table, tmp_path / f"features.{ending}")
    with pytest.raises(TableError, match=r"row 3, column f: .* is too large"):
        list(open_columns(path, "features").columns())
