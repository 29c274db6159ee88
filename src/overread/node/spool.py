"""The folder of a node: images that came in, documents that go out, and the journal of both.

::

    node.sqlite     the journal (`Ledger`)
    images/         one file for each image that is not done, named by its SOP instance UID
    documents/      reports and presentation states that are not sent
    lock            one node at a time
"""

from __future__ import annotations

import re
import shutil
import threading
import warnings
from contextlib import suppress
from enum import Enum
from io import BytesIO
from pathlib import Path

from pydicom import dcmread

from overread.errors import FormatError, StorageError
from overread.files.atomic import write_parts_atomically
from overread.files.digests import digest_of_bytes
from overread.files.regular import read_regular
from overread.node.ledger import Answer, Ledger

__all__ = ["PRIVATE_FILE", "PRIVATE_FOLDER", "Spool", "StoreResult"]

# PS3.5 section 9: digits and dots, at most 64. It becomes a file name.
UID = re.compile(r"[0-9]+(\.[0-9]+)*")
LONGEST_UID = 64
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
PART_FILES = ".overread-*.part"
PREAMBLE = b"\0" * 128 + b"DICM"
# What images may not take of the device, as work on them needs it: SQLite's log grows to 4 MB before it is written
# back, an image's two documents have some 20 kB. The rest, chosen by eye, is for others who write on the device.
BYTES_TO_WORK = 64 * 2**20
# Where a file says how long the rest of its meta information is: behind the tag, type and length of (0002,0000).
META_LENGTH = slice(140, 144)


class StoreResult(Enum):
    """What became of an image that was sent."""

    STORED = "stored"
    KNOWN = "is here already"
    CONFLICT = "another content under the same SOP instance UID"


class Spool:
    """A node's folder, made if need be; what is in it is private to its owner.

    Parameters
    ----------
    folder
        Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._images, self.documents = folder / "images", folder / "documents"
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            for place in (self._images, self.documents):
                if place.is_symlink():
                    raise StorageError(f"{place}: is a link, which leads out of the spool (take it away)")
                place.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
                place.chmod(PRIVATE_FOLDER)
        except OSError as error:
            raise StorageError(f"{folder}: cannot write here: {error.strerror or error}") from error
        self.ledger = Ledger(folder / "node.sqlite")
        self._storing = threading.Lock()

    def close(self) -> None:
        """Let go of the journal."""
        self.ledger.close()

    def image_path(self, sop_uid: str) -> Path:
        """File of an image; what is no UID is refused, as a journal that somebody forged must not lead out of here."""
        return self._images / f"{check_uid(sop_uid)}.dcm"

    def document_path(self, answer: Answer) -> Path:
        """File of a document; refused as in `image_path`."""
        return self._document(answer.file)

    def _document(self, name: str) -> Path:
        return self.documents / f"{check_uid(str(name).removesuffix('.dcm'))}.dcm"

    def store(self, meta: bytes, dataset: bytes, sop_uid: str, sender: str) -> StoreResult:
        """Store an image; when this returns, it is on the device and in the journal.

        Parameters
        ----------
        meta
            File meta information, encoded.
        dataset
            As it was sent.
        sop_uid
            SOP instance UID by which it was sent.
        sender
            AE title.

        Raises
        ------
        FormatError
            If the data set is none, or of another instance, or names no study.
        StorageError
            If the device refuses, or has too little space left to work on images; nothing is kept then.
        """
        # One at a time, which bounds the memory of copies.
        with self._storing:
            study_uid = identify(meta, dataset, sop_uid)
            sha256 = digest_of_bytes(dataset)
            known = self.ledger.find(sop_uid)
            if known is not None and known.sha256 != sha256:
                return StoreResult.CONFLICT
            if known is not None and known.state != "failed":
                return StoreResult.KNOWN
            self._refuse_the_last_bytes(len(dataset))
            write_parts_atomically(
                self.image_path(sop_uid),
                (PREAMBLE, meta, dataset),
                mode=PRIVATE_FILE,
                within=self._images,
            )
            self.ledger.receive(sop_uid, study_uid, sha256, sender)
        return StoreResult.STORED

    def _refuse_the_last_bytes(self, size: int) -> None:
        """Refuse an image that would leave too little space to work on those that were acknowledged."""
        free = free_bytes(self.folder)
        if free < size + BYTES_TO_WORK:
            raise StorageError(
                f"{self.folder}: {free >> 20} MB are free; an image is taken while it leaves {BYTES_TO_WORK >> 20} MB"
            )

    def recover(self, *, keep_done: bool) -> None:
        """Clear up after a kill: half-written files go, and so do files of images that are done, unless kept.

        A whole image without an entry was never acknowledged, or the journal was lost; it is entered now.
        """
        for place in (self._images, self.documents):
            for part in place.glob(PART_FILES):
                part.unlink(missing_ok=True)
        for path in sorted(self._images.glob("*.dcm")):
            if path.is_symlink():
                continue  # no receiver put it there, and it may lead anywhere
            entry = self.ledger.find(path.stem)
            if entry is None:
                self._adopt(path)
            elif entry.state == "done" and not keep_done:
                self.discard(path.stem)

    def _adopt(self, path: Path) -> None:
        """Enter an image whose file is there; what is no image stays where it is."""
        try:
            content = read_regular(path)
        except OSError:  # a pipe or a device, which no receiver put there
            return
        length = int.from_bytes(content[META_LENGTH], "little")
        meta, dataset = (
            content[len(PREAMBLE) : META_LENGTH.stop + length],
            content[META_LENGTH.stop + length :],
        )
        with suppress(FormatError):
            study_uid = identify(meta, dataset, path.stem)
            self.ledger.receive(path.stem, study_uid, digest_of_bytes(dataset), "recovered")

    def discard(self, sop_uid: str) -> None:
        """Delete the files of an image that is done; the journal still knows it."""
        for name in self.ledger.files_of(sop_uid):
            with suppress(FormatError, OSError):  # forged, or no file: not ours to delete
                self._document(name).unlink()
        with suppress(FormatError, OSError):
            self.image_path(sop_uid).unlink()


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written on the device of a folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be asked for its free space: {error.strerror or error}"
        ) from error


def check_uid(uid: str) -> str:
    """Return a UID; refuse what is none."""
    if len(uid) > LONGEST_UID or UID.fullmatch(uid) is None:
        raise FormatError(f"{uid[:LONGEST_UID]!r} is no UID")
    return uid


def identify(meta: bytes, dataset: bytes, sop_uid: str) -> str:
    """Study of a data set that is of the instance it is said to be."""
    tags = ["SOPInstanceUID", "StudyInstanceUID"]
    try:
        # pydicom would warn on standard error, in words of the file.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header = dcmread(BytesIO(PREAMBLE + meta + dataset), stop_before_pixels=True, specific_tags=tags)
            own, study = (str(header.get(tag, "")) for tag in tags)
    except Exception as error:  # pydicom raises almost anything on damaged data
        raise FormatError(f"cannot be read as DICOM: {error}") from error
    for name, uid in (("SOPInstanceUID", sop_uid), ("StudyInstanceUID", study)):
        try:
            check_uid(uid)
        except FormatError:
            raise FormatError(f"{name} is missing, or no UID") from None
    if own != sop_uid:
        raise FormatError("the data set is of another instance than the message says")
    return study
