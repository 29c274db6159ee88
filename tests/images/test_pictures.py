"""PNG, TIFF and JPEG: exact numbers, and what a grey image cannot mean is refused."""

import cv2
import numpy as np
import pytest
from PIL import Image

from overread.errors import ImageError
from overread.images import pixel_fingerprint, read_source


@pytest.fixture
def eight(twelve_bits):
    return (twelve_bits >> 4).astype(np.uint8)


@pytest.fixture
def sixteen(twelve_bits):
    return (twelve_bits.astype(np.uint32) * 16 + 5).astype(np.uint16)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.tiff"])
def test_8_and_16_bits_are_exact(tmp_path, eight, sixteen, name):
    for pixels in (eight, sixteen):
        cv2.imwrite(str(tmp_path / name), pixels)
        stored = read_source(tmp_path / name).stored
        assert stored.dtype == pixels.dtype
        np.testing.assert_array_equal(stored, pixels)


def test_big_endian_tiff(tmp_path, sixteen):
    Image.fromarray(sixteen.astype(">u2")).save(tmp_path / "a.tif")
    np.testing.assert_array_equal(read_source(tmp_path / "a.tif").stored, sixteen)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_tiff_where_white_is_0_is_turned_over(tmp_path, eight, sixteen, bits):
    pixels = eight if bits == 8 else sixteen
    path = tmp_path / "a.tif"
    Image.fromarray(pixels).save(path, tiffinfo={262: 1})
    content = bytearray(path.read_bytes())
    at = content.index(b"\x06\x01\x03\x00\x01\x00\x00\x00\x01\x00")
    content[at + 8] = 0
    path.write_bytes(content)
    np.testing.assert_array_equal(read_source(path).stored, np.iinfo(pixels.dtype).max - pixels)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("bits", [8, 16])
def test_colour_that_is_grey_is_accepted(tmp_path, eight, sixteen, name, channels, bits):
    pixels = eight if bits == 8 else sixteen
    stack = np.repeat(pixels[..., None], channels, axis=2)
    if channels == 4:
        stack[..., 3] = np.iinfo(pixels.dtype).max
    cv2.imwrite(str(tmp_path / name), stack)
    stored = read_source(tmp_path / name).stored
    assert stored.dtype == pixels.dtype
    np.testing.assert_array_equal(stored, pixels)


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(
    ("channel", "message"), [(0, "in colour"), (1, "in colour"), (2, "in colour"), (3, "transparent")]
)
def test_one_other_pixel_in_one_channel_is_refused(tmp_path, eight, sixteen, name, bits, channel, message):
    pixels = eight if bits == 8 else sixteen
    stack = np.repeat(pixels[..., None], 4, axis=2)
    stack[..., 3] = np.iinfo(pixels.dtype).max
    stack[3, 4, channel] -= 1
    cv2.imwrite(str(tmp_path / name), stack)
    with pytest.raises(ImageError, match=message):
        read_source(tmp_path / name)


def test_a_grey_palette_is_accepted_and_a_coloured_one_refused(tmp_path, eight):
    picture = Image.fromarray(eight).convert("P")
    picture.putpalette([v for v in range(256) for _ in range(3)])
    picture.save(tmp_path / "grey.png")
    np.testing.assert_array_equal(read_source(tmp_path / "grey.png").stored, eight)
    picture.putpalette([v for g in range(256) for v in (g, g, 255 - g)])
    picture.save(tmp_path / "colour.png")
    with pytest.raises(ImageError, match="in colour"):
        read_source(tmp_path / "colour.png")


def test_grey_with_opaque_alpha(tmp_path, eight):
    alpha = np.full_like(eight, 255)
    Image.fromarray(np.dstack([eight, alpha])).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_source(tmp_path / "a.png").stored, eight)


def test_what_one_grey_image_cannot_mean(tmp_path, eight):
    picture = Image.fromarray(eight)
    cases = {
        "transparent": ("a.png", picture, {"transparency": 7}),
        "several images": ("b.tif", picture, {"save_all": True, "append_images": [picture]}),
        "kind 1": ("c.png", picture.convert("1"), {}),
        "kind F": ("d.tif", picture.convert("F"), {}),
        "kind CMYK": ("e.jpg", picture.convert("CMYK"), {}),
    }
    exif = Image.Exif()
    exif[274] = 6
    cases["EXIF orientation"] = ("f.jpg", picture, {"exif": exif})
    for message, (name, image, options) in cases.items():
        image.save(tmp_path / name, **options)
        with pytest.raises(ImageError, match=message):
            read_source(tmp_path / name)


def test_fewer_than_8_bits_are_refused(tmp_path, eight):
    Image.fromarray(eight // 64).convert("P").save(tmp_path / "p.png", bits=2)
    assert cv2.imwrite(
        str(tmp_path / "a.png"), (eight > 99).astype(np.uint8) * 255, [cv2.IMWRITE_PNG_BILEVEL, 1]
    )
    with pytest.raises(ImageError):
        read_source(tmp_path / "a.png")


def test_the_fingerprint_is_of_the_numbers_alone(tmp_path, eight):
    Image.fromarray(eight).save(tmp_path / "a.png")
    Image.fromarray(eight).save(tmp_path / "b.tif", compression="tiff_lzw")
    Image.fromarray(eight.astype(np.uint16)).save(tmp_path / "c.png")
    other = eight.copy()
    other[0, 0] ^= 1
    Image.fromarray(other).save(tmp_path / "d.png")
    Image.fromarray(eight.reshape(84, 60)).save(tmp_path / "e.png")
    a, b, c, d, e = (pixel_fingerprint(read_source(p)) for p in sorted(tmp_path.iterdir()))
    assert a == b == c
    assert len({a, d, e}) == 3
