"""Candidate -> 1150 named numbers."""

from overread.features.feature import Feature

__all__ = ["Feature"]
