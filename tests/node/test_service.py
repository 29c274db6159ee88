"""A node from image to archive, with pynetdicom's own client on both ends."""

import collections
import gc
import os

import pytest
from pydicom import dcmread

from dicom_marks import complaints
from dicom_network import PR, SR, Archive, connect, send, wait_until
from overread.apps.node._service import Node, Worker
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Ledger, Spool
from overread.errors import StorageError, UsageError
from overread.marks import Spacings
from overread.marks.formats import dicom_sr
from overread.study import Request
from stand_in_detector import StandInDetector, write_images


def make_node(folder, port, detector=None, **options):
    settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", port), port=0, **options)
    said = []
    node = Node(
        settings, Request(detector or StandInDetector(), 1.0, documents=True), folder, log=said.append
    )
    return node, said


@pytest.fixture
def archive():
    with Archive() as running:
        yield running


def test_echo(archive, tmp_path):
    node, _ = make_node(tmp_path / "spool", archive.port)
    with node:
        association = connect(node.port)
        assert association.send_c_echo().Status == 0x0000
        association.release()


def test_every_image_is_answered_by_both_documents_once(archive, tmp_path):
    images = write_images(tmp_path / "in", 6)
    detector = StandInDetector()
    node, said = make_node(tmp_path / "spool", archive.port, detector)
    with node:
        for _ in range(2):
            assert send(images, node.port) == [0x0000] * 6
        wait_until(node.is_idle)
    assert said == []
    assert detector.n_asked == 6
    uids = {str(dcmread(path).SOPInstanceUID) for path in images}
    for sop_class in (SR, PR):
        assert len(archive.uids(sop_class)) == len(set(archive.uids(sop_class))) == 6
    referred = collections.Counter(
        str(one.ReferencedSeriesSequence[0].ReferencedImageSequence[0].ReferencedSOPInstanceUID)
        for one in archive.received
        if one.SOPClassUID == PR
    )
    assert referred == dict.fromkeys(uids, 1)
    # What is done leaves only its entry.
    assert not list((tmp_path / "spool" / "images").iterdir())
    assert not list((tmp_path / "spool" / "documents").iterdir())
    studies = Ledger(tmp_path / "spool" / "node.sqlite").worklist()
    assert studies[["images", "done", "waiting", "failed", "detections"]].sum().tolist() == [6, 6, 0, 0, 6]


def test_what_arrives_is_what_the_detector_found(archive, tmp_path):
    images = write_images(tmp_path / "in", 1)
    node, _ = make_node(tmp_path / "spool", archive.port, keep=True)
    with node:
        send(images, node.port)
        wait_until(node.is_idle)
    report = next(one for one in archive.received if one.SOPClassUID == SR)
    kept = tmp_path / "spool" / "documents" / f"{report.SOPInstanceUID}.dcm"
    written = dicom_sr.read(kept, spacings=Spacings.of(0.7)).marks
    assert written["mark_id"].tolist() == ["0001"]
    assert written["y_mm"].tolist() == [pytest.approx(12.0, abs=1e-5)]
    assert report == dcmread(kept)


# pynetdicom leaves the socket of a connection that was refused to the garbage collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
def test_stopped_before_sending_it_goes_on(tmp_path):
    images = write_images(tmp_path / "in", 3)
    with Archive() as archive:
        port = archive.port
    node, said = make_node(tmp_path / "spool", port)
    with node:
        assert send(images, node.port) == [0x0000] * 3
        wait_until(lambda: any("does not take documents" in line for line in said))
        assert not node.is_idle()
    gc.collect()
    with Archive(port=port) as archive:
        node, _ = make_node(tmp_path / "spool", port)
        with node:
            wait_until(node.is_idle)
        assert len(set(archive.uids())) == len(archive.uids()) == 6


def test_one_bad_image_costs_no_other(archive, tmp_path):
    good, bad = write_images(tmp_path / "in", 2)
    broken = dcmread(bad)
    broken.PixelData = broken.PixelData[:100]
    node, said = make_node(tmp_path / "spool", archive.port)
    with node:
        assert send([broken, good], node.port) == [0x0000, 0x0000]
        wait_until(node.is_idle)
    assert len(archive.received) == 2
    assert "failed" in said[0]
    studies = Ledger(tmp_path / "spool" / "node.sqlite").worklist()
    assert studies[["done", "failed"]].to_numpy().tolist() == [[0, 1], [1, 0]]
    assert studies["reason"][0] in said[0]
    assert str(tmp_path) not in studies["reason"][0]


def test_a_fault_stops_the_node(archive, tmp_path):
    class Faulty(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            raise SystemExit("a fault")

    node, _ = make_node(tmp_path / "spool", archive.port, Faulty())
    with node:
        send(write_images(tmp_path / "in", 1), node.port)
        with pytest.raises(SystemExit, match="a fault"):
            node.wait(60)


def test_an_address_that_is_taken(archive, tmp_path):
    settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", 1), port=archive.port)
    node = Node(settings, Request(StandInDetector(), 1.0, documents=True), tmp_path / "spool")
    with pytest.raises(StorageError, match="cannot listen"), node:
        pass


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


HERE = Destination("PACS", "127.0.0.1", 4242)


def test_a_destination_is_read():
    assert Destination.parse("PACS@127.0.0.1:4242") == HERE
    assert str(HERE) == "PACS@127.0.0.1:4242"
    assert Destination.parse("MY PACS@host.local:104").ae_title == "MY PACS"
    assert Destination.parse("PACS@[::1]:104").host == "::1"


@pytest.mark.parametrize(
    "text",
    ["PACS", "PACS@host", "PACS:104", "@host:104", "PACS@host:0", "PACS@host:65536", "PACS@h:1x", "A\\B@h:1"],
)
def test_what_is_no_destination(text):
    with pytest.raises(UsageError, match="--destination"):
        Destination.parse(text)


def test_the_defaults_are_on_loopback():
    assert NodeSettings(HERE).host == "127.0.0.1"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ae_title": ""}, "--ae-title"),
        ({"ae_title": "   "}, "--ae-title"),
        ({"ae_title": "SEVENTEEN-LETTERS"}, "--ae-title"),
        ({"ae_title": "ÄE"}, "--ae-title"),
        ({"callers": ("A\\B",)}, "--callers"),
        ({"port": -1}, "--port"),
        ({"port": 65536}, "--port"),
        ({"host": "localhost"}, "--host"),
        ({"host": "0.0.0.0"}, "--callers"),
        ({"host": "192.0.2.1"}, "--callers"),
        ({"largest_bytes": 0}, "--largest-mb"),
        ({"largest_bytes": 1 << 40}, "--largest-mb"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(UsageError, match=words):
        NodeSettings(HERE, **options)


def test_an_address_that_others_reach_needs_callers():
    assert NodeSettings(HERE, host="0.0.0.0", callers=("MODALITY",)).callers == ("MODALITY",)
    assert NodeSettings(HERE, host="::1").host == "::1"
