from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError, UsageError
from overread.images import read_image, read_source
from overread.simulate import PictureDistribution, benchmark, cohort, picture_cohort
from overread.simulate._reader_fit import PAPER_LAW
from overread.simulate._recipes import ANATOMY_BITS, PhantomRecipe

GRID = 1.4


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return cohort(tmp_path_factory.mktemp("cohort") / "s", n_images=3, seed=1, grid_mm=GRID)


def test_dicom_passes_dciodvfy_and_reads_back(study):
    recipe = PhantomRecipe(3, PAPER_LAW, 1, GRID)
    if shutil.which("dciodvfy") is None:
        pytest.skip("dciodvfy is not installed (Debian: dicom3tools)")
    for number, path in enumerate(pd.read_csv(study / "images.csv")["path"]):
        checked = subprocess.run(["dciodvfy", str(study / path)], capture_output=True, text=True, check=False)
        assert "Error" not in checked.stdout + checked.stderr
        made = recipe.make(number)
        assert np.array_equal(read_source(study / path).stored, made.pixels)
        radiograph = read_image(study / path, grid_mm=GRID)
        assert radiograph.source_mm_per_px == (GRID, GRID)


def test_a_phantoms_anatomy_is_known(study):
    recipe = PhantomRecipe(3, PAPER_LAW, 1, GRID)
    bits = read_source(study / "known" / "anatomy" / "case00001.png").stored
    assert np.array_equal(bits, recipe.make(0).anatomy)
    shares = [(bits >> place & 1).mean() for place in range(len(ANATOMY_BITS))]
    assert min(shares[:2]) > 0.05
    assert all(share > 0 for share in shares)


def test_orders_without_meaning_are_refused(tmp_path):
    with pytest.raises(InvalidInputError):
        cohort(tmp_path / "s", n_images=0)
    with pytest.raises(UsageError, match="folder of backgrounds"):
        cohort(tmp_path / "s", n_images=1, images_csv=tmp_path / "t.csv")
    with pytest.raises(UsageError, match="either it, or n_readers"):
        cohort(tmp_path / "s", n_images=1, n_readers=3, law=PAPER_LAW)
    with pytest.raises(UsageError, match="either it, or n_readers"):
        picture_cohort(tmp_path / "s", n_images=1, n_readers=3, law=PictureDistribution())
    with pytest.raises(UsageError, match="nih-240x3"):
        benchmark("best-ever", tmp_path / "s")
    with pytest.raises(UsageError, match="spacings"):
        benchmark("nih-240x3", tmp_path / "s")
    assert not (tmp_path / "s").exists()
