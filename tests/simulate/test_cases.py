"""Bright spots: found where they are, apart from each other, in the lung only."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from tests.simulate.seam import seam_auc, seam_features

from overread.errors import InvalidInputError, TableError
from overread.images import write_png16
from overread.simulate import (
    CaseDistribution,
    Nodule,
    NoduleDistribution,
    ReaderModel,
    phantom,
    reader_panel,
)
from overread.simulate._backgrounds import (
    BackgroundFile,
    background_files,
    file_background,
    phantom_background,
)
from overread.simulate._cases import (
    APART_MM,
    SCALES_MM,
    Background,
    _keep_inside,
    draw_case,
    image_blur_mm,
    insert_nodules,
    mean_contrast,
    pixels_with_nodules,
    ring_noise,
    share_behind_bone,
    strongest_blobs,
    with_conspicuity,
)
from overread.simulate._frozen import nih_background
from overread.simulate._nodules import draw_nodules, nodule_mask, relative_radius, window_around
from overread.simulate._readers import DrawnMark

MM = 0.7


def test_the_share_behind_bone_is_that_of_the_outline(background):
    nodule = Nodule(100.1, 100.1, 20.0)
    assert share_behind_bone(background, nodule) == 0.0
    bones = np.zeros(background.lungs.shape, dtype=bool)
    bones[:, :143] = True
    half = replace(background, bones=bones)
    assert share_behind_bone(half, nodule) == pytest.approx(0.5, abs=0.02)
    assert share_behind_bone(replace(background, bones=~bones), nodule) == pytest.approx(
        1 - share_behind_bone(half, nodule)
    )


def test_readers_miss_what_lies_behind_bone(background):
    hidden = replace(background, bones=np.ones_like(background.lungs))
    law = CaseDistribution(readers=ReaderModel(reader_panel(8), bone_slope=2.0), distractors=0.0)
    marked = [
        sum(
            mark.object_id.startswith("N")
            for seed in range(30)
            for mark in draw_case(one, ["R1", "R8"], law, np.random.default_rng(seed), n_nodules=2).marks
        )
        for one in (background, hidden)
    ]
    assert marked[1] < marked[0] / 2


def test_marks_name_what_was_meant(background):
    names = set()
    for seed in range(30):
        case = draw_case(
            background, ["R1", "R5", "R8"], CaseDistribution(), np.random.default_rng(seed), n_nodules=2
        )
        names |= {mark.object_id[:1] for mark in case.marks}
    assert names == {"N", "D", ""}


def test_marks_have_their_centre_in_the_image():
    """What lies at the border is marked at it, though the hand errs outwards."""
    corner = DrawnMark("R1", "D1", 350.353, -0.2, 11.5, 8.9, 89.9)
    kept = _keep_inside(corner, (400, 500), 0.7)
    assert (kept.x_mm, kept.y_mm) == (350.0, 0.0)
    assert replace(kept, x_mm=corner.x_mm, y_mm=corner.y_mm) == corner
    inside = replace(corner, x_mm=349.9, y_mm=279.9)
    assert _keep_inside(inside, (400, 500), 0.7) == inside


def test_nodules_stay_in_the_lung_or_the_heart(background):
    heart = np.zeros(background.lungs.shape, dtype=bool)
    heart[150:200, :29] = True
    hidden = Background(background.pixels, MM, background.lungs, 0.0, 255.0, heart=heart)
    law = CaseDistribution(nodules=NoduleDistribution(behind_heart=0.5))
    inside = []
    for seed in range(20):
        for nodule in draw_case(hidden, ["R1"], law, np.random.default_rng(seed), n_nodules=2).nodules:
            place = int(nodule.y_mm / MM), int(nodule.x_mm / MM)
            assert background.lungs[place] or heart[place]
            inside.append(bool(heart[place]))
    assert 0.2 < np.mean(inside) < 0.8


def test_pixels_without_nodules_are_the_background(background):
    pixels = pixels_with_nodules(background, [])
    assert pixels.dtype == np.uint16
    assert np.abs(pixels / 257 - background.pixels).max() <= 0.5 / 257 + 1e-9


def test_the_strongest_blobs_are_the_spots_that_are_there(background):
    blobs = strongest_blobs(background.pixels, background.lungs, MM, n=3)
    assert sorted(blob.x_mm for blob in blobs) == pytest.approx([60, 110, 160], abs=1.5)
    assert [blob.y_mm for blob in blobs] == pytest.approx([100] * 3, abs=1.5)


@pytest.mark.parametrize("scale", SCALES_MM)
def test_a_disc_gets_the_diameter_that_fits_it(scale):
    """-s^2 LoG of a disc of radius r is largest at s = r / sqrt(2)."""
    y, x = np.mgrid[:200, :200] * 0.5
    disc = ((x - 50) ** 2 + (y - 50) ** 2 < 2 * scale**2) * 100.0
    (blob,) = strongest_blobs(disc, np.ones(disc.shape, dtype=bool), 0.5, n=1)
    assert blob.diameter_mm == pytest.approx(2 * np.sqrt(2) * scale)
    assert (blob.x_mm, blob.y_mm) == pytest.approx((50.25, 50.25), abs=0.51)


def test_spots_keep_their_distance_and_stay_in_the_lung(background):
    blobs = strongest_blobs(background.pixels, background.lungs, MM, n=15)
    assert len(blobs) == 15
    assert [blob.response for blob in blobs] == sorted((blob.response for blob in blobs), reverse=True)
    for i, one in enumerate(blobs):
        assert background.lungs[int(one.y_mm / MM), int(one.x_mm / MM)]
        assert all(np.hypot(one.x_mm - b.x_mm, one.y_mm - b.y_mm) >= APART_MM for b in blobs[:i])


def test_nothing_is_found_without_a_lung():
    assert strongest_blobs(np.ones((50, 50)), np.zeros((50, 50), dtype=bool), MM) == []


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("insert", "least"),
    [(pasted, 0.95), (with_bright_ring, 0.6), pytest.param(with_smooth_ring, 0.6, marks=pytest.mark.slow)],
)
def test_the_same_classifier_tells_a_pasted_nodule_and_a_ring_on_the_outline(insert, least):
    backgrounds = [(texture(100 + i), LUNGS) for i in range(30)]
    area, low, _ = seam_auc(*seam_problem(backgrounds, insert, 4))
    assert (area if insert is pasted else low) > least


def test_the_seam_of_an_inserted_nodule_cannot_be_told():
    backgrounds = [(texture(100 + i), LUNGS) for i in range(60)]
    area, low, high = seam_auc(*seam_problem(backgrounds, ours, 4))
    assert low <= 0.5 <= high, (area, low, high)


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


GRID = 1.4


def test_a_phantom_becomes_a_background():
    image = phantom(seed=2, mm_per_px=GRID)
    background = phantom_background(image)
    assert background.heart is not None
    assert not (background.heart & background.lungs).any()
    assert background.white == 1.0
    for blob in background.known_blobs:
        assert image.lungs[int(blob.y_mm / GRID), int(blob.x_mm / GRID)]


def test_folders_of_backgrounds_are_checked(tmp_path):
    with pytest.raises(InvalidInputError, match="no such folder"):
        background_files(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="no image file"):
        background_files(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("name\na.png\n")
    with pytest.raises(TableError, match="path"):
        background_files(tmp_path, table)
    table.write_text("path\na.png\n")
    with pytest.raises(TableError, match="row 2"):
        background_files(tmp_path, table)
    (tmp_path / "a.png").touch()
    table.write_text("path,mm_per_px_x,mm_per_px_y\na.png,1,one\n")
    with pytest.raises(TableError, match="numbers above 0"):
        background_files(tmp_path, table)
    table.write_text("path,patient_id,mm_per_px_x,mm_per_px_y\na.png,007,0.5,0.6\n")
    # The patient of a real radiograph is a code, not what the table calls him.
    assert background_files(tmp_path, table)[0].patient_id == "P00001"
    assert background_files(tmp_path, table)[0].mm_per_px == (0.5, 0.6)
    assert background_files(tmp_path)[0].mm_per_px is None


def test_a_file_becomes_a_background_on_the_grid(tmp_path):
    y, x = np.mgrid[:260, :300]
    lungs = np.minimum(((x - 80) / 45) ** 2, ((x - 220) / 45) ** 2) + ((y - 120) / 90) ** 2 < 1
    noise = np.random.default_rng(0).normal(0, 1500, lungs.shape)
    pixels = np.clip(np.where(lungs, 15000, 42000) + noise, 0, 65535).astype(np.uint16)
    path = write_png16(tmp_path / "b.png", pixels)
    made = file_background(BackgroundFile(path, "p", (1.2, 1.1)), grid_mm=GRID)
    with_heart = file_background(BackgroundFile(path, "p", (1.2, 1.1)), grid_mm=GRID, behind_heart=True)
    assert with_heart.heart is not None
    assert with_heart.heart[round(120 * 1.1 / GRID), round(150 * 1.2 / GRID)]
    assert not (with_heart.heart & with_heart.lungs).any()
    assert made.pixels.shape == (round(260 * 1.1 / GRID), round(300 * 1.2 / GRID))
    assert made.black == made.pixels.min()
    assert made.white == made.pixels.max()
    assert made.pixels[made.lungs].mean() < made.pixels[~made.lungs].mean()
    assert made.heart is None


def test_all_files_of_a_folder_are_patients_of_their_own(tmp_path):
    for name in ("b.png", "a.PNG", "notes.txt"):
        (tmp_path / name).touch()
    files = background_files(tmp_path)
    assert [(file.path.name, file.patient_id) for file in files] == [("a.PNG", "B00001"), ("b.png", "B00002")]
