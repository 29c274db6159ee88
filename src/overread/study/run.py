"""Run a study: every stage in order, each done only if it is not done yet."""

from __future__ import annotations

import platform
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from overread import __version__
from overread.errors import UsageError
from overread.files.digests import digest_of_value
from overread.files.lock import run_lock
from overread.models.columns.room import fits_in_memory, machine_bytes
from overread.models.fitting import single_threaded_blas
from overread.one_line import print_as_one_line
from overread.progress import begin_work, say
from overread.study.forecast import Forecast
from overread.study.groups import name_run_of_group, split_groups, write_group_page
from overread.study.image_jobs import ImageSample
from overread.study.inputs import StudyInputs, read_inputs
from overread.study.pipeline import PipelineSpec
from overread.study.resources import Demand, Supply, give_advice, reckon_demand, refuse_too_small_a_bound
from overread.study.run_log import RunLog
from overread.study.settings import Execution, Settings, leave_out_unused, read_settings
from overread.study.stages.fits import SKIPPED_FILE
from overread.study.stages.images import Workshop
from overread.study.stages.nested import count_outer_folds
from overread.study.stages.plan import PREPARATION, list_views, plan_stages
from overread.study.stages.stage import Inputs, Source, Stage, Workspace
from overread.study.store.manifest import Manifest
from overread.study.store.run_folder import RunFolder, json_bytes
from overread.study.study_recipe import complete_settings
from overread.study.workers.cluster_client import close_shared_clients
from overread.study.workers.dask_cluster import DaskExecutor
from overread.study.workers.executors import Executor, ProcessExecutor, SerialExecutor, count_processors
from overread.study.workers.isolation import WorkLimits
from overread.words import duration

__all__ = ["RunReport", "find_study_candidates", "list_reports", "run_study"]

GUESS = "a guess before the first image is done, from the rates of the demo"

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


