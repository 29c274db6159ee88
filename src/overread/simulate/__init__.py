"""Cohorts with known truth: lesions, readers who disagree, and candidates with features, without pixels."""

from overread.simulate.candidates import CandidateCohort, candidate_cohort

__all__ = ["CandidateCohort", "candidate_cohort"]
