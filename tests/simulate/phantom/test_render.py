"""The whole phantom: same seed same bytes, masks that fit together, handedness, variation."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from overread.errors import UsageError
from overread.simulate import draw_patient, phantom

LUNGS = ("left_lung", "right_lung", "below_dome", "thorax", "heart", "mediastinum")
MASKS = (*LUNGS, "ribs", "posterior_ribs", "anterior_ribs", "clavicles", "valid")


def digest(made) -> str:
    parts = [made.quantize().tobytes(), *(getattr(made, name).tobytes() for name in MASKS)]
    parts.append(made.distractors.to_csv().encode())
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_same_seed_same_bytes_in_another_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_render import digest;"
        "from overread.simulate import phantom; print(digest(phantom(seed=7, mm_per_px=1.4)))"
    )
    here = __file__.rsplit("/", 1)[0]
    run = subprocess.run([sys.executable, "-c", code, here], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == digest(phantom(seed=7, mm_per_px=1.4))


def test_seeds_differ(phantoms):
    assert len({digest(made) for made in phantoms}) == len(phantoms)


def test_types_and_ranges(phantoms):
    for made in phantoms:
        assert made.pixels.dtype == np.float32
        assert np.isfinite(made.pixels).all()
        assert 0 <= made.pixels.min() < made.pixels.max() <= 1
        for name in MASKS:
            mask = getattr(made, name)
            assert mask.dtype == np.bool_
            assert mask.shape == made.shape


def test_quantized_spans_the_bits(phantoms):
    made = phantoms[0]
    for bits in (8, 12, 16):
        levels = made.quantize(bits)
        assert levels.max() <= 2**bits - 1
        assert np.abs(levels / (2**bits - 1) - made.pixels).max() <= 0.5001 / (2**bits - 1) + 1e-6
    with pytest.raises(UsageError, match="bits=17"):
        made.quantize(17)


def test_fields_do_not_overlap_and_fill_the_thorax_above_the_diaphragm(phantoms):
    for made in phantoms:
        parts = np.stack([made.left_lung, made.right_lung, made.mediastinum]).astype(int)
        assert parts.sum(axis=0).max() == 1
        assert not (made.lungs & made.below_dome).any()
        rest = made.thorax & ~parts.any(axis=0)
        assert (made.lungs <= made.thorax).all()
        assert (made.heart <= made.mediastinum).all()
        # What is left of the thorax lies below the diaphragm: nothing of it above a lung's pixel.
        columns = np.flatnonzero(made.lungs.any(axis=0) & rest.any(axis=0))
        lowest = made.shape[0] - 1 - np.argmax(made.lungs[::-1, columns], axis=0)
        highest_rest = np.argmax(rest[:, columns], axis=0)
        assert (highest_rest > lowest - 2).all()


def test_each_lung_is_one_piece_of_a_lungs_size(phantoms):
    for made in phantoms:
        for lung in (made.left_lung, made.right_lung):
            labels, count = ndimage.label(lung)
            assert np.bincount(labels.ravel())[1:].max() > 0.97 * lung.sum(), count
            assert 80 < lung.sum() * made.mm_per_px**2 / 100 < 420
        ratio = made.left_lung.sum() / made.right_lung.sum()
        assert 0.7 < ratio < 2.2


def test_heart_lies_to_the_images_right_of_the_spine_and_lungs_on_their_sides(phantoms):
    for made in phantoms:
        columns = np.arange(made.shape[1])
        left, right, heart = (
            np.average(columns, weights=mask.sum(axis=0))
            for mask in (made.left_lung, made.right_lung, made.heart)
        )
        assert left < heart < right
        sides = np.flatnonzero(made.lungs.any(axis=0))[[0, -1]]
        assert heart > sides.mean(), "the heart lies to the patient's left, which is the image's right"


def test_lungs_are_darker_than_what_surrounds_them(phantoms):
    for made in phantoms:
        ring = ndimage.binary_dilation(made.thorax, iterations=8) & ~made.lungs & made.valid
        assert made.pixels[made.lungs].mean() < 0.85 * made.pixels[ring].mean()


def test_size_by_request_and_by_patient():
    made = phantom(seed=3, mm_per_px=2.0, width_mm=300, height_mm=400)
    assert made.shape == (200, 150)
    assert made.mm_per_px == 2.0
    patient = draw_patient(3)
    by_patient = phantom(seed=3, mm_per_px=2.0)
    assert by_patient.shape == (round(patient.film_mm[1] / 2), round(patient.film_mm[0] / 2))
    assert by_patient.patient == patient


def test_anatomy_does_not_depend_on_the_grid():
    coarse = phantom(seed=5, mm_per_px=2.0, width_mm=350, height_mm=420)
    fine = phantom(seed=5, mm_per_px=1.0, width_mm=350, height_mm=420)
    for name in ("left_lung", "right_lung", "heart", "ribs", "clavicles"):
        areas = [getattr(made, name).sum() * made.mm_per_px**2 for made in (coarse, fine)]
        assert areas[0] == pytest.approx(areas[1], rel=0.02)


def test_a_given_patient_is_used():
    base = draw_patient(11)
    deep, shallow = (
        phantom(seed=11, mm_per_px=2.0, patient=replace(base, inspiration=level)) for level in (1.0, 0.1)
    )
    assert deep.lungs.sum() > 1.15 * shallow.lungs.sum()
    small, large = (
        phantom(seed=11, mm_per_px=2.0, patient=replace(base, heart_ratio=ratio)) for ratio in (0.4, 0.55)
    )
    assert large.heart.sum() > 1.2 * small.heart.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1, "mm_per_px": 0.0}, "mm_per_px=0.0"),
        ({"seed": 1, "mm_per_px": float("nan")}, "mm_per_px=nan"),
        ({"seed": 1, "width_mm": 10}, "width_mm=10"),
        ({"seed": 1, "height_mm": 9e9}, "height_mm"),
    ],
)
def test_impossible_requests_are_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        phantom(**arguments)


def test_extreme_patients_are_rendered():
    base = draw_patient(0)
    for change in (
        {"rotation_deg": 15.0},
        {"roll_deg": -8.0},
        {"inspiration": 0.0, "heart_ratio": 0.65},
        {"breast_mm": 90.0, "fat_mm": 70.0},
        {"size": 0.6},
        {"size": 1.4},
    ):
        made = phantom(seed=0, mm_per_px=2.0, patient=replace(base, **change))
        assert np.isfinite(made.pixels).all()
        assert made.left_lung.any()
        assert made.right_lung.any()
