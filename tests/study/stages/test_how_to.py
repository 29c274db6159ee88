"""The code of docs/how-to/add_a_stage.md runs alone, and in a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from overread.study._store import RunFolder
from overread.study.stages.stage import UndeclaredError, Workspace
from study_chain import Chain
from study_trees import copied

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add_a_stage.md"


def test_the_stage_of_the_page(chain: Chain, tmp_path: Path) -> None:
    scope: dict[str, Any] = {"__name__": "how_to"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), scope)
    stage = scope["GOLDEN_MARKS"]
    root = copied(chain.study, tmp_path / "study", run=True) / "runs" / chain.folder.root.name
    workspace = Workspace(RunFolder(root), chain.settings, {})
    assert workspace.run(stage)
    assert not workspace.run(stage)
    found = workspace.load("golden_marks.json")
    truth = workspace.load("tables/truth.parquet")
    assert sum(found.values()) == int(truth.loc[truth["golden"], "n_marks"].sum())
    with pytest.raises(UndeclaredError):
        workspace.inputs(stage)["tables/images.parquet"]
