"""The worker process itself: answers on its output, silence elsewhere, and an end when its input ends."""

import os
import subprocess
import sys

from overread.files import to_json
from overread.study import PipelineSpec
from overread.study.executors._worker import Frame, encode_frame, read_frame
from study_chain import Chain, tasks
from study_stand_in import spec

NOISY = """
import sys
import study_stand_in

def pipeline():
    own = study_stand_in.pipeline()

    def work(task):
        print("PatientName Mustermann")
        print("PatientName Mustermann", file=sys.stderr)
        return own(task)

    return work
"""


def talk(*frames: Frame, path: str | None = None) -> tuple[list[Frame], subprocess.CompletedProcess[bytes]]:
    """Send messages to a worker, then end its input."""
    paths = [*([path] if path else []), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-m", "overread.study.executors._worker"],
        input=b"".join(encode_frame(frame) for frame in frames),
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    answers, rest = [], memoryview(done.stdout)

    def read(size: int) -> bytes:
        nonlocal rest
        part, rest = bytes(rest[:size]), rest[size:]
        return part

    while (frame := read_frame(read)) is not None:
        answers.append(frame)
    return answers, done


def hello(pipeline: PipelineSpec, memory_mb: int | None = None) -> Frame:
    return Frame({"pipeline": pipeline.plain(), "memory_mb": memory_mb})


def test_one_answer_a_task_then_a_quiet_end(chain: Chain) -> None:
    answers, done = talk(hello(spec()), *(Frame(to_json(task)) for task in tasks(chain.study, 2)))
    assert [frame.header.get("status") for frame in answers] == ["ready", None, None]
    assert all(frame.body for frame in answers[1:])
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_libraries_print_goes_nowhere(chain: Chain, tmp_path) -> None:
    (tmp_path / "noisy_pipeline.py").write_text(NOISY)
    task = Frame(to_json(tasks(chain.study, 1)[0]))
    answers, done = talk(hello(PipelineSpec("noisy_pipeline:pipeline")), task, path=str(tmp_path))
    assert [bool(frame.body) for frame in answers] == [False, True]
    assert b"Mustermann" not in done.stdout + done.stderr
