"""The whole phantom: same seed same bytes, masks that fit together, handedness, variation."""

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from overread.errors import UsageError
from overread.simulate import draw_patient, phantom
from overread.simulate.chest._canvas import Canvas
from overread.simulate.chest._exposure import (
    COLLIMATED_SHARE,
    blur,
    collimate,
    expose,
    process,
    side_marker,
)
from overread.simulate.chest._patient import Projected, Projection, stream

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


SHAPE = (160, 200)
OPEN = np.ones(SHAPE, dtype=np.float32)
PLATE = (120, 100)
PATIENT = draw_patient(0)


def test_without_scatter_and_noise_the_signal_is_the_line_integral():
    thickness = np.full(SHAPE, 2.5, dtype=np.float32)
    clean = replace(PATIENT, scatter_ratio=0.0, quanta=1e12)
    np.testing.assert_allclose(expose(thickness, OPEN, clean, 0.7, stream(0, "q")), 2.5, atol=1e-3)


def test_scatter_lowers_the_contrast():
    step = np.full(SHAPE, 2.0, dtype=np.float32)
    step[:, 100:] = 3.0
    signals = [
        expose(step, OPEN, replace(PATIENT, scatter_ratio=ratio, quanta=1e12), 0.7, stream(0, "q"))
        for ratio in (0.0, 1.0)
    ]
    contrasts = [s[:, 150].mean() - s[:, 50].mean() for s in signals]
    assert contrasts[0] == pytest.approx(1.0, abs=0.01)
    assert contrasts[1] < 0.8


def test_noise_is_that_of_the_quanta():
    flat = np.full(SHAPE, 2.0, dtype=np.float32)
    noisy = expose(flat, OPEN, replace(PATIENT, scatter_ratio=0.0, quanta=4e5), 0.7, stream(1, "q"))
    assert noisy.std() == pytest.approx(1 / np.sqrt(4e5 * 0.49 * np.exp(-2)), rel=0.03)


def test_blur_keeps_the_mean_and_widens_a_point():
    point = np.zeros((201, 201), dtype=np.float32)
    point[100, 100] = 1
    for sigma in (2.0, 15.0):
        soft = blur(point, sigma)
        assert soft.sum() == pytest.approx(1, rel=0.02)
        y = np.arange(201) - 100.0
        assert np.sqrt((soft.sum(axis=1) * y**2).sum() / soft.sum()) == pytest.approx(sigma, rel=0.15)


def test_tone_curve_keeps_order_and_range():
    ramp = np.linspace(0, 5, 200, dtype=np.float32)[None, :].repeat(160, axis=0)
    grey = process(ramp, replace(PATIENT, compression=0.0, sharpening=0.0), 0.7, ramp > 1)
    assert grey.min() >= 0
    assert grey.max() <= 1
    assert (np.diff(grey[0]) >= 0).all()


def test_most_plates_are_open_and_none_is_closed_far():
    fields = [collimate(PLATE, 3.5, seed=seed) for seed in range(200)]
    closed = [not field.valid.all() for field in fields]
    assert COLLIMATED_SHARE - 0.12 < np.mean(closed) < COLLIMATED_SHARE + 0.1
    for field in fields:
        assert field.valid[8:-8, 8:-8].all()
        assert 0 <= field.open.min() <= field.open.max() <= 1


def test_the_marker_is_a_small_thing_at_the_upper_right():
    markers = [side_marker(PLATE, 3.5, seed=seed) for seed in range(60)]
    seen = [marker for marker in markers if marker.any()]
    assert 30 < len(seen) < 58
    for marker in seen:
        rows, columns = np.nonzero(marker)
        assert rows.max() < 60
        assert columns.min() > 70


STRAIGHT = Projection(
    shape=(200, 240),
    mm_per_px=0.5,
    size=1.0,
    centre_mm=(0.0, 0.0),
    yaw=0.0,
    roll=0.0,
    tilt=0.0,
    bends=np.zeros((1, 5)),
)


def on_plate(columns, rows):
    return Projected(columns, rows, np.ones(len(columns)))


def drawn(**options):
    canvas = Canvas(STRAIGHT)
    canvas.tube(on_plate(np.array([40.0, 200.0]), np.array([80.3, 110.7])), **options)
    return canvas, canvas.marks


def expected_volume(*, radius, depth, wall, shell, core):
    """Area under an elliptic profile is pi/2 r D a unit length; the round ends make half an ellipsoid each."""
    length = np.hypot(160.0, 30.4)
    full = length * np.pi / 2 * radius * depth + 2 / 3 * np.pi * radius**2 * depth
    inner = (1 - wall) ** 2 * length * np.pi / 2 * radius * depth + (
        1 - wall
    ) ** 3 * 2 / 3 * np.pi * radius**2 * depth
    return shell * (full - inner) + core * inner


@pytest.mark.parametrize(("wall", "shell", "core"), [(1.0, 1.0, 1.0), (0.2, 0.7, 0.1), (0.5, 0.3, 0.0)])
def test_volume_of_a_straight_tube(wall, shell, core):
    canvas, _ = drawn(radius_mm=np.full(2, 9.0), depth_mm=np.full(2, 6.0), wall=wall, shell=shell, core=core)
    volume = expected_volume(radius=9.0, depth=6.0, wall=wall, shell=shell, core=core)
    assert canvas.amount.sum() == pytest.approx(volume, rel=5e-3)


def test_mark_of_a_capsule_has_its_area_and_place():
    _, marks = drawn(radius_mm=np.full(2, 10.0), depth_mm=np.ones(2))
    area = 20 * np.hypot(160.0, 30.4) + np.pi * 100
    assert (marks > 0).sum() == pytest.approx(area, rel=0.005)
    rows, columns = np.nonzero(marks)
    assert rows.mean() == pytest.approx(95.5, abs=0.2)
    assert columns.mean() == pytest.approx(120, abs=0.2)


def test_parts_before_and_after_the_split_meet():
    canvas = Canvas(STRAIGHT)
    columns, rows = np.linspace(40, 200, 9), np.full(9, 100.0)
    canvas.tube(on_plate(columns, rows), radius_mm=np.full(9, 6.0), depth_mm=np.ones(9), split=4)
    marks = canvas.marks
    assert set(np.unique(marks)) == {0, 1, 2}
    assert np.nonzero(marks == 1)[1].max() <= 120
    assert np.nonzero(marks == 2)[1].min() >= 120


def test_tubes_add_up_and_leave_no_trace_of_each_other():
    together = Canvas(STRAIGHT)
    alone = [Canvas(STRAIGHT), Canvas(STRAIGHT)]
    lines = [np.array([[20.0, 20.0], [200.0, 150.0]]), np.array([[20.0, 150.0], [200.0, 20.0]])]
    for line, canvas in zip(lines, alone, strict=True):
        for target in (canvas, together):
            target.tube(
                on_plate(line[:, 0].copy(), line[:, 1].copy()), radius_mm=np.full(2, 7.0), depth_mm=np.ones(2)
            )
    np.testing.assert_allclose(together.amount, alone[0].amount + alone[1].amount, atol=1e-6)


def test_outside_the_image_nothing_happens():
    canvas = Canvas(STRAIGHT)
    canvas.tube(
        on_plate(np.array([-90.0, -40.0]), np.array([10.0, 900.0])),
        radius_mm=np.full(2, 5.0),
        depth_mm=np.ones(2),
    )
    assert not canvas.amount.any()
