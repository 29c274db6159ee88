"""Features of this tree beside those of another: ``python -m benchmarks.feature_turns OTHER [FOLDER]``.

OTHER is an unpacked older tree of the repository, FOLDER has chest images (--mm-per-px, --images). The two trees take
turns, each in a process of its own, on the same phantoms and images with 100 candidates each; maps of the image and
outlines are included, reading and anatomy are not. Tells also whether the tables are equal, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"

HERE = Path(__file__).parents[1]
LIMIT = 100
PHANTOMS = 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Features of two trees in turns: ms a candidate, bits, memory."
    )
    parser.add_argument("other", type=Path, help="unpacked older tree of the repository")
    parser.add_argument("folder", type=Path, nargs="?", help="folder of PNG files")
    parser.add_argument("--mm-per-px", type=float, default=0.7, help="of the folder's images")
    parser.add_argument("--images", type=int, default=6, help="how many of the folder, evenly spread")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--measure", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        scenes = Path(folder, "scenes")
        found = dict(list_scenes(arguments.folder, arguments.mm_per_px, arguments.images))
        scenes.write_bytes(pickle.dumps(found))
        trees = {"before": arguments.other.resolve(), "after": HERE}
        turns: dict[str, list[Any]] = {name: [] for name in trees}
        for turn in range(arguments.turns):
            for name, tree in trees.items():
                out = Path(folder, f"{name}{turn}")
                command = [sys.executable, "-m", "benchmarks.feature_turns", ".", "--measure", scenes, out]
                subprocess.run(
                    command, check=True, cwd=HERE, env={**os.environ, "PYTHONPATH": str(tree / "src")}
                )
                turns[name].append(pickle.loads(out.read_bytes()))
    summarize(turns)


def list_scenes(folder: Path | None, mm_per_px: float, n_images: int) -> Iterator[tuple[str, Any]]:
    """Yield phantoms and images with their anatomy and candidates."""
    from overread.domains import find_anatomy, find_candidates
    from overread.images import from_array, read_image
    from overread.simulate import phantom

    phantoms = (phantom(seed=seed) for seed in range(PHANTOMS))
    images = [
        ("phantom", str(n), from_array(found.pixels, found.mm_per_px)) for n, found in enumerate(phantoms)
    ]
    if folder:
        paths = sorted(folder.rglob("*.png"))
        chosen = paths[:: max(1, len(paths) // n_images)][:n_images]
        images += [("image", path.name, read_image(path, mm_per_px=mm_per_px)) for path in chosen]
    for kind, name, image in images:
        yield f"{kind} {name}", (image, find_candidates(image, limit=LIMIT), find_anatomy(image))


def measure(scenes: Path, out: Path) -> None:
    """Extract the features of all scenes with the tree on the path; write times, tables and memory."""
    import cv2

    from overread.features import extract_features

    cv2.setNumThreads(1)
    loaded = pickle.loads(scenes.read_bytes())
    times, tables = {}, {}
    image, candidates, anatomy = next(iter(loaded.values()))
    extract_features(image, candidates[:4], anatomy, n_threads=1)
    for name, (image, candidates, anatomy) in loaded.items():
        start = time.process_time()
        tables[name] = extract_features(image, candidates, anatomy, n_threads=1).drop(columns="candidate_id")
        times[name] = 1e3 * (time.process_time() - start) / len(candidates)
    tracemalloc.start()
    extract_features(image, candidates, anatomy, n_threads=1)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    out.write_bytes(pickle.dumps((times, tables, peak)))


def summarize(turns: dict[str, list[Any]]) -> None:
    """Print and write the medians over turns by kind of image, the differing numbers, the memory."""
    from benchmarks.rows import compare, write

    tables = {name: found[0][1] for name, found in turns.items()}
    cells = sum(table.size for table in tables["after"].values())
    differing = sum(
        int((table.to_numpy() != tables["before"][name].to_numpy()).sum())
        for name, table in tables["after"].items()
    )
    rows = []
    for kind in dict.fromkeys(name.split()[0] for name in tables["after"]):
        ms = {
            tree: median(found[0][name] for found in runs for name in found[0] if name.split()[0] == kind)
            for tree, runs in turns.items()
        }
        n = sum(name.split()[0] == kind for name in tables["after"])
        what = f"all {table_width(tables)} features, {n} {kind}s of {LIMIT} candidates"
        note = f"peer: the tree before, in turns, {len(turns['after'])} each; {differing:,} of {cells:,} numbers differ"
        rows.append(compare(what, ms["after"], ms["before"], "ms per candidate", note))
    peaks = {tree: median(found[2] for found in runs) for tree, runs in turns.items()}
    rows.append(
        compare(
            f"the same: most memory, {LIMIT} candidates", peaks["after"], peaks["before"], "MB", "tracemalloc"
        )
    )
    write("feature_turns", rows, quick=False)
    for row in rows:
        print(f"{row.what}: {row.ours:.3g} against {row.peer:.3g} {row.unit}; {row.note}")


def table_width(tables: dict[str, Any]) -> int:
    """Count the features."""
    return len(next(iter(tables["after"].values())).columns)


if __name__ == "__main__":
    main()
