"""A reading room under load: readers at human pace on loopback, and how long they wait.

``python -m benchmarks.reading_load WORK --readers 30 --images 2000 --seconds 300`` makes a study of radiographs of
2048 x 2048 pixels of 16 bits (20 files under many names, so that the disk holds them), opens its room with ``overread
read``, and lets each reader open images, draw, move and delete marks with pauses, report times and lock. Images are
looked at for 20 to 40 seconds with a change every 2 to 6, which is faster than radiologists read. The next image is
fetched ahead, as the page does. Writes Markdown to standard output: percentiles of what was waited for, by the
clock; processor time and memory of the server, read from /proc, so Linux is needed.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.images import write_dicom
from overread.tables import write_table

OVERREAD = "import sys; from overread.cli import main; sys.exit(main(sys.argv[1:]))"
N_FILES, SIDE, MM = 20, 2048, 0.17
LINK = re.compile(r"^(\S+): http://127\.0\.0\.1:\d+/#s=(\S+)$", re.MULTILINE)
TICK = os.sysconf("SC_CLK_TCK")


def make_study(folder: Path, n_images: int) -> None:
    """Write the images table, and smooth images with noise that compress as radiographs do."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    for number in range(N_FILES):
        wave = np.sin(6 * x + number) * np.cos(5 * y - number)
        pixels = (20000 + 9000 * wave + rng.normal(0, 150, (SIDE, SIDE))).astype(np.uint16)
        path = folder / "images" / f"file{number}.dcm"
        if not path.is_file():
            write_dicom(path, pixels, MM, patient_id=f"P{number}", image_id=f"file{number}")
    ids = [f"image{number:05}" for number in range(n_images)]
    paths = [f"images/file{number % N_FILES}.dcm" for number in range(n_images)]
    write_table(pd.DataFrame({"image_id": ids, "path": paths}), folder / "images.csv")


def overread(*arguments: str, **more: Any) -> subprocess.Popen[str]:
    """Start the command."""
    command = [sys.executable, "-c", OVERREAD, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **more)


class Reader(threading.Thread):
    """A reader who looks, draws and goes on, until the time is over."""

    def __init__(
        self, port: int, secret: str, until: float, seed: int, waits: dict[str, list[float]]
    ) -> None:
        super().__init__(daemon=True)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Content-Type": "application/json"}
        self._secret, self._until, self._random, self._waits = secret, until, random.Random(seed), waits
        self.failures: list[str] = []

    def ask(self, what: str, method: str, path: str, **body: Any) -> bytes:
        """Send a request and note how long the answer took."""
        content = json.dumps({"op": str(uuid.uuid4()), **body}) if method != "GET" else None
        start = time.perf_counter()
        self._connection.request(method, path, content, self._headers)
        answer = self._connection.getresponse()
        data = answer.read()
        self._waits[what].append(time.perf_counter() - start)
        if answer.status != 200:
            self.failures.append(f"{path}: {answer.status} {data[:100]!r}")
        cookie = answer.getheader("set-cookie")
        if cookie:
            self._headers["Cookie"] = cookie.split(";")[0]
            self._headers["X-CSRF"] = json.loads(data)["csrf"]
        return data

    def run(self) -> None:
        """Read one image after the other."""
        self.pause(0, 20)
        self.ask("enter", "POST", "/api/enter", secret=self._secret)
        items = [entry["item"] for entry in json.loads(self.ask("worklist", "GET", "/api/worklist"))]
        self.look(items[0])
        for item, following in itertools.pairwise(items):
            if time.monotonic() > self._until:
                return
            self.read(item, following)

    def look(self, item: str) -> None:
        """Fetch an image."""
        self.ask("item", "GET", f"/api/items/{item}")
        self.ask("image", "GET", f"/api/items/{item}/pixels")

    def read(self, item: str, following: str) -> None:
        """Draw and change marks on an image while the next one is fetched, then lock it."""
        self.look(following)
        version, leave = 0, time.monotonic() + self._random.uniform(20, 40)
        marks = [str(uuid.uuid4()) for _ in range(3)]
        while time.monotonic() < min(leave, self._until):
            self.pause(2, 6)
            values = {"x": self._random.uniform(0, SIDE), "y": self._random.uniform(0, SIDE)}
            values |= {"rx": 60.0, "ry": 40.0, "angle": 20.0, "confidence": 70}
            path = f"/api/items/{item}/marks/{self._random.choice(marks)}"
            version = json.loads(self.ask("save", "PUT", path, version=version, **values))["version"]
            self.ask("time", "POST", f"/api/items/{item}/time", active_ms=4000, paused_ms=0)
        if version:
            self.ask("lock", "POST", f"/api/items/{item}/lock")

    def pause(self, low: float, high: float) -> None:
        """Think."""
        time.sleep(self._random.uniform(low, high))


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_megabytes(pid: int) -> float:
    """Most memory that a process has had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1000 if found else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="a new folder for the study")
    parser.add_argument("--readers", type=int, default=30)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args()
    study = given.work / "study"
    make_study(study, given.images)
    names = [f"reader{number}" for number in range(given.readers)]
    adding = overread("read", str(study), *(part for name in names for part in ("--add-reader", name)))
    secrets = dict(LINK.findall(adding.communicate()[0]))
    server = overread("read", str(study), "--port", "0")
    assert server.stdout is not None
    try:
        line = next(line for line in server.stdout if "is open at" in line)
        port = int(line.partition("127.0.0.1:")[2].partition("/")[0])
        before = processor_seconds(server.pid)
        waits: dict[str, list[float]] = defaultdict(list)
        until = time.monotonic() + given.seconds
        readers = [Reader(port, secrets[name], until, seed, waits) for seed, name in enumerate(names)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        report(given, waits, processor_seconds(server.pid) - before, peak_megabytes(server.pid), readers)
    finally:
        server.terminate()
        server.communicate()


def report(
    given: argparse.Namespace,
    waits: dict[str, list[float]],
    seconds: float,
    megabytes: float,
    readers: list[Reader],
) -> None:
    """Print what was measured."""
    print(
        f"{given.readers} readers, {given.images} images of {SIDE} x {SIDE} x 16 bit, {given.seconds:g} s; server: "
        f"{seconds:.1f} s of processor, {megabytes:.0f} MB at most; load of the machine {os.getloadavg()[0]:.1f}\n"
    )
    print("| request | number | median, ms | 95 %, ms | longest, ms |\n|---|---|---|---|---|")
    for what, found in sorted(waits.items()):
        ms = 1000 * np.array(found)
        print(f"| {what} | {len(ms)} | {np.median(ms):.1f} | {np.quantile(ms, 0.95):.1f} | {ms.max():.1f} |")
    failures = [failure for reader in readers for failure in reader.failures]
    print(f"\nRefused or failed: {len(failures)}" + (f", such as {failures[0]}" if failures else ""))


if __name__ == "__main__":
    main()
