"""Marks of many readers -> ground-truth objects with soft labels; reader statistics; what hits what."""

from overread.truth.hits import HIT, STRICT_HIT, HitRule, candidate_hits

__all__ = ["HIT", "STRICT_HIT", "HitRule", "candidate_hits"]
