"""DICOM: every transfer syntax, and what the attributes make of the numbers, against pydicom."""

import numpy as np
import pytest
from dicom_files import (
    UNCOMPRESSED,
    compressed,
    empty_ht_codestream,
    jpeg,
    lookup,
    pydicom_data,
    pydicom_file,
    radiograph_dataset,
    save,
)
from pydicom import dcmread, uid
from pydicom.pixels import apply_modality_lut

from overread.errors import ImageError
from overread.images import SpacingSource, pixel_fingerprint, read_image, read_source


def test_the_real_radiograph_is_the_same_compressed_and_not():
    plain = read_source(pydicom_data("RG1_UNCR.dcm"))
    packed = read_source(pydicom_data("RG1_J2KR.dcm"))
    assert plain.shape == (1955, 1841)
    assert plain.inverted
    assert packed.inverted
    np.testing.assert_array_equal(plain.stored, packed.stored)
    assert pixel_fingerprint(plain) == pixel_fingerprint(packed)


def test_its_spacing_of_0_is_refused_unless_given():
    path = pydicom_data("RG1_UNCR.dcm")
    with pytest.raises(ImageError, match=r"RG1_UNCR.*PixelSpacing is 0 mm.*give mm_per_px"):
        read_image(path)
    image = read_image(path, mm_per_px=0.2)
    assert image.spacing_source is SpacingSource.GIVEN
    assert image.shape == (round(1955 * 0.2 / 0.7), round(1841 * 0.2 / 0.7))
    assert np.percentile(image.pixels, [1, 99]) == pytest.approx([0, 1], abs=1e-6)
    # Air beside the neck is dark, the abdomen bright.
    assert image.pixels[10:40, 10:40].mean() < 0.3 < image.pixels[-40:-10, 200:300].mean()


@pytest.mark.parametrize("syntax", UNCOMPRESSED, ids=lambda u: u.keyword)
@pytest.mark.parametrize("dtype", ["<u2", "<i2", "u1", "<u4"])
def test_uncompressed_syntaxes(twelve_bits, tmp_path, syntax, dtype):
    shift = 2000 if dtype == "<i2" else 0
    pixels = (
        (twelve_bits.astype(int) - shift).astype(dtype) if dtype != "u1" else (twelve_bits >> 4).astype("u1")
    )
    path = save(radiograph_dataset(pixels, syntax=syntax), tmp_path / "a.dcm")
    np.testing.assert_array_equal(read_source(path).stored, pixels)


def test_bytes_in_big_endian_words_are_swapped_back(tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    dataset = radiograph_dataset(pixels, syntax=uid.ExplicitVRBigEndian)
    dataset.PixelData = pixels.ravel().reshape(-1, 2)[:, ::-1].tobytes()
    dataset["PixelData"].VR = "OW"
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    np.testing.assert_array_equal(read_source(tmp_path / "a.dcm").stored, pixels)


@pytest.mark.parametrize(
    ("syntax", "plugin"),
    [(uid.RLELossless, "pylibjpeg"), (uid.JPEG2000Lossless, "pylibjpeg"), (uid.JPEGLSLossless, "pyjpegls")],
    ids=lambda v: getattr(v, "keyword", v),
)
@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.uint8])
def test_lossless_syntaxes_by_encoding(twelve_bits, tmp_path, syntax, plugin, dtype):
    pixels = (twelve_bits >> 4).astype(dtype) if dtype == np.uint8 else twelve_bits.astype(dtype)
    stored = 8 if dtype == np.uint8 else 13
    if dtype == np.int16:
        pixels -= 2000
    dataset = radiograph_dataset(pixels, BitsStored=stored, HighBit=stored - 1)
    dataset.compress(syntax, encoding_plugin=plugin, generate_instance_uid=False)
    path = save(dataset, tmp_path / "a.dcm")
    np.testing.assert_array_equal(read_source(path).stored, pixels)


