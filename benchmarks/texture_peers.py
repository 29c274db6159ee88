"""Texture features of nyxus or pyradiomics, timed: ``.venv-peers/bin/python -m benchmarks.texture_peers PEER``.

Reads one path of regions (``.npz`` with levels) a line from standard input; answers each with one JSON line: the
processor time of all regions. Both are given the levels, so no quantization is timed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.int64]


def prepare_nyxus() -> Callable[[Levels], None]:
    import nyxus

    from benchmarks.golden_texture import NYXUS_FAMILIES

    calculator = nyxus.Nyxus(NYXUS_FAMILIES, ibsi=True, n_feature_calc_threads=1)
    calculator.set_metaparam("glcm/offset=1")

    def run(levels: Levels) -> None:
        # Its defaults remember the names of the call before.
        names = [str(k) for k in range(len(levels))]
        whole = np.ones(levels.shape, np.uint32)
        calculator.featurize(levels.astype(np.uint32), whole, intensity_names=names, label_names=list(names))

    return run


def prepare_pyradiomics() -> Callable[[Levels], None]:
    import SimpleITK

    from benchmarks.golden_texture import PYRADIOMICS

    logging.getLogger("radiomics").setLevel(logging.ERROR)

    def run(levels: Levels) -> None:
        for region in levels:
            image = SimpleITK.GetImageFromArray(region[None].astype(np.float64))
            mask = SimpleITK.GetImageFromArray(np.ones((1, *region.shape), np.uint8))
            for of_class in PYRADIOMICS.values():
                calculator = of_class(image, mask, binWidth=1, force2D=True, force2Ddimension=0, label=1)
                calculator.enableAllFeatures()
                calculator.execute()

    return run


PEERS = {"nyxus": prepare_nyxus, "pyradiomics": prepare_pyradiomics}


def main() -> None:
    # Libraries print; the answers keep the real standard output to themselves.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    name = sys.argv[1]
    run = PEERS[name]()
    for line in sys.stdin:
        levels = np.load(line.strip())["levels"]
        run(levels[:1])
        start = time.process_time()
        run(levels)
        answer = {"seconds": time.process_time() - start, "version": version(name)}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
