"""The stages of a small study up to its results, done once; and a way to call one stage alone."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from overread.domains import ImageTask
from overread.study import Cohort, Inputs, Settings, Stage, read_settings
from overread.study import _run as run
from overread.study._inputs import StudyInputs, read_inputs
from overread.study._store import RunFolder
from overread.study.executors._executors import SerialExecutor
from overread.study.stages.images import Workshop
from overread.study.stages.nested import count_outer_folds
from overread.study.stages.plan import PREPARATION, list_views, plan_stages
from overread.study.stages.stage import View, Workspace, select_settings
from overread.tables import plain
from study_stand_in import FAST, MM_PER_PX, spec

PAGE = ("detector", "pictures", "figures", "head", "model_card", "report")
# All models of the registry.
ALL_MODELS = (
    FAST.replace("[models]", '[models]\nwanted = ["soft", "b1", "b2", "boosted"]').replace(
        "chance_shifts = 3", "chance_shifts = 1"
    )
) + "[boosted]\nn_trees = [5, 10]\n"


@dataclass(frozen=True)
class Chain:
    """A study, the stages of its run without the page, and the workspace they were done in."""

    study: Path
    inputs: StudyInputs
    settings: Settings
    folder: RunFolder
    stages: dict[str, Stage]
    workspace: Workspace
    done: list[str]

    def load(self, name: str) -> Any:
        """Return a source, a file or a view."""
        return self.workspace.load(name)

    def values(self, stage: Stage | View) -> dict[str, Any]:
        """Return what a stage declares, as a plain dict."""
        return {name: self.load(name) for name in stage.reads}

    def call(self, name: str, **changes: Any) -> Mapping[str, Any]:
        """Call one stage alone, with some of its inputs changed."""
        stage = self.stages[name]
        assert changes.keys() <= set(stage.reads)
        return call_alone(stage, self.values(stage) | changes, self.settings)


def call_alone(reader: Stage | View, values: Mapping[str, Any], settings: Settings) -> Any:
    """Call a stage or view with a plain dict of what it reads: no folder, no run."""
    means = reader.means if isinstance(reader, View) else ()
    chosen = select_settings(settings, (*reader.settings, *means))
    return reader.make(Inputs(reader.name, reader.reads, values.__getitem__, chosen))


def make_workshop(folder: RunFolder, **options: Any) -> Workshop:
    """Return a workshop of this process with the pipeline of `study_stand_in`."""
    pipeline = spec(**options)
    return Workshop(folder, pipeline, lambda: SerialExecutor(pipeline), lambda text: None)


def open_chain(study: Path, name: str = "chain") -> Chain:
    """Plan the stages of a study; nothing is done yet but what the plan depends on."""
    settings = read_settings(study / "study.toml")
    inputs = read_inputs(study, settings)
    folder = RunFolder(study / "runs" / name)
    folder.prepare()
    workspace = Workspace(folder, settings, inputs.sources(), list_views(inputs, settings, folder))
    done = [stage.name for stage in PREPARATION if workspace.run(stage)]
    stages = plan_after_split(inputs, settings, workspace, make_workshop(folder))
    kept = {stage.name: stage for stage in (*PREPARATION, *stages) if stage.name not in PAGE}
    return Chain(study, inputs, settings, folder, kept, workspace, done)


def plan_after_split(
    inputs: StudyInputs, settings: Settings, workspace: Workspace, workshop: Workshop
) -> list[Stage]:
    """Plan the stages after those of the preparation, which are done."""
    n_outer_folds = count_outer_folds(workspace.load("tables/split.parquet"), settings.evaluation.outer_folds)
    return plan_stages(inputs, settings, workshop, n_outer_folds=n_outer_folds)


def run_chain(study: Path, name: str = "chain") -> Chain:
    """Do every stage from truth to results."""
    chain = open_chain(study, name)
    run.write_settings(chain.folder, chain.settings)
    for stage in chain.stages.values():
        if chain.workspace.run(stage):
            chain.done.append(stage.name)
    return chain


def show_by_hand(candidates: pd.DataFrame, scores: Sequence[float]) -> np.ndarray:
    """Whether each candidate is shown: from strong to weak, those on none that is shown already."""
    rows = plain(candidates, "mm")[0].reset_index(drop=True)
    shown: dict[str, list[int]] = {}
    for row in sorted(range(len(rows)), key=lambda one: (-scores[one], one)):
        kept = shown.setdefault(rows.loc[row, "image_id"], [])
        here = rows.loc[row]
        if all(
            math.hypot(here["x"] - rows.loc[other, "x"], here["y"] - rows.loc[other, "y"])
            >= max(here["radius"], rows.loc[other, "radius"])
            for other in kept
        ):
            kept.append(row)
    return np.isin(np.arange(len(rows)), [row for kept in shown.values() for row in kept])


class Planted:
    """A store of features in which one column is another."""

    def __init__(self, store: Any, column: int, values: np.ndarray) -> None:
        self.store, self.column, self.values = store, column, values
        self.shape, self.dtype = store.shape, store.dtype

    def take(self, rows: Any, columns: Any = None) -> np.ndarray:
        chosen = np.arange(self.shape[1]) if columns is None else np.asarray(columns)
        matrix = np.array(self.store.take(rows, chosen), order="F")
        matrix[:, chosen == self.column] = self.values[rows][:, None]
        return matrix


def plant_labels(cohort: Cohort, image_ids: Collection[str], value: float) -> Cohort:
    """Put a candidate's label times a value into a feature of some images, and 0 into that of the others."""
    own = cohort.candidates["image_id"].isin(image_ids).to_numpy()
    golden = cohort.truth["golden"].to_numpy()[cohort.hits["truth_row"]]
    is_hit = np.isin(np.arange(len(own)), cohort.hits["candidate_row"][golden])
    assert 0 < (own & is_hit).sum() < own.sum()
    label = np.where(own, np.where(is_hit, value, -value), 0.0).astype(np.float32)
    store: Any = Planted(cohort.features.store, cohort.features.names.index("noise_a"), label)
    return replace(cohort, features=replace(cohort.features, store=store))


def leave_out(monkeypatch: pytest.MonkeyPatch, names: Collection[str]) -> None:
    """Let runs do without some stages, which other tests look at."""
    plan: Callable[..., list[Stage]] = plan_stages
    monkeypatch.setattr(
        run,
        "plan_stages",
        lambda *args, **folds: [stage for stage in plan(*args, **folds) if stage.name not in names],
    )


def tasks(study: Path, n_images: int = 6) -> list[ImageTask]:
    """Return the first images of a study of `study_stand_in` as tasks."""
    return [
        ImageTask(f"case {number:03d}", str(study / f"images/{number:03d}.png"), (MM_PER_PX, MM_PER_PX))
        for number in range(n_images)
    ]
