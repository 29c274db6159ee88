"""A worker process that may die, hang or run out of memory without harm to the run."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from overread._child_process import safe_environment
from overread.domains import ImageTask
from overread.errors import OverreadError
from overread.files import to_json
from overread.study._pipeline import PipelineSpec
from overread.study.executors._outcome import Fault, Frame, Outcome, encode_frame, read_frame, read_outcome

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
    """One worker process, started when it is needed and started again after it died.

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
            frame = self._asked(process, Frame(to_json(task)), seconds)
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
        hello = Frame({"pipeline": self._spec.plain(), "memory_mb": self._limits.memory_mb})
        ready = self._asked(self._process, hello, START_SECONDS)
        if ready is None:
            self._refuse_a_broken_installation(self._process)
        elif ready.header["status"] == "unable":
            self.close()
            raise OverreadError(f"a worker could not build the pipeline: {ready.header['reason']}")
        return self._process

    def _refuse_a_broken_installation(self, process: subprocess.Popen[bytes]) -> None:
        """Stop the run where a worker ended by itself before it could say a word: the next would do the same."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
        code = process.returncode
        if code is not None and code >= 0:
            self.close()
            raise OverreadError(
                f"a worker could not start (exit code {code}); its own words: {sys.executable} -P -c"
                " 'import overread.study.executors._worker'"
            )

    def _asked(self, process: subprocess.Popen[bytes], frame: Frame, seconds: float) -> Frame | None:
        self._deadline, self._seconds = time.monotonic() + seconds, seconds
        self._cold = not self._warm.is_set()
        assert process.stdin is not None
        try:
            content = memoryview(encode_frame(frame))
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
