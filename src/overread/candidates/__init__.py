"""Radiograph -> anatomy and suspicious regions."""

from overread.candidates.generating import generate
from overread.candidates.regions import Anatomy, Quality
from overread.candidates.structures import anatomy

__all__ = ["Anatomy", "Quality", "anatomy", "generate"]
