"""Time and memory of whole studies, stage by stage, measured from outside.

``python -m benchmarks.study_memory large WORK`` makes a study that brings its own tables (1,000 images x 100
candidates x 1150 features in float32, about 300 golden objects) and runs it; sizes and ``[execution] memory_mb`` can be
given, such as ``--n-images 100000 --n-candidates 20 --n-features 50 --memory-mb 4000`` for a hundred thousand images
without pixels. ``python -m benchmarks.study_memory demo WORK`` simulates the images of ``overread demo`` and runs its
study. Both write Markdown to standard output. A stage ends when its line appears in the run's ``run.log``; processor
time and memory are those of the command's process tree, read from /proc, so Linux is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.study_outputs import COMMAND, write_tables

N_CANDIDATES, N_FEATURES, N_READERS = 100, 1150, 5
SETTINGS = """\
seed = 0

[inputs]
candidates = "candidates.parquet"
features = "features.parquet"

[models]
wanted = {wanted}
{more}"""
STAGE_LINE = re.compile(r"^\S+ (\w+): (?:done|still valid|\d+ of \d+ worked on now)")
EVERY_SECONDS = 0.02
SETTLED_SECONDS = 0.5
TICK = os.sysconf("SC_CLK_TCK")
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["large", "demo"])
    parser.add_argument("work", type=Path, help="folder for the study")
    parser.add_argument("--n-images", type=int, default=1000, help="images of the large study")
    parser.add_argument("--n-candidates", type=int, default=N_CANDIDATES, help="candidates of each of them")
    parser.add_argument("--n-features", type=int, default=N_FEATURES, help="features of each candidate")
    parser.add_argument(
        "--memory-mb", type=int, default=None, help="[execution] memory_mb of the large study"
    )
    parser.add_argument("--wanted", nargs="+", default=["soft"], help="models of the large study")
    parser.add_argument("--executor", default=None, help="of the study's images (demo)")
    given = parser.parse_args()
    if given.what == "large":
        shape = (given.n_images, given.n_candidates, given.n_features)
        large(given.work.resolve(), shape, given.wanted, given.memory_mb)
    else:
        demo(given.work.resolve(), given.executor)


def large(work: Path, shape: tuple[int, int, int], wanted: Sequence[str], memory_mb: int | None) -> None:
    """Make the large study unless it is there, and run it; its shape: images, candidates, features."""
    n_images, n_candidates, n_features = shape
    study = work / f"large-{n_images}-{n_candidates}-{n_features}"
    if not (study / "features.parquet").is_file():
        shutil.rmtree(study, ignore_errors=True)
        # In a process of its own, so that this one stays small.
        code = "import sys; from benchmarks.study_memory import make_large; make_large(*sys.argv[1:])"
        subprocess.run([sys.executable, "-c", code, str(study), *map(str, shape)], check=True)
    more = "" if memory_mb is None else f"\n[execution]\nmemory_mb = {memory_mb}\n"
    (study / "study.toml").write_text(SETTINGS.format(wanted=json.dumps(list(wanted)), more=more))
    shutil.rmtree(study / "runs", ignore_errors=True)
    measured = watch(["run", str(study), "--quiet"], study / "runs" / "main")
    bound = "" if memory_mb is None else f", memory_mb = {memory_mb:,}"
    print(
        f"## {n_images:,} images x {n_candidates} candidates x {n_features} features, {', '.join(wanted)}{bound}\n"
    )
    print(measured.markdown(n_images * n_candidates * n_features * 4))
    print(counts(study / "runs" / "main"))


def make_large(study: str, n_images: str, n_candidates: str, n_features: str) -> None:
    """Write the tables of the large study."""
    write_tables(
        Path(study),
        n_images=int(n_images),
        n_candidates=int(n_candidates),
        n_features=int(n_features),
        lesions=0.3,
        readings=(N_READERS, N_READERS),
        n_readers=N_READERS,
        n_informative=20,
        seed=0,
    )


def demo(work: Path, executor: str | None) -> None:
    """Make the demo's study by running it, then run it again from its images."""
    study = work / "demo"
    if not (study / "study.toml").is_file():
        subprocess.run(
            [sys.executable, "-c", COMMAND, "demo", "-o", str(study)], check=True, capture_output=True
        )
    shutil.rmtree(study / "runs", ignore_errors=True)
    how = [] if executor is None else ["--executor", executor]
    measured = watch(["run", str(study), "--quiet", *how], study / "runs" / "main")
    print(f"## The study of the demo, its images made before, executor {executor or 'processes'}\n")
    print(measured.markdown(None))
    print(counts(study / "runs" / "main"))


