"""Documents to the destination, whatever it answers."""

import os

import pytest
from pydicom import dcmread

from dicom_network import PR, Archive
from overread.apps.node._service import Sender, Worker
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Spool
from overread.study import Request
from stand_in_detector import StandInDetector, write_images


@pytest.fixture
def spool(tmp_path):
    """A spool with two images whose documents wait."""
    opened = Spool(tmp_path / "spool")
    worker = Worker(opened, Request(StandInDetector(), 1.0, documents=True), None, print)
    for path in write_images(tmp_path / "in", 2):
        image = dcmread(path)
        opened.image_path(image.SOPInstanceUID).write_bytes(path.read_bytes())
        opened.ledger.receive(str(image.SOPInstanceUID), str(image.StudyInstanceUID), "digest", "A")
        worker.work()
    yield opened
    opened.close()


def make_sender(spool, port, **options):
    said = []
    settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", port), **options)
    return Sender(spool, settings, said.append), said


def states(spool):
    return spool.ledger.worklist()[["done", "waiting", "failed"]].sum().tolist()


def test_documents_arrive_as_they_were_written_and_go(spool):
    documents = {path.stem: dcmread(path) for path in spool.documents.iterdir()}
    with Archive() as archive:
        sender, said = make_sender(spool, archive.port)
        assert sender.send() is True
        assert sender.send() is False
    assert {str(one.SOPInstanceUID): one for one in archive.received} == documents
    assert (states(spool), said) == ([2, 0, 0], [])
    assert not list(spool.documents.iterdir())


@pytest.mark.parametrize(
    ("status", "is_taken"), [(0xB000, True), (0x0111, True), (0xA700, False), (0xC000, False)]
)
def test_what_a_status_means(spool, status, is_taken):
    with Archive(lambda _: status) as archive:
        sender, said = make_sender(spool, archive.port, keep=True)
        assert sender.send() is (True if is_taken else None)
    assert states(spool) == ([2, 0, 0] if is_taken else [0, 2, 0])
    assert len(list(spool.documents.iterdir())) == 4
    assert len(said) == (0 if is_taken else 4)


def test_what_is_refused_for_good_fails_and_costs_no_other(spool):
    bad = str(spool.ledger.unsent(1)[0].uid)
    with Archive(lambda one: 0xC000 if one.SOPInstanceUID == bad else 0x0000) as archive:
        sender, said = make_sender(spool, archive.port)
        for _ in range(5):
            assert sender.send() is None
        assert sender.send() is False
    assert states(spool) == [1, 0, 1]
    assert len(archive.received) == 3
    assert "0xC000" in spool.ledger.worklist()["reason"][0]
    assert len(said) == 5


def test_a_destination_that_takes_no_states(spool):
    with Archive() as archive:
        archive._server.ae.remove_supported_context(PR)
        archive._server.contexts = archive._server.ae.supported_contexts
        sender, said = make_sender(spool, archive.port)
        assert sender.send() is None
    assert "takes no documents of this kind" in said[0]
    assert len(archive.received) == 2


@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
def test_nobody_there_loses_nothing(spool):
    with Archive() as archive:
        port = archive.port
    sender, _ = make_sender(spool, port)
    for _ in range(10):
        assert sender.send() is None
    assert states(spool) == [0, 2, 0]


@pytest.mark.parametrize("instead", ["nothing", "a pipe", "a damaged file"])
def test_a_document_that_is_gone_is_made_again(spool, instead):
    answer = spool.ledger.unsent(1)[0]
    path = spool.document_path(answer)
    content = path.read_bytes()
    path.unlink()
    if instead == "a pipe":
        os.mkfifo(path)
    elif instead == "a damaged file":
        path.write_bytes(content[:200])
    with Archive() as archive:
        sender, said = make_sender(spool, archive.port)
        sender.send()
        assert spool.ledger.find(answer.sop_uid).state == "received"
        if instead == "a pipe":
            path.unlink()
        Worker(spool, Request(StandInDetector(), 1.0, documents=True), None, print).work()
        assert sender.send() is True
    assert "made again" in said[0]
    assert states(spool) == [2, 0, 0]
    assert sorted(archive.uids()) == sorted(set(archive.uids()))
