"""What a node takes, and from whom."""

import gc
import socket
import struct

import pytest
from pydicom import dcmread

from dicom_network import DX, connect, send, wait_until
from overread.apps.node._receiver import Receiver, quiet_network_log
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Spool
from overread.errors import StorageError
from stand_in_detector import write_images

# pynetdicom leaves the socket of a connection that the peer broke to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
CT = "1.2.840.10008.5.1.4.1.1.2"


@pytest.fixture
def start(tmp_path):
    running = []
    quiet_network_log()

    def begin(**options):
        spool, told, said = Spool(tmp_path / "spool"), [], []
        settings = NodeSettings(Destination("PACS", "127.0.0.1", 1), port=0, **options)
        receiver = Receiver(settings, spool, lambda: told.append(1), said.append)
        port = receiver.start()
        running.append((receiver, spool))
        return port, spool, told, said

    yield begin
    for receiver, spool in running:
        receiver.stop()
        spool.close()
    gc.collect()


def test_an_image_is_on_the_device_when_it_is_acknowledged(start, tmp_path):
    images = write_images(tmp_path / "in", 2)
    port, spool, told, said = start()
    assert send(images, port) == [0x0000] * 2
    assert len(list((tmp_path / "spool" / "images").glob("*.dcm"))) == 2
    assert (spool.ledger.count_waiting(), len(told), said) == (2, 2, [])


def test_it_listens_on_loopback_alone(start):
    port, *_ = start()
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


@pytest.mark.parametrize(
    ("options", "call", "is_welcome"),
    [
        ({}, {"called": "OTHER"}, False),
        ({}, {"calling": "ANYBODY"}, True),
        ({"callers": ("CT1", "MODALITY")}, {}, True),
        ({"callers": ("CT1",)}, {}, False),
    ],
)
def test_who_is_welcome(start, options, call, is_welcome):
    port, _, _, said = start(**options)
    association = connect(port, **call)
    assert association.is_established == is_welcome
    if is_welcome:
        association.release()
    else:
        wait_until(lambda: len(said) == 1)
        assert "rejected" in said[0]


def test_only_radiographs_are_taken(start):
    port, *_ = start()
    association = connect(port, classes=(DX, CT))
    assert {str(context.abstract_syntax) for context in association.rejected_contexts} == {CT}
    association.release()


def test_another_content_under_one_uid_is_refused_and_said(start, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    changed = dcmread(path)
    changed.PatientID = "Q"
    port, spool, told, said = start()
    assert send([path, changed, path], port) == [0x0000, 0x0111, 0x0000]
    assert spool.ledger.count_waiting() == 1
    assert "another content" in said[0]
    assert len(told) == 2


def test_an_image_that_names_no_study_is_refused(start, tmp_path):
    image = dcmread(write_images(tmp_path / "in", 1)[0])
    del image.StudyInstanceUID
    port, spool, _, said = start()
    assert send([image], port) == [0xA900]
    assert spool.ledger.count_waiting() == 0
    assert "StudyInstanceUID" in said[0]


def test_a_full_disk_is_said_to_the_sender(start, tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise StorageError("no space")

    monkeypatch.setattr("overread.apps.node._spool.write_parts_atomically", refuse)
    port, _, told, said = start()
    assert send(write_images(tmp_path / "in", 1), port) == [0xA700]
    assert not told
    assert "no space" in said[0]


def test_a_message_that_is_too_long_ends_the_connection(start, tmp_path):
    large = dcmread(write_images(tmp_path / "in", 1)[0])
    large.PixelData = b"\0" * (3 << 20)
    port, spool, _, said = start(largest_bytes=1 << 20)
    assert send([large], port) == [None]
    assert "more than 1 MB" in said[0]
    assert spool.ledger.count_waiting() == 0
    assert send(write_images(tmp_path / "in", 2)[1:], port) == [0x0000]


def test_a_unit_that_claims_gigabytes_ends_the_connection(start):
    port, _, _, said = start()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
        raw.sendall(struct.pack(">BBL", 0x01, 0, 0xFFFFFFF0) + b"x" * 100)
        # Whatever state machine says good-bye, the connection ends.
        while raw.recv(100):
            pass
    assert len(said) == 1


def test_noise_is_survived(start, tmp_path):
    port, *_ = start()
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\x01\x00\x00\x00\x00\x04abcd"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as raw:
            raw.sendall(noise)
    assert send(write_images(tmp_path / "in", 1), port) == [0x0000]
