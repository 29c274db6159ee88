"""Schedulers and workers of Dask as processes of their own on this machine, which tests may kill."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import distributed

SECONDS = 60.0


def start_cluster(n_workers: int = 2, **options: object) -> distributed.LocalCluster:
    """A cluster of worker processes, started by this process."""
    import distributed

    options = {"threads_per_worker": 1, "processes": True, **options}
    return distributed.LocalCluster(
        n_workers=n_workers, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50, **options
    )


@contextmanager
def start_scheduler(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler; gives the process and its address."""
    with start_module(
        "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
    ) as process:
        yield process, await_line(process, r"Scheduler at:\s+(tcp://\S+)")


@contextmanager
def start_worker(scheduler: str, first_on_path: Path | None = None) -> Iterator[str]:
    """A worker without nanny, with a folder before all others on its path; gives its address."""
    options = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard")
    with start_module(
        "distributed.cli.dask_worker", scheduler, *options, first_on_path=first_on_path
    ) as process:
        yield await_line(process, r"Start worker at:\s+(tcp://\S+)")


@contextmanager
def start_module(
    name: str, *arguments: str, first_on_path: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    paths = [*([str(first_on_path)] if first_on_path else []), *filter(None, sys.path)]
    process = subprocess.Popen(
        [sys.executable, "-m", name, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def await_line(process: subprocess.Popen[str], pattern: str) -> str:
    """What a process says of itself; the rest of its words is read and dropped."""
    assert process.stderr is not None
    limit = threading.Timer(SECONDS, process.kill)
    limit.start()
    said = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(pattern, line):
            limit.cancel()
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found.group(1)
    raise AssertionError("".join(said))