def test_lossy_syntaxes_by_encoding_come_near(twelve_bits, tmp_path):
    eight = (twelve_bits >> 4).astype(np.uint8)
    baseline = save(compressed(eight, jpeg(eight), uid.JPEGBaseline8Bit), tmp_path / "baseline.dcm")
    np.testing.assert_allclose(read_source(baseline).stored.astype(int), eight, atol=12)
    for name, syntax, options in [
        ("2000", uid.JPEG2000, {"j2k_psnr": [60]}),
        ("ls", uid.JPEGLSNearLossless, {"jls_error": 3}),
    ]:
        dataset = radiograph_dataset(twelve_bits, BitsStored=12, HighBit=11)
        dataset.compress(syntax, generate_instance_uid=False, **options)
        path = save(dataset, tmp_path / f"{name}.dcm")
        np.testing.assert_allclose(read_source(path).stored.astype(int), twelve_bits, atol=80)


@pytest.mark.parametrize(
    "syntax", [uid.HTJ2KLossless, uid.HTJ2KLosslessRPCL, uid.HTJ2K], ids=lambda u: u.keyword
)
def test_high_throughput_2000(tmp_path, syntax):
    grey = np.full((20, 30), 128, np.uint8)
    path = save(compressed(grey, empty_ht_codestream(20, 30), syntax), tmp_path / "a.dcm")
    np.testing.assert_array_equal(read_source(path).stored, grey)


OF_PYDICOM = """
CT_small JPGExtended JPEG2000 J2K_pixelrep_mismatch JPEGLSNearLossless_08 JPEGLSNearLossless_16 MR_small MR_small_RLE
MR_small_bigendian MR_small_implicit MR_small_jp2klossless MR_small_jpeg_ls_lossless MR_small_padded examples_overlay
image_dfl
"""
OF_PYDICOM_DATA = "JPEG-LL JPGLosslessP14SV1_1s_1f_8b RG3_J2KI bad_sequence explicit_VR-UN"
REAL = [pydicom_file(f"{name}.dcm") for name in OF_PYDICOM.split()]
REAL += [pydicom_data(f"{name}.dcm") for name in OF_PYDICOM_DATA.split()]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
@pytest.mark.filterwarnings("ignore")
def test_stored_numbers_are_those_of_pydicom(path):
    np.testing.assert_array_equal(read_source(path).stored, dcmread(path).pixel_array)


@pytest.mark.parametrize("shape", [None, "INVERSE"])
def test_monochrome1_twins_are_the_same_radiograph(twelve_bits, tmp_path, shape):
    bits = {"BitsStored": 12, "HighBit": 11}
    plain = save(radiograph_dataset(twelve_bits, **bits), tmp_path / "plain.dcm")
    twin = radiograph_dataset(
        4095 - twelve_bits, PhotometricInterpretation="MONOCHROME1", PresentationLUTShape=shape, **bits
    )
    other = save(twin, tmp_path / "twin.dcm")
    first, second = read_image(plain, grid_mm=0.3), read_image(other, grid_mm=0.3)
    assert first.pixels.tobytes() == second.pixels.tobytes()


def test_an_inverse_presentation_shape_alone_inverts(twelve_bits, tmp_path):
    plain = save(radiograph_dataset(twelve_bits), tmp_path / "plain.dcm")
    shaped = save(radiograph_dataset(twelve_bits, PresentationLUTShape="INVERSE"), tmp_path / "shaped.dcm")
    np.testing.assert_allclose(read_image(shaped).pixels, 1 - read_image(plain).pixels, atol=2e-3)


def test_rescale_matters_by_its_sign_only(twelve_bits, tmp_path):
    plain = save(radiograph_dataset(twelve_bits), tmp_path / "plain.dcm")
    rising = save(
        radiograph_dataset(twelve_bits, RescaleSlope="2.5", RescaleIntercept="-1024"), tmp_path / "r.dcm"
    )
    falling = save(
        radiograph_dataset(twelve_bits, RescaleSlope="-1", RescaleIntercept="4095"), tmp_path / "f.dcm"
    )
    assert read_image(rising).pixels.tobytes() == read_image(plain).pixels.tobytes()
    np.testing.assert_allclose(read_image(falling).pixels, 1 - read_image(plain).pixels, atol=2e-3)


