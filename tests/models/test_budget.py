"""How much memory is left for columns."""

import pytest

from overread.errors import InvalidInputError
from overread.models import fits_in_memory
from overread.models._budget import room_for_columns


def test_more_memory_is_more_room_by_as_much():
    less, more = (room_for_columns(memory_mb, 100_000, 10_000) for memory_mb in (2000, 3000))
    assert more.columns - less.columns == pytest.approx(1e9, abs=5e7)
    assert 0 < less.columns < 2e9
    assert more.sample == less.sample


def test_what_all_columns_do_not_take_is_for_the_sampled_rows():
    less, more = (room_for_columns(memory_mb, 100_000, 50) for memory_mb in (2000, 3000))
    assert more.columns == less.columns == 100_000 * 50 * 4
    assert more.sample - less.sample == pytest.approx(1e9, abs=5e7)


def test_without_a_bound_it_is_of_the_machine():
    assert room_for_columns(None, 1000, 10).columns > 0


def test_the_least_that_is_named_does():
    with pytest.raises(InvalidInputError, match="the least is") as refused:
        room_for_columns(50, 5_000_000, 1000)
    least = float(str(refused.value).rsplit(" ", 1)[1])
    assert room_for_columns(least + 50, 5_000_000, 1000).columns >= 16 * 5_000_000 * 4


def test_a_table_fits_twice_or_not_at_all():
    assert fits_in_memory(100_000, 1_000_000, 1000)
    assert not fits_in_memory(8000, 1_000_000, 1000)
    assert not fits_in_memory(10, 1, 1), "the process itself is larger"
