"""Phantoms shared by the tests of this folder."""

import pytest

from overread.simulate import Phantom, phantom

SEEDS = range(8)


@pytest.fixture(scope="session")
def phantoms() -> list[Phantom]:
    """A few patients on a coarse grid."""
    return [phantom(seed=seed, mm_per_px=1.4) for seed in SEEDS]
