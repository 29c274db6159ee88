"""The folder of a run: files that are whole or absent, and records that say what each stage was made from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from overread import __version__
from overread.errors import FormatError, StorageError
from overread.files.atomic import fill_atomically, write_atomically, write_parts_atomically
from overread.files.digests import digest_of_bytes, digest_of_file, digest_of_value
from overread.files.records import from_json, to_json
from overread.files.strict_json import read_json
from overread.words import shell_word

__all__ = ["Content", "FinishedRunFolder", "RunFolder", "json_bytes"]

Content: TypeAlias = bytes | Iterable[bytes] | Callable[[BinaryIO], None]
"""What a file is to hold: its bytes, blocks of them, or a function that fills the open file in any order."""

FOLDERS = ("shards", "tables", "models", "tuning", "stages")


def json_bytes(value: Any) -> bytes:
    """Bytes of a JSON file: the same value gives the same bytes."""
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


class RunFolder:
    """Files of one run.

    Parameters
    ----------
    root
        ``STUDY/runs/NAME``.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folders."""
        try:
            for name in FOLDERS:
                (self.root / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self.root}: cannot write here: {error.strerror or error}") from error

    def clean(self) -> None:
        """Take away what a killed run left half written; only for the holder of the run's lock."""
        try:
            for folder in (self.root, *(self.root / name for name in FOLDERS)):
                for part in folder.glob(".overread-*.part"):
                    if part.is_dir() and not part.is_symlink():
                        shutil.rmtree(part)
                    else:
                        part.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{self.root}: cannot write here: {error.strerror or error}") from error

    def path(self, relative: str) -> Path:
        """Path of a file of the run."""
        return self.root / relative

    def readable(self, relative: str) -> Path:
        """Path of a file of the run, to read it; in a run under way, its stage has just written or checked it."""
        return self.path(relative)

    def write(self, relative: str, content: Content) -> str:
        """Write a file, whole or not at all, unless it holds these bytes already; return its digest.

        A file that is not given as bytes is always written.
        """
        path = self.path(relative)
        if callable(content):
            fill_atomically(path, content, within=self.root)
            return digest_of_file(path)
        if not isinstance(content, bytes):
            write_parts_atomically(path, content, within=self.root)
            return digest_of_file(path)
        digest = digest_of_bytes(content)
        if not (path.is_file() and digest_of_file(path) == digest):
            write_atomically(path, content, within=self.root)
        return digest

    def digest(self, relative: str) -> str:
        """Digest of a file of the run."""
        return digest_of_file(self.path(relative))

    def stage(
        self,
        name: str,
        *,
        needs: Mapping[str, Any],
        gives: Iterable[str],
        make: Callable[[], Mapping[str, Content]],
    ) -> bool:
        """Do the work of a stage unless its record says that it is done and its files are still what they were.

        Parameters
        ----------
        name
            Name of the stage and of its record.
        needs
            All that the outcome depends on: settings, versions, digests of files. Plain values.
        gives
            Files that the stage writes.
        make
            Makes their content.

        Returns
        -------
        bool
            Whether there was anything to do.
        """
        key = digest_of_value({"needs": needs, "overread": __version__})
        wanted = sorted(gives)
        if self._is_done(name, key, wanted):
            return False
        made = make()
        if sorted(made) != wanted:
            raise ValueError(f"stage {name} gave {sorted(made)}, not {wanted}")
        digests = {relative: self.write(relative, content) for relative, content in made.items()}
        self.write(f"stages/{name}.json", json_bytes(to_json(Record(key, dict(sorted(digests.items()))))))
        return True

    def _is_done(self, name: str, key: str, wanted: list[str]) -> bool:
        record = read_record(self.path(f"stages/{name}.json"))
        if record is None or record.key != key or sorted(record.files) != wanted:
            return False
        return all(
            self.path(relative).is_file() and self.digest(relative) == digest
            for relative, digest in record.files.items()
        )


class FinishedRunFolder(RunFolder):
    """Files of a run that is over: each is compared with what its stage wrote down of it before it is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._good: set[str] = set()

    @cached_property
    def _digests(self) -> dict[str, str]:
        records = (read_record(path) for path in sorted(self.path("stages").glob("*.json")))
        return {relative: digest for record in records if record for relative, digest in record.files.items()}

    def readable(self, relative: str) -> Path:
        """Path of a file of the run, to read it.

        Raises
        ------
        FormatError
            If it is missing, or not what the run wrote; the message names the remedy.
        """
        path = self.path(relative)
        study, name = shell_word(self.root.parent.parent), shell_word(self.root.name)
        remedy = f"make it again: overread run {study} --name {name}"
        if relative not in self._good:
            if relative not in self._digests:
                raise FormatError(f"{path}: the run has no whole record of this file ({remedy})")
            if not path.is_file():
                raise FormatError(f"{path}: is missing ({remedy})")
            if self.digest(relative) != self._digests[relative]:
                raise FormatError(
                    f"{path}: is not what the run wrote: damaged, or changed by hand ({remedy})"
                )
            self._good.add(relative)
        return path


@dataclass(frozen=True)
class Record:
    """What a stage was made from, and the digests of the files that it gave."""

    key: str
    files: dict[str, str]


def read_record(path: Path) -> Record | None:
    """Record of a stage; None where there is none, or a damaged one."""
    try:
        return from_json(Record, read_json(path))
    except (OSError, FormatError):
        return None
