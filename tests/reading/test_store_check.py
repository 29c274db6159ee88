from __future__ import annotations

import pandas as pd
import pytest

from overread.apps.room._room import open_room
from overread.apps.room._store import Store
from overread.apps.room._store_check import find_damage
from overread.apps.room._tables import take_in_marks
from overread.errors import FormatError
from overread.tables import write_table
from reading_room import make_study

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def store(tmp_path):
    """A room that has taken in two readings with one mark."""
    folder = make_study(tmp_path / "study", 2)
    write_table(
        pd.DataFrame([("case0", "Old", "m", 10.0, 10.0, 4.0, 3.0, 0.0)], columns=COLUMNS),
        folder / "marks.csv",
    )
    write_table(pd.DataFrame({"image_id": ["case0", "case1"], "reader_id": "Old"}), folder / "readings.csv")
    room = open_room(folder)
    room.prepare_pictures()
    for _ in range(2):
        take_in_marks(room.store, folder)
    yield room.store
    room.store.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT 1", None),
        ("DELETE FROM marks", "0 of 1 marks that were taken in are there"),
        ("DELETE FROM items WHERE clear", "1 of 2 readings that were taken in are there"),
    ],
)
def test_readings_that_were_taken_in_are_counted(store, statement, told):
    with store.transaction() as database:
        database.execute(statement)
        assert find_damage(database) == told


def test_a_damaged_store_is_let_go(tmp_path):
    store = Store(tmp_path / "room.sqlite")
    store.set_setting("labels", ["a"])
    with store.transaction() as database:
        database.execute("DELETE FROM settings")
    store.close()
    with pytest.raises(FormatError, match="'labels' is not as the log has it"):
        Store(tmp_path / "room.sqlite")
    (tmp_path / "room.sqlite").unlink()
    assert [path.name for path in tmp_path.iterdir()] == []
