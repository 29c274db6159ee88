"""Which shards are done: a journal that is appended to while images are worked on, then a manifest.

A line of the journal is written and flushed to the device after its shard is in place. A kill can cut the last
line short; it is then dropped, and the image it told of is done again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

from overread.errors import FormatError
from overread.files.digests import digest_of_bytes, digest_of_file
from overread.files.journal import Journal
from overread.files.records import from_json
from overread.files.strict_json import parse_json, read_json
from overread.study.store.run_folder import RunFolder, json_bytes

__all__ = ["Entry", "Manifest", "shard_file"]

MANIFEST = "manifest.json"
JOURNAL = "manifest.journal"


@dataclass(frozen=True)
class Entry:
    """What is known of one image.

    Attributes
    ----------
    image_id
        The study's id.
    candidates_key, features_key
        Digests of all that candidates and features depend on.
    sha256
        Digest of the shard; None for an image that was given up.
    fault_kind, reason
        Why it was given up.
    """

    image_id: str
    candidates_key: str
    features_key: str
    sha256: str | None = None
    fault_kind: str | None = None
    reason: str | None = None


def shard_file(image_id: str) -> str:
    """File of an image's shard; the id itself may hold anything and is no part of a file name."""
    return f"shards/{digest_of_bytes(image_id.encode('utf-8', 'surrogatepass'))[:32]}.parquet"


class Manifest:
    """Entries by image id; use it as a context while images are worked on.

    Parameters
    ----------
    folder
        Of the run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._journal = Journal(folder.path(JOURNAL))
        self.entries: dict[str, Entry] = {}
        for record in (*self._finished(), *self._journalled()):
            entry = entry_of(record)
            if entry is not None:
                self.entries[entry.image_id] = entry

    def __enter__(self) -> Self:
        # What is known goes into the manifest first, so that the journal starts with whole lines.
        self._write_manifest(list(self.entries))
        self._journal.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()

    def is_whole(self, entry: Entry) -> bool:
        """Whether the shard of an entry is there with the bytes it had."""
        path = self._folder.path(shard_file(entry.image_id))
        return entry.sha256 is not None and path.is_file() and digest_of_file(path) == entry.sha256

    def add(self, entry: Entry, shard: bytes | None) -> None:
        """Write a shard, then the line that tells of it."""
        if shard is not None:
            self._folder.write(shard_file(entry.image_id), shard)
        self._journal.append(json.dumps(asdict(entry)).encode())
        self.entries[entry.image_id] = entry

    def finish(self, image_ids: list[str]) -> None:
        """Write the manifest of these images, in their order, and take the journal away."""
        self.entries = {
            image_id: self.entries[image_id] for image_id in image_ids if image_id in self.entries
        }
        self._write_manifest(image_ids)
        self._journal.remove()

    def remove_strangers(self) -> None:
        """Take away shards that no entry tells of: images that left the study, or a kill before the line."""
        known = {shard_file(image_id) for image_id, entry in self.entries.items() if entry.sha256 is not None}
        for path in self._folder.path("shards").glob("*.parquet"):
            if f"shards/{path.name}" not in known:
                path.unlink(missing_ok=True)

    def _write_manifest(self, image_ids: list[str]) -> None:
        kept = [asdict(self.entries[image_id]) for image_id in image_ids if image_id in self.entries]
        self._folder.write(MANIFEST, json_bytes({"images": kept}))

    def _finished(self) -> list[Any]:
        try:
            found = read_json(self._folder.path(MANIFEST))
        except (OSError, FormatError):
            return []
        return found["images"] if isinstance(found, dict) and isinstance(found.get("images"), list) else []

    def _journalled(self) -> list[Any]:
        records = []
        for line in self._journal.lines():
            try:
                records.append(parse_json(line, JOURNAL))
            except FormatError:
                continue
        return records


def entry_of(record: Any) -> Entry | None:
    """Entry of a record that was read; None for what is not one."""
    try:
        return from_json(Entry, record)
    except FormatError:
        return None
