"""1000 features of texture and intensity of the patch around each candidate (paper section 5)."""

from overread.features.texture_families.filters import FILTERS
from overread.features.texture_families.inside_ring import INSIDE_MINUS_RING
from overread.features.texture_families.matrices import MATRICES
from overread.features.texture_families.patterns import PATTERNS
from overread.features.texture_families.spectrum import SPECTRUM

__all__ = ["TEXTURE_FAMILIES"]

TEXTURE_FAMILIES = (MATRICES, PATTERNS, FILTERS, SPECTRUM, INSIDE_MINUS_RING)
