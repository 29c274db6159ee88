"""Damaged copies of image files, read in a child process of its own with bounded memory and time.

As a script: ``mutated_files.py FOLDER FIRST LAST``. Reads damaged copies FIRST to LAST - 1 of the files in FOLDER
and prints one JSON object: how many were read, how many refused, and every other exception. Before each file
its number goes to FOLDER/progress, so that the parent knows which one a crash or the alarm stopped at.
"""

import json
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SECONDS_PER_FILE = 20
ADDRESS_SPACE = 3 << 29
"""1.5 GiB, of which the libraries map about half before the first file."""
LENGTHS = [
    0,
    1,
    2,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFE,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0xFFFFFFF0,
    *range(0xFFFFFFFE, 0x100000000),
]


def mutated(content: bytes, number: int) -> bytes:
    """One damaged copy; the same number gives the same one."""
    random = np.random.default_rng(number)
    data = bytearray(content)
    # Half of the damage goes to the head, where the sizes are.
    reach = min(len(data), 2000) if random.random() < 0.5 else len(data)
    for _ in range(random.choice([1, 1, 2, 4, 16])):
        at = int(random.integers(reach))
        kind = random.integers(6)
        if kind == 0:
            data[at] ^= 1 << int(random.integers(8))
        elif kind == 1:
            data[at] = int(random.integers(256))
        elif kind == 2:
            width = int(random.choice([2, 4]))
            value = int(random.choice(LENGTHS)) % (1 << 8 * width)
            data[at : at + width] = value.to_bytes(width, str(random.choice(["little", "big"])))
        elif kind == 3:
            del data[at : at + int(random.integers(1, 64))]
        elif kind == 4:
            other = int(random.integers(len(data)))
            data[at:at] = data[other : other + int(random.integers(1, 64))]
        else:
            del data[max(at, 1) :]
        reach = max(1, min(reach, len(data)))
        if not data:
            return b"\0"
    return bytes(data)


def read_all(folder: Path, first: int, last: int) -> dict[str, object]:
    """Read damaged copies; only a radiograph or an `ImageError` is right."""
    from overread.errors import ImageError
    from overread.images import display_image, read_image, read_source

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sources = sorted(folder.glob("source-*"))
    path, progress = folder / f"mutated-{first}", folder / "progress"
    counts = {"read": 0, "refused": 0, "wrong": []}
    for number in range(first, last):
        progress.write_text(str(number))
        path.write_bytes(mutated(sources[number % len(sources)].read_bytes(), number))
        signal.alarm(SECONDS_PER_FILE)
        try:
            assert display_image(path).dtype == np.uint8
            stated = read_source(path).spacing.spacing
            image = read_image(path, mm_per_px=0.5 if stated is None else None)
            assert np.isfinite(image.pixels).all()
            counts["read"] += 1
        except ImageError:
            counts["refused"] += 1
        except BaseException as error:
            counts["wrong"].append(f"{number} {sources[number % len(sources)].name}: {error!r}")
        signal.alarm(0)
    counts["peak_mib"] = peak_mib()
    return counts


def peak_mib() -> int:
    """Peak memory of this process; ru_maxrss would keep that of the process before exec, which is pytest's own."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@dataclass
class Outcome:
    """What became of all damaged files."""

    n_read: int = 0
    n_refused: int = 0
    peak_mib: int = 0
    wrong: list[str] = field(default_factory=list)


def read_in_child(folder: Path, n_files: int, first: int = 0) -> Outcome:
    """Read damaged copies in children; a child that dies is noted, and the next goes on after that file."""
    outcome, last = Outcome(), first + n_files
    while first < last:
        command = [sys.executable, __file__, str(folder), str(first), str(last)]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        if child.returncode == 0:
            counts = json.loads(child.stdout.splitlines()[-1])
            outcome.n_read += counts["read"]
            outcome.n_refused += counts["refused"]
            outcome.peak_mib = max(outcome.peak_mib, counts["peak_mib"])
            outcome.wrong += counts["wrong"]
            break
        stopped = int((folder / "progress").read_text())
        outcome.wrong.append(f"{stopped}: the child ended with {child.returncode}: {child.stderr[-300:]}")
        first = stopped + 1
    return outcome


if __name__ == "__main__":
    print(json.dumps(read_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
