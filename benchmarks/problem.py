"""Seeded data like candidates in radiographs: correlated, skewed columns, one row in a hundred positive.

Columns come in blocks of 25. Inside a block they follow an AR(1) chain; ten factors are common to all blocks.
A third of the columns is lognormal, a tenth heavy-tailed, the rest normal; all are then standardized.
Rows on a lesion come as bags of one to eight instances with a label k/8. The instances of a bag share half of
their variance and are shifted along 60 columns, six of them strongly. Every other row is a negative bag.
The wide problem has one positive row in five, or it would have only 20.
The problem "real" is not drawn: it has the candidates of real radiographs (see `real_table.py`).

X is stored column-major in float32; the float64 problem is the same numbers widened. All solvers here read
columns (coordinate descent and X'r), so column-major is the best layout for each of them.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK, CHAIN, N_FACTORS, N_INFORMATIVE, N_STRONG, READERS = 25, 0.8, 10, 60, 6, 8
LABELS = ("hard", "soft", "class", "majority")
# The table of benchmarks/real_table.py, from the radiographs beside the clone.
REAL = "real"
REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "nih"


@dataclass(frozen=True)
class Size:
    """Rows, columns, share of rows in positive bags, and where the path ends as a fraction of lambda_max."""

    n: int
    d: int
    positives: float = 0.01
    path_end: float = 0.02


SIZES = {
    "full": Size(60_000, 1150),
    "quick": Size(10_000, 1150),
    "wide": Size(2_000, 20_000, positives=0.2, path_end=0.1),
    "wide-quick": Size(1_000, 5_000, positives=0.2, path_end=0.1),
    REAL: Size(18_240, 1138, path_end=0.01),
}


@dataclass(frozen=True)
class Problem:
    """One data set: instances X (column-major), their soft labels, and the first row of every bag."""

    X: NDArray[np.floating]
    soft: Array
    offsets: NDArray[np.int64]

    def labels(self, kind: str) -> tuple[Array, Array]:
        """Labels and weights (summing to one) of the singleton problem: one of `LABELS`."""
        hard = (self.soft > 0).astype(np.float64)
        if kind == "class":
            counts = np.array([len(hard) - hard.sum(), hard.sum()])
            return hard, 0.5 / counts[hard.astype(int)]
        chosen = {"soft": self.soft, "hard": hard, "majority": (self.soft > 0.5).astype(np.float64)}
        return chosen[kind], np.full(len(hard), 1.0 / len(hard))

    def bag_labels(self) -> Array:
        """One soft label a bag."""
        return self.soft[self.offsets[:-1]]


def load(size: str, dtype: str = "float32") -> Problem:
    """Read the problem of this size, generating it first where it is not in the temporary folder."""
    folder = prepare(size)
    X = np.load(folder / "X.npy")
    if dtype == "float64":
        X = X.astype(np.float64, order="F")
    return Problem(X, np.load(folder / "soft.npy"), np.load(folder / "offsets.npy"))


def prepare(size: str) -> Path:
    """Folder of the problem, made when absent; its name carries a hash of this file."""
    folder = _folder(size)
    if not (folder / "X.npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = _real() if size == REAL else _drawn(SIZES[size])
        np.save(folder / "soft.npy", made.soft)
        np.save(folder / "offsets.npy", made.offsets)
        np.save(folder / "X.part.npy", made.X)
        (folder / "X.part.npy").rename(folder / "X.npy")
    return folder


def _folder(size: str) -> Path:
    version = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:10]
    root = Path(os.environ.get("OVERREAD_BENCH_CACHE", tempfile.gettempdir())) / f"overread-bench-{version}"
    return root / size


def has_real_data() -> bool:
    """Whether the radiographs of the real problem, or the problem made of them before, are there."""
    return REAL_DATA.is_dir() or (_folder(REAL) / "X.npy").exists()


def _real() -> Problem:
    from benchmarks.real_table import make_table

    table = make_table(REAL_DATA)
    return Problem(table["X"], table["soft"], table["offsets"])


def _drawn(size: Size) -> Problem:
    return generate(size.n, size.d, seed=7, positives=size.positives)


def generate(n: int, d: int, *, seed: int, positives: float = 0.01) -> Problem:
    """Draw a problem of ``n`` rows and ``d`` columns with about ``positives * n`` rows in positive bags."""
    rng = np.random.Generator(np.random.PCG64(seed))
    soft, offsets = _layout(n, positives, rng)
    X = _latent(n, d, rng)
    _place_lesions(X, soft, offsets, rng)
    _skew(X, rng)
    X -= X.mean(axis=0, dtype=np.float64).astype(np.float32)
    X /= X.std(axis=0, dtype=np.float64).astype(np.float32)
    return Problem(X, soft, offsets)


def _layout(n: int, positives: float, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    sizes = []
    while sum(sizes) < positives * n:
        sizes.append(1 + rng.binomial(7, 0.3))
    gaps = rng.multinomial(n - sum(sizes), np.full(len(sizes) + 1, 1 / (len(sizes) + 1)))
    lengths: list[NDArray[np.int64]] = []
    soft = np.zeros(n)
    row = 0
    for size, gap in zip(sizes, gaps, strict=False):
        row += gap
        soft[row : row + size] = (1 + rng.binomial(READERS - 1, 0.4)) / READERS
        row += size
        lengths += [np.ones(gap, dtype=np.int64), np.array([size])]
    lengths.append(np.ones(gaps[-1], dtype=np.int64))
    return soft, np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)


def _latent(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float32]:
    factors = rng.standard_normal((n, N_FACTORS), dtype=np.float32)
    loadings = 0.25 * rng.standard_normal((d, N_FACTORS), dtype=np.float32)
    X = np.empty((n, d), dtype=np.float32, order="F")
    innovation = np.float32(np.sqrt(1 - CHAIN**2))
    chain = np.zeros(n, dtype=np.float32)
    for j in range(d):
        noise = rng.standard_normal(n, dtype=np.float32)
        chain = noise if j % BLOCK == 0 else np.float32(CHAIN) * chain + innovation * noise
        X[:, j] = chain + factors @ loadings[j]
    return X


def _place_lesions(
    X: NDArray[np.float32], soft: Array, offsets: NDArray[np.int64], rng: np.random.Generator
) -> None:
    informative = np.sort(rng.choice(X.shape[1], N_INFORMATIVE, replace=False))
    shift = rng.choice([-0.25, 0.25], N_INFORMATIVE)
    shift[rng.choice(N_INFORMATIVE, N_STRONG, replace=False)] = 2.5
    for start, stop in itertools.pairwise(offsets):
        if soft[start] == 0:
            continue
        rows = X[start:stop]
        rows[1:] = np.sqrt(0.5, dtype=np.float32) * (rows[:1] + rows[1:])
        clear = np.where(np.arange(stop - start) < (stop - start + 1) // 2, 1.0, 0.3)
        rows[:, informative] += np.outer(clear * np.sqrt(soft[start]), shift).astype(np.float32)


def _skew(X: NDArray[np.float32], rng: np.random.Generator) -> None:
    kind = rng.random(X.shape[1])
    for j in range(X.shape[1]):
        if kind[j] < 1 / 3:
            np.exp(np.float32(0.7) * X[:, j], out=X[:, j])
        elif kind[j] < 1 / 3 + 0.1:
            X[:, j] *= np.abs(X[:, j])


def lambda_path(X: NDArray[np.floating], p: Array, omega: Array, *, end: float, count: int = 30) -> Array:
    """``count`` lambdas in equal ratios, from max |X'(omega (mean p - p))| down to ``end`` of it."""
    residual = omega * (float(omega @ p) - p)
    lambda_max = float(np.max(np.abs(X.T @ residual.astype(X.dtype))))
    return lambda_max * np.geomspace(1.0, end, count)