@pytest.mark.parametrize("syntax", UNCOMPRESSED[:2], ids=lambda u: u.keyword)
@pytest.mark.parametrize("undefined", [False, True])
def test_a_modality_table_gives_what_pydicom_gives(twelve_bits, tmp_path, syntax, undefined):
    table = lookup(100, np.sqrt(np.arange(3000) * 5e5).astype(int))
    dataset = radiograph_dataset(twelve_bits, syntax=syntax, ModalityLUTSequence=table)
    dataset["ModalityLUTSequence"].is_undefined_length = undefined
    dataset.ModalityLUTSequence[0].is_undefined_length_sequence_item = undefined
    expected = apply_modality_lut(twelve_bits, dataset)
    source = read_source(save(dataset, tmp_path / "a.dcm"))
    np.testing.assert_array_equal(source.measured(), expected)


def test_a_signed_modality_table_of_a_real_file():
    path = pydicom_data("mlut_18.dcm")
    dataset = dcmread(path)
    np.testing.assert_array_equal(
        read_source(path).measured(), apply_modality_lut(dataset.pixel_array, dataset)
    )


def test_unused_bits_are_dropped_and_the_sign_is_kept(tmp_path):
    values = np.array([[-8, -1, 0, 7], [1, 2, 3, -3]])
    pixels = (((values & 0xF) << 3) | 0xFF80 | 0x5).astype(np.uint16)
    dataset = radiograph_dataset(pixels, BitsStored=4, HighBit=6, PixelRepresentation=1)
    np.testing.assert_array_equal(read_source(save(dataset, tmp_path / "s.dcm")).stored, values)
    dataset = radiograph_dataset(pixels, BitsStored=4, HighBit=6)
    np.testing.assert_array_equal(read_source(save(dataset, tmp_path / "u.dcm")).stored, values & 0xF)


@pytest.mark.parametrize("limit", [None, 50])
def test_padding_is_not_measured(twelve_bits, tmp_path, limit):
    pixels = twelve_bits + 100
    pixels[:, :20] = 0 if limit is None else 30
    dataset = radiograph_dataset(pixels, PixelPaddingValue=0, PixelPaddingRangeLimit=limit)
    padded = read_image(save(dataset, tmp_path / "a.dcm"), grid_mm=0.4)
    assert not padded.valid[:, :10].any()
    assert padded.valid[:, 10:].all()
    assert (padded.pixels[:, :10] == 0).all()
    assert np.percentile(padded.pixels[padded.valid], [1, 99]) == pytest.approx([0, 1], abs=1e-6)
    cut = read_image(save(radiograph_dataset(pixels[:, 20:].copy()), tmp_path / "b.dcm"), grid_mm=0.4)
    np.testing.assert_allclose(padded.pixels[:, 10:], cut.pixels, atol=1e-6)


def test_signed_padding(tmp_path):
    pixels = np.arange(-12, 12, dtype=np.int16).reshape(4, 6)
    pixels[0, 0] = -2000
    dataset = radiograph_dataset(pixels, PixelPaddingValue=-2000)
    assert read_source(save(dataset, tmp_path / "a.dcm")).valid.sum() == 23


