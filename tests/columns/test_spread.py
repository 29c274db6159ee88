"""Fits on a real Dask cluster of two processes: the model of one process, also when workers are killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from dask_processes import start_cluster
from overread.bags import StoredInstances
from overread.columns import RETRIES
from overread.columns import _cluster as spread
from overread.errors import InvalidInputError, StorageError
from overread.models import RVMMIL, SoftMILPath

distributed = pytest.importorskip("distributed")
BLAME = distributed.scheduler.KilledWorker("task", None, 3)
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def client(cluster_address):
    with distributed.Client(cluster_address) as client:
        yield client


@pytest.fixture
def dying():
    """Start a cluster of its own: what was killed may not come back in time for the next test."""
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    random = np.random.default_rng(0)
    X = (random.normal(size=(3000, 50)) * random.gamma(2.0, size=50)).astype(np.float32)
    ids = random.integers(0, 1800, 3000)
    first = np.sort(np.unique(ids, return_index=True)[1])
    score = (X / X.std(0))[:, :4].sum(1)[first]
    labels = np.where(score > 1.5, random.choice([0.25, 0.5, 1.0], len(first)), 0.0)
    path = tmp_path_factory.mktemp("spread") / "X.npy"
    np.save(path, np.asfortranarray(X))
    return path, ids, labels


@pytest.fixture(scope="module")
def expected(problem):
    path, ids, labels = problem
    return SoftMILPath(n_alphas=10).fit(StoredInstances(path), labels, bags=ids)


def check(found, expected):
    assert found.alpha_max_ == pytest.approx(expected.alpha_max_, rel=1e-12)
    np.testing.assert_array_equal(found.scale_, expected.scale_)
    np.testing.assert_allclose(found.objectives_, expected.objectives_, rtol=1e-8)
    np.testing.assert_allclose(found.coef_path_, expected.coef_path_, rtol=0, atol=1e-6)


def test_the_cluster_finds_the_same_model(problem, expected, client):
    path, ids, labels = problem
    found = SoftMILPath(n_alphas=10).fit(StoredInstances(path, client=client), labels, bags=ids)
    check(found, expected)
    assert 1 < found.fit_reports_[-1].file_passes < 10 + 5
    assert sorted(file.name for file in path.parent.iterdir()) == ["X.npy"]


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(problem, expected, dying):
    path, ids, labels = problem
    killed = []

    def kill(progress):
        if progress.index == 2:
            victim = sorted(dying.run(os.getpid).values())[0]
            threading.Timer(0.02, os.kill, (victim, signal.SIGKILL)).start()
            killed.append(victim)

    found = SoftMILPath(n_alphas=10).fit(StoredInstances(path, client=dying), labels, bags=ids, callback=kill)
    check(found, expected)
    assert len(killed) == 1
    assert not set(killed) & set(dying.run(os.getpid).values())


class DeadlyCluster:
    """A client whose scheduler blames the first tasks for the deaths of workers, as often as it is told to."""

    def __init__(self, client, n_blamed):
        self._client, self.n_blamed = client, n_blamed

    def __getattr__(self, name):
        return getattr(self._client, name)

    def submit(self, work, *given, **options):
        if self.n_blamed:
            self.n_blamed -= 1
            return Blamed()
        return self._client.submit(work, *given, **options)

    def gather(self, futures):
        if any(isinstance(future, Blamed) for future in futures):
            raise BLAME
        return self._client.gather(futures)


class Blamed:
    """A future that the scheduler gave up."""

    def done(self):
        return True

    def result(self):
        raise BLAME


@pytest.mark.slow
def test_tasks_that_the_scheduler_blames_for_deaths_are_given_again(problem, expected, client):
    path, ids, labels = problem
    deadly = DeadlyCluster(client, 3)
    found = SoftMILPath(n_alphas=10).fit(StoredInstances(path, client=deadly), labels, bags=ids)
    check(found, expected)
    assert deadly.n_blamed == 0


def test_a_cluster_that_always_dies_is_told_of(problem, client):
    path, ids, labels = problem
    source = StoredInstances(path, client=DeadlyCluster(client, 1000))
    with pytest.raises(StorageError, match=f"lost the same task {RETRIES} times"):
        SoftMILPath(n_alphas=2).fit(source, labels, bags=ids)


def test_a_file_that_workers_do_not_find_is_told_of(problem, client, monkeypatch):
    path, ids, labels = problem
    monkeypatch.setattr(spread, "_describe_stored", lose_file)
    monkeypatch.setattr(spread, "RETRIES", 1)
    with pytest.raises(StorageError, match="at the same path"):
        SoftMILPath(n_alphas=2).fit(StoredInstances(path, client=client), labels, bags=ids)


def lose_file(*given):
    raise FileNotFoundError


def test_a_cluster_without_workers_is_refused(problem):
    path, ids, labels = problem
    with (
        start_cluster(0) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(StorageError, match="no workers"),
    ):
        SoftMILPath().fit(StoredInstances(path, client=client), labels, bags=ids)


def test_a_fit_does_not_wait_for_ever_for_workers(problem, monkeypatch):
    path, ids, labels = problem
    monkeypatch.setattr(spread, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(spread, "MOST_EMPTY_LOOKS", 2)
    with start_cluster(1, protocol="tcp", processes=False) as cluster, distributed.Client(cluster) as client:
        work = spread.ClusterColumns._gather

        def lose_workers(self, *given):
            cluster.scale(0)
            while client.nthreads():
                time.sleep(0.05)
            return work(self, *given)

        monkeypatch.setattr(spread.ClusterColumns, "_gather", lose_workers)
        with pytest.raises(StorageError, match="has had no worker for"):
            SoftMILPath(n_alphas=2).fit(StoredInstances(path, client=client), labels, bags=ids)


def test_a_model_of_one_machine_says_so(client, problem):
    path, ids, labels = problem
    with pytest.raises(
        InvalidInputError, match=r"fitted on one machine\. Remove client= from StoredInstances"
    ):
        RVMMIL(threshold=0.25).fit(StoredInstances(path, client=client), labels, bags=ids)
