"""The worker process: builds a pipeline, then answers one task after the other until its input ends."""

from __future__ import annotations

import logging
import os
import signal
import sys

from overread.study._pipeline import PipelineSpec
from overread.study.executors._outcome import (
    Frame,
    encode_frame,
    frame_outcome,
    place_of,
    read_frame,
    read_task,
    work_on,
)


def main() -> None:
    """Answer tasks; see `overread.study.executors._isolation`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _silenced_output()
    hello = read_frame(sys.stdin.buffer.read)
    if hello is None:
        return
    try:
        pipeline = PipelineSpec(**hello.header["pipeline"]).build()
    except BaseException as error:
        _send(answers, Frame({"status": "unable", "reason": place_of(error)}))
        return
    _limit_memory(hello.header["memory_mb"])
    _send(answers, Frame({"status": "ready"}))
    while (frame := read_frame(sys.stdin.buffer.read)) is not None:
        outcome = work_on(pipeline, read_task(frame.header))
        _send(answers, frame_outcome(outcome))
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


def _send(answers: int, frame: Frame) -> None:
    """Write a message; a run that is gone ends the worker."""
    content = memoryview(encode_frame(frame))
    try:
        while content:
            content = content[os.write(answers, content) :]
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
