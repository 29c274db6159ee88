"""Writers: the same pixels and spacing come back, the same arguments give the same bytes, the validator agrees."""

import shutil
import subprocess

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydicom import dcmread

from overread.errors import ImageError, InvalidInputError, StorageError
from overread.images import (
    SpacingSource,
    pixel_fingerprint,
    read_image,
    read_source,
    write_dicom,
    write_png16,
    write_png_colour,
)

IDS = {"patient_id": "P 0815 ü", "image_id": "=1+1 a/b"}


@pytest.fixture(scope="module")
def pixels():
    return np.random.default_rng(0).integers(0, 65536, (37, 53)).astype(np.uint16)


def test_png_there_and_back(tmp_path, pixels):
    path = write_png16(tmp_path / "a.png", pixels)
    np.testing.assert_array_equal(read_source(path).stored, pixels)
    np.testing.assert_array_equal(cv2.imread(str(path), cv2.IMREAD_UNCHANGED), pixels)


def test_colour_there_and_back(tmp_path):
    colour = np.random.default_rng(1).integers(0, 256, (31, 44, 3)).astype(np.uint8)
    path = write_png_colour(tmp_path / "a.png", colour)
    np.testing.assert_array_equal(cv2.imread(str(path))[..., ::-1], colour)
    for wrong in (colour[..., 0], colour.astype(np.uint16), colour[..., :2]):
        with pytest.raises(InvalidInputError, match="rows x columns x 3 of uint8"):
            write_png_colour(tmp_path / "b.png", wrong)
    assert not (tmp_path / "b.png").exists()


def test_dicom_there_and_back(tmp_path, pixels):
    path = write_dicom(tmp_path / "a.dcm", pixels, (0.143, 0.168), **IDS)
    source = read_source(path)
    np.testing.assert_array_equal(source.stored, pixels)
    assert not source.inverted
    image = read_image(path, grid_mm=0.3)
    assert image.source_mm_per_px == (0.143, 0.168)
    assert image.spacing_source is SpacingSource.PIXEL_SPACING
    theirs = dcmread(path)
    np.testing.assert_array_equal(theirs.pixel_array, pixels)
    assert theirs.PatientID == IDS["patient_id"]
    assert theirs.PatientName == ""
    twin = read_source(write_png16(tmp_path / "a.png", pixels))
    assert image.pixel_hash == pixel_fingerprint(source) == pixel_fingerprint(twin)


@settings(max_examples=25)
@given(st.floats(0.05, 1.0), st.floats(0.05, 1.0))
def test_spacing_comes_back_to_the_last_digits_of_a_decimal_string(tmp_path_factory, x, y):
    if max(x, y) > 4.9 * min(x, y):
        return
    path = tmp_path_factory.mktemp("spacing") / "a.dcm"
    write_dicom(path, np.eye(8, dtype=np.uint16), (x, y), **IDS)
    spacing = read_source(path).spacing.spacing
    assert (spacing.x, spacing.y) == pytest.approx((x, y), rel=1e-12)


@pytest.mark.parametrize("view", ["PA", "AP"])
def test_the_validator_finds_no_error(tmp_path, pixels, view):
    validator = shutil.which("dciodvfy")
    if validator is None:
        pytest.skip("needs dciodvfy, from Debian's package dicom3tools")
    path = write_dicom(tmp_path / "a.dcm", pixels, 0.143, view=view, **IDS)
    result = subprocess.run([validator, "-new", str(path)], capture_output=True, text=True, check=False)
    assert "DXImageForPresentation" in result.stderr
    assert "Error" not in result.stderr
    warnings = [line for line in result.stderr.splitlines() if "Warning" in line]
    # No date is written, because none is known.
    assert all("StudyDate" in line or "StudyTime" in line for line in warnings)


def test_the_same_arguments_give_the_same_bytes_and_other_ids_other_uids(tmp_path, pixels):
    first = write_dicom(tmp_path / "a.dcm", pixels, 0.2, **IDS)
    second = write_dicom(tmp_path / "b.dcm", pixels, 0.2, **IDS)
    assert first.read_bytes() == second.read_bytes()
    other = write_dicom(tmp_path / "c.dcm", pixels, 0.2, patient_id="P", image_id="x")
    for keyword in ("SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID"):
        assert dcmread(first)[keyword].value != dcmread(other)[keyword].value
    assert (write_png16(tmp_path / "a.png", pixels)).read_bytes() == (
        write_png16(tmp_path / "b.png", pixels)
    ).read_bytes()


@pytest.mark.parametrize("value", ["", " x", "a\\b", "a\0b", "a\nb", "x" * 65, 5, None])
@pytest.mark.parametrize("name", ["patient_id", "image_id"])
def test_ids_that_would_change_are_refused(tmp_path, pixels, name, value):
    with pytest.raises(InvalidInputError, match=name):
        write_dicom(tmp_path / "a.dcm", pixels, 0.2, **{**IDS, name: value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 3)), np.zeros((3, 3), np.uint8), np.zeros((3, 3, 3), np.uint16)]
)
def test_other_pixels_are_refused(tmp_path, wrong):
    for write in (write_png16, lambda path, pixels: write_dicom(path, pixels, 0.2, **IDS)):
        with pytest.raises(InvalidInputError, match="uint16"):
            write(tmp_path / "a", wrong)


def test_empty_pixels_bad_spacing_view_and_folder(tmp_path, pixels):
    with pytest.raises(ImageError, match="empty"):
        write_png16(tmp_path / "a.png", np.zeros((0, 3), np.uint16))
    with pytest.raises(InvalidInputError, match="mm_per_px"):
        write_dicom(tmp_path / "a.dcm", pixels, 0, **IDS)
    with pytest.raises(InvalidInputError, match="view"):
        write_dicom(tmp_path / "a.dcm", pixels, 0.2, view="LL", **IDS)
    with pytest.raises(StorageError):
        write_png16(tmp_path / "none" / "a.png", pixels)


def test_nothing_is_said_of_anonymity_where_nobody_made_sure(tmp_path, pixels):
    for state, burned_in in ((True, "NO"), (False, "YES")):
        header = dcmread(write_dicom(tmp_path / "a.dcm", pixels, 0.2, **IDS, state_anonymous=state))
        assert ("PatientIdentityRemoved" in header) is state
        assert ("DeidentificationMethod" in header) is state
        assert header.BurnedInAnnotation == burned_in
