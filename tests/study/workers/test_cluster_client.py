"""The fits of a run on a real Dask cluster: the soft model of one process, made by the workers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from overread.bags import StoredInstances
from overread.errors import StorageError
from overread.study import MODELS, Cohort, Fold, parse_settings
from overread.study import _cohort as cohort
from overread.study.executors._dask import close_shared_clients, connect_cluster, share_client
from overread.study.stages.cohort import COHORT
from study_chain import Chain, call_alone

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
# Far above what the process of the tests takes.
PLENTY = 100_000


@pytest.fixture
def spread(chain: Chain, cluster_address: str, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """The cohort of a run on the cluster whose features do not fit in memory."""
    monkeypatch.setattr(cohort, "fits_in_memory", lambda *size: False)
    whole: Cohort = chain.load("cohort")
    return replace(whole, features=replace(whole.features, memory_mb=PLENTY, scheduler=cluster_address))


def test_settings_lead_to_the_cluster(chain: Chain) -> None:
    """The cohort knows the cluster of a run that has one, and of no other run."""
    for executor, expected in (("dask", "tcp://127.0.0.1:9"), ("processes", None)):
        execution = {"executor": executor, "scheduler": "tcp://127.0.0.1:9"}
        settings = chain.settings.model_copy(
            update={"execution": parse_settings({"execution": execution}).execution}
        )
        made: Cohort = call_alone(COHORT, chain.values(COHORT), settings)
        assert made.features.scheduler == expected


def test_soft_is_fitted_by_the_workers_and_is_the_same(spread: Cohort, chain: Chain) -> None:
    soft = MODELS["soft"]
    found, expected = (
        fit_soft(soft, whole.split("training"), whole.split("validation"), chain.settings)
        for whole in (spread, chain.load("cohort"))
    )
    assert isinstance(soft.take_bags(spread.split("training")).matrix, StoredInstances)
    assert soft.take_bags(spread.split("training")).matrix.client is share_client(
        spread.features.scheduler or ""
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def fit_soft(soft: Any, training: Any, validation: Any, settings: Any) -> list[Any]:
    """Penalties of the grid, scores of what is held out, and the weights of one fit."""
    grid = soft.grid(training, settings)
    trial = soft.try_settings(grid, Fold(validation, training), settings)
    model = soft.build(grid[-1], settings)
    soft.fit(model, training)
    return [[one["lam"] for one in grid], trial.scores, model.coef_]


def test_models_of_one_machine_read_the_file_themselves(spread: Cohort) -> None:
    matrix = MODELS["b1"].take_bags(spread.split("training")).matrix
    assert isinstance(matrix, StoredInstances)
    assert matrix.client is None


def test_fits_share_one_connection_until_it_is_closed(cluster_address: str) -> None:
    first = share_client(cluster_address)
    assert share_client(cluster_address) is first
    close_shared_clients()
    assert first.status == "closed"
    assert share_client(cluster_address).status == "running"


def test_no_scheduler_there() -> None:
    with pytest.raises(StorageError, match="no Dask scheduler answers there"):
        connect_cluster("nonsense://127.0.0.1:1")
