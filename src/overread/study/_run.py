"""Run a study: every stage in order, each done only if it is not done yet.

How much memory a run will take follows from the numbers of candidates and features. What a run holds beside features
grows with the candidates; the features that a model is fitted to are held twice, or stay on disk where memory is
bounded. docs/explanation/scaling.md has the measurements.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Self, TypeVar

from pydantic import ValidationError

from overread import __version__
from overread._terminal import begin_work, say
from overread._text import duration, short_repr
from overread.errors import FitError, InvalidInputError, StorageError, UsageError
from overread.files import digest_of_value, run_lock
from overread.models import COPIES, find_least_bytes, fits_in_memory, machine_bytes, single_threaded_blas
from overread.study._groups import split_groups, write_group_page
from overread.study._inputs import read_inputs
from overread.study._pipeline import PipelineSpec
from overread.study._settings import Execution, Settings, leave_out_unused, read_settings
from overread.study._store import GROUPS_FILE, RunFolder, json_bytes
from overread.study._study_marks import complete_settings
from overread.study.executors._dask import DaskExecutor, close_shared_clients
from overread.study.executors._executors import Executor, ProcessExecutor, SerialExecutor, count_processors
from overread.study.executors._worker import WorkLimits
from overread.study.models import MODELS
from overread.study.stages.fitting import SKIPPED_FILE, fit_stage
from overread.study.stages.images import Workshop
from overread.study.stages.nested import count_outer_folds
from overread.study.stages.pages import detector_stage
from overread.study.stages.plan import PREPARATION, list_views, plan_stages
from overread.study.stages.stage import Inputs, Made, Stage, StageSource, View, Workspace

Result = TypeVar("Result")


class RunLog:
    """Lines with the time, appended to a file; as a context it also keeps what each stage took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        try:
            # Without waiting, as a pipe in the file's place would hang the run, and without following a link, which a
            # stranger may have put there.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
            self._handle = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise StorageError(f"{self._path}: not written: {error.strerror or error}") from error
        return self

    def __exit__(self, *error: object) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def write(self, text: str) -> None:
        """Append a line; a full disk does not stop a run here, it will where something matters."""
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {' '.join(text.split())}\n"
        try:
            if self._handle is not None:
                os.write(self._handle, line.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


# Measured by `python -m benchmarks.study_memory large` with 4,000 and 20,000 images x 20 candidates x 50 features, the
# soft model: peaks of 554 and 888 MB. What there is without any candidate, and what each adds.
PROCESS_MB = 470.0
BYTES_PER_CANDIDATE = 775.0
# What a run may hold beyond that when its last fit begins: of 100,000 candidates x 3750 features, with memory_mb = 900,
# 568 MB where the two say 548; fits of the same fold began with up to 30 MB more in another run. The rest is judgement.
RESERVE_MB = 70.0


@dataclass(frozen=True)
class MemoryNeed:
    """Megabytes that a run will take, about: ``whole`` with features in memory, ``least`` with features on disk."""

    whole: float
    least: float

    @classmethod
    def estimate(
        cls, n_candidates: float, n_features: int, *, fitted: float, itemsize: int = 4
    ) -> MemoryNeed:
        """Estimate it; ``fitted`` is the share of the candidates that the last fit has, those outside the test set."""
        table = fitted * n_candidates * itemsize * n_features / 1e6
        held = PROCESS_MB + BYTES_PER_CANDIDATE * n_candidates / 1e6
        least = find_least_bytes(round(fitted * n_candidates), n_features, itemsize) / 1e6
        return cls(whole=held + COPIES * table, least=held + RESERVE_MB + least)

    @property
    def bound(self) -> int:
        """A bound that is enough, as a number that one would write."""
        return int(-(-self.least // 100) * 100)

    def warn(self, bound: float | None, machine: float) -> str | None:
        """Say what to change where a run will not fit in the bound or in the machine's memory; None where it will."""
        fewer = "fewer candidates ([candidates] limit) or features ([features] only)"
        setting = f"set memory_mb under [execution] in study.toml to {self.bound} or more"
        if machine < self.least:
            return (
                f"this machine has {machine / 1000:,.1f} GB of memory, too little even with features on disk: take"
                f" {fewer}, or a machine with {self.least / 1000:,.1f} GB"
            )
        if bound is not None and bound < self.least:
            return f"memory_mb = {bound:.0f} is probably too low: {setting}, or take {fewer}"
        if bound is None and machine < self.whole:
            return f"this machine has {machine / 1000:,.1f} GB of memory: {setting}, and models are fitted from disk"
        return None

    def refuse(self, bound: float) -> None:
        """Refuse a bound that the largest fit does not do with, by `InvalidInputError`."""
        if bound < self.least:
            raise InvalidInputError(
                f"memory_mb = {bound:.0f} is too little for the largest fit of this study: set it to {self.bound} or"
                " more (--memory-mb, or memory_mb under [execution] in study.toml), or take fewer candidates"
                " ([candidates] limit) or features ([features] only)"
            )


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


@short_repr("folder", "n_images", "n_quarantined", "done", "skipped")
@dataclass(frozen=True)
class RunReport:
    """Result of a run.

    Attributes
    ----------
    folder : Path
        ``STUDY/runs/NAME``.
    done, skipped : list of str, optional
        Stages that were done now, and those that were still valid.
    n_images, n_quarantined : int, default=0
        Images of the study, and how many of them were skipped.
    groups : dict, optional
        For a run of several groups of labels: how the run of each group ended; `folder` then holds the joint page.
    """

    folder: Path
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    n_images: int = 0
    n_quarantined: int = 0
    groups: dict[str, RunReport] = field(default_factory=dict)


def run_study(
    study: Path,
    *,
    name: str = "main",
    seed: int | None = None,
    execution: Mapping[str, object] | None = None,
    pipeline: PipelineSpec | None = None,
) -> RunReport:
    """Run a study from its folder; stages that an earlier run finished and that are still valid are skipped.

    Parameters
    ----------
    study : Path
        Folder with ``study.toml``, the tables and the images.
    name : str, default='main'
        Name of the run: files go to ``STUDY/runs/NAME``.
    seed : int, optional
        Replaces the seed of the settings.
    execution : mapping, optional
        Replaces keys of ``[execution]``: executor, workers, scheduler, batch, memory_mb.
    pipeline : PipelineSpec, optional
        Replaces Overread's processing of an image; such a run makes no detector.

    Raises
    ------
    OverreadError
        Any of the kinds in `overread.errors`; finished stages stay valid.
    """
    settings = _merge_execution(read_settings(study / "study.toml", seed=seed), execution or {})
    _check_name(name)
    root = study / "runs" / name
    if len(settings.labels.groups) < 2:
        report = _run_one(study, settings, name, pipeline)
        # Of an earlier run of groups, which would hide this one.
        (root / GROUPS_FILE).unlink(missing_ok=True)
        return report
    reports = {
        group: _run_one(study, own, f"{name}-{group}", pipeline)
        for group, own in split_groups(settings).items()
    }
    write_group_page(root, {group: report.folder for group, report in reports.items()})
    first = next(iter(reports.values()))
    worst = max(report.n_quarantined for report in reports.values())
    return RunReport(root, n_images=first.n_images, n_quarantined=worst, groups=reports)


def find_study_candidates(
    study: Path,
    *,
    name: str = "main",
    execution: Mapping[str, object] | None = None,
    pipeline: PipelineSpec | None = None,
) -> RunReport:
    """Run the stages up to candidates and features; fit no model.

    What a run of that name did is kept, and what is done here a later `run_study` keeps.
    """
    settings = _merge_execution(read_settings(study / "study.toml"), execution or {})
    if len(settings.labels.groups) > 1:
        raise UsageError(f"{study}: has several groups of labels, each with its own candidates")
    return _run_one(study, settings, _check_name(name), pipeline, last="candidates")


def list_reports(report: RunReport) -> dict[str, RunReport]:
    """Return how the run of each group ended; for a run without groups its report, with an empty name."""
    return report.groups or {"": report}


def _run_one(
    study: Path, settings: Settings, name: str, pipeline: PipelineSpec | None, *, last: str | None = None
) -> RunReport:
    """Run a study whose marks are all of one kind, or one group of its labels; to its end, or a last stage."""
    folder = RunFolder(study / "runs" / name)
    folder.prepare()
    with run_lock(folder.root), RunLog(folder.path("run.log")) as log:
        folder.clean()
        log.write(f"run begins: overread {__version__}, seed {settings.seed}")
        started = time.monotonic()
        try:
            report = Runner(study, settings, folder, log, pipeline).run(last)
        except BaseException as error:
            # Only the kind: the text of an error may quote the user's tables.
            log.write(f"run ends early: {type(error).__name__}")
            raise
        finally:
            close_shared_clients()
        say(f"the run took {duration(time.monotonic() - started)}")
        log.write(f"run ends: {report.n_quarantined} of {report.n_images} images skipped")
    return report


def _merge_execution(settings: Settings, given: Mapping[str, object]) -> Settings:
    """Replace settings of the study by options of the call."""
    try:
        execution = Execution.model_validate({**settings.execution.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors()[0]
        said = fault["msg"].removeprefix("Value error, ")
        raise UsageError(f"--{fault['loc'][0]} {fault['input']!r}: {said[:1].lower()}{said[1:]}") from None
    return settings.model_copy(update={"execution": execution})


def _check_name(name: str) -> str:
    """Refuse a run's name that is not a plain name of a folder."""
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise UsageError(f"--name {name!r}: use letters, digits, - _ . (not first)")
    return name


class Runner:
    """Does the stages in order, with log, progress and warnings around each."""

    def __init__(
        self, study: Path, settings: Settings, folder: RunFolder, log: RunLog, pipeline: PipelineSpec | None
    ) -> None:
        self._folder, self._log = folder, log
        self._started = datetime.now(UTC)
        self._inputs = self._tell_warnings("inputs", lambda: read_inputs(study, settings))
        self._settings = complete_settings(settings, self._inputs)
        self._spec = pipeline or PipelineSpec.own(self._settings)
        self._report = RunReport(folder.root, n_images=len(self._inputs.images))
        self._failed: dict[str, str] = {}

    def run(self, last: str | None = None) -> RunReport:
        """Do all stages, or those up to a last one."""
        inputs, settings, folder = self._inputs, self._settings, self._folder
        write_settings(folder, settings)
        workshop = Workshop(folder, self._spec, self._make_executor, self._say)
        sources = self._list_sources()
        failed = View("failed_models", reads=(), make=lambda inputs: self._failed, key=dict)
        workspace = Workspace(folder, settings, sources, [*list_views(inputs, settings, folder), failed])
        with single_threaded_blas():
            for stage in PREPARATION:
                self._do(stage, workspace, stage.name)
            split = workspace.load("tables/split.parquet")
            n_outer_folds = count_outer_folds(split, settings.evaluation.outer_folds)
            plan = partial(plan_stages, inputs, settings, workshop, n_outer_folds=n_outer_folds)
            stages, fitted = plan(), float((split["split"] != "test").mean())
            if last is not None:
                stages = stages[: [stage.name for stage in stages].index(last) + 1]
            checked = self._check_memory_before(stages, workspace, fitted)
            number = 0
            while number < len(stages):
                stage = stages[number]
                number += 1
                title = f"{stage.name} (stage {number} of {len(stages)})"
                try:
                    self._do(checked(stage), workspace, title)
                except FitError as error:
                    self._failed[error.model] = str(error)
                    left_out = self._list_skipped(workspace)
                    if left_out.keys() >= {*settings.models.wanted}:
                        raise error.__cause__ or error from None
                    self._say(f"warning: {error.model} failed and is left out: {error}")
                    stages = plan(skipped=left_out, failed=self._failed)
                    done = {*self._report.done, *self._report.skipped}
                    number = next(place for place, one in enumerate(stages) if one.name not in done)
                    continue
                if SKIPPED_FILE in stage.writes:
                    for name, why in self._list_skipped(workspace).items():
                        self._say(f"warning: {name} is skipped: {why}")
                    # The list goes on as planned without the models that cannot be fitted.
                    stages[number:] = plan(skipped=self._list_skipped(workspace))[number:]
                workspace.release(stages[number:])
        if last is None:
            done = {stage.name for stage in stages}
            for stage in (*map(fit_stage, MODELS.values()), detector_stage(())):
                if stage.name not in done:
                    folder.remove(stage.name, stage.writes)
        self._write_provenance()
        return replace(self._report, n_quarantined=len(workspace.load("quarantined")))

    def _list_sources(self) -> dict[str, StageSource]:
        """List what the study brings, what is done with its images, and what the page calls study and run."""
        study = self._settings.name or self._inputs.folder.resolve().name
        names, pipeline = {"study": study, "run": self._folder.root.name}, self._spec.build()
        # A detector has to do the same to an image, to get candidates and features like those it was trained on.
        work = [self._spec.plain(), pipeline.candidate_version, pipeline.feature_version]
        return self._inputs.sources() | {
            "pipeline": StageSource(digest_of_value(work), pipeline),
            "names": StageSource(digest_of_value(names), names),
        }

    def _list_skipped(self, workspace: Workspace) -> dict[str, str]:
        """Return the models that the check found cannot be fitted, and those that failed, with the reason."""
        skipped: dict[str, str] = workspace.load(SKIPPED_FILE)
        return {**skipped, **self._failed}

    def _check_memory_before(
        self, stages: Sequence[Stage], workspace: Workspace, fitted: float
    ) -> Callable[[Stage], Stage]:
        """Warn of too little memory, for as many candidates as there may be.

        Return what adds to a stage that fits a model, if it has work to do, a check of the bound on memory. It is made
        once, when all candidates are known.
        """
        bound, inputs, own = self._settings.execution.memory_mb, self._inputs, self._inputs.features
        n_features = len(getattr(self._spec.build(), "feature_names", ()) if own is None else own.names)
        itemsize = 4 if own is None else own.dtype.itemsize
        estimate = partial(MemoryNeed.estimate, n_features=n_features, fitted=fitted, itemsize=itemsize)
        n_most = len(inputs.images) * self._settings.candidates.limit
        n_most = n_most if inputs.candidates is None else len(inputs.candidates)
        warning = estimate(n_most).warn(bound or None, machine_bytes() / 1e6)
        if warning is not None:
            say(f"warning: {warning}")
        names, wanted = [stage.name for stage in stages], self._settings.models.wanted
        first = names.index("candidates") + (own is None)
        fits = {*names[first : 1 + max((names.index(one) for one in wanted if one in names), default=-1)]}

        @cache
        def check() -> None:
            n_known = len(workspace.load("tables/candidates.parquet")) if own is None else n_most
            if bound and not fits_in_memory(bound, round(fitted * n_known), n_features, itemsize):
                estimate(n_known).refuse(bound)

        def make(stage: Stage, inputs: Inputs) -> Made:
            check()
            return stage.make(inputs)

        return lambda stage: replace(stage, make=partial(make, stage)) if stage.name in fits else stage

    def _do(self, stage: Stage, workspace: Workspace, title: str) -> bool:
        """Do a stage unless it is done already; return whether there was anything to do."""
        started = time.monotonic()
        with begin_work(title.replace("_", " "), None):
            done = self._tell_warnings(stage.name, lambda: workspace.run(stage))
        self._log.seconds[stage.name] = round(time.monotonic() - started, 3)
        (self._report.done if done else self._report.skipped).append(stage.name)
        self._log.write(
            f"{stage.name}: {'done' if done else 'still valid'} ({self._log.seconds[stage.name]} s)"
        )
        return done

    def _say(self, text: str) -> None:
        self._log.write(text)
        say(text)

    def _make_executor(self) -> Executor:
        execution, limits = self._settings.execution, self._settings.limits
        work_limits = WorkLimits(limits.seconds_per_image, limits.memory_mb)
        if execution.executor == "serial":
            return SerialExecutor(self._spec)
        if execution.executor == "dask":
            if execution.scheduler is None:
                raise UsageError("the executor dask needs the cluster's address: --scheduler tcp://host:8786")
            return DaskExecutor(self._spec, work_limits, execution.scheduler, batch=execution.batch)
        return ProcessExecutor(self._spec, work_limits, execution.workers)

    def _tell_warnings(self, name: str, work: Callable[[], Result]) -> Result:
        """Do some work, and pass on what it warns of, each warning once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result = work()
        # A library's words about its own numbers, such as a division by zero, do not help a user.
        told = [one for one in caught if issubclass(one.category, UserWarning)]
        for warning in {str(one.message): one for one in told}.values():
            say(f"warning: {name}: {warning.message}")
            if name != "inputs":  # these quote the user's tables, with the readers' own ids
                self._log.write(f"warning: {name}: {warning.message}")
        return result

    def _write_provenance(self) -> None:
        libraries = {}
        for name in LIBRARIES:
            with suppress(PackageNotFoundError):
                libraries[name] = version(name)
        record = {
            "overread": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": libraries,
            "started": self._started.isoformat(timespec="seconds"),
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "processors": count_processors(),
            "executor": self._settings.execution.executor,
            "stages_done": self._report.done,
            "stages_still_valid": self._report.skipped,
            "seconds": self._log.seconds,
        }
        self._folder.write("provenance.json", json_bytes(record))


def write_settings(folder: RunFolder, settings: Settings) -> None:
    """Write the settings that the results depend on, with a record as of a stage."""
    used = leave_out_unused(settings.to_plain())
    plain = {name: value for name, value in used.items() if name not in ("execution", "limits")}
    content = {"settings.json": json_bytes(plain)}
    folder.stage("settings", needs=plain, gives=content, make=lambda: content)