def counts(run: Path) -> str:
    """Sizes of the study that was run."""
    study = json.loads((run / "results.json").read_text(encoding="utf-8"))["study"]
    names = ("n_images", "n_golden", "n_objects", "n_marks", "n_features")
    told = ", ".join(f"{name} {study[name]}" for name in names if name in study)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"\n{told}. Load of the machine at the end: {load}; Python {platform.python_version()}.\n"


@dataclass
class Stage:
    """What a stage took: seconds, processor seconds, and the largest memory while it ran, in bytes."""

    name: str
    wall: float
    processor: float
    peak: int


@dataclass
class Measured:
    """What a command took."""

    stages: list[Stage] = field(default_factory=list)
    wall: float = 0.0
    processor: float = 0.0
    peak: int = 0
    worker_peak: int = 0

    def markdown(self, table_bytes: int | None) -> str:
        """Write it as a table; memory also as a multiple of the table of features."""
        ratio = "" if table_bytes is None else " x table |"
        lines = [
            f"| stage | wall s | processor s | peak RSS MB |{ratio}",
            "|---|---:|---:|---:|" + ("---:|" if ratio else ""),
        ]
        for stage in [*self.stages, Stage("**whole command**", self.wall, self.processor, self.peak)]:
            share = "" if table_bytes is None else f" {stage.peak / table_bytes:.2f} |"
            numbers = f"{stage.wall:.2f} | {stage.processor:.2f} | {stage.peak / MB:,.0f}"
            lines.append(f"| {stage.name} | {numbers} |{share}")
        text = "\n".join(lines) + "\n"
        if table_bytes is not None:
            text += f"\nTable of features: {table_bytes / MB:,.0f} MB in float32.\n"
        if self.worker_peak:
            text += f"\nLargest worker process: {self.worker_peak / MB:,.0f} MB.\n"
        return text


def watch(arguments: Sequence[str], run: Path) -> Measured:
    """Run the command ``overread`` and measure it; a failure ends the measuring.

    The peak of the whole command is the kernel's own (VmHWM) of its main process; that of a stage is the largest of
    samples.
    """
    measured = Measured()
    started = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.DEVNULL) as process:
        sampler = threading.Thread(target=sample, args=(process.pid, run / "run.log", measured))
        sampler.start()
        sampler.join()
        # wait4 alone tells the processor time of this one child and of its workers.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    measured.wall = time.monotonic() - started
    measured.processor = usage.ru_utime + usage.ru_stime
    if process.returncode:
        sys.exit(f"overread {' '.join(arguments)}: exit code {process.returncode}")
    return measured


def sample(pid: int, log: Path, measured: Measured) -> None:
    """Read memory and processor time until the process ends, and put them down to stages."""
    begun, spent_before, peak, n_stages = time.monotonic(), 0.0, 0, 0
    first_seen: dict[int, float] = {}
    while (seen := status_of(pid)) is not None:
        workers = descendants(pid)
        spent = sum(times_of(one) for one in (pid, *workers))
        measured.peak = max(measured.peak, seen["VmHWM"])
        peak = max(peak, seen["VmRSS"])
        for worker in workers:
            # A process that was just started still has the memory of the one that started it.
            if time.monotonic() - first_seen.setdefault(worker, time.monotonic()) > SETTLED_SECONDS:
                measured.worker_peak = max(measured.worker_peak, (status_of(worker) or {}).get("VmHWM", 0))
        names = stages_done(log)
        if len(names) > n_stages:
            now = time.monotonic()
            # Short stages may end between two samples: they share what was measured.
            name = ", ".join(([] if n_stages else ["start, inputs"]) + names[n_stages:])
            measured.stages.append(Stage(name, now - begun, spent - spent_before, peak))
            begun, spent_before, peak, n_stages = now, spent, 0, len(names)
        time.sleep(EVERY_SECONDS)


def stages_done(log: Path) -> list[str]:
    """Names of the stages that the log says are done."""
    if not log.is_file():
        return []
    lines = log.read_text(encoding="utf-8").splitlines()
    return [match.group(1) for line in lines if (match := STAGE_LINE.match(line))]


def status_of(pid: int) -> dict[str, int] | None:
    """Memory of a process in bytes; None when it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    values = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB", text, flags=re.MULTILINE))
    if "VmHWM" not in values or "VmRSS" not in values:
        return None
    return {name: int(values[name]) * 1024 for name in ("VmHWM", "VmRSS")}


def times_of(pid: int) -> float:
    """Processor seconds of a process and of its children that ended."""
    fields = stat_fields(pid)
    return sum(int(ticks) for ticks in fields[11:15]) / TICK


def stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name; none when the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """List the processes at work that a process started, and theirs."""
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and (fields := stat_fields(int(name))):
            children[int(fields[1])].append(int(name))
    found, waiting = [], [pid]
    while waiting:
        waiting += children[waiting[0]]
        found += children[waiting.pop(0)]
    return found


if __name__ == "__main__":
    main()
