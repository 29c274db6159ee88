"""Pixels of the images on the worklists: read once for their metadata, kept in memory while in use."""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread._terminal import count_steps
from overread.apps.room._store import RefusalError, Store
from overread.errors import ImageError, StorageError, TableError
from overread.files import digest_of_file
from overread.images import choose_spacing, read_for_viewing
from overread.marks import find_table
from overread.tables import read_table

CANNOT_BE_SHOWN = "this image cannot be shown; tell the study's owner"
# Images with readings; imported readings count as readings of the images here.
READ = (
    "SELECT DISTINCT image_id FROM items LEFT JOIN marks USING (item) LEFT JOIN decisions USING (item) WHERE "
    "(kind = 'training') = (? = 'training') AND (locked IS NOT NULL OR items.phase = 'done' OR clear OR aided_clear "
    "OR marks.item IS NOT NULL OR decisions.item IS NOT NULL)"
)
# About a dozen large radiographs: the current and next image of a few readers. Set by judgement.
LARGEST_SHELF = 128 << 20
# Decoders at work at once; more would only take memory from each other on a small machine.
DECODERS = 2
# zlib's fastest level: the network is seldom slower than a better compression.
GZIP_LEVEL = 1


@dataclass(frozen=True)
class ShownFile:
    """An image file of a study, and its pixel size if the images table states it."""

    path: Path
    mm_per_px: tuple[float, float] | None


def read_images(folder: Path) -> pd.DataFrame:
    """Read a study's table of images."""
    path = find_table(folder, "images")
    if path is None:
        raise TableError(f"{folder}: has no images table. Make one with: overread init {folder}")
    table = read_table(path, "images")
    if table.empty:
        raise TableError(f"{path}: has no rows. Add the images to read.")
    return table


def list_images(folder: Path) -> dict[str, ShownFile]:
    """Image files of a study by id."""
    table, path = read_images(folder), find_table(folder, "images")
    found: dict[str, ShownFile] = {}
    for row, record in enumerate(table.to_dict("records"), start=2):
        if not record.get("path"):
            raise TableError(
                f"{path}, row {row}, column path: no such image file. Give its path relative to the folder, or "
                f"make the table with: overread init {folder}"
            )
        x, y = (record.get(f"mm_per_px_{axis}") for axis in "xy")
        stated = None if pd.isna(x) or pd.isna(y) else (float(x), float(y))
        found[str(record["image_id"])] = ShownFile(folder / str(record["path"]), stated)
    return found


