"""A whole study from its folder: settings, stages, store, workers, detector.

Names are imported when they are asked for: a worker process needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overread.report.results import StudyResults, read_results
    from overread.study.detector import Detector
    from overread.study.pipeline import ImageTask, ImageWork, Pipeline, PipelineSpec
    from overread.study.run import RunReport, run_study
    from overread.study.run_reader import Run, open_run
    from overread.study.settings import Settings, read_settings

_HOMES = {
    "Detector": "overread.study.detector",
    "ImageTask": "overread.study.pipeline",
    "ImageWork": "overread.study.pipeline",
    "Pipeline": "overread.study.pipeline",
    "PipelineSpec": "overread.study.pipeline",
    "Run": "overread.study.run_reader",
    "RunReport": "overread.study.run",
    "Settings": "overread.study.settings",
    "StudyResults": "overread.report.results",
    "open_run": "overread.study.run_reader",
    "read_results": "overread.report.results",
    "read_settings": "overread.study.settings",
    "run_study": "overread.study.run",
}

__all__ = [
    "Detector",
    "ImageTask",
    "ImageWork",
    "Pipeline",
    "PipelineSpec",
    "Run",
    "RunReport",
    "Settings",
    "StudyResults",
    "open_run",
    "read_results",
    "read_settings",
    "run_study",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
