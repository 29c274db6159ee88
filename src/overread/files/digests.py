"""Hashes that say whether something is still what it was."""

from __future__ import annotations

import errno
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from overread.errors import FormatError, StorageError
from overread.files.atomic import write_atomically
from overread.files.regular import open_regular
from overread.files.strict_json import read_json

__all__ = ["FileDigests", "digest_of_bytes", "digest_of_file", "digest_of_value"]

# A file changed twice within one tick of the clock has the same times: such a young file is read again.
YOUNG_NS = 2_000_000_000


def digest_of_bytes(content: bytes) -> str:
    """SHA-256 of bytes, as hexadecimal text."""
    return hashlib.sha256(content).hexdigest()


def digest_of_value(value: Any) -> str:
    """SHA-256 of a JSON value in canonical form."""
    return digest_of_bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


class FileDigests:
    """Digests of files, remembered by size, times and inode, so that unchanged files are not read again.

    The keys are image ids, so that the file that remembers holds no path.

    Parameters
    ----------
    memory
        File that keeps them between runs; a damaged one is forgotten.
    """

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, Any] = {}
        try:
            known = read_json(memory)
        except (OSError, FormatError):
            return
        # A changed digest would be believed: what is not as `save` left it is forgotten.
        if isinstance(known, dict) and known.get("seal") == digest_of_value(known.get("files")):
            self._known = known["files"]

    def of(self, name: str, path: Path, limit: int | None = None) -> str:
        """Digest of the file that goes by ``name``.

        Raises
        ------
        OSError
            If it cannot be read, is no regular file, or has more than ``limit`` bytes.
        """
        state = path.stat()
        mark = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
        remembered = self._known.get(name)
        if isinstance(remembered, list) and remembered[:4] == mark and len(remembered) == 5:
            return str(remembered[4])
        if limit is not None and state.st_size > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit >> 20} MiB", str(path))
        with open_regular(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        self._known.pop(name, None)
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > YOUNG_NS:
            self._known[name] = [*mark, found]
        return found

    def save(self) -> None:
        """Keep what is known for the next run."""
        sealed = {"files": self._known, "seal": digest_of_value(self._known)}
        content = json.dumps(sealed, sort_keys=True).encode()
        write_atomically(self._memory, content, within=self._memory.parent)
