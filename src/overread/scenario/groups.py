"""Points by model and condition, and the sensitivities of their seeds put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from overread.scenario.design import Condition
from overread.scenario.measure import Found
from overread.scenario.points import Point
from overread.scenario.statistics import Estimate, estimate_mean

__all__ = [
    "Groups",
    "choose_pool",
    "estimate_difference",
    "estimate_mean_difference",
    "get_found",
    "group_points",
    "stack_conditions",
    "stack_found",
]

Groups = dict[tuple[str, Condition], list[Point]]


def group_points(points: Iterable[Point]) -> Groups:
    """Group points that have figures by model and condition, seeds in order."""
    groups: Groups = {}
    for point in points:
        if point.measures is not None:
            groups.setdefault((point.model, point.condition), []).append(point)
    return groups


def choose_pool(images_per_reader: Iterable[int]) -> int:
    """Choose the pool that is told of where one must do: that which reads all (0), else that which reads most."""
    given = set(images_per_reader)
    return 0 if 0 in given else max(given, default=0)


def get_found(point: Point, judge: str) -> Found:
    """Return what a point found, judged by "known" or "golden"."""
    found = None if point.measures is None else getattr(point.measures, judge)
    assert isinstance(found, Found)
    return found


def stack_found(
    points: Sequence[Point], judge: str, column: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sensitivities of the seeds (S,) and of the draws (S, B); ``column`` None: the mean of the targets."""
    values = np.array([get_found(point, judge).sensitivity for point in points])
    draws = np.array([get_found(point, judge).draws for point in points])
    if column is None:
        return values.mean(axis=1), draws.mean(axis=2)
    return values[:, column], draws[:, :, column]


def stack_conditions(
    groups: Sequence[Sequence[Point]], judge: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return mean sensitivities of the seeds that all groups have (S, C), of the draws (S, B, C), and the patients."""
    by_seed = [{point.seed: point for point in points} for points in groups]
    seeds = sorted(set.intersection(*(set(own) for own in by_seed)))
    if not seeds:
        return np.zeros((0, len(groups))), np.zeros((0, 1, len(groups))), 0
    stacks = [stack_found([own[seed] for seed in seeds], judge, None) for own in by_seed]
    values, draws = (np.stack(parts, axis=-1) for parts in zip(*stacks, strict=True))
    return values, draws, get_found(groups[0][0], judge).n_patients


def estimate_difference(first: Sequence[Point], second: Sequence[Point], judge: str) -> Estimate:
    """Estimate the difference of mean sensitivities, first minus second, over the seeds that both have."""
    values, draws, n_patients = stack_conditions([first, second], judge)
    return estimate_mean(values[:, 0] - values[:, 1], draws[..., 0] - draws[..., 1], n_patients)


def estimate_mean_difference(
    first: Sequence[Sequence[Point]], second: Sequence[Sequence[Point]], judge: str
) -> Estimate:
    """Estimate first minus second in the mean of several training sets, paired by set, seed and patient."""
    values, draws, n_patients = stack_conditions([*first, *second], judge)
    signs = np.repeat([1.0, -1.0], len(first)) / len(first)
    return estimate_mean(values @ signs, draws @ signs, n_patients)
