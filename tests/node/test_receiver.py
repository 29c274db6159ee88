"""What a node takes, and from whom; peers that say nothing, too little, or too much cost nobody else's connection."""

import socket
import struct
import threading
from contextlib import ExitStack

import pytest
from pydicom import dcmread

from dicom_network import DX, connect, send, sums, wait_until
from overread.apps.node import _receiver as connections
from overread.apps.node._spool import Spool
from stand_in_detector import write_images

# pynetdicom's client leaves the socket of a connection that we broke to the garbage collector.
CT = "1.2.840.10008.5.1.4.1.1.2"
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")


@pytest.fixture
def silent():
    """Open connections in which nothing is said, from addresses of loopback."""
    with ExitStack() as stack:

        def open_one(port, host="127.0.0.1", words=b""):
            raw = stack.enter_context(socket.socket())
            raw.bind((host, 0))
            raw.settimeout(30)
            raw.connect(("127.0.0.1", port))
            raw.sendall(words)
            return raw

        yield open_one


def servers() -> int:
    return sum("AcceptorThread" in thread.name for thread in threading.enumerate())


def test_empty_connections_keep_nobody_out(start, silent, tmp_path):
    port, _, said = start()
    for _ in range(3 * connections.MOST_SILENT_OF_AN_ADDRESS):
        silent(port)
    assert send(write_images(tmp_path / "in", 1), port) == [0x0000]
    assert said[0] == "127.0.0.1 opens connections and sends nothing: the oldest was closed"
    assert len(said) < 10
    wait_until(lambda: servers() <= connections.MOST_SILENT_OF_AN_ADDRESS + 1)


def test_nor_do_those_of_many_addresses(start, silent, tmp_path):
    port, _, said = start()
    for number in range(30):
        silent(port, f"127.0.1.{number + 1}")
    assert send(write_images(tmp_path / "in", 1), port) == [0x0000]
    assert said == ["too many silent connections: the oldest was closed"]


@pytest.mark.parametrize("words", [b"", b"\x01", b"\x01\0\0\0\x01\0" + b"x" * 20])
def test_who_does_not_go_on_is_shown_out(start, silent, monkeypatch, words):
    monkeypatch.setattr(connections, "SECONDS_TO_ASK", 0.2)
    port, _, said = start()
    raw = silent(port, words=words)
    while raw.recv(100):
        pass
    wait_until(lambda: servers() == 0)
    assert [("stopped in the middle" in line) for line in said] == ([True] if words else [])


def test_a_place_is_free_as_soon_as_its_peer_has_gone(start, silent, monkeypatch):
    monkeypatch.setattr(connections, "SECONDS_TO_ASK", 3600)
    port, *_ = start()
    for _ in range(5):
        silent(port).close()
    # Long before the time is over for which pynetdicom's thread would wait.
    wait_until(lambda: servers() == 0)


def test_one_address_does_not_get_all_places(start, monkeypatch):
    monkeypatch.setattr(connections, "MOST_OF_AN_ADDRESS", 2)
    port, _, said = start()
    first, second, third = (connect(port) for _ in range(3))
    assert [one.is_established for one in (first, second, third)] == [True, True, False]
    assert third.is_rejected
    assert "2 associations are open, 2 of them from that address" in said[0]
    first.release()
    wait_until(lambda: servers() <= 1)
    fourth = connect(port)
    assert fourth.is_established
    for one in (second, fourth):
        one.release()


def test_all_messages_together_have_a_bound(start, tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "LARGEST_MESSAGES_AT_ONCE", 1)
    first, second = (dcmread(path) for path in write_images(tmp_path / "in", 2))
    first.PixelData = second.PixelData = b"\0" * (700 << 10)
    store, began, go_on = Spool.store, threading.Event(), threading.Event()

    def wait_and_store(*arguments):
        began.set()
        go_on.wait(60)
        return store(*arguments)

    monkeypatch.setattr(Spool, "store", wait_and_store)
    port, _, said = start(largest_bytes=1 << 20)
    statuses = []
    sender = threading.Thread(target=lambda: statuses.extend(send([first], port)))
    sender.start()
    began.wait(60)
    assert send([second], port) == [None]
    go_on.set()
    sender.join()
    assert statuses == [0x0000]
    assert said == ["more than 1 MB at once: the connection with 127.0.0.1 was closed"]
    assert send([second], port) == [0x0000]


def test_messages_that_were_dealt_with_are_not_counted(start, tmp_path):
    image = dcmread(write_images(tmp_path / "in", 1)[0])
    image.PixelData = b"\0" * (900 << 10)
    port, _, said = start(largest_bytes=1 << 20)
    assert send([image] * 8, port) == [0x0000] * 8
    association = connect(port)
    assert association.send_c_echo().Status == 0x0000
    association.release()
    assert said == []


def test_an_image_is_on_the_device_when_it_is_acknowledged(start, spool, tmp_path):
    port, told, said = start()
    assert send(write_images(tmp_path / "in", 2), port) == [0x0000] * 2
    assert len(list((spool.folder / "images").glob("*.dcm"))) == 2
    assert (sums(spool.ledger), len(told), said) == ([2, 0, 2, 0], 2, [])


def test_it_listens_on_loopback_alone(start):
    port, *_ = start()
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


@pytest.mark.parametrize(
    ("callers", "call", "words"),
    [
        ((), {"called": "OTHER"}, "'MODALITY' was rejected: it called another AE title"),
        ((), {"calling": "ANYBODY"}, None),
        (("CT1", "MODALITY"), {}, None),
        (("CT1",), {}, "'MODALITY' was rejected: it is not in --callers"),
    ],
)
def test_who_is_welcome(start, callers, call, words):
    port, _, said = start(callers=callers)
    association = connect(port, **call)
    assert association.is_established == (words is None)
    if words is None:
        association.release()
    else:
        wait_until(lambda: said == [words])


def test_only_radiographs_are_taken(start):
    port, *_ = start()
    association = connect(port, classes=(DX, CT))
    assert {str(context.abstract_syntax) for context in association.rejected_contexts} == {CT}
    association.release()


def test_another_content_under_one_uid_and_an_image_of_no_study_are_refused_and_said(start, spool, tmp_path):
    path = write_images(tmp_path / "in", 1)[0]
    changed, nameless = dcmread(path), dcmread(path)
    changed.PatientID = "Q"
    del nameless.StudyInstanceUID
    port, told, said = start()
    assert send([path, changed, nameless, path], port) == [0x0000, 0x0111, 0xA900, 0x0000]
    assert sums(spool.ledger)[0] == 1
    assert "other content" in said[0]
    assert "StudyInstanceUID" in said[1]
    assert len(told) == 2


def test_a_message_that_is_too_long_ends_the_connection(start, spool, tmp_path):
    small, large = (dcmread(path) for path in write_images(tmp_path / "in", 2))
    large.PixelData = b"\0" * (3 << 20)
    port, _, said = start(largest_bytes=1 << 20)
    assert send([large], port) == [None]
    assert "more than 1 MB" in said[0]
    assert sums(spool.ledger)[0] == 0
    assert send([small], port) == [0x0000]


def test_a_unit_that_claims_gigabytes_ends_the_connection(start):
    port, _, said = start()
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
