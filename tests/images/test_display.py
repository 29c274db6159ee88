"""Rendering for the eye: VOI windows and tables as pydicom applies them, apart from the measured values."""

import numpy as np
import pytest
from dicom_files import lookup, pydicom_data, radiograph_dataset, save
from pydicom import dcmread
from pydicom.pixels import apply_voi_lut

from overread.images import display_image, read_image


@pytest.mark.parametrize("function", [None, "LINEAR", "LINEAR_EXACT", "SIGMOID"])
@pytest.mark.parametrize("photometric", ["MONOCHROME1", "MONOCHROME2"])
def test_windows_as_pydicom_applies_them(twelve_bits, tmp_path, function, photometric):
    dataset = radiograph_dataset(
        twelve_bits,
        BitsStored=12,
        HighBit=11,
        WindowCenter=2100,
        WindowWidth=900,
        VOILUTFunction=function,
        PhotometricInterpretation=photometric,
    )
    expected = apply_voi_lut(twelve_bits, dataset) / 4095
    if photometric == "MONOCHROME1":
        expected = 1 - expected
    shown = display_image(save(dataset, tmp_path / "a.dcm"))
    assert shown.dtype == np.uint8
    np.testing.assert_allclose(shown, 255 * expected, atol=0.6)


def test_the_window_is_in_values_after_the_rescale(twelve_bits, tmp_path):
    plain = radiograph_dataset(twelve_bits, WindowCenter=2100, WindowWidth=900, VOILUTFunction="LINEAR_EXACT")
    rescaled = radiograph_dataset(
        twelve_bits,
        WindowCenter=3200,
        WindowWidth=1800,
        VOILUTFunction="LINEAR_EXACT",
        RescaleSlope=2,
        RescaleIntercept=-1000,
    )
    first = display_image(save(plain, tmp_path / "a.dcm"))
    second = display_image(save(rescaled, tmp_path / "b.dcm"))
    np.testing.assert_allclose(first.astype(int), second, atol=1)


def test_a_real_file_with_a_voi_table():
    path = pydicom_data("vlut_04.dcm")
    dataset = dcmread(path)
    bits = dataset.VOILUTSequence[0].LUTDescriptor[2]
    expected = apply_voi_lut(dataset.pixel_array, dataset) / (2**bits - 1) * 255
    np.testing.assert_allclose(display_image(path), np.clip(expected, 0, 255), atol=0.6)


def test_a_table_counts_before_a_window(twelve_bits, tmp_path):
    table = lookup(0, np.arange(4096) // 16, bits=8)
    dataset = radiograph_dataset(twelve_bits, VOILUTSequence=table, WindowCenter=1, WindowWidth=2)
    np.testing.assert_array_equal(display_image(save(dataset, tmp_path / "a.dcm")), twelve_bits // 16)


@pytest.mark.parametrize("width", [0, -5])
def test_without_a_usable_window_the_percentiles_decide(twelve_bits, tmp_path, width):
    dataset = radiograph_dataset(twelve_bits, WindowCenter=2000, WindowWidth=width)
    shown = display_image(save(dataset, tmp_path / "a.dcm"))
    low, high = np.percentile(twelve_bits, [0.5, 99.5])
    expected = np.clip((twelve_bits - low) / (high - low), 0, 1) * 255
    np.testing.assert_allclose(shown, expected, atol=0.6)


def test_the_window_does_not_change_what_is_measured(twelve_bits, tmp_path):
    plain = save(radiograph_dataset(twelve_bits), tmp_path / "a.dcm")
    narrow = save(radiograph_dataset(twelve_bits, WindowCenter=100, WindowWidth=1), tmp_path / "b.dcm")
    assert read_image(plain).pixels.tobytes() == read_image(narrow).pixels.tobytes()


def test_padding_is_black_in_both_photometrics(twelve_bits, tmp_path):
    twelve_bits[:, :9] = 0
    for name in ("MONOCHROME1", "MONOCHROME2"):
        dataset = radiograph_dataset(twelve_bits, PhotometricInterpretation=name, PixelPaddingValue=0)
        assert (display_image(save(dataset, tmp_path / "a.dcm"))[:, :9] == 0).all()


def test_on_the_grid_it_covers_the_radiograph(twelve_bits, tmp_path):
    path = save(radiograph_dataset(twelve_bits, PixelSpacing=[0.3, 0.2]), tmp_path / "a.dcm")
    image, shown = read_image(path, grid_mm=0.5), display_image(path, grid_mm=0.5)
    assert shown.shape == image.shape
    assert np.corrcoef(shown.ravel(), image.pixels.ravel())[0, 1] > 0.99
