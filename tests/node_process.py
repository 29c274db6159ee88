"""A node in a process of its own, so that it can be killed. Run as a script, it has the stand-in for a detector."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

OVERREAD = "import sys; from overread.cli import main; sys.exit(main(sys.argv[1:]))"
LISTENING = re.compile(r"listening as \S+ at 127\.0\.0\.1:([0-9]+)")


@contextmanager
def running_node(
    spool: Path, archive: str, *options: str, detector: str | None = None, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Process of ``overread node`` and the port it listens at; it is killed in the end, if it still runs."""
    start = ["-c", OVERREAD] if detector else [str(Path(__file__))]
    command = [sys.executable, *start, "node", detector or "stand-in", "--spool", str(spool)]
    command += ["--destination", archive, "--port", str(port), *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert node.stdout is not None
    try:
        found = LISTENING.match(node.stdout.readline())
        assert found is not None
        yield node, int(found[1])
    finally:
        node.kill()
        node.wait()
        node.stdout.close()


def main(arguments: Sequence[str]) -> int:
    import overread.apps.node.command
    from overread.cli import main as overread_main
    from overread.study import DetectionPipeline
    from stand_in_detector import StandInDetector, stand_in_spec

    DetectionPipeline.spec = stand_in_spec
    overread.apps.node.command.open_detector = lambda _: StandInDetector()
    return overread_main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
