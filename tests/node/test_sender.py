"""Documents to the destination, whatever it answers."""

import os

import pytest
from pydicom import dcmread

from dicom_network import PR, Archive, put, sums
from overread.apps.node._service import Sender
from overread.apps.node._settings import Destination, NodeSettings
from stand_in_detector import write_images


@pytest.fixture
def waiting(spool, make_worker, tmp_path):
    """A spool with two images whose documents wait."""
    for path in write_images(tmp_path / "in", 2):
        put(spool, path)
        make_worker()[0].work()
    return spool


def make_sender(spool, port, **options):
    said = []
    settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", port), **options)
    return Sender(spool, settings, said.append), said


def test_documents_arrive_as_they_were_written_and_go(waiting):
    documents = {path.stem: dcmread(path) for path in waiting.documents.iterdir()}
    with Archive() as archive:
        sender, said = make_sender(waiting, archive.port)
        assert sender.send() is True
        assert sender.send() is False
    assert {str(one.SOPInstanceUID): one for one in archive.received} == documents
    assert (sums(waiting.ledger)[1:], said) == ([2, 0, 0], [])
    assert not list(waiting.documents.iterdir())


@pytest.mark.parametrize(
    ("status", "is_taken"), [(0xB000, True), (0x0111, True), (0xA700, False), (0xC000, False)]
)
def test_what_a_status_means(waiting, status, is_taken):
    with Archive(lambda _: status) as archive:
        sender, said = make_sender(waiting, archive.port, keep=True)
        assert sender.send() is (True if is_taken else None)
    assert sums(waiting.ledger)[1:] == ([2, 0, 0] if is_taken else [0, 2, 0])
    assert len(list(waiting.documents.iterdir())) == 4
    assert len(said) == (0 if is_taken else 4)


def test_what_is_refused_for_good_fails_and_costs_no_other(waiting):
    bad = str(waiting.ledger.unsent(1)[0].uid)
    with Archive(lambda one: 0xC000 if one.SOPInstanceUID == bad else 0x0000) as archive:
        sender, said = make_sender(waiting, archive.port)
        for _ in range(5):
            assert sender.send() is None
        assert sender.send() is False
    assert sums(waiting.ledger)[1:] == [1, 0, 1]
    assert len(archive.received) == 3
    assert "0xC000" in waiting.ledger.worklist()["reason"][0]
    assert len(said) == 5


def test_a_destination_that_takes_no_states(waiting):
    with Archive() as archive:
        archive._server.ae.remove_supported_context(PR)
        archive._server.contexts = archive._server.ae.supported_contexts
        sender, said = make_sender(waiting, archive.port)
        assert sender.send() is None
    assert "does not accept documents of this kind" in said[0]
    assert len(archive.received) == 2


@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
def test_nobody_there_loses_nothing(waiting):
    with Archive() as archive:
        port = archive.port
    sender, _ = make_sender(waiting, port)
    for _ in range(10):
        assert sender.send() is None
    assert sums(waiting.ledger)[1:] == [0, 2, 0]


@pytest.mark.parametrize("instead", ["nothing", "a pipe", "a damaged file"])
def test_a_document_that_is_gone_is_made_again(waiting, make_worker, instead):
    answer = waiting.ledger.unsent(1)[0]
    path = waiting.document_path(answer.file)
    content = path.read_bytes()
    path.unlink()
    if instead == "a pipe":
        os.mkfifo(path)
    elif instead == "a damaged file":
        path.write_bytes(content[:200])
    with Archive() as archive:
        sender, said = make_sender(waiting, archive.port)
        sender.send()
        assert waiting.ledger.find(answer.sop_uid).state == "received"
        if instead == "a pipe":
            path.unlink()
        make_worker()[0].work()
        assert sender.send() is True
    assert "made again" in said[0]
    assert sums(waiting.ledger)[1:] == [2, 0, 0]
    assert sorted(archive.uids()) == sorted(set(archive.uids()))
