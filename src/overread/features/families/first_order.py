"""First-order statistics of a patch and its channels."""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._channels import CHANNELS, say_channel
from overread.features.context._context import Context
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES

# Ratios with a mean below are not bounded on a wavelet channel, whose mean is near 0; these are.
BOUNDED = {
    "coefficient_of_variation": "s / (|m| + s), 0 where s is",
    "quartile_coefficient_of_dispersion": "(P75 - P25) / (|P75| + |P25|), 0 where P75 = P25",
}
UNITS = dict.fromkeys(FIRST_ORDER, "grey") | {
    "variance": "grey^2",
    "energy": "grey^2",
    "skewness": "1",
    "kurtosis": "1",
    "coefficient_of_variation": "1",
    "quartile_coefficient_of_dispersion": "1",
}
WORDS = {
    "mean": "mean brightness",
    "variance": "variance of brightness",
    "skewness": "whether a few bright or a few dark pixels stand out",
    "kurtosis": "how far single pixels stand out",
    "median": "median brightness",
    "minimum": "darkest pixel",
    "p10": "10th percentile of brightness",
    "p90": "90th percentile of brightness",
    "maximum": "brightest pixel",
    "interquartile_range": "interquartile range of brightness",
    "range": "range of brightness",
    "mean_absolute_deviation": "mean deviation of brightness from the mean",
    "robust_mean_absolute_deviation": "mean deviation of brightness between the 10th and 90th percentile",
    "median_absolute_deviation": "median deviation of brightness from the median",
    "coefficient_of_variation": "standard deviation of brightness relative to its mean",
    "quartile_coefficient_of_dispersion": "interquartile range of brightness relative to its middle",
    "energy": "sum of squared brightness",
    "root_mean_square": "root mean square of brightness",
}
COLUMN = {name: column for column, name in enumerate(FIRST_ORDER)}
P25, P75 = (list(RANKED_SHARES).index(share) for share in (0.25, 0.75))


def bounded_formula(name: str) -> str:
    """Give the formula of a first-order statistic as it is used on channels."""
    return BOUNDED.get(name, FIRST_ORDER[name])


def _describe_statistic(channel: str, name: str) -> Feature:
    """Describe one statistic of a channel."""
    return Feature(
        name=f"first_order_{name}.{channel}",
        kind="texture",
        family="first_order",
        unit=UNITS[name],
        formula=f"{bounded_formula(name)}; x: {channel}",
        reference="Image Biomarker Standardisation Initiative 2020, section 3.3",
        words=f"{WORDS[name]}, {say_channel(channel)}",
    )


def bound_ratios(statistics: F64, percentiles: F64) -> F64:
    """Replace the two ratios that have no bound where a mean is near 0 by those of `BOUNDED`.

    The last axis of ``statistics`` is that of `FIRST_ORDER`, of ``percentiles`` that of `RANKED_SHARES`.
    """
    bounded = statistics.copy()
    deviation = np.sqrt(statistics[..., COLUMN["variance"]])
    quartiles = statistics[..., COLUMN["interquartile_range"]]
    for name, part, scale in (
        ("coefficient_of_variation", deviation, np.abs(statistics[..., COLUMN["mean"]]) + deviation),
        (
            "quartile_coefficient_of_dispersion",
            quartiles,
            np.abs(percentiles[..., P25]) + np.abs(percentiles[..., P75]),
        ),
    ):
        bounded[..., COLUMN[name]] = np.divide(part, scale, out=np.zeros_like(scale), where=scale > 0.0)
    return bounded


def _compute(context: Context) -> F32:
    """Statistics channel by channel."""
    bounded = bound_ratios(context.channels.statistics, context.channels.percentiles)
    return to_columns(bounded)


FAMILY = Family(
    tuple(_describe_statistic(channel, name) for channel in CHANNELS for name in FIRST_ORDER), _compute
)
