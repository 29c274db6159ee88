"""Defaults that functions, study settings and the help of the commands share; nothing is imported here."""

from typing import Final

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
