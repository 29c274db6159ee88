"""The detector's turn in a node."""

from __future__ import annotations

import os

import pytest
from pydicom import dcmread

from dicom_marks import complaints
from overread.apps.node._service import Worker
from overread.apps.node._spool import Spool
from overread.errors import StorageError
from overread.study import Request
from stand_in_detector import StandInDetector, write_images


@pytest.fixture
def spool(tmp_path):
    opened = Spool(tmp_path / "spool")
    yield opened
    opened.close()


def put(spool, path):
    image = dcmread(path)
    uid = str(image.SOPInstanceUID)
    spool.image_path(uid).write_bytes(path.read_bytes())
    spool.ledger.receive(uid, str(image.StudyInstanceUID), "digest", "A")
    return uid


def make_worker(spool, detector=None):
    said = []
    request = Request(detector or StandInDetector(), 1.0, documents=True)
    return Worker(spool, request, None, said.append), said


def test_an_image_becomes_two_valid_documents(spool, tmp_path):
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker, said = make_worker(spool)
    assert worker.work()
    assert not worker.work()
    assert said == []
    assert spool.ledger.find(uid).state == "answered"
    assert spool.ledger.worklist()["detections"].tolist() == [1]
    files = [spool.document_path(answer) for answer in spool.ledger.unsent(10)]
    assert [dcmread(file).Modality for file in files] == ["SR", "PR"]
    assert [complaints(file) for file in files] == [[], []]


def test_worked_on_again_it_gives_the_same_documents(spool, tmp_path):
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker, _ = make_worker(spool)
    worker.work()
    before = {file: file.read_bytes() for file in spool.documents.iterdir()}
    # As if it had been killed after the documents, before the journal.
    spool.ledger.wait_again(uid)
    worker.work()
    assert {file: file.read_bytes() for file in spool.documents.iterdir()} == before
    assert len(spool.ledger.unsent(10)) == 2


def test_a_full_disk_fails_no_image(spool, tmp_path, monkeypatch):
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker, _ = make_worker(spool)
    with monkeypatch.context() as patch:

        def refuse(*_args, **_options):
            raise StorageError("no space")

        patch.setattr("overread.apps.node._service.write_documents", refuse)
        for _ in range(5):
            with pytest.raises(StorageError):
                worker.work()
    assert worker.work()
    assert spool.ledger.find(uid).state == "answered"


def test_bugs_and_bad_images_fail_with_a_reason(spool, tmp_path):
    class Buggy(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            raise KeyError("a bug")

    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    spool.image_path(first).write_bytes(b"no image")
    worker, _ = make_worker(spool, Buggy())
    assert worker.work()
    assert worker.work()
    assert str(tmp_path) not in spool.ledger.find(first).reason
    assert "KeyError('a bug')" in spool.ledger.find(second).reason


def test_documents_are_private(spool, tmp_path):
    put(spool, write_images(tmp_path / "in", 1)[0])
    make_worker(spool)[0].work()
    assert {file.stat().st_mode & 0o777 for file in spool.documents.iterdir()} == {0o600}


def test_a_pipe_in_the_place_of_an_image_and_a_forged_uid_cost_no_other(spool, tmp_path):
    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    spool.image_path(first).unlink()
    os.mkfifo(spool.image_path(first))
    spool.ledger.receive("../../victim", "1.2", "digest", "A")
    worker, said = make_worker(spool)
    assert [worker.work() for _ in range(4)] == [True, True, True, False]
    assert "a pipe" in spool.ledger.find(first).reason
    assert spool.ledger.find("../../victim").reason == "'../../victim' is no UID"
    assert spool.ledger.find(second).state == "answered"
    assert len(said) == 2
