"""A whole study from its folder: settings, stages, store, executors, results.

Names are imported when they are asked for: a worker process needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overread.study.finished import FinishedRun, open_run
    from overread.study.pipeline import ImageTask, ImageWork, Pipeline, PipelineSpec
    from overread.study.results import StudyResults, read_results
    from overread.study.run import RunReport, run_study
    from overread.study.settings import Settings, read_settings

__all__ = [
    "FinishedRun",
    "ImageTask",
    "ImageWork",
    "Pipeline",
    "PipelineSpec",
    "RunReport",
    "Settings",
    "StudyResults",
    "open_run",
    "read_results",
    "read_settings",
    "run_study",
]

_HOMES = {
    "FinishedRun": "finished",
    "ImageTask": "pipeline",
    "ImageWork": "pipeline",
    "Pipeline": "pipeline",
    "PipelineSpec": "pipeline",
    "RunReport": "run",
    "Settings": "settings",
    "StudyResults": "results",
    "open_run": "finished",
    "read_results": "results",
    "read_settings": "settings",
    "run_study": "run",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
