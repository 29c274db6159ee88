"""The features on disk, against numpy's own reading of the same file."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from overread.errors import FormatError, InvalidInputError
from overread.files import ColumnFile, encode_columns, write_columns


def write(path, matrix):
    path.write_bytes(b"".join(encode_columns(matrix.T, *matrix.shape, matrix.dtype)))
    return ColumnFile(path)


@pytest.fixture(params=[np.float32, np.float64])
def matrix(request):
    return np.random.default_rng(0).normal(size=(37, 11)).astype(request.param)


def test_it_reads_a_file_that_numpy_wrote(matrix, tmp_path):
    np.save(tmp_path / "f.npy", np.asfortranarray(matrix))
    assert np.array_equal(ColumnFile(tmp_path / "f.npy").take(np.arange(37)), matrix)
    assert (tmp_path / "f.npy").read_bytes() == b"".join(encode_columns(matrix.T, 37, 11, matrix.dtype))


@given(
    rows=st.lists(st.integers(0, 36), max_size=50),
    columns=st.none() | st.lists(st.integers(0, 10), max_size=15),
)
def test_any_rows_and_columns_in_any_order(rows, columns, tmp_path_factory):
    matrix = np.random.default_rng(0).normal(size=(37, 11)).astype(np.float32)
    store = write(tmp_path_factory.mktemp("store") / "f.npy", matrix)
    taken = store.take(np.array(rows, dtype=np.int64), columns)
    expected = matrix[rows] if columns is None else matrix[np.ix_(rows, columns)]
    assert taken.dtype == np.float32
    assert np.array_equal(taken, expected)


@given(
    any_matrix=hnp.arrays(
        st.sampled_from([np.float32, np.float64]), hnp.array_shapes(min_dims=2, max_dims=2, min_side=0)
    )
)
def test_every_bit_comes_back(any_matrix, tmp_path_factory):
    store = write(tmp_path_factory.mktemp("store") / "f.npy", any_matrix)
    taken = np.ascontiguousarray(store.take(np.arange(len(any_matrix))))
    assert (taken.dtype, taken.shape, taken.tobytes()) == (
        any_matrix.dtype,
        any_matrix.shape,
        any_matrix.tobytes(),
    )


@pytest.mark.parametrize("n_bytes", [0, 5, 100, 128, 128 + 37 * 8, -1])
def test_a_file_that_was_cut_is_refused(tmp_path, n_bytes):
    path = tmp_path / "f.npy"
    matrix = np.ones((37, 11))
    write(path, matrix)
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(FormatError, match=r"f\.npy: (is truncated|not a matrix)"):
        ColumnFile(path).take(np.arange(37))


@pytest.mark.parametrize(
    "array",
    [
        np.ones((3, 2)),
        np.ones(3),
        np.asfortranarray(np.ones((3, 2), dtype=np.int64)),
        np.ones((2, 2, 2), order="F"),
    ],
)
def test_other_arrays_are_refused(tmp_path, array):
    np.save(tmp_path / "f.npy", array)
    with pytest.raises(FormatError, match="column-major"):
        ColumnFile(tmp_path / "f.npy")


@pytest.mark.parametrize("content", [b"", b"PAR1 and more", b"\x93NUMPY\x01\x00\x05\x00{bad}"])
def test_what_is_no_array_at_all(tmp_path, content):
    (tmp_path / "f.npy").write_bytes(content)
    with pytest.raises(FormatError, match=r"f\.npy: not a matrix"):
        ColumnFile(tmp_path / "f.npy")


def test_what_is_held_is_what_was_asked_for(tmp_path):
    n_rows, n_columns = 20_000, 60
    column = np.ones(n_rows, dtype=np.float32)
    with (tmp_path / "f.npy").open("wb") as file:
        file.writelines(encode_columns((column for _ in range(n_columns)), n_rows, n_columns, column.dtype))
    store = ColumnFile(tmp_path / "f.npy")
    tracemalloc.start()
    try:
        store.take(np.arange(100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * column.nbytes  # of 60


def test_bytes_are_given_a_column_at_a_time():
    given = []

    def columns():
        for number in range(3):
            given.append(number)
            yield np.full(4, number, dtype=np.float32)

    blocks = encode_columns(columns(), 4, 3, np.dtype(np.float32))
    assert next(blocks).startswith(b"\x93NUMPY")
    assert given == []
    assert len(next(blocks)) == 16
    assert given == [0]


@pytest.mark.parametrize("sizes", [[37], [1, 35, 1], [20, 17], [0, 37]])
def test_blocks_of_rows_make_the_same_file(matrix, tmp_path, sizes):
    blocks = np.split(matrix, np.cumsum(sizes)[:-1])
    written = write_columns(tmp_path / "f.npy", blocks, 37, 11, matrix.dtype)
    assert written.path.read_bytes() == b"".join(encode_columns(matrix.T, 37, 11, matrix.dtype))


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([np.ones((36, 11))], "hold 36 of 37 rows"),
        ([np.ones((36, 11)), np.ones((2, 11))], r"shape \(2, 11\) after 36 rows"),
        ([np.ones((37, 10))], r"shape \(37, 10\)"),
    ],
)
def test_blocks_that_do_not_make_up_the_matrix_leave_no_file(tmp_path, blocks, words):
    with pytest.raises(InvalidInputError, match=words):
        write_columns(tmp_path / "f.npy", blocks, 37, 11, np.dtype(np.float32))
    assert list(tmp_path.iterdir()) == []