@print_as_one_line("folder", "n_images", "n_quarantined", "done", "skipped")
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
    groups
        Of a run of several groups of labels: how the run of each ended; `folder` then holds the page that joins them.
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
    execution: Mapping[str, Any] | None = None,
    pipeline: PipelineSpec | None = None,
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
        In place of keys of ``[execution]``: executor, workers, scheduler, batch, memory_mb.
    pipeline
        In place of the package's own work on an image; such a run makes no detector.

    Raises
    ------
    OverreadError
        Of the kinds in `overread.errors`; what was finished before stays finished.
    """
    settings = read_settings(study / "study.toml", seed=seed)
    if execution:
        settings = settings.model_copy(update={"execution": merge_execution(settings.execution, execution)})
    check_name(name)
    if len(settings.labels.groups) < 2:
        return run_one(study, settings, name, pipeline)
    reports = {
        group: run_one(study, own, name_run_of_group(name, group), pipeline)
        for group, own in split_groups(settings).items()
    }
    root = study / "runs" / name
    write_group_page(root, {group: report.folder for group, report in reports.items()})
    first = next(iter(reports.values()))
    worst = max(report.n_quarantined for report in reports.values())
    return RunReport(root, n_images=first.n_images, n_quarantined=worst, groups=reports)


def find_study_candidates(
    study: Path,
    *,
    name: str = "main",
    execution: Mapping[str, Any] | None = None,
    pipeline: PipelineSpec | None = None,
) -> RunReport:
    """Do the stages of a run up to candidates and their features, and fit no model.

    What a run of that name did is kept, and what is done here a later `run_study` keeps.

    Parameters
    ----------
    study, name, execution, pipeline
        As in `run_study`; a study of several groups of labels is refused.
    """
    settings = read_settings(study / "study.toml")
    if execution:
        settings = settings.model_copy(update={"execution": merge_execution(settings.execution, execution)})
    if len(settings.labels.groups) > 1:
        raise UsageError(f"{study}: has several groups of labels, and each has candidates of its own")
    return run_one(study, settings, check_name(name), pipeline, last="candidates")


def list_reports(report: RunReport) -> dict[str, RunReport]:
    """Return how the run of each group ended; of a run without groups its own report, under no name."""
    return report.groups or {"": report}


def run_one(
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
        log.write(f"run ends: {report.n_quarantined} of {report.n_images} images quarantined")
    return report


def merge_execution(own: Execution, given: Mapping[str, Any]) -> Execution:
    """Put options of the call in place of the study's own."""
    try:
        return Execution.model_validate({**own.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors()[0]
        said = fault["msg"].removeprefix("Value error, ")
        raise UsageError(f"--{fault['loc'][0]} {fault['input']!r}: {said[:1].lower()}{said[1:]}") from None


def check_name(name: str) -> str:
    """Refuse a run's name that is not a plain name of a folder."""
    if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name.startswith("."):
        raise UsageError(f"--name {name!r}: use letters, digits, - _ . (not first)")
    return name


class Runner:
    """Does the stages in order, with log, progress and warnings around each."""

    _announced = _judged = False
    _forecast: Forecast
    _demand: Demand
    _fitted: float

    def __init__(
        self,
        study: Path,
        settings: Settings,
        folder: RunFolder,
        log: RunLog,
        pipeline: PipelineSpec | None,
    ) -> None:
        self._folder, self._log = folder, log
        self._started = datetime.now(UTC)
        self._inputs: StudyInputs = self._tell_warnings("inputs", lambda: read_inputs(study, settings))
        self._settings = complete_settings(settings, self._inputs)
        self._spec = pipeline or PipelineSpec.own(self._settings)
        self._report = RunReport(folder.root, n_images=len(self._inputs.images))

    def run(self, last: str | None = None) -> RunReport:
        """Do all stages, or those up to a last one."""
        inputs, settings, folder = self._inputs, self._settings, self._folder
        write_settings(folder, settings)
        workshop = Workshop(folder, self._spec, self._make_executor, self._say, self._learn_sample)
        sources = inputs.sources() | {"pipeline": self._pipeline_source(), "names": self._names_source()}
        workspace = Workspace(folder, settings, sources, list_views(inputs, settings, folder))
        with single_threaded_blas():
            for stage in PREPARATION:
                self._do(stage, workspace, stage.name)
            split = workspace.load("tables/split.parquet")
            n_outer_folds = count_outer_folds(split, settings.evaluation.outer_folds)
            plan = partial(plan_stages, inputs, settings, workshop, n_outer_folds=n_outer_folds)
            stages = plan()
            names = [stage.name for stage in stages]
            stages = stages if last is None else stages[: names.index(last) + 1]
            self._forecast = self._make_forecast([stage.name for stage in stages])
            self._fitted = float((split["split"] != "test").mean())
            self._demand = self._reckon_demand(self._count_candidates())
            fits = self._name_fits([stage.name for stage in stages])
            for number, stage in enumerate(stages, start=1):
                left = duration(self._forecast.left(stage.name))
                title = f"{stage.name} (stage {number} of {len(stages)}, about {left} to the end)"
                if self._do(self._announce(stage, left, workspace, fits), workspace, title):
                    self._forecast.learn(stage.name, self._log.seconds[stage.name])
                if SKIPPED_FILE in stage.writes:
                    # The list goes on as planned without the models that cannot be fitted.
                    stages[number:] = plan(skipped=self._tell_skipped(workspace.load(SKIPPED_FILE)))[number:]
                    self._forecast.keep([one.name for one in stages])
                workspace.release(stages[number:])
        self._write_provenance()
        return RunReport(
            folder.root,
            self._report.done,
            self._report.skipped,
            len(inputs.images),
            len(workspace.load("quarantined")),
        )

    def _tell_skipped(self, skipped: dict[str, str]) -> dict[str, str]:
        """Warn of the models that the run does without."""
        for name, why in skipped.items():
            self._say(f"warning: {name} is skipped: {why}")
        return skipped

    def _pipeline_source(self) -> Source:
        """Return what a detector has to do to an image to get candidates and features like those it was trained on."""
        pipeline = self._spec.build()
        key = [self._spec.plain(), pipeline.candidate_version, pipeline.feature_version]
        return Source(digest_of_value(key), lambda: pipeline)

    def _names_source(self) -> Source:
        """Return what the page calls the study and the run."""
        study = self._settings.name or self._inputs.folder.resolve().name
        names = {"study": study, "run": self._folder.root.name}
        return Source(digest_of_value(names), lambda: names)

    def _count_candidates(self) -> int:
        """Count the candidates: those that the study brings, else as many as an image may have."""
        own = self._inputs.candidates
        return len(self._inputs.images) * self._settings.candidates.limit if own is None else len(own)

    def _count_features(self) -> int:
        """Count the features that a candidate has."""
        own = self._inputs.features
        return len(getattr(self._spec.build(), "feature_names", ()) if own is None else own.names)

    def _learn_sample(self, sample: ImageSample) -> None:
        """Say what the run will take, now that some images are done."""
        brought = self._inputs.candidates
        n_candidates = sample.n_candidates * len(self._inputs.images) if brought is None else len(brought)
        self._forecast.learn_images(sample.seconds * sample.n_todo, n_candidates)
        self._demand = self._reckon_demand(n_candidates, sample.shard_bytes)
        left = duration(self._forecast.left("images"))
        say(
            f"about {left}, as an image is done every {sample.seconds:.2g} s, and {sample.n_images} from all over the"
            f" study have {sample.n_candidates:.0f} candidates each"
        )
        for line in give_advice(self._demand, self._find_supply()):
            say(line)

    def _reckon_demand(self, n_candidates: float, shard_bytes: float | None = None) -> Demand:
        """Reckon what the run will take of memory and disk."""
        own = self._inputs.features
        return reckon_demand(
            n_candidates,
            self._count_features(),
            n_shards=len(self._inputs.images) if own is None else 0,
            fitted=self._fitted,
            itemsize=4 if own is None else own.dtype.itemsize,
            shard_bytes=shard_bytes,
        )

    def _make_forecast(self, stages: list[str]) -> Forecast:
        settings, known = self._settings, Manifest(self._folder).entries
        return Forecast(
            stages,
            settings.models.wanted,
            n_folds=settings.models.folds,
            n_images=sum(image_id not in known for image_id in self._inputs.images["image_id"]),
            n_candidates=self._count_candidates(),
            n_features=self._count_features() or None,
            workers=1
            if settings.execution.executor == "serial"
            else settings.execution.workers or count_processors(),
        )

    def _do(self, stage: Stage, workspace: Workspace, title: str) -> bool:
        """Do a stage unless it is done already; return whether there was anything to do."""
        started = time.monotonic()
        with begin_work(title.replace("_", " "), None):
            done: bool = self._tell_warnings(stage.name, lambda: workspace.run(stage))
        self._log.timed(stage.name, started)
        (self._report.done if done else self._report.skipped).append(stage.name)
        self._log.write(
            f"{stage.name}: {'done' if done else 'still valid'} ({self._log.seconds[stage.name]} s)"
        )
        return done

    def _name_fits(self, names: list[str]) -> frozenset[str]:
        """Name the stages from which on all candidates are known, up to the last that fits a model."""
        first = names.index("candidates") + (self._inputs.features is None)
        wanted = self._settings.models.wanted
        return frozenset(
            names[first : 1 + max((names.index(one) for one in wanted if one in names), default=-1)]
        )

    def _judge_bound(self, workspace: Workspace) -> None:
        """Refuse a bound on memory that some fit will not do with, once: before the first of them begins."""
        bound, own = self._settings.execution.memory_mb, self._inputs.features
        if not bound or self._judged:
            return
        self._judged = True
        n_known = (
            len(workspace.load("tables/candidates.parquet")) if own is None else self._count_candidates()
        )
        itemsize = 4 if own is None else own.dtype.itemsize
        if not fits_in_memory(bound, round(self._fitted * n_known), self._count_features(), itemsize):
            refuse_too_small_a_bound(self._reckon_demand(n_known), bound)

    def _announce(self, stage: Stage, left: str, workspace: Workspace, fits: frozenset[str]) -> Stage:
        """Return the stage so that the first one with work to do says what the run will take, about."""

        def make(inputs: Inputs) -> Mapping[str, Any]:
            if stage.name in fits:
                self._judge_bound(workspace)
            if not self._announced:
                self._announced = True
                say(
                    f"about {left} for {len(self._inputs.images):,} images and models {', '.join(wanted)}: {GUESS}"
                )
                for line in give_advice(self._demand, self._find_supply()):
                    say(line)
            return stage.make(inputs)

        wanted = self._settings.models.wanted
        return replace(stage, make=make)

    def _find_supply(self) -> Supply:
        return Supply(
            memory=machine_bytes() / 1e6,
            bound=self._settings.execution.memory_mb or None,
            disk=shutil.disk_usage(self._folder.root).free / 1e6,
        )

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

    def _tell_warnings(self, name: str, work: Callable[[], Any]) -> Any:
        """Do some work, and pass on what it warns of, each warning once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            result = work()
        # A library's words about its own numbers, such as a division by zero, tell a user nothing.
        told = [one for one in caught if issubclass(one.category, UserWarning)]
        for warning in {str(one.message): one for one in told}.values():
            say(f"warning: {name}: {warning.message}")
            if name != "inputs":  # these quote the user's tables, with the readers' own ids
                self._log.write(f"warning: {name}: {warning.message}")
        return result

    def _write_provenance(self) -> None:
        record = {
            "overread": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": find_versions(LIBRARIES),
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
    plain = plain_settings(settings)
    content = {"settings.json": json_bytes(plain)}
    folder.stage("settings", needs=plain, gives=content, make=lambda: content)


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that the results depend on."""
    used = leave_out_unused(settings.to_plain())
    return {name: value for name, value in used.items() if name not in ("execution", "limits")}


def find_versions(names: Iterable[str]) -> dict[str, str]:
    """Find the versions of the packages that are there."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
