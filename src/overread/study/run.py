"""Run a study: every stage in order, each done only if it is not done yet."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from overread import __version__
from overread.errors import UsageError
from overread.files.lock import run_lock
from overread.models.fitting import single_threaded_blas
from overread.study.inputs import read_inputs
from overread.study.pipeline import PipelineSpec
from overread.study.progress import RunLog, SilentProgress, Watcher
from overread.study.settings import Execution, Settings, read_settings
from overread.study.stages import Stages
from overread.study.store.run_folder import RunFolder, json_bytes
from overread.study.workers.dask_cluster import DaskExecutor
from overread.study.workers.executors import Executor, ProcessExecutor, SerialExecutor, processors
from overread.study.workers.isolation import WorkLimits

__all__ = ["RunReport", "run_study"]

LIBRARIES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "pyarrow",
    "pydicom",
    "opencv-python-headless",
)


@dataclass(frozen=True)
class RunReport:
    """How a run ended.

    Attributes
    ----------
    folder
        ``STUDY/runs/NAME``.
    done, skipped
        Stages that were done now, and those that were still valid.
    n_images, n_quarantined
        Images of the study, and how many of them were given up.
    """

    folder: Path
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    n_images: int = 0
    n_quarantined: int = 0


def run_study(
    study: Path,
    *,
    name: str = "main",
    seed: int | None = None,
    execution: Mapping[str, Any] | None = None,
    pipeline: PipelineSpec | None = None,
    watcher: Watcher | None = None,
) -> RunReport:
    """Run a study from its folder; what an earlier run finished and what still holds is not done again.

    Parameters
    ----------
    study
        Folder with ``study.toml``, the tables and the images.
    name
        Name of the run: files go to ``STUDY/runs/NAME``.
    seed
        In place of the seed of the settings.
    execution
        In place of keys of ``[execution]``: executor, workers, scheduler, batch.
    pipeline
        In place of the package's own work on an image.
    watcher
        Shows progress.

    Raises
    ------
    OverreadError
        Of the kinds in `overread.errors`; what was finished before stays finished.
    """
    watcher = watcher or SilentProgress()
    settings = read_settings(study / "study.toml", seed=seed)
    if execution:
        settings = settings.model_copy(update={"execution": executed(settings.execution, execution)})
    folder = RunFolder(study / "runs" / checked_name(name))
    folder.prepare()
    with run_lock(folder.root), RunLog(folder.path("run.log")) as log:
        folder.clean()
        log.write(f"run begins: overread {__version__}, seed {settings.seed}")
        try:
            report = Runner(study, settings, folder, log, watcher, pipeline).run()
        except BaseException as error:
            # Only the kind: the text of an error may quote the user's tables.
            log.write(f"run ends early: {type(error).__name__}")
            raise
        finally:
            watcher.end()
        log.write(f"run ends: {report.n_quarantined} of {report.n_images} images quarantined")
    return report


def executed(own: Execution, given: Mapping[str, Any]) -> Execution:
    """Put options of the call in place of the study's own."""
    try:
        return Execution.model_validate({**own.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors()[0]
        raise UsageError(f"--{fault['loc'][0]} {fault['input']!r}: {fault['msg'].lower()}") from None


def checked_name(name: str) -> str:
    """Refuse a run's name that is not a plain name of a folder."""
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise UsageError(f"--name {name!r}: use letters, digits, - _ . (not first)")
    return name


class Runner:
    """Calls the stages in order, with log, progress and warnings around each."""

    def __init__(
        self,
        study: Path,
        settings: Settings,
        folder: RunFolder,
        log: RunLog,
        watcher: Watcher,
        pipeline: PipelineSpec | None,
    ) -> None:
        self._settings, self._folder, self._log, self._watcher = settings, folder, log, watcher
        self._started = datetime.now(UTC)
        self._inputs = self._warned("inputs", lambda: read_inputs(study, settings))
        own = {"limit": settings.candidates.limit, "only": settings.features.only}
        self._spec = pipeline or PipelineSpec(options=own)
        self._report = RunReport(folder.root, n_images=len(self._inputs.images))

    def run(self) -> RunReport:
        """Run all stages."""
        settings = self._settings
        self._folder.write("settings.json", json_bytes(described_settings(settings)))
        stages = Stages(self._inputs, settings, self._folder)
        self._do("truth", stages.truth)
        self._do("split", stages.split)
        self._images(stages)
        with single_threaded_blas():
            for name, stage in stages.after_images():
                self._do(name, stage)
        self._write_provenance()
        entries = stages.quarantined()
        return RunReport(
            self._folder.root,
            self._report.done,
            self._report.skipped,
            len(self._inputs.images),
            len(entries),
        )

    def _images(self, stages: Stages) -> None:
        if not self._inputs.needs_images:
            return
        watcher, log = self._watcher, self._log
        watcher.begin("images", len(self._inputs.images))
        executor = self._executor()

        def say(text: str) -> None:
            log.write(text)
            watcher.say(text)

        started = time.monotonic()
        try:
            worked = stages.images(executor, self._spec.build(), advance=watcher.advance, say=say)
        finally:
            executor.close()
            watcher.end()
        (self._report.done if worked else self._report.skipped).append("images")
        self._log.timed("images", started)
        self._log.write(f"images: {worked} of {len(self._inputs.images)} worked on now")

    def _executor(self) -> Executor:
        execution, limits = self._settings.execution, self._settings.limits
        work_limits = WorkLimits(limits.seconds_per_image, limits.memory_mb)
        if execution.executor == "serial":
            return SerialExecutor(self._spec)
        if execution.executor == "dask":
            if execution.scheduler is None:
                raise UsageError("the executor dask needs the cluster's address: --scheduler tcp://host:8786")
            return DaskExecutor(self._spec, work_limits, execution.scheduler, batch=execution.batch)
        return ProcessExecutor(self._spec, work_limits, execution.workers)

    def _do(self, name: str, stage: Callable[[], bool]) -> None:
        self._watcher.begin(name.replace("_", " "), None)
        started = time.monotonic()
        done = self._warned(name, stage)
        self._watcher.end()
        self._log.timed(name, started)
        (self._report.done if done else self._report.skipped).append(name)
        self._log.write(f"{name}: {'done' if done else 'still valid'} ({self._log.seconds[name]} s)")

    def _warned(self, name: str, work: Callable[[], Any]) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result = work()
        for warning in {str(one.message): one for one in caught}.values():
            self._watcher.say(f"warning: {name}: {warning.message}")
            if name != "inputs":  # these quote the user's tables, with the readers' own ids
                self._log.write(f"warning: {name}: {warning.message}")
        return result

    def _write_provenance(self) -> None:
        record = {
            "overread": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": installed(LIBRARIES),
            "started": self._started.isoformat(timespec="seconds"),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "processors": processors(),
            "executor": self._settings.execution.executor,
            "stages_done": self._report.done,
            "stages_still_valid": self._report.skipped,
            "seconds": self._log.seconds,
        }
        self._folder.write("provenance.json", json_bytes(record))


def described_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that the results depend on."""
    return {name: value for name, value in settings.plain().items() if name not in ("execution", "limits")}


def installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of the packages that are there."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
