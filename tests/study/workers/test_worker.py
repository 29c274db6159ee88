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


def talk(*headers: object, path: str | None = None) -> tuple[list[Frame], subprocess.CompletedProcess[bytes]]:
    """Send messages to a worker, then end its input."""
    paths = [*([path] if path else []), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", "from overread.study.executors._worker import main; main()"],
        input=b"".join(encode_frame(header) for header in headers),
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


def hello(pipeline: PipelineSpec) -> dict[str, object]:
    return {"pipeline": pipeline.plain(), "memory_mb": None}


def test_one_answer_a_task_then_a_quiet_end(chain: Chain) -> None:
    answers, done = talk(hello(spec()), *map(to_json, tasks(chain.study, 2)))
    assert [header.get("status") for header, _ in answers] == ["ready", None, None]
    assert all(body for _, body in answers[1:])
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_libraries_print_goes_nowhere(chain: Chain, tmp_path) -> None:
    (tmp_path / "noisy_pipeline.py").write_text(NOISY)
    task = to_json(tasks(chain.study, 1)[0])
    answers, done = talk(hello(PipelineSpec("noisy_pipeline:pipeline")), task, path=str(tmp_path))
    assert [bool(body) for _, body in answers] == [False, True]
    assert b"Mustermann" not in done.stdout + done.stderr
