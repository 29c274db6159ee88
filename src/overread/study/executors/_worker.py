"""A worker process that may die, hang or run out of memory without harm to the run; and its messages.

The worker builds a pipeline, then answers one task after the other until its input ends (`main`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from overread._child_process import safe_environment
from overread.domains import ImageTask, ImageWork
from overread.errors import InvalidInputError, OverreadError, StorageError
from overread.files import digest_of_file, from_json, to_json
from overread.study._pipeline import PipelineSpec, Versions
from overread.study._store import encode_shard

FaultKind = Literal["image", "failure", "death", "timeout", "memory"]


@dataclass(frozen=True)
class Fault:
    """Why an image could not be worked on, in one line without a path or anything of the image's header.

    "image": the image cannot be used, and the same bytes will never be. "failure": an unexpected error.
    "death", "timeout", "memory": the worker died, took too long, had no memory left.
    """

    kind: FaultKind
    reason: str


@dataclass(frozen=True)
class Outcome:
    """The shard of an image with the versions of the code that made it, or the fault; ``worker`` is for messages."""

    image_id: str
    shard: bytes | None = None
    fault: Fault | None = None
    versions: Versions | None = None
    worker: str = "a worker process"


def work_on(pipeline: Callable[[ImageTask], ImageWork | bytes], task: ImageTask) -> Outcome:
    """Work on one image; whatever it does, there is an outcome, except for an interrupt.

    The bytes of a pipeline that is not a study's are taken as they are.
    """
    try:
        with warnings.catch_warnings():
            # A reader of headers warns by quoting them.
            warnings.simplefilter("ignore")
            made = pipeline(task)
            shard = made if isinstance(made, bytes) else encode_shard(made)
        # Once more, after the work: a file that was replaced meanwhile must not be kept under the old one's digest.
        if task.sha256 is not None and digest_of_file(Path(task.path)) != task.sha256:
            return Outcome(task.image_id, fault=Fault("failure", "the file was changed while it was read"))
        return Outcome(task.image_id, shard=shard, versions=Versions.of(pipeline))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        return Outcome(task.image_id, fault=Fault("memory", "there was not enough memory"))
    except OverreadError as error:
        return Outcome(task.image_id, fault=_fault_of(error, task.path))
    except BaseException as error:  # decoders in Rust raise PanicException, which is not an Exception
        return Outcome(task.image_id, fault=Fault("failure", place_of(error)))


def refuse_other_versions(found: Versions | None, expected: Versions | None, worker: str) -> None:
    """Refuse what other code made: it would be kept as if this run's own had made it."""
    if found != expected:
        raise StorageError(
            f"{worker} runs other code than this run: {found or 'an unknown version'} there, {expected} here; install"
            " the same there, or stop that worker, and run again"
        )


def _fault_of(error: OverreadError, path: str) -> Fault:
    """Fault of an error that was raised on purpose; only a fault of the image is permanent."""
    if isinstance(error.__context__, MemoryError):
        return Fault("memory", "there was not enough memory")
    kind: FaultKind = "image" if isinstance(error, InvalidInputError) else "failure"
    return Fault(kind, without_path(str(error), path))


def without_path(message: str, path: str) -> str:
    """First line of a message with the image's path, name and stem taken out."""
    text = (message.splitlines() or [""])[0]
    parts = [part for part in (path, Path(path).name, Path(path).stem) if len(part) > 2]
    # At once: a file may be called image.png.
    return re.sub("|".join(map(re.escape, parts)) or "(?!)", "the image", text)[:300]


