"""Patients: seeded, within their ranges, different from each other."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.simulate import Sex, draw_patient
from overread.simulate.chest._patient import SOURCE_TO_DETECTOR_MM, make_view


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


def view_of(seed, **change):
    patient = replace(draw_patient(seed), **change)
    return make_view(patient, seed=seed, shape=(300, 260), mm_per_px=1.4)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), z=st.floats(-110, 110))
def test_planes_and_points_are_inverse(seed, z):
    view = view_of(seed)
    x, y = view.at(z)
    rows, columns = np.array([10, 150, 280]), np.array([5, 130, 250])
    where = view.project(x[rows, columns].astype(float), y[rows, columns].astype(float), np.full(3, float(z)))
    np.testing.assert_allclose(where.columns, columns, atol=0.01)
    np.testing.assert_allclose(where.rows, rows, atol=0.01)


def test_what_is_nearer_to_the_source_is_larger():
    view = view_of(1, size=1.0)
    front, back = (float(view.magnification(z)) for z in (-100.0, 100.0))
    assert front == pytest.approx(SOURCE_TO_DETECTOR_MM / (SOURCE_TO_DETECTOR_MM - 50))
    assert back == pytest.approx(SOURCE_TO_DETECTOR_MM / (SOURCE_TO_DETECTOR_MM - 250))


def test_rotation_moves_the_front_against_the_back():
    turned, straight = (view_of(2, rotation_deg=angle, roll_deg=0.0) for angle in (5.0, 0.0))

    def gap(view):
        where = view.project(np.zeros(2), np.full(2, 128.0), np.array([-90.0, 60.0]))
        return where.columns[1] - where.columns[0]

    assert abs(gap(straight)) < 3
    assert gap(turned) - gap(straight) > 5


def test_the_patients_left_is_on_the_images_right():
    where = view_of(3).project(np.array([-100.0, 100.0]), np.full(2, 120.0), np.zeros(2))
    assert where.columns[0] < where.columns[1]
