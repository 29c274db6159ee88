"""A whole run gives the same bytes with every executor, for every kind of region and every rule of the labels."""

import itertools
from pathlib import Path

import pytest

from field_study import LIGHT, write_region_study
from overread.study import run_study
from study_trees import copied, same

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
SETTINGS = LIGHT.replace("n_lambdas = 8", "n_lambdas = 4").replace("[0.5, 2.0]", "[1.0]")
FAST = {("dask", "masks", "readers"), ("processes", "chest", "marks")}
ALL = itertools.product(
    ("processes", "dask"), ("chest", "field_of_view", "masks", "all"), ("readers", "marks")
)


@pytest.mark.parametrize(
    ("executor", "region", "score"),
    [pytest.param(*one, marks=[] if one in FAST else pytest.mark.slow) for one in ALL],
)
def test_every_executor_gives_the_bytes_of_the_serial_run(
    tmp_path: Path, request: pytest.FixtureRequest, executor: str, region: str, score: str
) -> None:
    settings = SETTINGS + f'[labels]\nscore = "{score}"\n'
    serial = write_region_study(tmp_path / "serial" / "study", region, n_images=6, settings=settings)
    study = copied(serial, tmp_path / executor / "study", run=False)
    scheduler = request.getfixturevalue("cluster_address") if executor == "dask" else None
    assert run_study(serial).n_quarantined == 0
    run_study(study, execution={"executor": executor, "scheduler": scheduler, "workers": 2, "batch": 4})
    assert same(study / "runs" / "main", serial / "runs" / "main")
