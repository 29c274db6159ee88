"""The folder of a node: images on the device before they are acknowledged, and nothing half."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path

import pytest
from pydicom import dcmread
from pynetdicom.dsutils import encode, encode_file_meta

from overread.apps.node._spool import Spool, StoreResult
from overread.errors import FormatError, StorageError
from stand_in_detector import write_images


@pytest.fixture
def spool(tmp_path):
    opened = Spool(tmp_path / "spool")
    yield opened
    opened.close()


def message(path: Path, **changes: object) -> tuple[bytes, bytes, str]:
    image = dcmread(path)
    for name, value in changes.items():
        setattr(image, name, value)
    dataset = encode(image, False, True)
    assert dataset is not None
    return encode_file_meta(image.file_meta), dataset, str(image.file_meta.MediaStorageSOPInstanceUID)


def test_an_image_is_stored_as_it_was_sent(spool, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    meta, dataset, uid = message(path)
    assert spool.store(meta, dataset, uid, "MODALITY") is StoreResult.STORED
    stored = dcmread(spool.image_path(uid))
    assert stored == dcmread(path)
    assert stored.file_meta.TransferSyntaxUID == dcmread(path).file_meta.TransferSyntaxUID
    assert spool.ledger.find(uid).study_uid == stored.StudyInstanceUID


def test_the_same_again_is_known_and_another_content_refused(spool, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    first, other = message(path), message(path, PatientID="Q")
    assert spool.store(*first, "A") is StoreResult.STORED
    before = spool.image_path(first[2]).read_bytes()
    assert spool.store(*first, "B") is StoreResult.KNOWN
    assert spool.store(*other, "A") is StoreResult.CONFLICT
    assert spool.image_path(first[2]).read_bytes() == before
    spool.ledger.fail(first[2], "a reason")
    assert spool.store(*other, "A") is StoreResult.CONFLICT
    assert spool.store(*first, "A") is StoreResult.STORED
    assert spool.ledger.find(first[2]).state == "received"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SOPInstanceUID": "1.2.3"}, "another instance"),
        ({"StudyInstanceUID": ""}, "StudyInstanceUID"),
        ({"StudyInstanceUID": "1." * 40 + "1"}, "StudyInstanceUID"),
    ],
)
@pytest.mark.filterwarnings("ignore:Invalid value|The value length|A value for")
def test_images_without_identity_are_refused(spool, tmp_path, changes, words):
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0], **changes)
    with pytest.raises(FormatError, match=words):
        spool.store(meta, dataset, uid, "A")
    assert not list((tmp_path / "spool" / "images").iterdir())


@pytest.mark.parametrize("uid", ["../../x", "1..2", "", "1.2\0", "9" * 65])
def test_a_uid_becomes_no_path(spool, tmp_path, uid):
    meta, dataset, _ = message(write_images(tmp_path / "in", 1)[0])
    with pytest.raises(FormatError):
        spool.store(meta, dataset, uid, "A")
    assert not list((tmp_path / "spool" / "images").iterdir())


def test_what_is_no_data_set_is_refused(spool, tmp_path):
    meta, _, uid = message(write_images(tmp_path / "in", 1)[0])
    for dataset in (b"", b"\xff" * 100, BytesIO(b"x" * 1000).getvalue()):
        with pytest.raises(FormatError):
            spool.store(meta, dataset, uid, "A")


def test_a_device_that_refuses_keeps_nothing(spool, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise StorageError("no space")

    monkeypatch.setattr("overread.apps.node._spool.write_parts_atomically", refuse)
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    with pytest.raises(StorageError):
        spool.store(meta, dataset, uid, "A")
    assert spool.ledger.find(uid) is None


def test_recovery_clears_half_written_and_done_files(spool, tmp_path):
    uids = []
    for path in write_images(tmp_path / "in", 2):
        meta, dataset, uid = message(path)
        spool.store(meta, dataset, uid, "A")
        uids.append(uid)
    part = spool.documents / ".overread-abc.part"
    document = spool.documents / "2.25.7.dcm"
    for file in (part, document):
        file.write_bytes(b"half")
    spool.ledger.answer(uids[0], [document], 0)
    spool.ledger.mark_sent(spool.ledger.unsent(1)[0])
    spool.recover(keep_done=True)
    assert spool.image_path(uids[0]).exists()
    assert not part.exists()
    spool.recover(keep_done=False)
    assert [spool.image_path(uid).exists() for uid in uids] == [False, True]
    assert not document.exists()


def test_images_without_an_entry_are_entered(tmp_path):
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    spool = Spool(tmp_path / "spool")
    spool.store(meta, dataset, uid, "A")
    before = spool.ledger.find(uid)
    spool.close()
    for name in ("node.sqlite", "node.sqlite-wal", "node.sqlite-shm"):
        (tmp_path / "spool" / name).unlink(missing_ok=True)
    (tmp_path / "spool" / "images" / "1.2.dcm").write_bytes(b"no image")
    spool = Spool(tmp_path / "spool")
    spool.recover(keep_done=False)
    assert spool.ledger.find(uid) == before
    assert spool.ledger.find("1.2") is None
    assert spool.store(meta, dataset, uid, "A") is StoreResult.KNOWN
    spool.close()


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="file"):
        Spool(tmp_path / "file")


def test_what_is_in_a_spool_is_private(tmp_path):
    spool = Spool(tmp_path / "deep" / "spool")
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    spool.store(meta, dataset, uid, "A")
    places = [spool.folder, *spool.folder.iterdir(), spool.image_path(uid)]
    modes = {place.name: place.stat().st_mode & 0o777 for place in places}
    spool.close()
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
    # A folder that was there keeps its mode, but what is in it does not.
    spool.documents.chmod(0o755)
    Spool(spool.folder).close()
    assert spool.documents.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["images", "documents"])
def test_a_folder_that_leads_out_is_refused(tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="leads out of the spool"):
        Spool(tmp_path / "spool")


def test_a_pipe_a_folder_and_a_link_among_the_images_are_passed_over(spool, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    images = spool.folder / "images"
    os.mkfifo(images / "1.2.dcm")
    (images / "1.3.dcm").mkdir()
    (images / f"{message(path)[2]}.dcm").symlink_to(path)
    spool.recover(keep_done=False)
    assert spool.ledger.worklist().empty
    assert path.exists()


def test_an_image_is_not_written_through_a_link(spool, tmp_path):
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    (tmp_path / "victim").write_bytes(b"of somebody else")
    spool.image_path(uid).symlink_to(tmp_path / "victim")
    with pytest.raises(StorageError, match="leads out"):
        spool.store(meta, dataset, uid, "A")
    assert (tmp_path / "victim").read_bytes() == b"of somebody else"


FORGED = [
    "../../victim",
    "../victim",
    "/etc/hostname",
    "",
    ".",
    "..",
    "a\0b",
    "x" * 5000,
    "victim.dcm",
    7,
    b"\xff",
]


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_journal_leads_nowhere(spool, tmp_path, name):
    victims = [tmp_path / "victim.dcm", spool.folder / "victim.dcm", spool.documents / "victim.dcm"]
    for victim in victims:
        victim.write_bytes(b"of somebody else")
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    spool.store(meta, dataset, uid, "A")
    spool.ledger.answer(uid, [Path("2.25.7.dcm")], 0)
    with closing(sqlite3.connect(spool.folder / "node.sqlite")) as database:
        database.execute("UPDATE answers SET file = ?", (name,))
        database.commit()
    answer = spool.ledger.unsent(1)[0]
    with suppress(FormatError):
        assert spool.document_path(answer).parent == spool.documents
    spool.discard(uid)
    if isinstance(name, str):
        with pytest.raises(FormatError, match="is no UID"):
            spool.image_path(name)
        spool.discard(name)
    assert [victim.exists() for victim in victims] == [True] * 3


def test_warnings_of_pydicom_stay_silent(spool, tmp_path, recwarn):
    meta, dataset, uid = message(write_images(tmp_path / "in", 1)[0])
    # A study UID of another type than the standard says, with text that is none in its character set.
    broken = dataset.replace(b"UI", b"IS")
    with suppress(FormatError):
        spool.store(meta, broken, uid, "A")
    assert not recwarn.list
