"""All families of features, one file each with a `FAMILY`; `FAMILIES` is the registry."""

from __future__ import annotations

from importlib import import_module

from overread.features._family import Family

# In the order of the columns of the catalogue.
NAMES = (
    "shape", "profile", "convergence", "blob", "template", "spiculation", "ribs", "lung", "symmetry", "vessel",
    "glcm", "first_order", "matrices", "lbp", "gabor", "laws", "power_law", "fractal", "inside_minus_ring",
    "learned",
)  # fmt: skip
FAMILIES: tuple[Family, ...] = tuple(import_module(f"{__name__}.{name}").FAMILY for name in NAMES)
"""Every family, in the order of the catalogue."""
