from __future__ import annotations

import math
import os
import subprocess
import sys

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

WHOLE_CHAIN = """
import sys
import numpy as np
from overread import (
    MergeOptions, RVMMIL, SoftMILPath, bootstrap, candidate_cohort, extract_features, find_anatomy, find_candidates,
    from_array, merge_marks, phantom,
)
from overread.froc import Matching

pixels = phantom(seed=1, mm_per_px=1.0).pixels
radiograph = from_array(pixels, mm_per_px=1.0)
anatomy = find_anatomy(radiograph)
candidates = find_candidates(radiograph, anatomy=anatomy, limit=3)
results = [pixels, anatomy.ribs, candidates[["x_mm", "y_mm", "radius_mm", "response"]]]
results.append(extract_features(radiograph, candidates, anatomy).drop(columns="candidate_id"))
cohort = candidate_cohort(60, n_features=20, seed=1)
for method in ("star", "fusion"):
    truth = merge_marks(cohort.marks, cohort.readings, options=MergeOptions(method=method))
    results.append(truth.select_dtypes("number"))
random = np.random.default_rng(0)
X = random.normal(size=(400, 20))
ids, y = np.repeat(np.arange(100), 4), (random.random(100) < 0.4) * random.integers(1, 5, 100) / 4
path = SoftMILPath(n_alphas=10).fit(X, y, bags=ids)
results += [path.coef_path_, path.decision_function(X, ids), RVMMIL().fit(X, y > 0, bags=ids).decision_function(X, ids)]
events = {"fp_scores": random.random(300), "fp_images": random.integers(0, 50, 300)}
events |= {"gt_scores": random.random(40), "gt_images": random.integers(0, 50, 40)}
replicates = bootstrap(Matching.from_events(n_images=50, **events), n_bootstrap=200)
results += list(replicates.replicates.values())
sys.stdout.buffer.write(b"".join(np.ascontiguousarray(a).tobytes() for a in results))
"""


def run_chain(chain, cache, order="callers first"):
    """Bytes of all results of a process that has only the kernels in this cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", chain, order], env=environment, capture_output=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_process_that_compiles_gets_the_bits_of_those_that_read_the_cache(tmp_path):
    compiled = run_chain(SMALL_CHAIN, tmp_path)
    assert compiled == run_chain(SMALL_CHAIN, tmp_path)
    assert compiled == run_chain(SMALL_CHAIN, tmp_path, "callees first")


@pytest.mark.slow
def test_every_part_of_the_package_gives_the_bits_of_its_repetition_when_it_compiles(tmp_path):
    assert run_chain(WHOLE_CHAIN, tmp_path) == run_chain(WHOLE_CHAIN, tmp_path)
