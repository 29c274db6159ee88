"""What is meant where nobody says otherwise: one place for functions, commands and study settings."""

from __future__ import annotations

from typing import Final, Literal

__all__ = [
    "CHANCE_SHIFTS",
    "CHOICE_FP_TARGETS",
    "FP_TARGETS",
    "LAMBDA_FP_TARGETS",
    "LEVEL",
    "N_BOOTSTRAP",
    "N_CHOICE_BOOTSTRAP",
    "REPEATS",
    "SINGLE_READER",
    "SIZE_BINS_MM",
    "SingleReader",
]

SingleReader = Literal["fp", "ignore", "hit"]

FP_TARGETS: Final = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""False positives per image at which the paper reports sensitivity (section 6.2, Table 1)."""

LAMBDA_FP_TARGETS: Final = (0.5, 1.0)
"""False positives per image at which the paper's rule for lambda has to hold (section 6.1, Figure 3)."""

CHOICE_FP_TARGETS: Final = (0.5, 1.0, 2.0)
"""False positives per image over which settings of a model are judged: the range in which detectors are used."""

N_CHOICE_BOOTSTRAP: Final = 200
"""Resamplings for a standard error, which is then known to 5 % (1 / sqrt(2 * 200))."""

N_BOOTSTRAP: Final = 1000
"""Resamplings of patients, and permutations: the ends of a 95 % interval then rest on 25 replicates each."""

LEVEL: Final = 0.95
"""Level of intervals, the custom of the field."""

SINGLE_READER: Final[SingleReader] = "ignore"
"""What a candidate on a GT of one reader counts as: nothing, as LUNA16 and MONAI do; the paper's own is "fp"."""

REPEATS: Final[Literal["suppress", "count"]] = "suppress"
"""Whether a detection on a stronger one is shown: nobody wants five circles on one nodule; the paper counts them."""

CHANCE_SHIFTS: Final = 20
"""Ways to give every image the candidates of another one. Chosen by eye."""

SIZE_BINS_MM: Final = (0.0, 10.0, 15.0, 20.0, 1000.0)
"""Edges of the strata by lesion size, the last open-ended in practice; chosen by eye."""
