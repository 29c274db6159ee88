"""The code of docs/how-to/add_a_stage.md runs alone, and in a run."""

from pathlib import Path

import pytest

from overread.study._store import RunFolder
from overread.study.stages.stage import UndeclaredError, Workspace
from page_code import run_page
from study_chain import Chain
from study_trees import copied


def test_the_stage_of_the_page(chain: Chain, tmp_path: Path) -> None:
    stage = run_page("how-to/add_a_stage.md")["GOLDEN_MARKS"]
    root = copied(chain.study, tmp_path / "study", run=True) / "runs" / chain.folder.root.name
    workspace = Workspace(RunFolder(root), chain.settings, {})
    assert workspace.run(stage)
    assert not workspace.run(stage)
    found = workspace.load("golden_marks.json")
    truth = workspace.load("tables/truth.parquet")
    assert sum(found.values()) == int(truth.loc[truth["golden"], "n_marks"].sum())
    with pytest.raises(UndeclaredError):
        workspace.inputs(stage)["tables/images.parquet"]
