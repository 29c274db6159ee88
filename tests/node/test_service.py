"""A node from image to archive, with pynetdicom's own client on both ends."""

import collections
import gc
import os
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from pydicom import dcmread

from dicom_marks import complaints
from dicom_network import PR, SR, Archive, put, send, sums, wait_until, wait_until_idle
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Ledger
from overread.errors import StorageError, UsageError
from overread.marks import Spacings
from overread.marks.formats import dicom_sr
from stand_in_detector import StandInDetector, write_images


def test_every_image_is_answered_by_both_documents_once(archive, make_node, tmp_path):
    images = write_images(tmp_path / "in", 6)
    detector = StandInDetector()
    node, said = make_node(archive.port, detector)
    with node:
        for _ in range(2):
            assert send(images, node.port) == [0x0000] * 6
        wait_until_idle(node)
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


def test_what_arrives_is_what_the_detector_found(archive, make_node, tmp_path):
    images = write_images(tmp_path / "in", 1)
    node, _ = make_node(archive.port, keep=True)
    with node:
        send(images, node.port)
        wait_until_idle(node)
    report = next(one for one in archive.received if one.SOPClassUID == SR)
    kept = tmp_path / "spool" / "documents" / f"{report.SOPInstanceUID}.dcm"
    written = dicom_sr.read(kept, spacings=Spacings.of(0.7)).marks
    assert written["mark_id"].tolist() == ["0001"]
    assert written["y_mm"].tolist() == [pytest.approx(12.0, abs=1e-5)]
    assert report == dcmread(kept)


# pynetdicom leaves the socket of a connection that was refused to the garbage collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")
def test_stopped_before_sending_it_goes_on(make_node, tmp_path):
    images = write_images(tmp_path / "in", 3)
    with Archive() as archive:
        port = archive.port
    node, said = make_node(port)
    with node:
        assert send(images, node.port) == [0x0000] * 3
        wait_until(lambda: any("does not accept documents" in line for line in said))
        assert sums(node._spool.ledger)[2] == 3
    gc.collect()
    with Archive(port=port) as archive:
        node, _ = make_node(port)
        with node:
            wait_until_idle(node)
        assert len(set(archive.uids())) == len(archive.uids()) == 6


