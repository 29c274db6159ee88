"""Candidate -> 1150 named numbers."""

from overread.features.catalogue import CATALOGUE
from overread.features.extraction import FEATURE_VERSION, extract
from overread.features.feature import Feature

__all__ = ["CATALOGUE", "FEATURE_VERSION", "Feature", "extract"]
