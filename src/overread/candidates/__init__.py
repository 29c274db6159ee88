"""Radiograph -> anatomy and suspicious regions."""

from overread.candidates.regions import Anatomy, Quality

__all__ = ["Anatomy", "Quality"]
