"""A node from image to archive, with pynetdicom's own client on both ends."""

from __future__ import annotations

import collections
import gc

import pytest
from pydicom import dcmread

from dicom_network import PR, SR, Archive, connect, send, wait_until
from overread.apps.node._service import Node
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Ledger
from overread.errors import StorageError
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
