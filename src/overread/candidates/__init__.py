"""Radiograph -> anatomy and suspicious regions."""

from overread.candidates.generating import CANDIDATE_VERSION, generate
from overread.candidates.regions import Anatomy, Quality
from overread.candidates.structures import anatomy

__all__ = ["CANDIDATE_VERSION", "Anatomy", "Quality", "anatomy", "generate"]
