"""A spool that is nearly full refuses images while it can still work on those it has."""

import os
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from dicom_network import Archive, send, wait_until
from overread.apps.node._service import Node
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Ledger
from overread.study import Request
from stand_in_detector import StandInDetector, write_images

OUT_OF_RESOURCES = 0xA700
TO_WORK = 64 * 2**20


def make_node(folder, archive):
    said = []
    settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", archive.port), port=0)
    request = Request(StandInDetector(), 1.0, documents=True)
    return Node(settings, request, folder, log=said.append), said


def test_images_are_refused_before_work_is_impossible(tmp_path, monkeypatch):
    images = write_images(tmp_path / "in", 5)
    free = [TO_WORK + 10**6]
    monkeypatch.setattr("overread.apps.node._spool._free_bytes", lambda _: free[0], raising=False)
    with Archive() as archive:
        node, said = make_node(tmp_path / "spool", archive)
        with node:
            assert send(images[:2], node.port) == [0x0000] * 2
            free[0] = TO_WORK + 1000
            assert send(images[2:4], node.port) == [OUT_OF_RESOURCES] * 2
            # What is here already takes no space.
            assert send(images[:1], node.port) == [0x0000]
            wait_until(node.is_idle)
            free[0] = TO_WORK + 10**6
            assert send(images[2:], node.port) == [0x0000] * 3
            wait_until(node.is_idle)
        assert len(archive.received) == 10
    assert len(said) == 2
    assert "64 MB are free; an image is taken while it leaves 64 MB" in said[0]
    assert not list((tmp_path / "spool" / "images").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a file system")
def test_a_small_device_does_not_fill_up(tmp_path, monkeypatch):
    """The review's reproduction: 40 images on a small device; all that were acknowledged are worked on."""
    # Not in pytest's own folder, which other sessions clear.
    small = Path(tempfile.mkdtemp())
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)], check=False).returncode:
        small.rmdir()
        pytest.skip("no file system can be mounted here")
    monkeypatch.setattr("overread.apps.node._spool.BYTES_TO_WORK", 5 * 2**20, raising=False)
    try:
        images = write_images(tmp_path / "in", 40, side=500)
        with Archive() as archive:
            node, _ = make_node(small / "spool", archive)
            with node:
                statuses = send(images, node.port)
                wait_until(node.is_idle)
        taken = statuses.count(0x0000)
        assert set(statuses) <= {0x0000, OUT_OF_RESOURCES}
        assert len(archive.received) == 2 * taken > 0
        with closing(Ledger(small / "spool" / "node.sqlite", read_only=True)) as ledger:
            assert ledger.count_waiting() == 0
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
        small.rmdir()
