"""Radiograph and anatomy -> suspicious regions."""

from overread.candidates.finder import (
    DEFAULT_FINDER,
    DEFAULT_LIMIT,
    FINDERS,
    CandidateFinder,
    find_candidates,
    load_finder,
)

__all__ = ["DEFAULT_FINDER", "DEFAULT_LIMIT", "FINDERS", "CandidateFinder", "find_candidates", "load_finder"]
