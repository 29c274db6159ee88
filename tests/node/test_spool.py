"""The folder of a node: images on the device before they are acknowledged, and nothing half."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from pydicom import dcmread
from pynetdicom.dsutils import encode, encode_file_meta

from dicom_network import sums
from overread.apps.node._spool import Ledger, Spool, StoreResult, _empty_journal
from overread.errors import FormatError, StorageError
from stand_in_detector import write_images


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


@pytest.mark.filterwarnings("ignore:Invalid value|The value length|A value for")
def test_images_without_identity_are_refused(spool, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    meta, dataset, uid = message(path)
    messages = [
        ("different SOP instance UIDs", message(path, SOPInstanceUID="1.2.3")),
        *(("StudyInstanceUID", message(path, StudyInstanceUID=study)) for study in ("", "1." * 40 + "1")),
        *(("SOPInstanceUID", (meta, dataset, bad)) for bad in ("../../x", "1..2", "", "1.2\0", "9" * 65)),
        *(("UID|DICOM", (meta, bad, uid)) for bad in (b"", b"\xff" * 100, b"x" * 1000)),
    ]
    for words, sent in messages:
        with pytest.raises(FormatError, match=words):
            spool.store(*sent, "A")
    assert not list((tmp_path / "spool" / "images").iterdir())


def test_a_device_that_refuses_keeps_nothing(spool, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise StorageError("no space")

    monkeypatch.setattr("overread.apps.node._spool.write_atomically", refuse)
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
def test_a_folder_that_leads_out_or_cannot_be_is_refused(tmp_path, name):
    (tmp_path / "outside").mkdir()
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="is a link out of the spool"):
        Spool(tmp_path / "spool")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="file"):
        Spool(tmp_path / "file")


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
        assert spool.document_path(answer.file).parent == spool.documents
    spool.discard(uid)
    if isinstance(name, str):
        with pytest.raises(FormatError, match="is not a UID"):
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


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "node.sqlite")
    yield opened
    opened.close()


def receive(ledger, *uids):
    for uid in uids:
        ledger.receive(uid, f"{uid}.9", "digest", "MODALITY")


def test_the_way_of_an_image(ledger):
    receive(ledger, "1", "2")
    assert ledger.next_received().sop_uid == "1"
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 3)
    assert ledger.next_received().sop_uid == "2"
    first, second = ledger.unsent(10)
    assert (first.uid, first.file, first.sop_uid) == ("a", "a.dcm", "1")
    assert [one.uid for one in ledger.unsent(1)] == ["a"]
    assert not ledger.mark_sent(first)
    assert ledger.find("1").state == "answered"
    assert ledger.mark_sent(second)
    assert ledger.find("1").state == "done"
    assert ledger.unsent(10) == []
    assert sums(ledger)[2] == 1
    assert ledger.files_of("1") == ["a.dcm", "b.dcm"]


def test_received_again_only_what_failed_begins_anew(ledger):
    receive(ledger, "1", "1")
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 0)
    receive(ledger, "1")
    assert ledger.find("1").state == "answered"
    ledger.mark_sent(ledger.unsent(1)[0])
    ledger.fail("1", "a reason")
    assert (ledger.find("1").state, ledger.find("1").reason) == ("failed", "a reason")
    assert ledger.unsent(10) == []
    receive(ledger, "1")
    assert (ledger.find("1").state, ledger.find("1").reason) == ("received", "")
    # The document that the destination has is not sent again.
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 0)
    assert [one.uid for one in ledger.unsent(10)] == ["b"]
    ledger.mark_sent(ledger.unsent(1)[0])
    # Both were sent before: there is nothing left to do.
    ledger.wait_again("1")
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 0)
    assert ledger.find("1").state == "done"


def test_tries_and_refusals_are_counted(ledger):
    receive(ledger, "1")
    for _ in range(3):
        ledger.begin_work("1")
    assert ledger.find("1").tries == 1
    assert [ledger.count_death("1") for _ in range(3)] == [1, 2, 3]
    ledger.wait_again("1")
    assert ledger.find("1").tries == 0
    ledger.answer("1", [Path("a.dcm")], 0)
    answer = ledger.unsent(1)[0]
    assert [ledger.refuse(answer, "no") for _ in range(2)] == [1, 2]
    assert ledger.find("1").reason == "no"
    ledger.mark_sent(answer)
    assert ledger.find("1").reason == ""


def test_the_worklist_sums_by_study(ledger):
    for uid, study in (("1", "8"), ("2", "8"), ("3", "9")):
        ledger.receive(uid, study, "digest", "MODALITY")
    ledger.answer("1", [Path("a.dcm")], 2)
    ledger.mark_sent(ledger.unsent(1)[0])
    ledger.fail("3", "a reason")
    names = ["study_uid", "images", "done", "waiting", "failed", "detections", "reason"]
    assert ledger.worklist()[names].to_numpy().tolist() == [
        ["8", 2, 1, 1, 0, 2, ""],
        ["9", 1, 0, 0, 1, 0, "a reason"],
    ]


def test_what_goes_wrong_inside_leaves_nothing(ledger):
    receive(ledger, "1")
    with pytest.raises(FormatError):
        ledger.answer("2", [Path("a.dcm")], 0)  # an answer to no image
    assert ledger.unsent(10) == []
    receive(ledger, "2")


def test_files_that_are_no_journal(tmp_path):
    (tmp_path / "text").write_text("no journal" * 1000)
    with pytest.raises(FormatError, match="text: is not a node's journal"):
        Ledger(tmp_path / "text")
    with pytest.raises(StorageError, match="nowhere"):
        Ledger(tmp_path / "nowhere" / "node.sqlite")
    (tmp_path / "later").write_bytes(_empty_journal())
    with closing(sqlite3.connect(tmp_path / "later")) as database:
        database.execute("PRAGMA user_version = 99")
        database.commit()
    with pytest.raises(FormatError, match="version 99"):
        Ledger(tmp_path / "later")


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (x)", "PRAGMA application_id = 7", "PRAGMA journal_mode = WAL"]
)
def test_the_database_of_another_program_stays_as_it_is(tmp_path, statement):
    path = tmp_path / "node.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.execute("CREATE TABLE other (x)")
        database.commit()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for read_only in (False, True):
        with pytest.raises(FormatError, match="is not a node's journal and was not changed"):
            Ledger(path, read_only=read_only)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_who_reads_changes_nothing(tmp_path):
    path = tmp_path / "node.sqlite"
    with pytest.raises(StorageError):
        Ledger(path, read_only=True)
    assert not list(tmp_path.iterdir())
    writer = Ledger(path)
    receive(writer, "1")
    reader = Ledger(path, read_only=True)
    assert sums(reader)[2] == 1
    receive(writer, "2")
    assert sums(reader)[2] == 2
    with pytest.raises(StorageError, match="readonly"):
        receive(reader, "3")
    reader.close()
    writer.close()
    before = path.read_bytes()
    again = Ledger(path, read_only=True)
    assert sums(again)[2] == 2
    again.close()
    assert path.read_bytes() == before


def test_who_reads_sees_what_a_killed_node_wrote(tmp_path):
    writer = Ledger(tmp_path / "node.sqlite")
    receive(writer, "1", "2")
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("node.sqlite*"):  # as they are on the device at this moment
        if not file.name.endswith("-shm"):
            (killed / file.name).write_bytes(file.read_bytes())
    writer.close()
    assert (killed / "node.sqlite-wal").stat().st_size > 0
    reader = Ledger(killed / "node.sqlite", read_only=True)
    assert sums(reader)[2] == 2
    reader.close()


@pytest.mark.parametrize("name", ["node.sqlite", "node.sqlite-wal", "node.sqlite-shm"])
def test_a_journal_is_no_link(tmp_path, name):
    inside, outside = tmp_path / "spool", tmp_path / "outside"
    inside.mkdir()
    Ledger(inside / "node.sqlite").close()
    if name == "node.sqlite":
        (inside / name).rename(outside)
    else:
        outside.write_bytes(b"of somebody else")
    before = outside.read_bytes()
    (inside / name).symlink_to(outside)
    for read_only in (False, True):
        with pytest.raises(StorageError, match="is a link"):
            Ledger(inside / "node.sqlite", read_only=read_only)
    assert outside.read_bytes() == before


def test_a_journal_is_private_from_its_first_moment_on(tmp_path):
    ledger = Ledger(tmp_path / "node.sqlite")
    receive(ledger, "1")
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    ledger.close()
    assert modes == dict.fromkeys(["node.sqlite", "node.sqlite-shm", "node.sqlite-wal"], 0o600)
