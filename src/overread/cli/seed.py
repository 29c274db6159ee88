"""Seeds of the commands that draw random numbers."""

from __future__ import annotations

from overread.errors import UsageError

__all__ = ["checked_seed"]

LARGEST_SEED = 2**32 - 1


def checked_seed(seed: int) -> int:
    """Refuse a seed that not every random generator takes."""
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"--seed {seed}: need a whole number from 0 to {LARGEST_SEED}")
    return seed
