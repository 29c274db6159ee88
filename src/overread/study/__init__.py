"""A whole study from its folder: settings, stages, store, executors, results."""

from overread.study.pipeline import ImageTask, ImageWork, Pipeline, PipelineSpec
from overread.study.results import StudyResults, read_results
from overread.study.run import RunReport, run_study
from overread.study.settings import Settings, read_settings

__all__ = [
    "ImageTask",
    "ImageWork",
    "Pipeline",
    "PipelineSpec",
    "RunReport",
    "Settings",
    "StudyResults",
    "read_results",
    "read_settings",
    "run_study",
]
