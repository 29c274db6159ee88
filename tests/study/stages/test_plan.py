"""Which stages a run has, and that they share what they read."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from overread.study import PipelineSpec, Settings, parse_settings
from overread.study._inputs import read_inputs
from overread.study._store import RunFolder
from overread.study.executors._executors import SerialExecutor
from overread.study.models import DEFAULT_MODELS
from overread.study.stages.images import Workshop
from overread.study.stages.plan import PREPARATION, list_views, plan_stages
from overread.study.stages.stage import Workspace
from study_chain import Chain, make_workshop, open_chain
from study_stand_in import spec
from study_trees import copied


def names(
    chain: Chain, settings: Settings, *, own: bool = False, n_outer_folds: int = 0, **brought: object
) -> list[str]:
    inputs = replace(chain.inputs, **brought)
    pipeline = PipelineSpec() if own else spec()
    workshop = Workshop(chain.folder, pipeline, lambda: SerialExecutor(pipeline), lambda text: None)
    return [stage.name for stage in plan_stages(inputs, settings, workshop, n_outer_folds=n_outer_folds)]


def test_the_default_run(chain: Chain) -> None:
    found = names(chain, Settings(), own=True)
    assert DEFAULT_MODELS == ("soft", "b1", "b2")
    assert found == [
        "images", "candidates", "check_places",
        "check_models", "paper_choice",
        "grid_soft", *(f"fold_{k}_soft" for k in range(1, 6)), "tuning_soft",
        "grid_b1", *(f"fold_{k}_b1" for k in range(1, 6)), "tuning_b1",
        "grid_b2", *(f"fold_{k}_b2" for k in range(1, 6)), "tuning_b2",
        "soft", "b1", "b2",
        "calibration_soft", "calibration_b1", "calibration_b2", "supported",
        "scores", "operating_points", "results", "detector", "pictures", "figures", "head", "model_card", "report",
    ]  # fmt: skip


@pytest.mark.parametrize("n_outer_folds", [0, 2])
def test_a_model_that_is_skipped_has_no_stage_after_the_check(chain: Chain, n_outer_folds: int) -> None:
    workshop = make_workshop(chain.folder)
    plans = [
        plan_stages(chain.inputs, Settings(), workshop, n_outer_folds=n_outer_folds, skipped=skipped)
        for skipped in ((), ("b2",))
    ]
    whole, left = ([stage.name for stage in plan] for plan in plans)
    assert left == [name for name in whole if not name.endswith("b2")]
    later = left.index("check_models") + 1
    assert whole[:later] == left[:later]
    assert not any("b2" in name for stage in plans[1][later:] for name in (*stage.reads, *stage.writes))


def test_without_a_test_set_every_outer_fold_of_a_model_is_a_stage(chain: Chain) -> None:
    settings = parse_settings({"models": {"wanted": ["soft", "b1"], "folds": 2}})
    with_test, nested = (names(chain, settings, n_outer_folds=n) for n in (0, 3))
    added = [name for name in nested if name not in with_test]
    assert added == [
        "outer_1_soft", "outer_2_soft", "outer_3_soft", "nested_soft",
        "outer_1_b1", "outer_2_b1", "outer_3_b1", "nested_b1", "nested_detector",
    ]  # fmt: skip
    assert [name for name in nested if name not in added] == with_test


def test_a_study_with_own_features_opens_no_image(chain: Chain) -> None:
    candidates = chain.load("tables/candidates.parquet")
    found = names(chain, Settings(), own=True, candidates=candidates, features=object())
    assert "images" not in found
    assert "candidates" in found


@pytest.mark.parametrize("own", [False, True])
def test_a_detector_needs_the_package_s_own_candidates(chain: Chain, own: bool) -> None:
    assert ("detector" in names(chain, Settings(), own=own)) is own
    candidates = chain.load("tables/candidates.parquet")
    assert "detector" not in names(chain, Settings(), own=own, candidates=candidates)


@pytest.mark.parametrize("n_outer_folds", [0, 2])
def test_everything_that_is_read_has_a_giver(chain: Chain, n_outer_folds: int) -> None:
    later = plan_stages(
        chain.inputs, chain.settings, make_workshop(chain.folder), n_outer_folds=n_outer_folds
    )
    stages = [*PREPARATION, *later]
    views = list_views(chain.inputs, chain.settings, chain.folder)
    given = {*chain.inputs.sources(), "pipeline", "names", *(view.name for view in views)}
    given |= {name for stage in stages for name in stage.writes}
    for reader in (*stages, *views):
        assert set(reader.reads) <= given, reader.name


def test_what_is_shared_is_made_once(chain: Chain, tmp_path: Path) -> None:
    """With all models fitted anew, cohort and folds are still put together once."""
    study = copied(chain.study, tmp_path / "study", run=True)
    for record in study.glob("runs/chain/stages/*.json"):
        if record.stem not in ("truth", "split", "candidates", "results"):
            record.unlink()
    again = open_chain(study)
    made: Counter[str] = Counter()

    def count(view):
        return replace(view, make=lambda inputs: (made.update([view.name]), view.make(inputs))[1])

    folder = RunFolder(study / "runs/chain")
    views = [count(view) for view in list_views(again.inputs, again.settings, folder)]
    workspace = Workspace(folder, again.settings, read_inputs(study, again.settings).sources(), views)
    done = [stage.name for stage in again.stages.values() if workspace.run(stage)]
    assert len(done) > 12
    assert made["cohort"] == made["folds"] == made["matched"] == 1
