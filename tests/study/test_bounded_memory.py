"""A run whose features do not fit in memory: the same models, and the same numbers, as with features in memory."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from overread.bags import StoredInstances
from overread.errors import InvalidInputError
from overread.files import read_json
from overread.study import MODELS, Cohort, run_study
from overread.study import _cohort as cohort
from overread.study.models.base import bound_memory
from study_chain import PAGE, Chain, leave_out
from study_stand_in import spec
from study_trees import copied

# Far above what the process of the tests takes.
PLENTY = 100_000


@pytest.fixture
def nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every feature on disk; columns that a fit works on are held all the same."""
    monkeypatch.setattr(cohort, "fits_in_memory", lambda *size: False)


def list_numbers(value: object) -> list[object]:
    """Plain values of a JSON value, in order."""
    if isinstance(value, dict):
        return [one for key in value for one in (key, *list_numbers(value[key]))]
    return [one for item in value for one in list_numbers(item)] if isinstance(value, list) else [value]


def is_close(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-6, abs=1e-9)
    return one == other


@pytest.mark.usefixtures("nothing_fits")
def test_a_run_from_disk_gives_the_same_page(
    numbers_original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out(monkeypatch, PAGE)
    study = copied(numbers_original, tmp_path / "bounded", run=False)
    report = run_study(study, pipeline=spec(), execution={"memory_mb": PLENTY})
    inside, outside = numbers_original / "runs" / "main", report.folder
    for name in ("soft", "b1", "b2"):
        chosen = [read_json(run / "tuning" / f"{name}.json")["parameters"] for run in (inside, outside)]
        assert chosen[0].keys() == chosen[1].keys()
        assert all(is_close(chosen[0][key], chosen[1][key]) for key in chosen[0])
    one, other = (list_numbers(read_json(run / "results.json")) for run in (inside, outside))
    told = {"file_passes"}  # of a fit in memory there are none
    pairs = [(a, b, before) for before, a, b in zip(["", *one], one, other, strict=False) if a != b]
    assert len(one) == len(other)
    assert not [pair for pair in pairs if pair[2] not in told and not is_close(pair[0], pair[1])]
    assert [pair for pair in pairs if pair[2] in told]


def test_memory_is_no_reason_to_do_a_stage_again(light_numbers: Path) -> None:
    report = run_study(light_numbers, pipeline=spec(), execution={"memory_mb": PLENTY})
    assert report.done == []


@pytest.fixture
def bounded(chain: Chain) -> Cohort:
    whole: Cohort = chain.load("cohort")
    return replace(whole, features=replace(whole.features, memory_mb=PLENTY))


@pytest.mark.usefixtures("nothing_fits")
def test_bags_leave_their_features_on_disk(bounded: Cohort, chain: Chain) -> None:
    split = bounded.split("training")
    bags = split.bags("soft")
    assert isinstance(bags.matrix, StoredInstances)
    expected = chain.load("cohort").split("training").bags("soft")
    assert np.array_equal(bags.matrix.read(), expected.instances)
    assert split.reader_bags["R1"].matrix.shape[1] == len(split.features.names)


@pytest.mark.usefixtures("nothing_fits")
def test_a_model_that_needs_memory_says_how_much(bounded: Cohort, chain: Chain) -> None:
    boosted = MODELS["boosted"]
    model = boosted.build({"n_trees": 5}, chain.settings)
    with pytest.raises(InvalidInputError, match=r"boosted: needs its features in memory.*memory_mb = 100000"):
        boosted.fit(model, bounded.split("training"))


def test_the_bound_is_no_part_of_a_model(bounded: Cohort, chain: Chain) -> None:
    model = MODELS["soft"].build({"lam": 0.1, "normalization": "bags"}, chain.settings)
    with bound_memory(model, bounded):
        assert model.memory_mb == PLENTY
    assert model.memory_mb is None
    tree = MODELS["boosted"].build({"n_trees": 5}, chain.settings)
    with bound_memory(tree, bounded):
        assert "memory_mb" not in tree.get_params()


def test_blocks_are_the_rows_in_order(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    features = chain.load("cohort").split("test").features
    monkeypatch.setattr(cohort, "CELLS_AT_ONCE", 20)
    monkeypatch.setattr(cohort, "ROWS_PER_BLOCK", 3)
    columns = np.array([4, 1])
    blocks = list(features.read_blocks(columns))
    assert {len(block) for block in blocks[:-1]} == {9}
    expected = features.store.take(features.rows, columns)
    assert np.array_equal(np.concatenate(blocks), expected)
    assert np.array_equal(np.column_stack(list(features.read_columns(columns))), expected)