def place_of(error: BaseException) -> str:
    """Kind and location of an error, without its text, which may quote the image header."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


LENGTHS = struct.Struct("<QQ")


Frame: TypeAlias = tuple[dict[str, Any], bytes]
"""One message: its header, and bytes."""


def encode_frame(header: object, body: bytes = b"") -> bytes:
    """Bytes of a message."""
    text = json.dumps(header).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def read_frame(read: Callable[[int], bytes]) -> Frame | None:
    """Next message; None where the other side is gone. ``read(n)`` gives n bytes, fewer only at the end."""
    lengths = read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    header_length, body_length = LENGTHS.unpack(lengths)
    header, body = read(header_length), read(body_length)
    if len(header) < header_length or len(body) < body_length:
        return None
    return json.loads(header), body


def read_task(plain: Mapping[str, object]) -> ImageTask:
    """Read a task that `overread.files._records.to_json` made plain."""
    task = from_json(ImageTask, plain, "task")
    if task.candidates is None:
        return task
    # In JSON a column without rows has no type.
    return replace(task, candidates=task.candidates.astype({"candidate_id": "str"}))


def encode_outcome(outcome: Outcome) -> bytes:
    """Return an outcome as a message; its shard is the body."""
    return encode_frame(to_json(replace(outcome, shard=None)), outcome.shard or b"")


def read_outcome(frame: Frame) -> Outcome:
    """Read the outcome of a message."""
    header, body = frame
    outcome = from_json(Outcome, header, "outcome")
    return outcome if outcome.fault is not None else replace(outcome, shard=body)


START_SECONDS = 300.0
# On a new installation the first image also waits for numba to compile; killing that would never end.
COMPILE_SECONDS = 1800.0
# From the end of its answers to the end of the process; set by judgement, it takes milliseconds.
END_SECONDS = 10.0


@dataclass(frozen=True)
class WorkLimits:
    """Seconds that one image may take, and memory that a worker may use."""

    seconds_per_image: float = 300.0
    memory_mb: int | None = None


class OverdueError(Exception):
    """No answer came in time."""


class IsolatedWorker:
    """One worker process, started on demand and restarted after it dies.

    ``warm`` is set once any worker has made a shard; until then an image has time for compiling too. Workers of one
    executor share it.
    """

    def __init__(self, spec: PipelineSpec, limits: WorkLimits, warm: threading.Event | None = None) -> None:
        self._spec, self._limits = spec, limits
        self._warm = threading.Event() if warm is None else warm
        self._process: subprocess.Popen[bytes] | None = None
        self._deadline, self._seconds, self._cold = 0.0, 0.0, True

    def work(self, task: ImageTask) -> Outcome:
        """Work on one image in the worker; a dead or late worker gives a fault."""
        seconds = self._limits.seconds_per_image
        try:
            process = self._started()
            frame = self._asked(process, to_json(task), seconds)
        except OverdueError:
            self.close()
            return Outcome(task.image_id, fault=Fault("timeout", f"no answer within {seconds:g} s"))
        if frame is None:
            return Outcome(task.image_id, fault=self._death())
        outcome = read_outcome(frame)
        if outcome.fault is None:
            self._warm.set()
        elif outcome.fault.kind == "memory":
            self.close()
        return outcome

    def close(self) -> None:
        """End the worker process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        process.wait()

    def interrupt(self) -> None:
        """End the process from another thread; the one that waits for it gets a fault."""
        process = self._process
        if process is not None:
            process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        environment = safe_environment(keep_current_folder=not self._spec.comes_with_the_package)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from overread.study.executors._worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, **SINGLE_THREADED},
            bufsize=0,
        )
        hello = {"pipeline": self._spec.plain(), "memory_mb": self._limits.memory_mb}
        ready = self._asked(self._process, hello, START_SECONDS)
        if ready is None:
            self._refuse_a_broken_installation(self._process)
        elif ready[0]["status"] == "unable":
            self.close()
            raise OverreadError(f"a worker could not build the pipeline: {ready[0]['reason']}")
        return self._process

    def _refuse_a_broken_installation(self, process: subprocess.Popen[bytes]) -> None:
        """Stop the run where a worker ended by itself before it could say a word: the next would do the same."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
        code = process.returncode
        if code is not None and code >= 0:
            self.close()
            raise OverreadError(
                f"a worker could not start (exit code {code}); to see its error: {sys.executable} -P -c"
                " 'import overread.study.executors._worker'"
            )

    def _asked(self, process: subprocess.Popen[bytes], asked: object, seconds: float) -> Frame | None:
        self._deadline, self._seconds = time.monotonic() + seconds, seconds
        self._cold = not self._warm.is_set()
        assert process.stdin is not None
        try:
            content = memoryview(encode_frame(asked))
            while content:
                content = content[process.stdin.write(content) :]
        except BrokenPipeError:
            return None
        return read_frame(self._read)

    def _read(self, size: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        parts, missing = [], size
        while missing:
            # Looked at again every second: another worker may have shown that all is compiled. This one may have
            # compiled as long as that one, and its image has its whole time from here.
            if self._cold and self._warm.is_set():
                self._cold, self._deadline = False, time.monotonic() + self._seconds
            patience = self._deadline + (COMPILE_SECONDS if self._cold else 0.0) - time.monotonic()
            if patience <= 0:
                raise OverdueError
            if not select.select([handle], [], [], min(patience, 1.0))[0]:
                continue
            part = os.read(handle, min(missing, 1 << 20))
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _death(self) -> Fault:
        process = self._process
        self.close()
        code = None if process is None else process.returncode
        if code is not None and code < 0:
            return Fault("death", f"the worker was ended by {_signal_name(-code)}")
        return Fault("death", "the worker died")


THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SINGLE_THREADED = dict.fromkeys(THREADS, "1")


def _signal_name(number: int) -> str:
    """Name of a signal, such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def main() -> None:
    """Answer tasks, in the worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _silenced_output()
    hello = read_frame(sys.stdin.buffer.read)
    if hello is None:
        return
    try:
        pipeline = PipelineSpec(**hello[0]["pipeline"]).build()
    except BaseException as error:
        _send(answers, encode_frame({"status": "unable", "reason": place_of(error)}))
        return
    _limit_memory(hello[0]["memory_mb"])
    _send(answers, encode_frame({"status": "ready"}))
    while (frame := read_frame(sys.stdin.buffer.read)) is not None:
        outcome = work_on(pipeline, read_task(frame[0]))
        _send(answers, encode_outcome(outcome))
        if outcome.fault is not None and outcome.fault.kind == "memory":
            return


def _silenced_output() -> int:
    """Keep standard output for answers; what libraries print may quote an image's header, and goes nowhere."""
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    logging.disable(logging.CRITICAL)
    return answers


def _limit_memory(megabytes: int | None) -> None:
    """Let allocations beyond the limit fail with a MemoryError instead of taking the machine down."""
    if megabytes is None:
        return
    import resource  # not on every system

    resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))


def _send(answers: int, message: bytes) -> None:
    """Write a message; a run that is gone ends the worker."""
    content = memoryview(message)
    try:
        while content:
            content = content[os.write(answers, content) :]
    except BrokenPipeError:
        os._exit(0)
