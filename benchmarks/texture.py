"""Texture: the IBSI features beside nyxus and pyradiomics, growth with the region, the features of a candidate."""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows import Row, compare
from benchmarks.worker import forget_peak, status
from overread.features import CATALOGUE, FEATURE_NAMES, Anatomy, Context, ImageMaps, texture_matrix
from overread.features.families import FAMILIES
from overread.images import GRID_MM, Radiograph, SpacingSource

ROOT = Path(__file__).parents[1]
PEER_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
N_BINS = 32
TEXTURE_FAMILIES = [family for family in FAMILIES if family.features[0].kind == "texture"]
GOALS = {"nyxus": 20, "pyradiomics": 60}


def run(*, quick: bool) -> Iterator[Row]:
    repeats = 3 if quick else 7
    texture_matrix(power_law_noise(1, 16), n_bins=N_BINS)
    for side in (32, 64, 128) if quick else (32, 64, 128, 256):
        yield from beside_peers(side, max(4, min(40, 160_000 // side**2)), repeats)
    yield from candidates(20 if quick else 100, repeats)


def power_law_noise(n: int, side: int) -> NDArray[np.float64]:
    """Regions of noise with a power spectrum f^-3, like that of a lung."""
    rng = np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side)[None])
    frequency[0, 0] = 1
    return np.fft.ifft2(np.fft.fft2(rng.normal(size=(n, side, side))) / frequency**1.5).real


def beside_peers(side: int, n: int, repeats: int) -> Iterator[Row]:
    """Time all on the same regions, in turns; the peers are given levels, ours quantizes itself."""
    images = power_law_noise(n, side)
    low, high = images.min(axis=(1, 2), keepdims=True), images.max(axis=(1, 2), keepdims=True)
    levels = np.minimum(np.floor(N_BINS * (images - low) / (high - low)), N_BINS - 1).astype(np.int64) + 1
    what = f"{len(FEATURE_NAMES)} IBSI features, {side}x{side} region, {N_BINS} bins"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "levels.npz"
        np.savez(path, levels=levels)
        peers = {name: start_peer(name) for name in GOALS} if PEER_PYTHON.exists() else {}
        ours, theirs, versions = [], {name: [] for name in peers}, {}
        forget_peak()
        before = forget_peak()
        texture_matrix(images, n_bins=N_BINS)
        peak = status("VmHWM") - before
        for _ in range(repeats):
            start = time.process_time()
            texture_matrix(images, n_bins=N_BINS)
            ours.append((time.process_time() - start) / n)
            for name, process in peers.items():
                answer = ask(process, path)
                theirs[name].append(answer["seconds"] / n)
                versions[name] = answer["version"]
        for process in peers.values():
            process.stdin.close()
            process.wait()
    mine = 1e3 * statistics.median(ours)
    note = f"{n} regions in one call; {peak / 1e6:.1f} MB more at the peak"
    if not peers:
        yield Row(what, mine, None, None, "ms", f"{note}; peers not installed")
    for name, seconds in theirs.items():
        goal = f"goal {GOALS[name]}x; " if side == 64 else ""
        more = "all of its families' features" if name == "nyxus" else "93 features"
        peer = 1e3 * statistics.median(seconds)
        yield compare(what, mine, peer, "ms", f"{name} {versions[name]}, {more}; {goal}{note}")


def start_peer(name: str) -> subprocess.Popen[str]:
    command = [PEER_PYTHON, "-m", "benchmarks.texture_peers", name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=ROOT, text=True, **pipes)


def ask(process: subprocess.Popen[str], path: Path) -> dict[str, object]:
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def candidates(n: int, repeats: int) -> Iterator[Row]:
    """Time the texture features a candidate on an image of the default grid, by family and what they share."""
    for family in TEXTURE_FAMILIES:
        family.compute(make_context(n))
    before = forget_peak()
    shared = []
    for _ in range(repeats):
        context = make_context(n)
        start = time.process_time()
        _ = context.channels
        shared.append((time.process_time() - start) / n)
    total = statistics.median(shared)
    yield Row(
        "patches and channels a candidate", 1e3 * total, None, None, "ms", "shared by the texture features"
    )
    for family in TEXTURE_FAMILIES:
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            family.compute(context)
            seconds.append((time.process_time() - start) / n)
        total += statistics.median(seconds)
        names = ", ".join(dict.fromkeys(feature.family for feature in family.features))
        what = f"{len(family.features)} texture features a candidate: {names}"
        yield Row(what, 1e3 * statistics.median(seconds), None, None, "ms", "")
    peak = (status("VmHWM") - before) / 1e6
    note = f"{n} candidates in one batch; goal 3 ms for all {len(CATALOGUE)}; {peak:.1f} MB more at the peak"
    yield Row(
        f"{len(CATALOGUE.kind('texture'))} texture features a candidate", 1e3 * total, None, None, "ms", note
    )


def make_context(n: int) -> Context:
    pixels = power_law_noise(1, 512)[0]
    pixels = ((pixels - pixels.min()) / np.ptp(pixels)).astype(np.float32)
    nothing = np.zeros(pixels.shape, bool)
    spacing = (GRID_MM, GRID_MM)
    radiograph = Radiograph(pixels, GRID_MM, ~nothing, SpacingSource.GIVEN, spacing, pixels.shape)
    blank = np.zeros(pixels.shape, np.float32)
    anatomy = Anatomy(nothing, nothing, nothing, nothing, blank, blank, nothing, {})
    rng = np.random.default_rng(1)
    row, column = rng.uniform(0, 511, (2, n))
    radius = rng.uniform(4, 20, n)
    y, x = np.mgrid[-32:33, -32:33]
    maps = ImageMaps(radiograph, anatomy)
    return Context(maps, column, row, radius, np.hypot(x, y)[None] <= radius[:, None, None])


if __name__ == "__main__":
    for found in run(quick=True):
        print(found)
