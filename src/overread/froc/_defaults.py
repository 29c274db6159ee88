"""Defaults that functions, study settings and the help of the commands share; nothing is imported here."""

from typing import Final, Literal

FP_TARGETS: Final = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""False positives per image at which the paper reports sensitivity (section 6.2, Table 1)."""

OPERATING_FP: Final = 0.5
"""False positives per image at which a detector works: "The first vital system requirement is finding less than 0.5
false positives (FP) per image" (section 6.1)."""

N_BOOTSTRAP: Final = 1000
"""Resamplings of patients, and permutations: the ends of a 95 % interval then rest on 25 replicates each."""

LEVEL: Final = 0.95
"""Level of intervals, the custom of the field."""

CHANCE_SHIFTS: Final = 20
"""Ways to give every image the candidates of another one. Set by judgement."""

SingleReader = Literal["fp", "ignore", "hit"]

ALPHA_FP_TARGETS: Final = (0.5, 1.0)
"""False positives per image at which the paper's rule for lambda has to hold (section 6.1, Figure 3)."""

CHOICE_FP_TARGETS: Final = (0.5, 1.0, 2.0)
"""False positives per image over which settings of a model are judged: the range in which detectors are used."""

N_CHOICE_BOOTSTRAP: Final = 200
"""Resamplings for a standard error, which is then known to 5 % (1 / sqrt(2 * 200))."""

SINGLE_READER: Final[SingleReader] = "ignore"
"""How a candidate on a single-reader object counts: not at all, as in LUNA16 and MONAI; the paper uses "fp"."""

REPEATS: Final[Literal["suppress", "count"]] = "suppress"
"""Whether a detection on a stronger one is shown: five circles on one nodule help no reader; the paper counts them."""

SIZE_BINS_MM: Final = (0.0, 10.0, 15.0, 20.0, 1000.0)
"""Edges of the strata by lesion size, the last open-ended in practice; set by judgement."""
