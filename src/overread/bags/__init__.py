"""Candidates and truth become bags; bags and soft labels work in scikit-learn."""

from overread.bags.bags import Bags
from overread.bags.labels import SoftLabels, read_labels

__all__ = ["Bags", "SoftLabels", "read_labels"]
