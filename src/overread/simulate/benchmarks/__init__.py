"""Named cohorts with a fixed definition, and the measure of how hard they are."""

from overread.simulate.benchmarks.difficulty import Difficulty, curvature_spots, measure_difficulty
from overread.simulate.benchmarks.frozen import (
    BENCHMARKS,
    Agreement,
    FrozenCohort,
    compare_folder,
    compare_image,
    frozen_cohort,
)

__all__ = [
    "BENCHMARKS",
    "Agreement",
    "Difficulty",
    "FrozenCohort",
    "compare_folder",
    "compare_image",
    "curvature_spots",
    "frozen_cohort",
    "measure_difficulty",
]
