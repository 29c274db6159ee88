"""Exit codes of the commands that are not those of an error (`overread.errors` has these)."""

from __future__ import annotations

__all__ = ["WITH_BAD_IMAGES"]

WITH_BAD_IMAGES = 3
"""The work is done, but some images could not be used."""
