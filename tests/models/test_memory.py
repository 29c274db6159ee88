"""Peak memory of a path: at most 1.5 times X beyond X itself."""

import os
import subprocess
import sys

import pytest

# Another process, because the peak of this one is past. What libraries take is measured by a small fit first.
SCRIPT = """
import resource, sys
import numpy as np
from overread.models import SoftMILPath

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def problem(n, order):
    random = np.random.default_rng(0)
    X = np.empty((n, 500), dtype=np.float32, order=order)
    for first in range(0, n, 500):
        X[first:first + 500] = random.standard_normal((min(500, n - first), 500), dtype=np.float32)
    sizes = np.concatenate([np.ones(n // 2, dtype=int), np.full(n // 4, 2)])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    y = np.where(np.maximum.reduceat(X[:, 0], np.cumsum(sizes) - sizes) > 1.5, 0.75, 0.0)
    return X, y, (None if sys.argv[2] == "singletons" else ids)

order = sys.argv[1]
X, y, ids = problem(1200, order)
if ids is None:
    y = np.where(X[:, 0] > 1.5, 0.75, 0.0)
SoftMILPath(n_alphas=3).fit(X, y, bags=ids)
X, y, ids = problem(20_000, order)
if ids is None:
    y = np.where(X[:, 0] > 1.5, 0.75, 0.0)
X.sum()
before = peak()
SoftMILPath(n_alphas=15).fit(X, y, bags=ids)
print((peak() - before) / X.nbytes)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is in other units elsewhere")
@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ("C", "bags"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (("F", "bags"), ("C", "singletons"), ("F", "singletons"))
        ),
    ],
)
def test_peak_memory_of_a_path(order, kind):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, order, kind],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= 1.5
