"""Patients: seeded, within their ranges, different from each other."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from overread.simulate.phantom import Sex, draw_patient


def test_same_seed_same_patient():
    assert draw_patient(5) == draw_patient(5)
    assert draw_patient(5) != draw_patient(6)


def test_a_cohort_varies_in_everything():
    cohort = [draw_patient(seed) for seed in range(400)]
    for field in fields(cohort[0]):
        assert len({getattr(patient, field.name) for patient in cohort}) > 1, field.name
    women = [patient for patient in cohort if patient.sex is Sex.FEMALE]
    assert 0.35 < len(women) / 400 < 0.55
    assert all((patient.breast_mm > 0) == (patient.sex is Sex.FEMALE) for patient in cohort)
    assert np.ptp([patient.rotation_deg for patient in cohort]) > 6
    assert all(0 <= patient.inspiration <= 1 and 0.37 <= patient.heart_ratio <= 0.58 for patient in cohort)
    men = [patient.size for patient in cohort if patient.sex is Sex.MALE]
    assert np.mean(men) > np.mean([patient.size for patient in women])
