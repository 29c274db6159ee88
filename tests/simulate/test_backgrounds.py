"""Backgrounds: files as the table says, patients as codes, phantoms with exact lungs."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError, TableError
from overread.images import write_png16
from overread.simulate import phantom
from overread.simulate._backgrounds import (
    BackgroundFile,
    background_files,
    file_background,
    phantom_background,
)

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
