"""Freeze phantom-1978: write its manifest and counts from a folder that was built.

    overread simulate OUT --benchmark phantom-1978 --workers 2
    python -m benchmarks.freeze_phantom OUT src/overread/simulate/benchmarks/phantom_1978

Run it once, when the phantom is final; from then on a change of the phantom shows as images that differ.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path

import cv2
import numba
import numpy as np
import pandas as pd
import scipy

from overread import __version__
from overread.cli.simulate import folder_counts
from overread.images import read_source
from overread.simulate.benchmarks.frozen import manifest_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    images = pd.read_csv(arguments.folder / "images.csv", dtype=str)
    backgrounds = pd.read_csv(arguments.folder / "known" / "backgrounds.csv", dtype=str)
    rows = [
        manifest_row(image_id, background, read_source(arguments.folder / path).stored)
        for image_id, path, background in zip(
            images["image_id"], images["path"], backgrounds["background"], strict=True
        )
    ]
    pd.DataFrame(rows).to_csv(arguments.out / "images.csv", index=False, lineterminator="\n")
    about = json.loads((arguments.out / "about.json").read_text(encoding="utf-8"))
    about |= {
        "tables": ["images"],
        "counts": folder_counts(arguments.folder),
        "versions": {
            "overread": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "numba": numba.__version__,
            "opencv": cv2.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
        },
    }
    (arguments.out / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(about["counts"]))


if __name__ == "__main__":
    main()
