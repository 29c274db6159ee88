"""The 150 specific features, one module a family."""

from overread.features.feature import Family
from overread.features.specific.blob import BLOB
from overread.features.specific.convergence import CONVERGENCE
from overread.features.specific.lung import LUNG
from overread.features.specific.profile import PROFILE
from overread.features.specific.ribs import RIBS
from overread.features.specific.shape import SHAPE
from overread.features.specific.spiculation import SPICULATION
from overread.features.specific.symmetry import SYMMETRY
from overread.features.specific.template import TEMPLATE
from overread.features.specific.vessel import VESSEL

__all__ = ["SPECIFIC_FAMILIES"]

SPECIFIC_FAMILIES: tuple[Family, ...] = (
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
)
