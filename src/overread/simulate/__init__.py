"""Cohorts with known truth: phantoms or real backgrounds, nodules, and readers who disagree."""

from overread.simulate.benchmarks import FrozenCohort, frozen_cohort
from overread.simulate.candidates import CandidateCohort, candidate_cohort
from overread.simulate.cases import CaseLaw
from overread.simulate.cohort import benchmark, cohort
from overread.simulate.nodules import Nodule, NoduleLaw
from overread.simulate.phantom import Patient, Phantom, phantom
from overread.simulate.readers import Reader, ReaderModel, panel

__all__ = [
    "CandidateCohort",
    "CaseLaw",
    "FrozenCohort",
    "Nodule",
    "NoduleLaw",
    "Patient",
    "Phantom",
    "Reader",
    "ReaderModel",
    "benchmark",
    "candidate_cohort",
    "cohort",
    "frozen_cohort",
    "panel",
    "phantom",
]
