"""Fuzz the readers in a child process with bounded memory and time.

``python tests/fuzz/run.py SECONDS [SEED]`` goes round the targets until the time is over, and prints for each how many
damaged files were read and how many refused; anything else ends with exit code 1 and the numbers to repeat it. The
numbers of files that once went wrong stand in ``corpus.json`` and are read first, always.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[0] / "images")]

CORPUS = HERE / "corpus.json"
# Of processor time; who waits for nothing, and uses none, has as long as a busy machine may need.
SECONDS_PER_FILE, SECONDS_OF_WAITING, ADDRESS_SPACE = 20, 300, 4 << 30
AT_ONCE = 25
# Values of text formats, and what to put in their place.
TOKEN = re.compile(rb'"[^"]*"|-?\d+(?:\.\d+)?|true|false|null')
HOSTILE = (
    *b"0 -1 1e300 -1e-320 1e999 NaN Infinity 99999999999999999999 0.1".split(),
    *(b"1" * 5000, b"null", b"true", b"[]", b"{}", b'""', b'"\\u0000"', b'"\\ud800"', b'"\x1b[2J"'),
    *(b"[[[[]]]]", b'"=1+1"', b""),
)


def damaged(target, number: int, seeds: list[bytes]) -> bytes:
    """Damage a whole file; two of them are mixed now and then. The same number gives the same file."""
    import numpy as np
    from damaged_pixels import harmed

    random = np.random.default_rng([number, 1])
    content = seeds[number % len(seeds)]
    if len(seeds) > 1 and random.random() < 0.1:
        other = seeds[int(random.integers(len(seeds)))]
        content = content[: int(random.integers(len(content)))] + other[int(random.integers(len(other))) :]
    for turn in range(int(random.choice([1, 1, 2, 3]))):
        if random.random() < 0.5 and (places := list(TOKEN.finditer(content[:100_000]))):
            place = places[int(random.integers(len(places)))]
            value = HOSTILE[int(random.integers(len(HOSTILE)))]
            content = content[: place.start()] + value + content[place.end() :]
        else:
            content = harmed(content or b"\0", number * 7 + turn)
    return sealed_again(content, target.seal) or b"\0"


def sealed_again(content: bytes, seal) -> bytes:
    """Put the checksum right, as a forger does, where the file is still JSON."""
    if seal is None:
        return content
    try:
        document = json.loads(content)
        return seal.spell({**seal.close(seal.payload(document)), **{key: document[key] for key in seal.head}})
    except Exception:
        return content


def read_numbers(name: str, numbers: list[int], progress: Path) -> tuple[Counter[str], list[str]]:
    """Read damaged files of one target; only a value or an error of ours is right."""
    from targets import TARGETS

    from overread.errors import OverreadError

    target, seeds = TARGETS[name], TARGETS[name].seeds()
    counts: Counter[str] = Counter()
    wrong = []
    for number in numbers:
        progress.write_text(f"{name} {number}")
        path = Path(f"fuzzed.{target.ending}")
        path.write_bytes(damaged(target, number, seeds))
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_FILE)
        signal.alarm(SECONDS_OF_WAITING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                target.read(path)
            counts["read"] += 1
        except OverreadError:
            counts["refused"] += 1
        except OSError as error:
            # What the commands turn into one line, as of a file that is not there.
            counts["refused" if error.strerror else "wrong"] += 1
            if not error.strerror:
                wrong.append(f"{name} {number}: {error!r}")
        except BaseException as error:
            wrong.append(f"{name} {number}: {error!r}")
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return counts, wrong


def fuzz_once(jobs: dict[str, list[int]]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Read damaged files in a child, by target; a child that dies is a finding, with the number it died at."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "child", json.dumps(jobs)]
        child = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if child.returncode == 0:
            told = json.loads(child.stdout.splitlines()[-1])
            return {name: Counter(counts) for name, (counts, _) in told.items()}, [
                line for _, wrong in told.values() for line in wrong
            ]
        at = Path(folder, "progress")
        place = at.read_text() if at.exists() else "before the first file"
        return {}, [f"{place}: the child ended with {child.returncode}: {child.stderr[-500:]}"]


def fuzz(seconds: float, seed: int) -> int:
    """Go round the targets until the time is over; the corpus comes first."""
    from targets import TARGETS

    totals: dict[str, Counter[str]] = {name: Counter() for name in TARGETS}
    findings: list[str] = []
    jobs, first, end = json.loads(CORPUS.read_text()), seed, time.monotonic() + seconds
    while True:
        found, wrong = fuzz_once(jobs)
        findings += wrong
        for name, counts in found.items():
            totals[name] += counts
        if time.monotonic() > end:
            break
        jobs = {name: list(range(first, first + AT_ONCE)) for name in TARGETS}
        first += AT_ONCE
    for name, counts in totals.items():
        print(f"{name:16s} {counts['read']:7d} read {counts['refused']:7d} refused")
    print("\n".join(findings))
    return 1 if findings else 0


def main(arguments: list[str]) -> int:
    """Run as the parent, or as the child that it starts."""
    if arguments[0] != "child":
        return fuzz(float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    progress = Path("progress").absolute()
    jobs = json.loads(arguments[1])
    print(json.dumps({name: read_numbers(name, numbers, progress) for name, numbers in jobs.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
