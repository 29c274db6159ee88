"""Cohorts with known truth: phantoms or real backgrounds, nodules, and readers who disagree."""

from overread.simulate.benchmarks import FrozenCohort, frozen_cohort
from overread.simulate.candidates import CandidateCohort, candidate_cohort
from overread.simulate.cases import CaseLaw
from overread.simulate.cohort import benchmark, cohort, field_cohort
from overread.simulate.field import FieldLaw, FieldPhantom, field_phantom
from overread.simulate.nodules import Nodule, NoduleLaw
from overread.simulate.phantom import Patient, Phantom, phantom
from overread.simulate.readers import Reader, ReaderModel, panel
from overread.simulate.varied import NoduleKind, VariedLaw

__all__ = [
    "CandidateCohort",
    "CaseLaw",
    "FieldLaw",
    "FieldPhantom",
    "FrozenCohort",
    "Nodule",
    "NoduleKind",
    "NoduleLaw",
    "Patient",
    "Phantom",
    "Reader",
    "ReaderModel",
    "VariedLaw",
    "benchmark",
    "candidate_cohort",
    "cohort",
    "field_cohort",
    "field_phantom",
    "frozen_cohort",
    "panel",
    "phantom",
]
