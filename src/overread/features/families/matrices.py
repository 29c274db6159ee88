"""Runs, zones, dependences and tone differences of a patch and its approximations.

Four families of the catalogue in one file: their columns alternate from channel to channel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._family import Family, Feature, to_columns
from overread.features.context._channels import APPROXIMATIONS, N_BINS, QUANTIZED
from overread.features.context._context import Context
from overread.features.context._patches import SIDE
from overread.features.ibsi._regions import MATRICES as FORMULAS
from overread.features.ibsi._regions import matrix_features
from overread.features.ibsi._runs_zones import n_log_n_table

CHANNELS = ("original", *APPROXIMATIONS)
LEVELS_OF_CHANNEL = np.array([QUANTIZED.index(channel) for channel in CHANNELS])
REFERENCES = {
    "glrlm": "Galloway 1975; Image Biomarker Standardisation Initiative 2020, section 3.7",
    "glszm": "Thibault et al. 2009; Image Biomarker Standardisation Initiative 2020, section 3.8",
    "ngldm": "Sun, Wee 1983; Image Biomarker Standardisation Initiative 2020, section 3.11",
    "ngtdm": "Amadasun, King 1989; Image Biomarker Standardisation Initiative 2020, section 3.10",
}


def list_features(channel: str) -> Iterator[Feature]:
    """Yield the features of all matrices of a channel."""
    for family, formulas in FORMULAS.items():
        for name, formula in formulas.items():
            yield Feature(
                name=f"{family}_{name}.{channel}",
                kind="texture",
                family=family,
                unit="1",
                formula=f"{formula}; {channel}, {N_BINS} levels",
                reference=REFERENCES[family],
            )


def _compute(context: Context) -> NDArray[np.float32]:
    """Features of all matrices, channel by channel."""
    out = np.zeros((len(context.row), len(CHANNELS), len(MATRICES.features) // len(CHANNELS)))
    _describe_levels(context.channels.levels, out)
    return to_columns(out)


@kernel
def _describe_levels(levels: NDArray[np.uint16], out: NDArray[np.float64]) -> None:
    """Fill the features of each candidate and channel: (candidate, channel, feature)."""
    area = SIDE * SIDE
    table = n_log_n_table(2 * area + 1)
    for k in range(len(levels)):
        for c in range(LEVELS_OF_CHANNEL.size):
            matrix_features(levels[k, LEVELS_OF_CHANNEL[c]], area, N_BINS, table, out[k, c])


MATRICES = Family(tuple(feature for channel in CHANNELS for feature in list_features(channel)), _compute)
