"""Radiograph -> lungs, ribs, clavicles, each with how far it can be trusted."""

from overread.anatomy.search import find_anatomy
from overread.anatomy.structures import Anatomy, Quality

__all__ = ["Anatomy", "Quality", "find_anatomy"]
