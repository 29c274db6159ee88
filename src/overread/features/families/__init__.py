"""All families of features, one file each; `FAMILIES` is the registry, in the order of the columns."""

from __future__ import annotations

from overread.features._family import Family
from overread.features.families.blob import BLOB
from overread.features.families.convergence import CONVERGENCE
from overread.features.families.first_order import FIRST_ORDER_OF_CHANNELS
from overread.features.families.fractal import FRACTAL
from overread.features.families.gabor import GABOR
from overread.features.families.glcm import COOCCURRENCE
from overread.features.families.inside_minus_ring import INSIDE_MINUS_RING
from overread.features.families.laws import LAWS
from overread.features.families.lbp import PATTERNS
from overread.features.families.learned import LEARNED
from overread.features.families.lung import LUNG
from overread.features.families.matrices import MATRICES
from overread.features.families.power_law import POWER_LAW
from overread.features.families.profile import PROFILE
from overread.features.families.ribs import RIBS
from overread.features.families.shape import SHAPE
from overread.features.families.spiculation import SPICULATION
from overread.features.families.symmetry import SYMMETRY
from overread.features.families.template import TEMPLATE
from overread.features.families.vessel import VESSEL

FAMILIES: tuple[Family, ...] = (
    SHAPE,
    PROFILE,
    CONVERGENCE,
    BLOB,
    TEMPLATE,
    SPICULATION,
    RIBS,
    LUNG,
    SYMMETRY,
    VESSEL,
    COOCCURRENCE,
    FIRST_ORDER_OF_CHANNELS,
    MATRICES,
    PATTERNS,
    GABOR,
    LAWS,
    POWER_LAW,
    FRACTAL,
    INSIDE_MINUS_RING,
    LEARNED,
)
"""Every family, in the order of the catalogue."""
