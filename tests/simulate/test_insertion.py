from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from tests.simulate.seam import seam_auc, seam_features

from overread.simulate import Nodule, NoduleDistribution
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._cases import (
    image_blur_mm,
    insert_nodules,
    mean_contrast,
    ring_noise,
    with_conspicuity,
)
from overread.simulate._frozen import nih_background
from overread.simulate._nodules import draw_nodules, nodule_mask, relative_radius, window_around

MM = 0.7
N = 256


def texture(seed: int, *, beta: float = 3.0) -> np.ndarray:
    """Power-law texture with noise, blurred like a detector, from 40 to 160 of 255."""
    random = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(N), np.fft.fftfreq(N), indexing="ij"))
    frequency[0, 0] = 1
    field = np.fft.ifft2(np.fft.fft2(random.normal(size=(N, N))) / frequency ** (beta / 2)).real
    field = (field - field.mean()) / field.std()
    return gaussian_filter(100 + 20 * field + random.normal(0, 3, (N, N)), 0.8)


LUNGS = np.zeros((N, N), dtype=bool)
LUNGS[40:-40, 40:-40] = True


def nodules(seed: int, n: int = 1, **law) -> list[Nodule]:
    random = np.random.default_rng(seed)
    return draw_nodules(n, LUNGS, MM, law=NoduleDistribution(**law), blur_mm=0.6, random=random)


@pytest.mark.parametrize("seed", range(8))
def test_contrast_to_noise_is_what_was_asked_for(seed):
    pixels = texture(seed)
    nodule = with_conspicuity(nodules(seed)[0], pixels, LUNGS, MM, white=255.0)
    added = np.rint((insert_nodules(pixels, [nodule], MM, white=255.0) - pixels) * 257) / 257
    inside = nodule_mask(nodule, pixels.shape, MM)
    assert added[inside].mean() / ring_noise(nodule, pixels, LUNGS, MM) == pytest.approx(
        nodule.conspicuity, rel=0.02
    )


def test_the_noise_of_the_ring_is_its_definition():
    pixels, nodule = texture(1), Nodule(90.0, 85.0, 14.0)
    rows, columns = np.nonzero(LUNGS)
    x, y = (columns + 0.5) * MM, (rows + 0.5) * MM
    distance = np.hypot(x - 90.0, y - 85.0) / 7.0
    ring = (distance >= 1.1) & (distance <= 2.5)
    x, y, values = x[ring] - 90.0, y[ring] - 85.0, pixels[rows, columns][ring]
    surface = np.polynomial.polynomial.polyvander2d(x, y, [2, 2])[:, [0, 1, 2, 3, 4, 6]]
    rest = np.linalg.lstsq(surface, values, rcond=None)[1][0]
    assert ring_noise(nodule, pixels, LUNGS, MM) == pytest.approx(np.sqrt(rest / (ring.sum() - 6)))


def test_a_trend_is_no_noise():
    y, x = np.mgrid[:N, :N] * MM
    nodule = Nodule(90.0, 90.0, 20.0)
    assert ring_noise(nodule, 3 * x - 0.02 * y**2 + 0.01 * x * y, LUNGS, MM) == pytest.approx(0.0, abs=1e-6)


def test_only_the_lung_counts_as_noise():
    pixels = texture(2)
    wall = pixels.copy()
    wall[:, :40] += 120
    nodule = Nodule(31.0, 90.0, 16.0)
    assert ring_noise(nodule, wall, LUNGS, MM) == pytest.approx(ring_noise(nodule, pixels, LUNGS, MM))


def test_dense_places_show_less():
    pixels = texture(3)
    bone = pixels.copy()
    bone[:, 128:] = 255 - (255 - bone[:, 128:]) / 4
    nodule = Nodule(128 * MM, 90.0, 20.0, contrast=0.3)
    added = insert_nodules(bone, [nodule], MM, white=255.0) - insert_nodules(bone, [], MM, white=255.0)
    assert added[:, 128:].sum() < 0.4 * added[:, :128].sum()


def test_nothing_outside_its_reach_changes():
    pixels = texture(4)
    nodule = replace(nodules(4, diameter_mm=(12, 12), with_spicules=1.0, spiculated=1.0)[0], contrast=0.4)
    changed = insert_nodules(pixels, [nodule], MM, white=255.0) != pixels
    rows, columns = np.nonzero(changed)
    distance = np.hypot((columns + 0.5) * MM - nodule.x_mm, (rows + 0.5) * MM - nodule.y_mm)
    assert distance.max() <= np.sqrt(2) * (nodule.reach_mm + MM)


