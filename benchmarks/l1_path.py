"""Ours beside adelie, skglm, glum, glmnet and scikit-learn: time to a relative gap of 1e-6 at every lambda."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.contest import TARGET_GAP, Course, Result, compete, course
from benchmarks.problem import REAL, SIZES, has_real_data
from benchmarks.rows import Row, compare

# Index on the path of 30 of the one lambda that is solved cold: near 0.1 lambda_max, the estimator's default.
ONE_LAMBDA = 17
# Of `overread.models.SoftMILPath`.
DEFAULT_TOL = 1e-6


@dataclass(frozen=True)
class Contest:
    """One comparison: the problem, who takes part, and the target ratio for each peer that has one.

    The whole field runs on the small problem in any case, because most of it takes minutes for each tolerance tried
    on the large one; there the fastest peers compete. On the real table ours keeps its default tolerance, which is
    more accurate than asked for, and the peers get theirs tuned.
    """

    title: str
    labels: str
    dtype: str
    peers: tuple[str, ...]
    targets: dict[str, float]
    wide: bool = False
    one: bool = False
    small: bool = False
    real: bool = False
    target_gap: float = TARGET_GAP


CONTESTS = (
    Contest("path", "hard", "float32", ("adelie",), {"adelie": 2.0}),
    Contest("path", "hard", "float64", ("adelie",), {"adelie": 4.0}),
    Contest("class-weighted path", "class", "float32", ("adelie",), {"adelie": 2.0}),
    Contest("wide path", "hard", "float32", ("adelie",), {"adelie": 2.0}, wide=True),
    Contest("one lambda cold", "hard", "float32", ("skglm",), {"skglm": 2.0}, one=True),
    Contest("soft-label path", "soft", "float32", ("adelie",), {}),
    Contest("real path", "hard", "float32", ("adelie",), {"adelie": 5.0}, real=True),
    # In float32 adelie does not come below 2.0e-6 here, whatever its tolerance.
    Contest("real path", "majority", "float32", ("adelie",), {"adelie": 5.0}, real=True, target_gap=2.1e-6),
    Contest("real path", "hard", "float64", ("adelie",), {"adelie": 5.0}, real=True),
    Contest("path", "hard", "float32", ("adelie", "skglm", "glum"), {}, small=True),
    Contest("path", "hard", "float64", ("adelie", "skglm", "glum", "glmnet"), {}, small=True),
    Contest(
        "one lambda cold",
        "hard",
        "float64",
        ("skglm", "adelie", "glum", "glmnet", "liblinear", "saga"),
        {},
        one=True,
        small=True,
    ),
)


def run(*, quick: bool) -> Iterator[Row]:
    yield from _multiple_instance("quick" if quick else "full")
    if has_real_data():
        yield from _multiple_instance(REAL, tol=DEFAULT_TOL)
    for contest in CONTESTS:
        if not contest.real or has_real_data():
            yield from _contest(contest, quick=quick)


def _contest(contest: Contest, *, quick: bool) -> list[Row]:
    on = _course(contest, quick=quick)
    solvers = ["ours", *contest.peers]
    path = not contest.one
    if path:
        solvers.append("floor")
    results = compete(on, solvers, repeats=3, tols={"ours": DEFAULT_TOL} if contest.real else None)
    what = f"{contest.title}, {_shape(on)}, {contest.labels}, {contest.dtype}"
    mine = results["ours"]
    rows = [_against(what, mine, results[peer], contest.targets.get(peer)) for peer in contest.peers]
    if path:
        rows += _own_figures(what, on, mine, results["floor"])
    return rows


def _course(contest: Contest, *, quick: bool) -> Course:
    size = "wide" if contest.wide else "full"
    if quick or contest.small:
        size = {"wide": "wide-quick", "full": "quick"}[size]
    if contest.real:
        size = REAL
    only = ONE_LAMBDA if contest.one else None
    return course(size, contest.dtype, contest.labels, only=only, target_gap=contest.target_gap)


def _shape(on: Course) -> str:
    size = SIZES[on.size]
    return f"{size.n:,} x {size.d:,}, {len(on.lambdas)} lambda{'s' if len(on.lambdas) > 1 else ''}"


def _against(what: str, mine: Result, peer: Result, target: float | None) -> Row:
    wanted = f"target {target:g}x; " if target else ""
    note = f"{wanted}{mine.describe()}; {peer.describe()}"
    figure = None if peer.failure else peer.median
    return compare(f"{what}, against {peer.solver}", mine.median, figure, "s", note)


def _own_figures(what: str, on: Course, mine: Result, floor: Result) -> list[Row]:
    passes = len(on.lambdas) + 1
    size = SIZES[on.size]
    bytes_of_x = size.n * size.d * (4 if on.dtype == "float32" else 8)
    return [
        compare(
            f"{what}, against the floor", mine.median, floor.median, "s", f"{passes} passes of X'r by gemv"
        ),
        Row(
            f"{what}, full passes over X",
            mine.details["full_passes"],
            None,
            None,
            "passes",
            f"target at most {len(on.lambdas) + 5}; active columns read apart: {mine.details['active_passes']:.1f}",
        ),
        Row(
            f"{what}, peak memory beyond X",
            mine.peak_bytes / bytes_of_x,
            None,
            None,
            "of X",
            f"target at most 1.5; X has {bytes_of_x / 1e6:.0f} MB",
        ),
    ]


def _multiple_instance(size: str, tol: float | None = None) -> list[Row]:
    """Time the multi-instance path beside our own soft-label path of singletons on the same rows."""
    soft = course(size, "float32", "soft")
    singles = compete(soft, ["ours"], repeats=3, tols=None if tol is None else {"ours": tol})["ours"]
    bags = compete(course(size, "float32", "mil"), ["ours"], repeats=3, tols={"ours": singles.tol})["ours"]
    note = f"target: ratio at least 0.5; same rows in bags, same lambdas and tolerance ({singles.tol:.0e})"
    return [
        compare(
            f"{'real ' if size == REAL else ''}MIL path, {_shape(soft)}, soft, float32, against singletons",
            bags.median,
            singles.median,
            "s",
            note,
        )
    ]
