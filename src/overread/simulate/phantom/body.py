"""All structures of one patient, added up along the beam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.arms import make_arms
from overread.simulate.phantom.bands import by_bands
from overread.simulate.phantom.cage import make_cage
from overread.simulate.phantom.detector import power_law_noise
from overread.simulate.phantom.distractors import Distractors, draw_distractors
from overread.simulate.phantom.lungs import Lungs, make_diaphragm, make_lungs
from overread.simulate.phantom.mediastinum import Mediastinum, make_mediastinum
from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.skeleton import Skeleton, draw_skeleton
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.trunk import abdominal_gas, soft_tissue
from overread.simulate.phantom.vessels import draw_vessels, hilar_haze
from overread.simulate.phantom.view import View, make_view

__all__ = ["Body", "make_body"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

SOFT_ABSORPTION = 0.0185
LUNG_DENSITY = 0.27
VESSEL_CONTRAST = 2.6


@dataclass(frozen=True, eq=False)
class Body:
    """Line integrals of a patient and the structures they come from."""

    view: View
    integral: Floats
    outline: Masks
    lungs: Lungs
    mediastinum: Mediastinum
    skeleton: Skeleton
    distractors: Distractors


def make_body(patient: Patient, *, seed: int, shape: tuple[int, int], mm_per_px: float) -> Body:
    """Place every structure and add up what it absorbs."""
    view = make_view(patient, seed=seed, shape=shape, mm_per_px=mm_per_px)
    cage = make_cage(patient, seed=seed)
    diaphragm = make_diaphragm(patient, seed=seed)
    mediastinum = make_mediastinum(view, patient, cage, dome_y=diaphragm.dome_y_mm[1], seed=seed)
    lungs = make_lungs(view, cage, diaphragm, mediastinum)
    arms = make_arms(patient, seed=seed)
    tissue = soft_tissue(view, patient, cage, arms, seed=seed)
    skeleton = draw_skeleton(view, patient, cage, arms, seed=seed)
    distractors = draw_distractors(view, patient, cage, lungs, skeleton, seed=seed)
    vessels = draw_vessels(view, lungs, seed=seed)
    haze = hilar_haze(view, seed=seed)
    gas = abdominal_gas(view, diaphragm, seed=seed)
    texture = power_law_noise(shape, 3.7, stream(seed, "texture"), longest_px=60 / mm_per_px)
    air = gas + mediastinum.airway_mm
    integral = by_bands(
        _line_integral,
        tissue,
        lungs.lung_mm,
        air,
        vessels,
        haze,
        texture,
        skeleton.amount,
        distractors.amount,
    )
    return Body(view, integral, tissue > 20, lungs, mediastinum, skeleton, distractors)


def _line_integral(
    tissue: Floats,
    lung: Floats,
    other_air: Floats,
    vessels: Floats,
    haze: Floats,
    texture: Floats,
    bone: Floats,
    distractors: Floats,
) -> Floats:
    """Add up what is along each beam; all but the last two in mm."""
    in_lung = (VESSEL_CONTRAST * vessels + haze * (1 + 0.6 * texture)) * np.minimum(lung / 20, 1)
    air = (1 - LUNG_DENSITY) * lung + other_air - in_lung + 5.8 * texture * np.where(lung > 0, 1, 0.8)
    inside = tissue > 0
    return SOFT_ABSORPTION * np.maximum(tissue - air, 0) * inside + bone * inside + distractors
