"""Damaged files of every format: refused or read, never a crash, a hang or another exception."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from dicom_files import compressed, empty_ht_codestream, jpeg, lookup, pydicom_file, radiograph_dataset, save
from mutated_files import read_in_child
from PIL import Image
from pydicom import uid

FROM_PYDICOM = (
    "JPGExtended.dcm",
    "MR_small_jpeg_ls_lossless.dcm",
    "JPEGLSNearLossless_16.dcm",
    "image_dfl.dcm",
)


@pytest.fixture
def sources(twelve_bits, tmp_path) -> Path:
    """Folder with one small file of every format."""
    eight = (twelve_bits >> 4).astype(np.uint8)

    def path(name: str) -> Path:
        return tmp_path / f"source-{name}"

    for syntax in (
        uid.ExplicitVRLittleEndian,
        uid.ImplicitVRLittleEndian,
        uid.ExplicitVRBigEndian,
        uid.DeflatedExplicitVRLittleEndian,
    ):
        dataset = radiograph_dataset(
            twelve_bits, syntax=syntax, ModalityLUTSequence=lookup(0, np.arange(0, 65536, 256))
        )
        dataset.VOILUTSequence = lookup(0, np.arange(0, 65536, 256))
        dataset["VOILUTSequence"].is_undefined_length = True
        save(dataset, path(syntax.keyword))
    for syntax in (uid.RLELossless, uid.JPEG2000Lossless, uid.JPEGLSLossless):
        dataset = radiograph_dataset(twelve_bits, WindowCenter=2000, WindowWidth=1000)
        dataset.compress(syntax, generate_instance_uid=False)
        save(dataset, path(syntax.keyword))
    save(compressed(eight, jpeg(eight), uid.JPEGBaseline8Bit), path("jpeg"))
    save(compressed(eight, empty_ht_codestream(*eight.shape), uid.HTJ2KLossless), path("ht"))
    for name in FROM_PYDICOM:
        shutil.copy(pydicom_file(name), path(name))
    for name, pixels in (
        ("8.png", eight),
        ("16.png", twelve_bits),
        ("8.jpg", eight),
        ("16.tif", twelve_bits),
    ):
        Image.fromarray(pixels).save(tmp_path / name)
        (tmp_path / name).rename(path(name))
    Image.fromarray(eight).save(path("lzw.tif"), format="TIFF", compression="tiff_lzw")
    Image.fromarray(eight).convert("P").save(path("palette.png"), format="PNG")
    return tmp_path


def test_three_hundred_damaged_files(sources):
    outcome = read_in_child(sources, 300)
    assert outcome.wrong == []
    assert outcome.n_read + outcome.n_refused == 300
    assert outcome.n_read > 10
    assert outcome.n_refused > 100
    assert outcome.peak_mib < 1024


@pytest.mark.slow
def test_ten_thousand_damaged_files(sources):
    outcome = read_in_child(sources, 12_000, first=1_000)
    print(outcome)
    assert outcome.wrong == []
    assert outcome.n_read + outcome.n_refused == 12_000
    assert outcome.peak_mib < 1024
