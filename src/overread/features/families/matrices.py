"""Runs, zones, dependences and tone differences of a patch and its approximations.

Four families of the catalogue in one file: their columns alternate from channel to channel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, U16
from overread.features._family import Family, Feature, to_columns
from overread.features.context._channels import APPROXIMATIONS, N_BINS, QUANTIZED, say_channel
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

# Runs (glrlm), zones (glszm) and alike neighbours (ngldm) share their statistics, in the order of `EMPHASIS`; the thing
# is put in for "{}".
THINGS = {
    "glrlm": "stretches of equal brightness",
    "glszm": "patches of equal brightness",
    "ngldm": "groups of similar neighbouring pixels",
}
WORDS = (
    "share of small {}", "share of large {}", "share of dark {}", "share of bright {}",
    "share of small, dark {}", "share of small, bright {}",
    "share of large, dark {}", "share of large, bright {}",
    "how unequal in brightness {} are",
    "how unequal in brightness {} are, regardless of their number",
    "how unequal in size {} are",
    "how unequal in size {} are, regardless of their number",
    "number of {}",
    "variance of the brightness of {}", "variance of the size of {}",
    "disorder of {}", "how uniform {} are",
)  # fmt: skip
CONTRASTS = (
    "how coarse the texture is",
    "how much brightness changes between neighbouring areas",
    "how rapidly brightness changes between neighbouring areas",
    "how many different small structures there are",
    "how distinct small structures are",
)


def list_features(channel: str) -> Iterator[Feature]:
    """Yield the features of all matrices of a channel."""
    for family, formulas in FORMULAS.items():
        said = [words.format(THINGS[family]) for words in WORDS] if family in THINGS else CONTRASTS
        for (name, formula), words in zip(formulas.items(), said, strict=False):
            yield Feature(
                name=f"{family}_{name}.{channel}",
                kind="texture",
                family=family,
                unit="1",
                formula=f"{formula}; {channel}, {N_BINS} levels",
                reference=REFERENCES[family],
                words=f"{words}, {say_channel(channel)}",
            )


def _compute(context: Context) -> F32:
    """Features of all matrices, channel by channel."""
    out = np.zeros((len(context.row), len(CHANNELS), len(FAMILY.features) // len(CHANNELS)))
    _describe_levels(context.channels.levels, out)
    return to_columns(out)


@kernel
def _describe_levels(levels: U16, out: F64) -> None:
    """Fill the features of each candidate and channel: (candidate, channel, feature)."""
    area = SIDE * SIDE
    table = n_log_n_table(2 * area + 1)
    for k in range(len(levels)):
        for c in range(LEVELS_OF_CHANNEL.size):
            matrix_features(levels[k, LEVELS_OF_CHANNEL[c]], area, N_BINS, table, out[k, c])


FAMILY = Family(tuple(feature for channel in CHANNELS for feature in list_features(channel)), _compute)
