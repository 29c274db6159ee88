"""Backgrounds of the NIH benchmark: those of the manifest, on its grid."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import ImageError, InvalidInputError, UsageError
from overread.images import write_png16
from overread.simulate import frozen_cohort
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._frozen import nih_background, nih_files


@pytest.fixture(scope="module")
def cohort():
    return frozen_cohort("nih-240x3")


def nih(shared_data, cohort):
    return nih_files(cohort, shared_data / "nih" / "images", shared_data / "nih" / "images.csv")


def test_a_patient_keeps_all_images_of_a_background(cohort, shared_data):
    patients = {name: file.patient_id for name, file in nih(shared_data, cohort).items()}
    assert cohort.images.groupby("background")["background"].first().map(patients).notna().all()


def test_the_grid_keeps_places_in_mm(tmp_path):
    stored = np.zeros((100, 80), dtype=np.uint16)
    stored[50, 20] = 200
    from PIL import Image

    Image.fromarray(stored.astype(np.uint8)).save(tmp_path / "a.png")
    background = nih_background(BackgroundFile(tmp_path / "a.png", "p", (1.4, 0.7)))
    row, column = np.unravel_index(background.pixels.argmax(), background.pixels.shape)
    assert background.pixels.shape == (100, 160)
    assert (row + 0.5) * 0.7 == pytest.approx(50.5 * 0.7)
    assert (column + 0.5) * 0.7 == pytest.approx(20.5 * 1.4, abs=0.36)


def test_backgrounds_of_another_kind_are_refused(cohort, tmp_path):
    write_png16(tmp_path / "a.png", np.zeros((9, 9), dtype=np.uint16))
    with pytest.raises(ImageError, match="8 bits"):
        nih_background(BackgroundFile(tmp_path / "a.png", "p", (1.0, 1.0)))
    with pytest.raises(InvalidInputError, match="mm_per_px"):
        nih_background(BackgroundFile(tmp_path / "a.png", "p"))
    (tmp_path / "t.csv").write_text("file\na.png\n")
    with pytest.raises(InvalidInputError, match="240 backgrounds"):
        nih_files(cohort, tmp_path, tmp_path / "t.csv")
    with pytest.raises(UsageError, match="nih-240x3"):
        frozen_cohort("nih-241x3")
