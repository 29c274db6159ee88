"""How many of the benchmark's readers are expected to mark a nodule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from benchmarks.freeze_nih import LAW
from overread.simulate import Nodule

__all__ = ["expected_share"]


def expected_share(nodule: Nodule) -> float:
    """Share of the law's readers who mark a nodule, over what is drawn of it and of them."""
    readers = LAW.readers
    silent = replace(readers, nodule_spread=0.0)
    level = silent.nodule_level(nodule.conspicuity, nodule.diameter_mm, np.random.default_rng(0))
    skill = np.array([reader.skill - reader.threshold for reader in readers.readers])
    return float(ndtr((level + skill) / np.sqrt(1.0 + readers.nodule_spread**2)).mean())