@pytest.mark.parametrize(
    ("attributes", "source", "expected"),
    [
        ({"ImagerPixelSpacing": [0.1, 0.3]}, SpacingSource.PIXEL_SPACING, (0.4, 0.2)),
        (
            {"PixelSpacing": None, "ImagerPixelSpacing": [0.1, 0.3]},
            SpacingSource.IMAGER_PIXEL_SPACING,
            (0.3, 0.1),
        ),
        (
            {
                "PixelSpacing": None,
                "ImagerPixelSpacing": [0.1, 0.3],
                "EstimatedRadiographicMagnificationFactor": 1.25,
            },
            SpacingSource.IMAGER_OVER_MAGNIFICATION,
            (0.24, 0.08),
        ),
    ],
)
def test_spacing_is_read_by_rank(twelve_bits, tmp_path, attributes, source, expected):
    dataset = radiograph_dataset(twelve_bits, **{"PixelSpacing": [0.2, 0.4], **attributes})
    image = read_image(save(dataset, tmp_path / "a.dcm"))
    assert image.spacing_source is source
    assert image.source_mm_per_px == pytest.approx(expected)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"NumberOfFrames": 2}, "several frames"),
        ({"SamplesPerPixel": 3}, "colour"),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "neither MONOCHROME1"),
        ({"PhotometricInterpretation": None}, "neither MONOCHROME1"),
        ({"BitsAllocated": 12}, "BitsAllocated"),
        ({"BitsStored": 17}, "contradict"),
        ({"HighBit": 3}, "contradict"),
        ({"PixelRepresentation": 2}, "PixelRepresentation"),
        ({"Rows": 0}, "empty"),
        ({"Rows": None}, "Rows is missing"),
        ({"Rows": 61}, "instead of"),
        ({"Columns": 80}, "instead of"),
        ({"Rows": 65535, "Columns": 65535}, "more than the limit of 33,554,432"),
        ({"PixelData": None}, "no pixel data"),
        ({"RescaleSlope": "0"}, "RescaleSlope"),
        ({"PixelPaddingValue": 0, "PixelPaddingRangeLimit": 65535}, "every pixel is padding"),
        ({"ModalityLUTSequence": lookup(0, [1, 2, 3], bits=40)}, "look-up table"),
    ],
)
def test_what_contradicts_itself_is_refused(twelve_bits, tmp_path, attributes, message):
    if attributes.get("PixelData", 0) is None:
        dataset = radiograph_dataset(twelve_bits)
        del dataset.PixelData
    else:
        dataset = radiograph_dataset(twelve_bits, **attributes)
    path = save(dataset, tmp_path / "a.dcm")
    with pytest.raises(ImageError, match=message):
        read_source(path)


def test_an_empty_table_counts_as_absent(twelve_bits, tmp_path):
    table = lookup(0, [1])
    table[0].add_new("LUTDescriptor", "US", None)
    table[0].add_new("LUTData", "OW", b"")
    path = save(radiograph_dataset(twelve_bits, ModalityLUTSequence=table), tmp_path / "a.dcm")
    np.testing.assert_array_equal(read_source(path).measured(), twelve_bits)


def test_a_table_that_is_too_short_is_refused(twelve_bits, tmp_path):
    table = lookup(0, range(100))
    table[0].LUTDescriptor = [4096, 0, 16]
    path = save(radiograph_dataset(twelve_bits, ModalityLUTSequence=table), tmp_path / "a.dcm")
    with pytest.raises(ImageError, match="the length of a look-up table"):
        read_source(path)


def test_compressed_numbers_beyond_the_stored_bits_are_refused(twelve_bits, tmp_path):
    dataset = radiograph_dataset(twelve_bits, BitsStored=12, HighBit=11)
    dataset.compress(uid.JPEG2000Lossless, generate_instance_uid=False)
    dataset.BitsStored, dataset.HighBit = 10, 9
    with pytest.raises(ImageError, match="more bits than BitsStored"):
        read_source(save(dataset, tmp_path / "a.dcm"))


def test_nothing_of_the_patient_is_kept_or_said(twelve_bits, tmp_path):
    dataset = radiograph_dataset(twelve_bits, PhotometricInterpretation="DOE JANE", PixelSpacing=None)
    path = save(dataset, tmp_path / "a.dcm")
    with pytest.raises(ImageError) as refused:
        read_image(path)
    assert "DOE" not in str(refused.value)
    dataset.PhotometricInterpretation = "MONOCHROME2"
    source = read_source(save(dataset, path))
    assert not any("Doe" in repr(value) or "S3CR3T" in repr(value) for value in vars(source).values())
