"""Every image becomes a shard, or is skipped with a reason; only what is not done yet is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from overread.study.executors._worker import Fault, Outcome, refuse_other_versions
from overread.tables import SPACING

NEVER = "unreadable"
HOPELESS = 10


def make_tasks(
    images: pd.DataFrame,
    study: Path,
    digests: FileDigests,
    pipeline: Pipeline,
    given: Mapping[str, pd.DataFrame] | None,
    *,
    masks: Mapping[str, Path] | None = None,
) -> tuple[list[ImageTask], dict[str, Fault]]:
    """Tasks of all images of a study, and the faults of those that have no readable file, by image id."""
    columns = [images.get(name, pd.Series(dtype="float64", index=images.index)) for name in SPACING]
    tasks: list[ImageTask] = []
    faults: dict[str, Fault] = {}
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
            faults[image_id] = Fault("image", f"the file cannot be read: {reason}")
            tasks.append(ImageTask(image_id, str(file), known, own, candidates_key=NEVER, features_key=NEVER))
            continue
        source = (
            {"version": pipeline.candidate_version} if own is None else {"given": own.to_dict(orient="list")}
        )
        candidates_key = digest_of_value(
            {"image": content, "mm_per_px": known, "candidates": source, **shape}
        )
        version = [pipeline.feature_version, SKETCH_VERSION]
        features_key = digest_of_value({"candidates": candidates_key, "version": version})
        place = None if mask is None else str(mask)
        tasks.append(ImageTask(image_id, str(file), known, own, content, place, candidates_key, features_key))
    return tasks, faults


NO_CANDIDATES = pd.DataFrame({name: pd.Series(dtype="float64") for name in CANDIDATE_COLUMNS}).astype(
    {"candidate_id": "str"}
)


def work_on_images(
    folder: RunFolder,
    tasks: Sequence[ImageTask],
    faults: Mapping[str, Fault],
    executor: Executor,
    versions: Versions,
    *,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Entry], int]:
    """Bring the shards up to date; return the entries of all images, and how many were worked on now.

    An image that fails is tried once more, alone, after all others; then it is skipped. One that was skipped
    because its file cannot be used stays so as long as the file and the version of the package do; other faults get a
    new chance in each run.
    """
    manifest = Manifest(folder)
    by_id = {task.image_id: task for task in tasks}
    todo = [task for task in tasks if task.image_id in faults or not _is_done(manifest, task)]
    with manifest, begin_work("images", len(todo)) as advance:
        for task in todo:
            if task.image_id in faults:
                _give_up(manifest, task, faults[task.image_id], say)
                advance(1)

        def note_failure(outcome: Outcome, fault: Fault, n_failed: int) -> None:
            _refuse_a_broken_pipeline(manifest, fault, n_failed)
            say(f"image {outcome.image_id!r}: {fault.reason}; will be tried again")

        usable = [
            _with_known_candidates(folder, manifest, task) for task in todo if task.image_id not in faults
        ]
        for outcome in work_twice(executor, usable, note_failure):
            task = by_id[outcome.image_id]
            if outcome.fault is not None:
                _give_up(manifest, task, outcome.fault, say)
            else:
                refuse_other_versions(outcome.versions, versions, outcome.worker)
                assert outcome.shard is not None, "an outcome without a fault"
                digest = digest_of_bytes(outcome.shard)
                manifest.add(
                    Entry(task.image_id, task.candidates_key, task.features_key, digest), outcome.shard
                )
            advance(1)
    manifest.finish(list(by_id))
    manifest.remove_strangers()
    return manifest.entries, len(todo)


def work_twice(
    executor: Executor,
    tasks: Sequence[ImageTask],
    note_failure: Callable[[Outcome, Fault, int], None] = lambda outcome, fault, n_failed: None,
) -> Iterator[Outcome]:
    """Yield the outcome of each image; one that fails is tried once more, alone, after all others."""
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


def _is_done(manifest: Manifest, task: ImageTask) -> bool:
    """Whether an image has its shard, or a file that was found to be of no use."""
    entry = manifest.entries.get(task.image_id)
    if entry is None:
        return False
    if entry.sha256 is None:
        return entry.fault_kind == "image" and entry.features_key == _fault_key(task)
    return entry.features_key == task.features_key and manifest.is_whole(entry)


def _fault_key(task: ImageTask) -> str:
    """Digest of all that a fault of an image depends on: another version may be able to use it."""
    return digest_of_value({"features": task.features_key, "overread": __version__})


def _with_known_candidates(folder: RunFolder, manifest: Manifest, task: ImageTask) -> ImageTask:
    """Return the task, with the candidates of its old shard where only the features have to be made again."""
    entry = manifest.entries.get(task.image_id)
    if entry is None or entry.candidates_key != task.candidates_key or not manifest.is_whole(entry):
        return task
    shard = decode_shard(folder.path(shard_file(task.image_id)).read_bytes())
    return replace(task, candidates=shard.candidates)


def _give_up(manifest: Manifest, task: ImageTask, fault: Fault, say: Callable[[str], None]) -> None:
    """Quarantine an image."""
    entry = Entry(
        task.image_id, task.candidates_key, _fault_key(task), fault_kind=fault.kind, reason=fault.reason
    )
    manifest.add(entry, None)
    say(f"image {task.image_id!r}: quarantined: {fault.reason}")