def test_a_fault_stops_the_node(archive, make_node, tmp_path):
    class Faulty(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            raise SystemExit("a fault")

    node, _ = make_node(archive.port, Faulty())
    with node:
        send(write_images(tmp_path / "in", 1), node.port)
        with pytest.raises(SystemExit, match="a fault"):
            node.wait(60)


def test_an_address_that_is_taken(archive, make_node):
    node, _ = make_node(1, port=archive.port)
    with pytest.raises(StorageError, match="cannot listen"), node:
        pass


def test_an_image_becomes_two_valid_documents(spool, make_worker, tmp_path):
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker, said = make_worker()
    assert worker.work()
    assert not worker.work()
    assert said == []
    assert spool.ledger.find(uid).state == "answered"
    assert spool.ledger.worklist()["detections"].tolist() == [1]
    files = [spool.document_path(answer.file) for answer in spool.ledger.unsent(10)]
    assert [dcmread(file).Modality for file in files] == ["SR", "PR"]
    assert [complaints(file) for file in files] == [[], []]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_a_full_disk_fails_no_image(spool, make_worker, tmp_path, monkeypatch):
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker, _ = make_worker()
    with monkeypatch.context() as patch:

        def refuse(*_args, **_options):
            raise StorageError("no space")

        patch.setattr("overread.apps.node._service.write_documents", refuse)
        for _ in range(5):
            with pytest.raises(StorageError):
                worker.work()
    assert worker.work()
    assert spool.ledger.find(uid).state == "answered"


def test_bugs_and_bad_images_fail_with_a_reason(spool, make_worker, tmp_path):
    class Buggy(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            raise KeyError("a bug")

    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    spool.image_path(first).write_bytes(b"no image")
    worker, said = make_worker(Buggy())
    assert worker.work()
    assert worker.work()
    assert spool.ledger.find(first).reason in said[0]
    assert str(tmp_path) not in said[0]
    assert "KeyError('a bug')" in spool.ledger.find(second).reason


def test_a_pipe_in_the_place_of_an_image_and_a_forged_uid_cost_no_other(spool, make_worker, tmp_path):
    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    spool.image_path(first).unlink()
    os.mkfifo(spool.image_path(first))
    spool.ledger.receive("../../victim", "1.2", "digest", "A")
    worker, said = make_worker()
    assert [worker.work() for _ in range(4)] == [True, True, True, False]
    assert "a pipe" in spool.ledger.find(first).reason
    assert spool.ledger.find("../../victim").reason == "'../../victim' is not a UID"
    assert spool.ledger.find(second).state == "answered"
    assert len(said) == 2


OUT_OF_RESOURCES = 0xA700
TO_WORK = 64 * 2**20


def test_images_are_refused_before_work_is_impossible(archive, make_node, tmp_path, monkeypatch):
    images = write_images(tmp_path / "in", 5)
    free = [TO_WORK + 10**6]
    monkeypatch.setattr("overread.apps.node._spool._free_bytes", lambda _: free[0], raising=False)
    node, said = make_node(archive.port)
    with node:
        assert send(images[:2], node.port) == [0x0000] * 2
        free[0] = TO_WORK + 1000
        assert send(images[2:4], node.port) == [OUT_OF_RESOURCES] * 2
        # What is here already takes no space.
        assert send(images[:1], node.port) == [0x0000]
        wait_until_idle(node)
        free[0] = TO_WORK + 10**6
        assert send(images[2:], node.port) == [0x0000] * 3
        wait_until_idle(node)
    assert len(archive.received) == 10
    assert len(said) == 2
    assert "64 MB are free; an image must leave 64 MB" in said[0]
    assert not list((tmp_path / "spool" / "images").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a file system")
def test_a_small_device_does_not_fill_up(archive, make_node, tmp_path, monkeypatch):
    """The review's reproduction: 40 images on a small device; all that were acknowledged are worked on."""
    # Not in pytest's own folder, which other sessions clear.
    small = Path(tempfile.mkdtemp())
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], check=False).returncode:
        small.rmdir()
        pytest.skip("no file system can be mounted here")
    monkeypatch.setattr("overread.apps.node._spool.BYTES_TO_WORK", 5 * 2**20, raising=False)
    try:
        images = write_images(tmp_path / "in", 40, side=500)
        node, _ = make_node(archive.port, folder=small / "spool")
        with node:
            statuses = send(images, node.port)
            wait_until_idle(node)
        taken = statuses.count(0x0000)
        assert set(statuses) <= {0x0000, OUT_OF_RESOURCES}
        assert len(archive.received) == 2 * taken > 0
        with closing(Ledger(small / "spool" / "node.sqlite", read_only=True)) as ledger:
            assert sums(ledger)[2] == 0
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
        small.rmdir()


HERE = Destination("PACS", "127.0.0.1", 4242)


def test_a_destination_is_read_and_what_is_none_refused():
    assert Destination.parse("PACS@127.0.0.1:4242") == HERE
    assert str(HERE) == "PACS@127.0.0.1:4242"
    assert Destination.parse("MY PACS@host.local:104").ae_title == "MY PACS"
    assert Destination.parse("PACS@[::1]:104").host == "::1"
    bad = "PACS PACS@host PACS:104 @host:104 PACS@host:0 PACS@host:65536 PACS@h:1x A\\B@h:1"
    for text in bad.split():
        with pytest.raises(UsageError, match="--destination"):
            Destination.parse(text)


def test_settings_that_make_no_sense():
    NodeSettings(HERE, host="0.0.0.0", callers=("MODALITY",))
    NodeSettings(HERE, host="::1")
    for name, option, values in (
        ("ae_title", "--ae-title", ("", "   ", "SEVENTEEN-LETTERS", "ÄE")),
        ("callers", "--callers", (("A\\B",),)),
        ("port", "--port", (-1, 65536)),
        ("host", "--host", ("localhost",)),
        ("host", "--callers", ("0.0.0.0", "192.0.2.1")),
        ("largest_bytes", "--largest-mb", (0, 1 << 40)),
    ):
        for value in values:
            with pytest.raises(UsageError, match=option):
                NodeSettings(HERE, **{name: value})
