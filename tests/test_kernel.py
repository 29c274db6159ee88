import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from overread._kernel import exact_kernel, kernel


@kernel
def total(x):
    result = 0.0
    for i in range(x.size):
        result += x[i]
    return result


@exact_kernel
def cancelled(a, b):
    return (a + b) - b


def test_a_kernel_keeps_nan_and_infinity_visible():
    assert math.isnan(total(np.array([1.0, np.nan])))
    assert total(np.array([1.0, np.inf])) == math.inf


def test_an_exact_kernel_does_not_reassociate():
    # Re-association would give 1.0.
    assert cancelled(1.0, 1e20) == 0.0


# Kernels whose callees are too large to be inlined, and are optimized once more in their caller's code.
SMALL_CHAIN = """
import sys
import numpy as np
from overread.features.context._channels import CUT, SIDE, approximate, smooth
from overread.features.families.gabor import GABOR_TAPS, _filter_rows, _gabor_magnitudes
from overread.marks import overlap_areas

random = np.random.default_rng(0)
patch = random.normal(size=(CUT, CUT)).astype(np.float32)
carrier = random.normal(size=(5, GABOR_TAPS)).astype(np.float32)
levels = [np.empty((side, side), np.float32) for side in (CUT - 4, CUT - 12, CUT - 28, SIDE)]
magnitudes = np.zeros((4, 2))
if sys.argv[1] == "callees first":
    smooth(patch, 1, levels[0].copy())
    _filter_rows(patch, carrier[0], np.zeros((CUT, CUT), np.float32))
approximate(patch, *levels)
_gabor_magnitudes(patch, carrier, magnitudes)
ellipses = random.uniform((0, 0, 4, 1, 0), (20, 20, 8, 4, 180), (4000, 5))
areas = overlap_areas(ellipses[:2000], ellipses[2000:])
sys.stdout.buffer.write(b"".join(np.ascontiguousarray(a).tobytes() for a in (*levels, magnitudes, areas)))
"""


def run_chain(cache, *arguments):
    """Bytes of all results of a process that has only the kernels in this cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.slow
def test_the_process_that_compiles_gets_the_bits_of_those_that_read_the_cache(tmp_path):
    compiled, again, other = (
        run_chain(tmp_path, "-c", SMALL_CHAIN, order)
        for order in ("callers first", "callers first", "callees first")
    )
    assert compiled == again == other


@pytest.mark.slow
def test_every_part_of_the_package_gives_the_bits_of_its_repetition_when_it_compiles(tmp_path):
    chain = Path(__file__).with_name("whole_chain.py")
    assert run_chain(tmp_path, chain) == run_chain(tmp_path, chain)
