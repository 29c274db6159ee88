"""Chest radiographs of patients who never were, with every structure known."""

from overread.simulate.phantom.distractors import DistractorKind
from overread.simulate.phantom.patient import Patient, Sex, draw_patient
from overread.simulate.phantom.render import Phantom, phantom

__all__ = ["DistractorKind", "Patient", "Phantom", "Sex", "draw_patient", "phantom"]
