"""Candidate -> named numbers.

``family`` says what a feature and a family are, ``families`` holds one file a family, ``context`` what several of them
look at, ``ibsi`` the standard texture features on any array. A kernel stands in the file of what it computes.
"""

from overread.features.catalogue import CATALOGUE, Catalogue
from overread.features.extraction import FEATURE_VERSION, extract
from overread.features.families import FAMILIES
from overread.features.family import Family, Feature

__all__ = ["CATALOGUE", "FAMILIES", "FEATURE_VERSION", "Catalogue", "Family", "Feature", "extract"]
