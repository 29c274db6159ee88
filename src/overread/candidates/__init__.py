"""Radiograph and anatomy -> suspicious regions."""

from overread.candidates.generating import CANDIDATE_VERSION, generate

__all__ = ["CANDIDATE_VERSION", "generate"]
