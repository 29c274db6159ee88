"""Cohorts with known truth: phantoms, readers who disagree, and candidates with features but without pixels."""

from overread.simulate.candidates import CandidateCohort, candidate_cohort
from overread.simulate.phantom import Patient, Phantom, phantom

__all__ = ["CandidateCohort", "Patient", "Phantom", "candidate_cohort", "phantom"]
