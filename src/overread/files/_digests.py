"""Digests that show whether something changed.

Sealed files are JSON files with the SHA-256 of their content, so that changes are noticed.

A sealed file is one JSON object: a head with the kind of file and the version of its layout, the digest of the payload
in canonical form (`digest_of_value`), and the payload. The same payload gives the same bytes.
"""

import errno
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.errors import FormatError, StorageError
from overread.files._atomic import write_atomically
from overread.files._json import read_json
from overread.files._regular import open_regular

# A file changed twice within one clock tick has the same times, so a file this recent is read again.
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
    """Digests of files, cached by size, times and inode, so that unchanged files are not read again.

    The keys are image ids, so that the cache file contains no paths.

    Parameters
    ----------
    memory
        Cache file between runs; a damaged one is ignored.
    """

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, Any] = {}
        try:
            known = read_json(memory)
        except (OSError, FormatError):
            return
        # A changed digest would be trusted, so a cache that `save` did not write is ignored.
        if isinstance(known, dict) and known.get("seal") == digest_of_value(known.get("files")):
            self._known = known["files"]

    def of(self, name: str, path: Path, limit: int | None = None) -> str:
        """Digest of the file with the key ``name``."""
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
        """Save the cache for the next run."""
        sealed = {"files": self._known, "seal": digest_of_value(self._known)}
        content = json.dumps(sealed, sort_keys=True).encode()
        write_atomically(self._memory, content, within=self._memory.parent)


@dataclass(frozen=True)
class Seal:
    """Layout of one kind of sealed file.

    Attributes
    ----------
    head
        First members of the object, such as ``{"format": "overread-model", "schema": 1}``.
    digest_key
        Member that holds the digest.
    payload_key
        Member that holds the payload; None: the payload is an object whose members follow the digest.
    indent
        Spaces per level in the file.
    """

    head: Mapping[str, str | int]
    digest_key: str = "sha256"
    payload_key: str | None = "payload"
    indent: int = 1

    def close(self, payload: Any) -> dict[str, Any]:
        """Return the JSON object of the file."""
        rest = payload if self.payload_key is None else {self.payload_key: payload}
        return {**self.head, self.digest_key: digest_of_value(payload), **rest}

    def spell(self, document: Mapping[str, Any]) -> bytes:
        """Bytes of the file for an object that `close` made."""
        return (json.dumps(document, indent=self.indent, allow_nan=False) + "\n").encode()

    def payload(self, document: Mapping[str, Any]) -> Any:
        """Payload of an object, unchecked; None if it has none."""
        if self.payload_key is not None:
            return document.get(self.payload_key)
        outside = {*self.head, self.digest_key}
        return {key: value for key, value in document.items() if key not in outside}

    def broken_key(self, document: Any) -> str | None:
        """First wrong member of the head, else the digest's key if it is wrong, else None."""
        known = document if isinstance(document, dict) else {}
        for key, value in self.head.items():
            # True and 1.0 equal 1, but are not valid here.
            if type(known.get(key)) is not type(value) or known[key] != value:
                return key
        fits = known.get(self.digest_key) == digest_of_value(self.payload(known))
        return None if fits else self.digest_key
