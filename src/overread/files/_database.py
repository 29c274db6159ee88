"""SQLite files that several threads write and other processes read; committed changes survive a kill."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from overread.errors import FormatError, StorageError

# Longest wait for another process's transaction; transactions take milliseconds.
PATIENCE_SECONDS = 30


class Database:
    """SQLite file with a write-ahead log and one connection, used by one thread at a time.

    Parameters
    ----------
    path
        The file, created if needed.
    version
        Version of the tables; a file of another version is refused.
    tables
        Statements that create the tables of a new file, separated by blank lines.
    what
        Kind of file for messages, such as ``"a node's journal"``.

    Raises
    ------
    StorageError
        If the device fails.
    FormatError
        If it is another kind of file, or another version.
    """

    def __init__(self, path: Path, version: int, tables: str, what: str) -> None:
        self._open(path, path, what)
        with self._naming_the_file():
            self._prepare_to_write()
            self._make_tables(version, tables)

    def _open(self, path: Path, place: Path | str, what: str, *, is_uri: bool = False) -> None:
        """Connect to a path or URI."""
        self._path, self._what = path, what
        self._lock = threading.RLock()
        with self._naming_the_file():
            self._connection = sqlite3.connect(
                place, uri=is_uri, isolation_level=None, check_same_thread=False, timeout=PATIENCE_SECONDS
            )
            self._connection.row_factory = sqlite3.Row

    def _prepare_to_write(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        # FULL waits for the device at each commit; WAL's usual NORMAL does not.
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")

    def _make_tables(self, version: int, tables: str) -> None:
        with self.transaction():
            found = self._connection.execute("PRAGMA user_version").fetchone()[0]
            if found == 0 and self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                raise FormatError(
                    f"{self._path}: has tables but no version of {self._what}: it is another file, or damaged. "
                    "Restore the file from a copy."
                )
            if found == 0:
                for statement in tables.split("\n\n"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {version}")
            elif found != version:
                raise FormatError(
                    f"{self._path}: {self._what} of version {found}; this Overread reads version {version}"
                )

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(f"{self._path}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise FormatError(f"{self._path}: is not {self._what}, or is damaged: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file for a transaction, which is on the device at the end, or has no effect."""
        with self._lock, self._naming_the_file():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows of a query."""
        with self._lock, self._naming_the_file():
            return self._connection.execute(query, values).fetchall()

    def checkpoint(self) -> None:
        """Write the write-ahead log to the file, so that the file alone is complete."""
        with self._lock, self._naming_the_file():
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
