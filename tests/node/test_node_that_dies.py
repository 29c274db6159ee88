"""Only an image that kills a process of its own again and again is given up."""

import pytest

from dicom_network import put
from overread.apps.node._service import Worker
from overread.study import DetectionPipeline, IsolatedWorker, Request
from overread.study.executors._worker import Fault, Outcome, work_on
from stand_in_detector import StandInDetector, load_pipeline, stand_in_spec, write_images

WORK = IsolatedWorker.work


class Killed(BaseException):
    """Stands for the end of the node: nothing of it is caught."""


class Deadly(StandInDetector):
    """The node dies, or is killed, whenever it works."""

    def detect(self, radiograph, n_threads=None):
        raise Killed


@pytest.fixture
def node(spool, monkeypatch):
    """Spool, and a function that starts a node's worker; a process of its own has the good stand-in, and is not one."""
    monkeypatch.setattr(DetectionPipeline, "spec", stand_in_spec)
    monkeypatch.setattr(IsolatedWorker, "work", lambda _, task: work_on(load_pipeline(), task))
    said = []

    def start(detector=None):
        return Worker(spool, Request(detector or StandInDetector(), 1.0, documents=True), None, said.append)

    return spool, start, said


def killed_at_work(spool, start, times):
    for _ in range(times):
        with pytest.raises(Killed):
            start(Deadly()).work()


def test_a_node_that_is_killed_seven_times_gives_up_nothing(node, tmp_path, monkeypatch):
    spool, start, said = node
    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    killed_at_work(spool, start, 2)
    with monkeypatch.context() as patch:

        def die(*_):
            raise Killed

        patch.setattr(IsolatedWorker, "work", die)
        for _ in range(5):
            with pytest.raises(Killed):
                start().work()
    assert {spool.ledger.find(uid).state for uid in (first, second)} == {"received"}
    worker = start()
    assert worker.work()
    assert worker.work()
    assert {spool.ledger.find(uid).state for uid in (first, second)} == {"answered"}
    assert said == []


def test_documents_made_alone_are_those_made_together(node, tmp_path, monkeypatch):
    spool, start, _ = node
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    start().work()
    together = {file.name: file.read_bytes() for file in spool.documents.iterdir()}
    spool.ledger.wait_again(uid)
    killed_at_work(spool, start, 1)
    monkeypatch.setattr(IsolatedWorker, "work", WORK)
    start().work()
    assert {file.name: file.read_bytes() for file in spool.documents.iterdir()} == together


def test_images_that_did_nothing_come_first(node, tmp_path):
    spool, start, _ = node
    first, second = (put(spool, path) for path in write_images(tmp_path / "in", 2))
    killed_at_work(spool, start, 1)
    start().work()
    assert [spool.ledger.find(uid).state for uid in (first, second)] == ["received", "answered"]


def test_an_image_that_kills_alone_is_set_aside_with_the_remedy(node, tmp_path, monkeypatch):
    spool, start, said = node
    path = write_images(tmp_path / "in", 1)[0]
    uid = put(spool, path)
    killed_at_work(spool, start, 1)
    deaths = []

    def die(_worker, task):
        deaths.append(task)
        return Outcome(task.image_id, fault=Fault("death", "the worker was ended by SIGKILL"))

    with monkeypatch.context() as patch:
        patch.setattr(IsolatedWorker, "work", die)
        worker = start()
        while worker.work():
            pass
    assert len(deaths) == 3
    entry = spool.ledger.find(uid)
    assert entry.state == "failed"
    assert "3 separate processes died on this image" in entry.reason
    assert "send it again" in entry.reason
    assert entry.reason in said[-1]
    assert spool.image_path(uid).is_file()
    # Sent again it is tried again.
    spool.ledger.receive(uid, "1.2", "digest", "A")
    start().work()
    assert spool.ledger.find(uid).state == "answered"


def test_too_little_memory_costs_no_image(node, tmp_path):
    class Hungry(StandInDetector):
        def detect(self, radiograph, n_threads=None):
            raise MemoryError

    spool, start, said = node
    uid = put(spool, write_images(tmp_path / "in", 1)[0])
    worker = start(Hungry())
    worker.work()
    assert spool.ledger.find(uid).state == "received"
    assert "not enough memory" in said[0]
    worker.work()
    assert spool.ledger.find(uid).state == "answered"
