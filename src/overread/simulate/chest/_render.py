"""The whole phantom: all structures of one patient added up along the beam, then exposed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import UsageError
from overread.simulate.chest._body import Skeleton, abdominal_gas, draw_skeleton, make_arms, soft_tissue
from overread.simulate.chest._canvas import SOFT_ABSORPTION
from overread.simulate.chest._distractors import draw_distractors
from overread.simulate.chest._exposure import collimate, expose, power_law_noise, process, side_marker
from overread.simulate.chest._patient import Patient, Projection, by_bands, draw_patient, make_view, stream
from overread.simulate.chest._thorax import (
    Lungs,
    draw_vessels,
    hilar_haze,
    make_cage,
    make_diaphragm,
    make_lungs,
    make_mediastinum,
)

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

# Relative to soft tissue; inflated lung weighs about 0.26 g / cm3.
LUNG_DENSITY = 0.27
# Of drawn vessels, relative to soft tissue; set by judgement.
VESSEL_CONTRAST = 2.6
# Deviation of the fine texture in mm of tissue, and the exponent of its power spectrum: set so that power and slope in
# the lungs come near those of NIH radiographs (table in docs/explanation/phantom.md).
TEXTURE_MM = 5.8
TEXTURE_EXPONENT = 3.7
LONGEST_TEXTURE_MM = 60.0
# Line integral of the letter: nearly all radiation is stopped.
LEAD_MARKER = np.float32(4.0)
MM_PER_PX_LIMITS = (0.1, 3.0)
SIDE_LIMITS_MM = (50.0, 600.0)


@dataclass(frozen=True, eq=False)
class Body:
    """Line integrals of a patient and the structures they come from."""

    view: Projection
    integral: Floats
    outline: Masks
    lungs: Lungs
    skeleton: Skeleton
    distractors: pd.DataFrame


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
    drawn, distractors = draw_distractors(view, patient, cage, lungs, skeleton, seed=seed)
    texture = power_law_noise(
        shape, TEXTURE_EXPONENT, stream(seed, "texture"), longest_px=LONGEST_TEXTURE_MM / mm_per_px
    )
    integral = by_bands(
        _line_integral,
        tissue,
        lungs.lung_mm,
        abdominal_gas(view, diaphragm, seed=seed) + mediastinum.airway_mm,
        draw_vessels(view, lungs, seed=seed),
        hilar_haze(view, seed=seed),
        texture,
        skeleton.amount,
        drawn.amount,
    )
    return Body(view, integral, tissue > 20, lungs, skeleton, distractors)


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
    air = (1 - LUNG_DENSITY) * lung + other_air - in_lung + TEXTURE_MM * texture * np.where(lung > 0, 1, 0.8)
    inside = tissue > 0
    return SOFT_ABSORPTION * np.maximum(tissue - air, 0) * inside + bone * inside + distractors


@short_repr("pixels", "mm_per_px", "seed", "distractors")
@dataclass(frozen=True, eq=False)
class Phantom:
    """A chest radiograph with its anatomy.

    The centre of pixel (row, column) lies at x = (column + 1/2) mm_per_px, y = (row + 1/2) mm_per_px from the
    top-left corner, as in `overread.images.Radiograph`. All masks have the shape of the pixels.
    """

    pixels: Floats  # Rows x columns, float32 in [0, 1]; what absorbs more is brighter
    mm_per_px: float  # Side of a pixel
    # Lung fields on the left and right side *of the image*: lung behind the beam, covered neither by heart and
    # mediastinum nor by the diaphragm.
    left_lung: Masks
    right_lung: Masks
    below_dome: Masks  # Lung covered by the diaphragm
    thorax: Masks  # Inside of the rib cage
    # Where ribs absorb; the first is the union of the others.
    ribs: Masks
    posterior_ribs: Masks
    anterior_ribs: Masks
    clavicles: Masks  # Where the clavicles absorb
    # Above the diaphragm: the heart, with lung behind it; heart and great vessels together.
    heart: Masks
    mediastinum: Masks
    valid: Masks  # False on collimated borders
    distractors: pd.DataFrame  # One row each: kind (see `DistractorKind`), x_mm, y_mm, diameter_mm
    patient: Patient  # The numbers it was made from
    seed: int  # The seed it was made from

    @property
    def lungs(self) -> Masks:
        """Both lung fields."""
        return self.left_lung | self.right_lung

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.pixels.shape
        return rows, columns

    def quantize(self, bits: int = 12) -> NDArray[np.uint16]:
        """Pixels as whole numbers from 0 to 2^bits - 1; what to hash and to store."""
        if not 8 <= bits <= 16:
            raise UsageError(f"bits={bits}: a radiograph has 8 to 16 bits")
        return np.rint(self.pixels * np.float32(2**bits - 1)).astype(np.uint16)


def phantom(
    *,
    seed: int,
    mm_per_px: float = 0.7,
    width_mm: float | None = None,
    height_mm: float | None = None,
    patient: Patient | None = None,
) -> Phantom:
    """Make the chest radiograph of a simulated patient.

    The thickness of every structure along each beam is added up as a line integral, L = sum of mu_i t_i; the
    intensity behind the body is exp(-L) plus scatter, with quantum noise; the picture is the tone-mapped
    logarithm of it.

    Parameters
    ----------
    seed : int
        Same seed and arguments, same bytes.
    mm_per_px : float, default=0.7
        Side of a pixel.
    width_mm, height_mm : float, optional
        Size of the field; by the patient if not given.
    patient : Patient, optional
        A patient to use instead of the one drawn from the seed; what is not among its numbers is still drawn.

    Raises
    ------
    UsageError
        If the seed is negative, or the size or the spacing is out of range.
    """
    _check(seed, mm_per_px, width_mm, height_mm)
    who = draw_patient(seed) if patient is None else patient
    width = who.film_mm[0] if width_mm is None else width_mm
    height = who.film_mm[1] if height_mm is None else height_mm
    shape = (round(height / mm_per_px), round(width / mm_per_px))
    body = make_body(who, seed=seed, shape=shape, mm_per_px=mm_per_px)
    field = collimate(shape, mm_per_px, seed=seed)
    lead = LEAD_MARKER * side_marker(shape, mm_per_px, seed=seed)
    signal = expose(body.integral + lead, field.open, who, mm_per_px, stream(seed, "quanta"))
    pixels = process(signal, who, mm_per_px, body.outline & field.valid)
    if field.blackened:
        pixels *= field.valid
    lungs, skeleton = body.lungs, body.skeleton
    return Phantom(
        pixels=pixels,
        mm_per_px=mm_per_px,
        left_lung=lungs.left,
        right_lung=lungs.right,
        below_dome=lungs.below_dome,
        thorax=lungs.inside_cage,
        ribs=skeleton.ribs,
        posterior_ribs=skeleton.posterior_ribs,
        anterior_ribs=skeleton.anterior_ribs,
        clavicles=skeleton.clavicles,
        heart=lungs.heart,
        mediastinum=lungs.mediastinum,
        valid=field.valid,
        distractors=body.distractors,
        patient=who,
        seed=seed,
    )


def _check(seed: int, mm_per_px: float, width_mm: float | None, height_mm: float | None) -> None:
    if seed < 0:
        raise UsageError(f"seed={seed}: a seed is a whole number from 0")
    low, high = MM_PER_PX_LIMITS
    if not low <= mm_per_px <= high:
        raise UsageError(f"mm_per_px={mm_per_px}: a phantom has {low} to {high} mm per pixel")
    low, high = SIDE_LIMITS_MM
    for name, side in (("width_mm", width_mm), ("height_mm", height_mm)):
        if side is not None and not low <= side <= high:
            raise UsageError(f"{name}={side}: a phantom is {low:g} to {high:g} mm wide and high")
