"""What a detector found so far, kept beside the results, so that work which was stopped is taken up again.

The first line says what was asked for: another detector, operating point or version begins anew. Each other line is
one image, written when all of its results are in place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from overread.errors import FormatError
from overread.files.digests import digest_of_value
from overread.files.journal import Journal
from overread.files.lock import folder_lock
from overread.files.strict_json import parse_json

__all__ = ["DetectionJournal"]

LOCK_FILE = ".detections.lock"
IS_HELD = "another detection writes here (process {holder}); wait for it, or choose another folder"


class DetectionJournal:
    """Records of images by their keys; a context, within which they can be added to.

    Nothing is written before the first record.

    Parameters
    ----------
    path
        The file; its folder must exist when the first record is added.
    asked
        Digest of all that the results depend on besides the images.
    """

    def __init__(self, path: Path, asked: str) -> None:
        self._journal = Journal(path)
        self._head = json.dumps({"journal": "overread detect", "asked": asked}).encode()
        self._stack = ExitStack()
        self._is_open = False
        self._kept = 0
        self._records = self._read()

    def _read(self) -> dict[str, Mapping[str, Any]]:
        """Whole records under the same head; from the first damaged one on, all is forgotten."""
        records: dict[str, Mapping[str, Any]] = {}
        self._kept = 0
        for number, line in enumerate(self._journal.lines()):
            if number == 0:
                if line != self._head:
                    return {}
            else:
                try:
                    record = parse_json(line, "journal")
                    if record["sha256"] != digest_of_value(record["found"]):
                        break
                    records[record["key"]] = record["found"]
                except (FormatError, KeyError, TypeError):
                    break
            self._kept += len(line) + 1
        return records

    def find(self, key: str) -> Mapping[str, Any] | None:
        """Record of an image, or None."""
        return self._records.get(key)

    def add(self, key: str, found: Mapping[str, Any]) -> None:
        """Keep a record; when this returns, it is on the device."""
        if not self._is_open:
            path = self._journal.path
            self._stack.enter_context(folder_lock(path.parent, LOCK_FILE, IS_HELD))
            # Now alone: what another process added in the meantime must not be cut off.
            self._records = self._read()
            self._stack.enter_context(self._journal.open(kept=self._kept))
            self._is_open = True
            if self._kept == 0:
                self._journal.append(self._head)
        record = {"key": key, "found": found, "sha256": digest_of_value(found)}
        self._journal.append(json.dumps(record, allow_nan=False).encode())
        self._records[key] = found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