class ViewerPictures:
    """Pictures of a room, by kind (``reading`` or ``training``) and image id."""

    def __init__(self, store: Store, files: Mapping[str, Mapping[str, ShownFile]]) -> None:
        self._store, self._files = store, files
        # Pixels, and their compressed form if requested.
        self._shelf: OrderedDict[tuple[str, str], tuple[bytes, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._decoders = threading.Semaphore(DECODERS)
        self._busy: dict[tuple[str, str], threading.Lock] = {}

    def prepare(self, kind: str) -> dict[str, str]:
        """Read the metadata of each new or changed picture; return the reasons of images that cannot be read.

        If a file changed after a reader read it, this raises and changes nothing.
        """
        query = "SELECT image_id, signature FROM pictures WHERE kind = ?"
        known: dict[str, str] = dict(self._store.rows(query, (kind,)))
        bad: dict[str, str] = {}
        new, changed = [], []
        for image_id, file in self._files[kind].items():
            state = _state_of(file)
            if state is None:
                bad[image_id] = f"{file.path}: no such file"
            elif not known.get(image_id, "").startswith(f"{state}:"):
                new.append(image_id)
                if image_id in known and not _is_same(file, known[image_id]):
                    changed.append(image_id)
        # A reader's marks belong to the picture that they saw.
        read = {image for (image,) in self._store.rows(READ, (kind,))} & set(changed)
        if read:
            raise ImageError(
                f"{self._files[kind][min(read)].path}: changed after a reader read image {min(read)!r} "
                f"({len(read)} such images). The readings are kept. Restore the file, or give the new one another "
                "image_id."
            )
        for image_id in count_steps("images", new):
            try:
                self._store.insert("pictures", [_facts_row(kind, image_id, self._files[kind][image_id])])
            except (ImageError, StorageError) as error:
                bad[image_id] = str(error)
        if kind == "reading":
            # The detector must process changed pictures again.
            with self._store.transaction() as database:
                for table in ("detections", "detected"):
                    values = [(image,) for image in changed]
                    database.executemany(f"DELETE FROM {table} WHERE image_id = ?", values)
        return bad

    def of_both_kinds(self) -> list[tuple[str, str]]:
        """Pairs of a training image and an image to read whose files hold the same bytes."""
        rows = self._store.rows(
            "SELECT known.image_id AS trained, pictures.image_id AS read FROM pictures AS known JOIN pictures ON "
            "substr(known.signature, -64) = substr(pictures.signature, -64) WHERE known.kind = 'training' AND "
            "pictures.kind = 'reading' ORDER BY known.image_id"
        )
        return [(trained, read) for trained, read in rows if trained in self._files["training"]]

    def facts(self, kind: str, image_id: str) -> dict[str, Any]:
        """Return the metadata that a viewer needs before the pixels."""
        row = self.row(kind, image_id)
        colour = row["channels"] == 3
        sides = {"left": row["left_side"], "right": row["right_side"]}
        return {
            **{name: row[name] for name in ("width", "height", "channels", "bits")},
            "mm_per_px": {"x": row["mm_x"], "y": row["mm_y"]},
            "window": None if colour else {"center": row["window_center"], "width": row["window_width"]},
            "invert": bool(row["inverted"]),
            "left_right": sides if row["left_side"] else None,
        }

    def row(self, kind: str, image_id: str) -> Any:
        """Return the stored metadata of a picture."""
        values = ("training" if kind == "training" else "reading", image_id)
        rows = self._store.rows("SELECT * FROM pictures WHERE kind = ? AND image_id = ?", values)
        if not rows:
            raise RefusalError(CANNOT_BE_SHOWN, "image", 404)
        return rows[0]

    def _check_unchanged(self, kind: str, image_id: str) -> None:
        """Refuse to show a picture whose file changed after it was prepared."""
        signature = self.row(kind, image_id)["signature"]
        file = self._files[kind].get(image_id)
        state = file and _state_of(file)
        if file is None or state is None:
            raise RefusalError(CANNOT_BE_SHOWN, "image", 404)
        if signature.startswith(f"{state}:"):
            return
        if not _is_same(file, signature):
            changed = "the file of this image changed after the room was opened; tell the study's owner"
            raise RefusalError(changed, "image", 404)
        touched = f"{state}:{signature.rpartition(':')[2]}"
        query = "UPDATE pictures SET signature = ? WHERE kind = ? AND image_id = ?"
        self._store.change(query, (touched, kind, image_id))

    def content(self, kind: str, image_id: str, *, zipped: bool = False) -> bytes:
        """Pixels as they are sent: little-endian uint16, or uint8 red, green, blue; row by row."""
        key = (kind, image_id)
        self._check_unchanged(kind, image_id)
        with self._lock:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            with self._lock:
                plain, packed = self._shelf.pop(key, (b"", b""))
            plain = plain or self._decode(kind, image_id)
            if zipped:
                packed = packed or gzip.compress(plain, GZIP_LEVEL)
            with self._lock:
                self._shelf[key] = (plain, packed)
                size = sum(len(plain) + len(packed) for plain, packed in self._shelf.values())
                # Drop the least recently used.
                while size > LARGEST_SHELF and len(self._shelf) > 1:
                    old, gone = self._shelf.popitem(last=False)
                    size -= sum(map(len, gone))
                    self._busy.pop(old, None)
            return packed if zipped else plain

    def _decode(self, kind: str, image_id: str) -> bytes:
        with self._decoders:
            try:
                pixels = read_for_viewing(self._files[kind][image_id].path).pixels
            except (ImageError, StorageError) as error:
                # The text names a path of the owner's machine, which readers must not see.
                raise RefusalError(CANNOT_BE_SHOWN, "image", 404) from error
        return pixels.astype(pixels.dtype.newbyteorder("<"), copy=False).tobytes()


def _state_of(file: ShownFile) -> str | None:
    """Text that changes with the file or its pixel size; None if there is no file.

    A picture's signature is this text and a digest of the file, which distinguishes a touched file from a changed one.
    """
    try:
        status = file.path.stat()
    except OSError:
        return None
    return f"{status.st_size}:{status.st_mtime_ns}:{file.mm_per_px}"


def _is_same(file: ShownFile, signature: str) -> bool:
    """Whether a file holds the same bytes as when its signature was made."""
    if signature == _state_of(file):
        return True  # made by version 0.2, which kept no digest
    try:
        return digest_of_file(file.path) == signature.rpartition(":")[2]
    except StorageError:
        return False


def _facts_row(kind: str, image_id: str, file: ShownFile) -> dict[str, Any]:
    """Read the metadata of a picture from its file."""
    signature = f"{_state_of(file)}:{digest_of_file(file.path)}"
    viewed = read_for_viewing(file.path)
    try:
        spacing = choose_spacing(viewed.spacing, file.mm_per_px)
    except ImageError as error:
        raise ImageError(f"{file.path}: {error}") from None
    height, width = viewed.pixels.shape[:2]
    return {
        "kind": kind,
        "image_id": image_id,
        "width": width,
        "height": height,
        "channels": 3 if viewed.pixels.ndim == 3 else 1,
        "bits": viewed.bits,
        "mm_x": spacing.x,
        "mm_y": spacing.y,
        "window_center": viewed.center,
        "window_width": viewed.width,
        "inverted": int(viewed.inverted),
        "left_side": viewed.left,
        "right_side": viewed.right,
        "signature": signature,
    }
