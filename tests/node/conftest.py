"""What the tests of a node share: its parts, one by one, around a spool in a temporary folder."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dicom_network import Archive
from overread.apps.node._receiver import Receiver, quiet_network_log
from overread.apps.node._service import Node, Worker
from overread.apps.node._settings import Destination, NodeSettings
from overread.apps.node._spool import Spool
from overread.study import Request
from stand_in_detector import StandInDetector


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    opened = Spool(tmp_path / "spool")
    yield opened
    opened.close()


@pytest.fixture
def archive() -> Iterator[Archive]:
    with Archive() as running:
        yield running


@pytest.fixture
def start(spool: Spool) -> Iterator[Callable[..., tuple[int, list[int], list[str]]]]:
    """Start a receiver; gives its port, a list with an entry for each image, and what it said."""
    running = []
    quiet_network_log()

    def begin(**options: Any) -> tuple[int, list[int], list[str]]:
        told: list[int] = []
        said: list[str] = []
        settings = NodeSettings(Destination("PACS", "127.0.0.1", 1), port=0, **options)
        running.append(Receiver(settings, spool, lambda: told.append(1), said.append))
        return running[-1].start(), told, said

    yield begin
    for receiver in running:
        receiver.stop()
    # pynetdicom leaves the socket of a connection that was broken to the garbage collector.
    gc.collect()


@pytest.fixture
def make_worker(spool: Spool) -> Callable[..., tuple[Worker, list[str]]]:
    """Make a worker, and the list of what it says."""

    def make(detector: StandInDetector | None = None) -> tuple[Worker, list[str]]:
        said: list[str] = []
        request = Request(detector or StandInDetector(), 1.0, documents=True)
        return Worker(spool, request, None, said.append), said

    return make


@pytest.fixture
def make_node(tmp_path: Path) -> Callable[..., tuple[Node, list[str]]]:
    """Make a node that sends to a port, and the list of what it says."""

    def make(
        archive: int, detector: StandInDetector | None = None, folder: Path | None = None, **options: Any
    ) -> tuple[Node, list[str]]:
        said: list[str] = []
        settings = NodeSettings(Destination("ARCHIVE", "127.0.0.1", archive), **{"port": 0, **options})
        request = Request(detector or StandInDetector(), 1.0, documents=True)
        return Node(settings, request, folder or tmp_path / "spool", log=said.append), said

    return make
