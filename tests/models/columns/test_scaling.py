"""Numbers by which columns of a file are standardized, against numpy and against the whole matrix at once."""

from __future__ import annotations

import numpy as np
import pytest

from overread.bags import StoredInstances
from overread.errors import InvalidInputError
from overread.models._kernels import rescale_row
from overread.models._problem import make_design
from overread.models.columns._file_columns import ColumnNumbers, describe_columns, read_ahead


@pytest.fixture
def stored(tmp_path):
    random = np.random.default_rng(0)
    matrix = (random.normal(size=(60, 5)) * [1e-30, 1.0, 1e20, 3.0, 0.0] + [0, 5, 0, -2, 7]).astype(
        np.float32
    )
    np.save(tmp_path / "X.npy", np.asfortranarray(matrix))
    return StoredInstances(tmp_path / "X.npy")


def test_means_and_scales_are_numpys(stored):
    weight = np.full(60, 1 / 60)
    numbers = describe_columns(stored, range(5), None, weight, center=True, standardize=True)
    exact = stored.read().astype(np.float64)
    np.testing.assert_allclose(numbers.means[:4], exact.mean(0)[:4], rtol=1e-9, atol=1e-40)
    np.testing.assert_allclose(numbers.scales[:4], exact.std(0)[:4], rtol=1e-9)
    assert numbers.scales[4] == 0
    np.testing.assert_array_equal(numbers.largest, np.abs(exact).max(0))


@pytest.mark.parametrize("standardize", [True, False])
def test_a_column_read_again_has_the_bits_of_the_design_in_memory(stored, standardize):
    order, weight = np.random.default_rng(1).permutation(60), np.full(60, 1.0)
    if not standardize:
        stored = StoredInstances(stored.path, rows=None)
    columns = [1, 3, 4]
    matrix = np.ascontiguousarray(stored.read()[:, columns])
    design = make_design(matrix, order, weight, center=True, standardize=standardize)
    numbers = describe_columns(stored, columns, order, weight / 60, center=True, standardize=standardize)
    scaling = numbers.scaling(standardize=standardize)
    for place, values in enumerate(stored.read_columns(columns)):
        chosen = values[order]
        rescale_row(chosen, scaling.unit[place], scaling.middle[place], scaling.divisor[place])
        assert chosen.tobytes() == design.columns.Xt[place].tobytes()
    np.testing.assert_array_equal(numbers.norms, design.norms)


def test_groups_are_joined_in_order(stored):
    weight = np.full(60, 1 / 60)
    whole = describe_columns(stored, range(5), None, weight, center=True, standardize=True)
    parts = [
        describe_columns(stored, group, None, weight, center=True, standardize=True)
        for group in ([0, 1], [2], [3, 4])
    ]
    np.testing.assert_array_equal(ColumnNumbers.join(parts).means, whole.means)


def test_reading_ahead_keeps_the_order_and_passes_on_faults():
    values = [np.full(2, number) for number in range(5)]
    assert [value[0] for value in read_ahead(values)] == [0, 1, 2, 3, 4]
    assert list(read_ahead([])) == []

    def fail():
        yield np.zeros(1)
        raise InvalidInputError("here")

    with pytest.raises(InvalidInputError, match="here"):
        list(read_ahead(fail()))
