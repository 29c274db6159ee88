"""The penalties by name, for estimators and saved models."""

from __future__ import annotations

from overread.errors import InvalidInputError
from overread.models.penalties.elastic_net import ElasticNet
from overread.models.penalties.l1 import L1
from overread.models.penalties.penalty import Penalty

__all__ = ["PENALTIES", "find_penalty"]

PENALTIES: dict[str, type[Penalty]] = {penalty.name: penalty for penalty in (L1, ElasticNet)}
"""Every penalty that a model can be asked for, by its name."""


def find_penalty(given: str | Penalty) -> Penalty:
    """Return a penalty that is given as such, or by the name of one that has defaults for all its fields."""
    if isinstance(given, Penalty):
        return given
    if not isinstance(given, str) or given not in PENALTIES:
        raise InvalidInputError(
            f"penalty={given!r} is unknown; choose one of {', '.join(PENALTIES)}, or pass a Penalty"
        )
    return PENALTIES[given]()
