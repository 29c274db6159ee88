"""Patients: seeded, within their ranges, different from each other."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from overread.simulate import Sex, draw_patient
from overread.simulate.chest._patient import stream


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


def test_streams_of_one_seed_do_not_share_numbers():
    draws = {
        (seed, name): tuple(stream(seed, name).random(3)) for seed in (0, 1) for name in ("ribs", "spine")
    }
    assert len(set(draws.values())) == 4
    assert draws[0, "ribs"] == tuple(stream(0, "ribs").random(3))
