import threading

import pytest

from overread.errors import FormatError, StorageError
from overread.files import Database

TABLES = "CREATE TABLE names (name TEXT PRIMARY KEY)\n\nCREATE TABLE notes (note TEXT)"


def open_database(path, version=1):
    return Database(path, version, TABLES, "a list of names")


def names(database):
    return [row["name"] for row in database.rows("SELECT name FROM names ORDER BY name")]


def test_what_is_done_inside_is_there_after_opening_again(tmp_path):
    database = open_database(tmp_path / "a.sqlite")
    with database.transaction() as connection:
        connection.execute("INSERT INTO names VALUES ('Anna')")
    database.close()
    again = open_database(tmp_path / "a.sqlite")
    assert names(again) == ["Anna"]
    again.close()


def test_a_failure_inside_takes_all_of_it_back(tmp_path):
    database = open_database(tmp_path / "a.sqlite")

    def add_twice():
        with database.transaction() as connection:
            connection.execute("INSERT INTO names VALUES ('Anna')")
            connection.execute("INSERT INTO names VALUES ('Anna')")

    with pytest.raises(FormatError, match="UNIQUE"):
        add_twice()
    assert names(database) == []
    database.close()


def test_threads_wait_for_each_other(tmp_path):
    database = open_database(tmp_path / "a.sqlite")

    def add(start):
        for number in range(start, start + 20):
            with database.transaction() as connection:
                connection.execute("INSERT INTO names VALUES (?)", (f"{number:03}",))

    threads = [threading.Thread(target=add, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(database)) == 80
    database.close()


def test_another_version_and_another_file_are_refused(tmp_path):
    open_database(tmp_path / "a.sqlite").close()
    with pytest.raises(FormatError, match=r"a list of names of version 1; this Overread reads version 2"):
        open_database(tmp_path / "a.sqlite", version=2)
    (tmp_path / "b.sqlite").write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(FormatError, match="is not a list of names"):
        open_database(tmp_path / "b.sqlite")
    with pytest.raises(StorageError, match="unable to open"):
        open_database(tmp_path / "no" / "c.sqlite")
