"""Haralick's 13 features of co-occurrence on a patch and its wavelet channels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, U16
from overread.features._family import Family, Feature, to_columns
from overread.features.context._channels import APPROXIMATIONS, DETAILS, N_BINS, QUANTIZED, say_channel
from overread.features.context._context import Context
from overread.features.context._patches import SIDE
from overread.features.ibsi._glcm import GLCM, pair_features
from overread.features.ibsi._runs_zones import average_directions, n_log_n_table

# In the order of Haralick, Shanmugam and Dinstein 1973, without the last, the maximal correlation
# coefficient; each in plain words.
HARALICK = {
    "angular_second_moment": "how uniform the brightness of neighbouring pixels is",
    "contrast": "how much neighbouring pixels differ",
    "correlation": "how similar neighbouring pixels are",
    "joint_variance": "how varied neighbouring pixels are",
    "inverse_difference_moment": "how smoothly brightness passes from pixel to pixel",
    "sum_average": "mean brightness of pairs of pixels",
    "sum_variance": "variance of the mean brightness of pairs of pixels",
    "sum_entropy": "disorder of the mean brightness of pairs of pixels",
    "joint_entropy": "disorder of neighbouring pixels",
    "difference_variance": "how unequal the differences of neighbouring pixels are",
    "difference_entropy": "disorder of the differences of neighbouring pixels",
    "information_correlation_1": "how well a pixel predicts its neighbour, relative to their disorder",
    "information_correlation_2": "how well a pixel predicts its neighbour",
}
N_GLCM = len(GLCM)
HARALICK_COLUMNS = np.array([list(GLCM).index(name) for name in HARALICK])
# Channel and distance of the pairs, in points. An approximation holds nothing finer than its level, so its distances
# double with it.
PAIRS = (
    *(("original", distance) for distance in (1, 2, 4, 8, 16, 24)),
    *((name, step << level) for level, name in enumerate(APPROXIMATIONS, start=1) for step in (1, 2, 4)),
    *((name, 1 << (index // 3)) for index, name in enumerate(DETAILS)),
)
CHANNEL_OF_PAIR = np.array([QUANTIZED.index(channel) for channel, _ in PAIRS])
DISTANCE_OF_PAIR = np.array([distance for _, distance in PAIRS])


def _statistics_of(channel: str) -> tuple[str, ...]:
    """Name the statistics over the 4 directions that a channel is described by."""
    return ("mean", "range") if channel == "original" else ("mean",)


def list_features() -> Iterator[Feature]:
    """Yield Haralick's 13 features of each pair and statistic."""
    for channel, distance in PAIRS:
        for statistic in _statistics_of(channel):
            for name, words in HARALICK.items():
                yield Feature(
                    name=f"glcm_{name}.{channel}.d{distance}.{statistic}",
                    kind="texture",
                    family="glcm",
                    unit="1",
                    formula=f"{statistic} over 4 directions of {GLCM[name]}; {channel}, {N_BINS} levels, "
                    f"pairs {distance} points apart",
                    reference="Haralick, Shanmugam, Dinstein 1973; Wei et al. 1997",
                    words=f"{words}, {say_channel(channel)}, {distance} {'pixel' if distance == 1 else 'pixels'} apart"
                    + (", difference between directions" if statistic == "range" else ""),
                )


def _compute(context: Context) -> F32:
    """Mean and range over the directions, pair by pair."""
    found = {name: np.zeros((len(context.row), len(PAIRS), len(HARALICK))) for name in ("mean", "range")}
    _describe_pairs(context.channels.levels, found["mean"], found["range"])
    columns = [
        found[statistic][:, pair]
        for pair, (channel, _) in enumerate(PAIRS)
        for statistic in _statistics_of(channel)
    ]
    return to_columns(np.concatenate(columns, axis=1))


@kernel
def _haralick(levels: U16, distance: int, table: F64, mean: F64, spread: F64) -> None:
    """Mean and range over 4 directions of the features of `HARALICK` at one distance."""
    found = np.zeros((4, N_GLCM))
    chosen = np.zeros((4, HARALICK_COLUMNS.size))
    pair_features(levels, N_BINS, distance, table, found)
    for f in range(HARALICK_COLUMNS.size):
        for direction in range(4):
            chosen[direction, f] = found[direction, HARALICK_COLUMNS[f]]
        spread[f] = chosen[:, f].max() - chosen[:, f].min()
    average_directions(chosen, mean)


@kernel
def _describe_pairs(levels: U16, mean: F64, spread: F64) -> None:
    """Fill mean and range of the pairs of each candidate: (candidate, pair, feature)."""
    table = n_log_n_table(2 * SIDE * SIDE + 1)
    for k in range(len(levels)):
        for p in range(CHANNEL_OF_PAIR.size):
            _haralick(levels[k, CHANNEL_OF_PAIR[p]], DISTANCE_OF_PAIR[p], table, mean[k, p], spread[k, p])


FAMILY = Family(tuple(list_features()), _compute)