def test_where_the_contrast_cannot_be_had_the_most_is_taken():
    nodule = with_conspicuity(replace(nodules(5)[0], conspicuity=500.0), texture(5), LUNGS, MM, white=255.0)
    assert nodule.contrast == pytest.approx(0.85)
    assert mean_contrast(nodule, texture(5), MM, white=255.0) > 0


@pytest.mark.parametrize("sigma_px", [0.8, 1.2, 1.8])
def test_blur_is_measured_from_edges(sigma_px):
    image = np.zeros((N, N))
    image[60:200, 60:200] = 100.0
    assert image_blur_mm(gaussian_filter(image, sigma_px), MM) == pytest.approx(sigma_px * MM, abs=0.1)


def test_blur_stays_in_its_range():
    assert image_blur_mm(np.zeros((N, N)), MM) == pytest.approx(1.5)
    assert image_blur_mm(np.random.default_rng(0).normal(size=(N, N)), MM) == pytest.approx(0.4)


def seam_problem(backgrounds, insert, n_each):
    """Features of places, half of them with a nodule."""
    features, labels, groups = [], [], []
    for group, (pixels, lungs) in enumerate(backgrounds):
        random = np.random.default_rng([7, group])
        blur = image_blur_mm(pixels, MM)
        drawn = draw_nodules(n_each, lungs, MM, law=NoduleDistribution(), blur_mm=blur, random=random)
        for i, nodule in enumerate(drawn):
            nodule = with_conspicuity(nodule, pixels, lungs, MM, white=255.0)
            inserted = (i + group) % 2 == 0
            image = insert(pixels, nodule) if inserted else pixels
            features.append(seam_features(np.rint(np.clip(image, 0, 255) * 257), nodule, MM))
            labels.append(inserted)
            groups.append(group)
    return features, labels, groups


def ours(pixels, nodule):
    return insert_nodules(pixels, [nodule], MM, white=255.0)


def pasted(pixels, nodule):
    """Nodule without the image's blur and noise, its edge a step: what must be found."""
    window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, pixels.shape, MM)
    inside = relative_radius(nodule, *window.mm(MM))[0] < 1
    result = pixels.copy()
    part = result[window.rows, window.columns]
    smooth = gaussian_filter(part, 2.0)
    part[inside] = smooth[inside] + nodule.conspicuity * pixels.std() / 4
    return result


def on_outline(pixels, nodule):
    """Pixels within half a pixel of the outline."""
    y, x = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    rho = relative_radius(nodule, (x + 0.5) * MM, (y + 0.5) * MM)[0]
    return np.abs(rho - 1) * nodule.radius_mm / MM < 0.5


def with_bright_ring(pixels, nodule):
    """Our nodule with a ring of two grey levels of 255."""
    return ours(pixels, nodule) + 2.0 * on_outline(pixels, nodule)


def with_smooth_ring(pixels, nodule):
    """Our nodule with a ring where the noise is smoothed away."""
    made = ours(pixels, nodule)
    return np.where(on_outline(pixels, nodule), gaussian_filter(made, 1.5), made)


@pytest.mark.parametrize("ringed", [pytest.param(with_bright_ring, marks=pytest.mark.slow), with_smooth_ring])
def test_the_same_classifier_tells_a_ring_on_the_outline(ringed):
    backgrounds = [(texture(100 + i), LUNGS) for i in range(30)]
    assert seam_auc(*seam_problem(backgrounds, ringed, 4))[1] > 0.6


def test_the_seam_of_an_inserted_nodule_cannot_be_told():
    backgrounds = [(texture(100 + i), LUNGS) for i in range(60)]
    area, low, high = seam_auc(*seam_problem(backgrounds, ours, 4))
    assert low <= 0.5 <= high, (area, low, high)


def test_the_same_classifier_tells_a_pasted_nodule():
    backgrounds = [(texture(100 + i), LUNGS) for i in range(30)]
    assert seam_auc(*seam_problem(backgrounds, pasted, 4))[0] > 0.95


@pytest.mark.slow
def test_the_seam_cannot_be_told_in_real_radiographs(shared_data):
    import pandas as pd

    table = pd.read_csv(shared_data / "nih" / "images.csv").head(60)
    backgrounds = []
    for row in table.itertuples():
        file = BackgroundFile(
            shared_data / "nih" / "images" / row.file, "", (row.mm_per_px_x, row.mm_per_px_y)
        )
        pixels = nih_background(file).pixels
        middle = np.zeros(pixels.shape, dtype=bool)
        rows, columns = pixels.shape
        middle[rows // 4 : rows * 6 // 10, columns // 6 : columns * 5 // 6] = True
        backgrounds.append((pixels, middle & (pixels < 170)))
    area, low, high = seam_auc(*seam_problem(backgrounds, ours, 4))
    assert low <= 0.5 <= high, (area, low, high)
