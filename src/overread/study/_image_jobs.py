"""Every image becomes a shard, or is given up with a reason; only what is not done yet is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from overread import __version__
from overread._terminal import begin_work
from overread.domains import ImageTask
from overread.errors import OverreadError
from overread.files import FileDigests, digest_of_bytes, digest_of_value
from overread.images import MAX_BYTES, SKETCH_VERSION
from overread.study._pipeline import Pipeline, Versions
from overread.study._store import CANDIDATE_COLUMNS, Entry, Manifest, RunFolder, decode_shard, shard_file
from overread.study.executors._executors import Executor
from overread.study.executors._outcome import Fault, Outcome, refuse_other_versions, without_path

NEVER = "unreadable"
HOPELESS = 10


@dataclass(frozen=True)
class ImageJob:
    """An image with the digests of all that its candidates and features depend on.

    ``content`` is the digest of its file; None, with a fault, where there is no readable file. ``versions`` are those
    that the digests stand for.
    """

    task: ImageTask
    candidates_key: str
    features_key: str
    content: str | None = None
    fault: Fault | None = None
    versions: Versions | None = None

    @property
    def fault_key(self) -> str:
        """Digest of all that a fault of the image depends on: another version may be able to use it."""
        return digest_of_value({"features": self.features_key, "overread": __version__})


def make_jobs(
    images: pd.DataFrame,
    study: Path,
    digests: FileDigests,
    pipeline: Pipeline,
    given: Mapping[str, pd.DataFrame] | None,
    *,
    masks: Mapping[str, Path] | None = None,
) -> list[ImageJob]:
    """Jobs of all images of a study.

    Parameters
    ----------
    images
        image_id, path, and mm_per_px_x and mm_per_px_y where known.
    study
        Folder that the paths are relative to.
    digests
        Of the image files.
    pipeline
        Its versions are part of the digests.
    given
        Candidates of each image, where the study brings its own.
    masks
        Mask of each image, where regions come from masks.
    """
    columns = [images.get(name, pd.Series(dtype="float64", index=images.index)) for name in SPACING]
    jobs = []
    for image_id, path, *spacing in zip(images["image_id"], images["path"], *columns, strict=True):
        known = None if any(value != value for value in spacing) else (float(spacing[0]), float(spacing[1]))
        file = study / path
        own = None if given is None else given.get(image_id, NO_CANDIDATES)
        mask = None if masks is None else masks[image_id]
        try:
            content = digests.of(image_id, file, MAX_BYTES)
            shape = {} if mask is None else {"mask": digests.of(f"mask of {image_id}", mask, MAX_BYTES)}
        except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
            reason = getattr(error, "strerror", None) or "no file has such a path"
            fault = Fault("image", without_path(f"the file cannot be read: {reason}", str(file)))
            jobs.append(ImageJob(ImageTask(image_id, str(file), known, own), NEVER, NEVER, fault=fault))
            continue
        task = ImageTask(image_id, str(file), known, own, content, None if mask is None else str(mask))
        source = (
            {"version": pipeline.candidate_version} if own is None else {"given": own.to_dict(orient="list")}
        )
        candidates_key = digest_of_value(
            {"image": content, "mm_per_px": known, "candidates": source, **shape}
        )
        version = [pipeline.feature_version, SKETCH_VERSION]
        features_key = digest_of_value({"candidates": candidates_key, "version": version})
        jobs.append(ImageJob(task, candidates_key, features_key, content, versions=Versions.of(pipeline)))
    return jobs


@dataclass(frozen=True, eq=False)
class WorkedImages:
    """Entries of all images, and how many were worked on now."""

    manifest: Manifest
    n_worked: int


SPACING = ("mm_per_px_x", "mm_per_px_y")
NO_CANDIDATES = pd.DataFrame({name: pd.Series(dtype="float64") for name in CANDIDATE_COLUMNS}).astype(
    {"candidate_id": "str"}
)


def work_on_images(
    folder: RunFolder,
    jobs: Sequence[ImageJob],
    executor: Executor,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> WorkedImages:
    """Bring the shards up to date.

    An image that fails is tried once more, alone, after all others; then it is given up. One that was given up
    because its file cannot be used stays so as long as the file and the version of the package do; other faults get a
    new chance in each run.

    Parameters
    ----------
    folder
        Of the run.
    jobs
        All images.
    executor
        Who does the work.
    say
        Called with lines for the log.
    """
    manifest = Manifest(folder)
    by_id = {job.task.image_id: job for job in jobs}
    todo = [job for job in jobs if not _is_done(manifest, job)]
    with manifest, begin_work("images", len(todo)) as advance:
        tasks = []
        for job in todo:
            if job.fault is None:
                tasks.append(_with_known_candidates(folder, manifest, job))
            else:
                _give_up(manifest, job, job.fault, say)
                advance(1)

        def note_failure(outcome: Outcome, fault: Fault, n_failed: int) -> None:
            _refuse_a_broken_pipeline(manifest, fault, n_failed)
            say(f"image {outcome.image_id!r}: {fault.reason}; will be tried again")

        for outcome in work_twice(executor, tasks, note_failure):
            _keep(manifest, by_id[outcome.image_id], outcome, say)
            advance(1)
    manifest.finish([job.task.image_id for job in jobs])
    manifest.remove_strangers()
    return WorkedImages(manifest, len(todo))


def work_twice(
    executor: Executor,
    tasks: Sequence[ImageTask],
    note_failure: Callable[[Outcome, Fault, int], None] = lambda outcome, fault, n_failed: None,
) -> Iterator[Outcome]:
    """Yield the outcome of each image; one that fails is tried once more, alone, after all others.

    Parameters
    ----------
    executor
        Who does the work.
    tasks
        The images.
    note_failure
        Called with what failed the first time, why, and how many have failed so far.
    """
    failed: set[str] = set()
    for outcome in executor.work(tasks) if tasks else ():
        if outcome.fault is None:
            yield outcome
        else:
            failed.add(outcome.image_id)
            note_failure(outcome, outcome.fault, len(failed))
    if failed:
        yield from executor.work([task for task in tasks if task.image_id in failed], alone=True)


def _refuse_a_broken_pipeline(manifest: Manifest, fault: Fault, n_failed: int) -> None:
    """Stop early where no image ever came out well and the fault is not theirs."""
    if (
        n_failed >= HOPELESS
        and fault.kind == "failure"
        and not any(entry.sha256 for entry in manifest.entries.values())
    ):
        raise OverreadError(f"the first {n_failed} images all failed, the last with: {fault.reason}")


def _is_done(manifest: Manifest, job: ImageJob) -> bool:
    """Whether an image has its shard, or a file that was found to be of no use."""
    entry = manifest.entries.get(job.task.image_id)
    if entry is None or job.fault is not None:
        return False
    if entry.sha256 is None:
        return entry.fault_kind == "image" and entry.features_key == job.fault_key
    return entry.features_key == job.features_key and manifest.is_whole(entry)


def _with_known_candidates(folder: RunFolder, manifest: Manifest, job: ImageJob) -> ImageTask:
    """Return the task, with the candidates of its old shard where only the features have to be made anew."""
    entry = manifest.entries.get(job.task.image_id)
    if entry is None or entry.candidates_key != job.candidates_key or not manifest.is_whole(entry):
        return job.task
    shard = decode_shard(folder.path(shard_file(job.task.image_id)).read_bytes())
    return replace(job.task, candidates=shard.candidates)


def _keep(manifest: Manifest, job: ImageJob, outcome: Outcome, say: Callable[[str], None]) -> None:
    """Write down how the work on an image ended."""
    if outcome.fault is not None:
        _give_up(manifest, job, outcome.fault, say)
        return
    assert outcome.shard is not None
    refuse_other_versions(outcome.versions, job.versions, outcome.worker)
    digest = digest_of_bytes(outcome.shard)
    entry = Entry(job.task.image_id, job.candidates_key, job.features_key, digest)
    manifest.add(entry, outcome.shard)


def _give_up(manifest: Manifest, job: ImageJob, fault: Fault, say: Callable[[str], None]) -> None:
    """Quarantine an image."""
    entry = Entry(
        job.task.image_id,
        job.candidates_key,
        job.fault_key,
        fault_kind=fault.kind,
        reason=fault.reason,
    )
    manifest.add(entry, None)
    say(f"image {job.task.image_id!r}: quarantined: {fault.reason}")
