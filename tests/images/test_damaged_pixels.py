"""A damaged file is refused, or read with the pixels it had; what a format cannot tell is counted."""

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from damaged_pixels import (
    chunk,
    count_outcomes,
    file_bytes,
    make_sources,
    picture,
    png,
    read_bytes,
    read_in_child,
    scene,
)
from dicom_files import (
    UNCOMPRESSED,
    compressed,
    empty_ht_codestream,
    jpeg,
    lookup,
    pydicom_file,
    radiograph_dataset,
    save,
)
from PIL import Image
from pydicom import dcmread, uid
from pydicom.encaps import generate_frames

from overread.errors import ImageError
from overread.images import read_channels
from overread.images._jpeg import check_jpeg_data, decode_jpeg

# Largest share of damaged copies that may be read with other pixels, by kind: about a third more than was counted in
# 2,000 each (docs/reference/images.md). A flipped bit after which the count of data still comes out right is left.
MOST_OTHER = {
    "jpeg": 0.19,
    "jpeg progressive": 0.18,
    "jpeg restarts": 0.19,
    "dicom jpeg baseline": 0.12,
    "dicom jpeg lossless": 0.18,
    "png": 0.0,
    "tiff": 0.74,
    "tiff lzw": 0.19,
    "tiff deflate": 0.0,
    "tiff packbits": 0.28,
    "dicom rle": 0.19,
    "dicom jpeg-ls": 0.04,
    "dicom jpeg 2000": 0.6,
}


@pytest.fixture(scope="module")
def sources() -> dict[str, bytes]:
    return make_sources()


# Half as much again of 60, as these are few.
@pytest.mark.parametrize(
    ("n_files", "first", "factor"), [(60, 0, 1.5), pytest.param(2000, 1000, 1.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", MOST_OTHER)
def test_damaged_copies_are_hardly_ever_read_with_other_pixels(sources, kind, n_files, first, factor):
    counts = count_outcomes(sources[kind], n_files, first)
    print(kind, dict(counts))
    assert counts.total() == n_files
    assert counts["other"] <= n_files * factor * MOST_OTHER[kind]


@pytest.fixture
def folder(sources, tmp_path):
    """One small file of every format, also of those without compression, with tables and a window."""
    twelve, tables = scene(), lookup(0, np.arange(0, 65536, 256))
    eight = (twelve >> 4).astype(np.uint8)
    for syntax in UNCOMPRESSED:
        dataset = radiograph_dataset(twelve, syntax=syntax, ModalityLUTSequence=tables, VOILUTSequence=tables)
        dataset["VOILUTSequence"].is_undefined_length = True
        save(dataset, tmp_path / f"source-{syntax.keyword}")
    more = {
        "window": file_bytes(radiograph_dataset(twelve, WindowCenter=2000, WindowWidth=1000)),
        "ht": file_bytes(compressed(eight, empty_ht_codestream(*eight.shape), uid.HTJ2KLossless)),
        "8.png": picture(eight, "PNG"),
        "16.tif": picture(twelve, "TIFF"),
        "palette.png": picture(eight, "PNG", mode="P"),
    }
    more |= {name: pydicom_file(name).read_bytes() for name in FROM_PYDICOM}
    for name, content in (sources | more).items():
        (tmp_path / f"source-{name}").write_bytes(content)
    return tmp_path


FROM_PYDICOM = (
    *("JPGExtended.dcm", "MR_small_jpeg_ls_lossless.dcm", "JPEGLSNearLossless_16.dcm", "image_dfl.dcm"),
)


@pytest.mark.parametrize(
    ("n_files", "first"), [(300, 0), pytest.param(12_000, 1_000, marks=pytest.mark.slow)]
)
def test_damaged_files_are_read_or_refused_in_bounded_memory_and_time(folder, n_files, first):
    """Never a crash, a hang or another exception."""
    outcome = read_in_child(folder, n_files, first)
    print(outcome)
    assert outcome["wrong"] == []
    assert outcome["read"] + outcome["refused"] == n_files
    assert outcome["read"] > 10
    assert outcome["refused"] > 100
    assert outcome["peak_mib"] < 1024


def big_jpeg(**options: object) -> bytes:
    return picture((scene(512) >> 4).astype(np.uint8), "JPEG", quality=90, **options)


def cut_scan(content: bytes, share: float) -> bytes:
    """Keep a share of the entropy-coded data, and the end marker."""
    start = content.rindex(b"\xff\xda") + 10
    return content[: start + int(share * (len(content) - start))] + b"\xff\xd9"


DAMAGE = {
    "90 %": lambda content: cut_scan(content, 0.9),
    "50 %": lambda content: cut_scan(content, 0.5),
    "5 %": lambda content: cut_scan(content, 0.05),
    "a bad block": lambda content: content[:20000] + bytes(4096) + content[24096:],
    "a gap": lambda content: content[:20000] + content[24096:],
    "half zeros": lambda content: content[:20000] + bytes(len(content) - 40000) + content[-20000:],
    "a size that lies": lambda content: lie(content, 5000, 5000),
    "a size that lies by a block": lambda content: lie(content, 520, 517),
}


def lie(content: bytes, rows: int, columns: int) -> bytes:
    """Change the size in the frame header."""
    frame = b"\xff\xc0\0" if b"\xff\xc0\0" in content else b"\xff\xc2\0"
    at = content.index(frame) + 5
    return content[:at] + struct.pack(">HH", rows, columns) + content[at + 4 :]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}], ids=str)
def test_a_jpeg_that_is_not_whole_is_refused(damage: str, options: dict[str, object]) -> None:
    content = big_jpeg(**options)
    assert read_bytes(content).shape == (512, 517)
    with pytest.raises(ImageError):
        read_bytes(DAMAGE[damage](content))


@pytest.mark.parametrize("damage", [name for name in DAMAGE if not name.startswith("a size")])
def test_nor_inside_of_dicom(damage: str) -> None:
    pixels = (scene(512) >> 4).astype(np.uint8)
    broken = compressed(pixels, DAMAGE[damage](jpeg(pixels)), uid.JPEGBaseline8Bit)
    with pytest.raises(ImageError):
        read_bytes(file_bytes(broken))


JPEGS = [
    *({}, {"quality": 1}, {"quality": 100}, {"optimize": True}, {"progressive": True}),
    *({"subsampling": 0}, {"subsampling": 2}, {"restart_marker_blocks": 7}),
    {"progressive": True, "restart_marker_blocks": 5},
]


@pytest.mark.parametrize("options", JPEGS, ids=str)
@pytest.mark.parametrize("kind", ["grey", "grey in colour", "colour"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 16), (67, 121)])
def test_whole_jpegs_of_all_kinds_have_the_pixels_of_pillow(options, kind, shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    drawn = {"grey": pixels[..., 0], "grey in colour": pixels[..., :1].repeat(3, axis=2), "colour": pixels}
    content = picture(drawn[kind], "JPEG", **options)
    assert (decode_jpeg(content) == np.asarray(Image.open(io.BytesIO(content)))).all()


def test_jpegs_of_another_writer_are_read() -> None:
    grey = (scene() >> 4).astype(np.uint8)
    for options in ([], [cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 3]):
        content = cv2.imencode(".jpg", grey, options)[1]
        theirs = cv2.imdecode(content, cv2.IMREAD_UNCHANGED)
        np.testing.assert_allclose(read_bytes(content.tobytes()).astype(int), theirs, atol=1)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xd9", b"\xff\xd8\xff\xc9\0\2"]
)
def test_what_is_no_jpeg(content: bytes) -> None:
    with pytest.raises(ImageError):
        check_jpeg_data(content)


@pytest.mark.parametrize("kind", ["waves", "flat", "steps", "noise", "8 bits"])
def test_jpeg_ls_gives_the_pixels_that_were_written(kind: str) -> None:
    waves = scene()
    pixels = {
        "waves": waves,
        "flat": np.full_like(waves, 7),
        "steps": (waves // 600 * 600).astype(np.uint16),
        "noise": np.random.default_rng(0).integers(0, 65536, waves.shape, dtype=np.uint16),
        "8 bits": (waves >> 4).astype(np.uint8),
    }[kind]
    dataset = radiograph_dataset(pixels)
    dataset.compress(uid.JPEGLSLossless, generate_instance_uid=False)
    assert (read_bytes(file_bytes(dataset)) == pixels).all()


@pytest.mark.parametrize("name", ["JPEGLSNearLossless_08.dcm", "JPEGLSNearLossless_16.dcm"])
def test_near_lossless_gives_the_pixels_of_another_decoder(name: str) -> None:
    dataset = dcmread(pydicom_file(name))
    dataset.pixel_array_options(decoding_plugin="pylibjpeg")
    assert (read_bytes(pydicom_file(name).read_bytes()) == dataset.pixel_array).all()


def test_what_is_left_behind_a_jpeg_ls_scan_is_refused() -> None:
    pixels = scene()
    dataset = radiograph_dataset(pixels)
    dataset.compress(uid.JPEGLSLossless, generate_instance_uid=False)
    (stream,) = generate_frames(dataset.PixelData, number_of_frames=1)
    whole = stream.rstrip(b"\0")
    for broken in (whole[:-2] + bytes(20) + whole[-2:], whole[:-22] + whole[-2:]):
        with pytest.raises(ImageError):
            read_bytes(file_bytes(compressed(pixels, broken, uid.JPEGLSLossless)))


def test_a_progressive_jpeg_without_its_last_scan_is_refused() -> None:
    content = big_jpeg(progressive=True)
    last = content.rindex(b"\xff\xda")
    with pytest.raises(ImageError, match="scans are missing"):
        read_bytes(content[:last] + b"\xff\xd9")


@pytest.mark.parametrize("options", [{"kind": "PNG"}, {"kind": "JPEG"}], ids=str)
def test_a_damaged_picture_in_colour_is_refused(tmp_path, options: dict[str, str]) -> None:
    colour = np.random.default_rng(2).integers(0, 256, (64, 80, 3), dtype=np.uint8)
    content = picture(colour, **options)
    path = tmp_path / "colour"
    path.write_bytes(content)
    assert read_channels(path).shape == (64, 80, 3)
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(200) + content[middle + 200 :])
    with pytest.raises(ImageError, match="damaged"):
        read_channels(path)


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_deflate", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("deep", [False, True])
def test_whole_tiffs_are_read(compression: str | None, deep: bool) -> None:
    pixels = scene(300) if deep else (scene(300) >> 4).astype(np.uint8)
    for drawn in [pixels] if deep else [pixels, np.dstack([pixels] * 3)]:
        assert (read_bytes(picture(drawn, "TIFF", compression=compression)) == pixels).all()


@pytest.mark.parametrize("compression", [1, 5, 8, 32773])
def test_tiffs_of_another_writer_are_read(compression: int) -> None:
    pixels = scene(200)
    done, content = cv2.imencode(".tif", pixels, [cv2.IMWRITE_TIFF_COMPRESSION, compression])
    assert done
    assert (read_bytes(content.tobytes()) == pixels).all()


def test_a_tiff_that_cannot_be_counted_is_refused() -> None:
    with pytest.raises(ImageError, match="this compression"):
        read_bytes(picture((scene() >> 4).astype(np.uint8), "TIFF", compression="jpeg"))


def test_every_flipped_bit_of_a_png_is_noticed() -> None:
    content = picture((scene(16) >> 4).astype(np.uint8), "PNG")
    whole = Image.open(io.BytesIO(content))
    assert whole.size == (21, 16)
    for place in range(len(content)):
        with pytest.raises(ImageError):
            read_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])


ROWS = b"".join(b"\0" + bytes(range(start, start + 4)) for start in (0, 4, 8))


def test_the_data_of_a_png_are_those_of_its_pixels() -> None:
    stream = zlib.compress(ROWS)
    expected = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for whole in (
        png(stream),
        png(stream[:3], b"", stream[3:9], stream[9:]),
        png(*(bytes([b]) for b in stream)),
    ):
        assert (read_bytes(whole) == expected).all()
    wrong = [
        png(stream + b"\0"),
        png(stream, b"surplus"),
        png(stream, stream),
        png(zlib.compress(ROWS + b"\0")),
        png(zlib.compress(ROWS + ROWS)),
        png(zlib.compress(ROWS[:-1])),
        png(zlib.compress(ROWS[:10])),
        png(zlib.compress(ROWS + b"\0" * 50_000_000)),
        png(stream[:-1]),
        png(stream[:-4] + b"\0\0\0\0"),
        png(stream[:5]),
        png(),
        png(stream[:5], end=chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", stream[5:])),
        png(stream, end=chunk(b"IHDR", struct.pack(">LLBBBBB", 4, 3, 8, 0, 0, 0, 0))),
        png(stream, header=struct.pack(">LLBBBBB", 4, 3, 8, 5, 0, 0, 0)),
        png(stream, header=struct.pack(">LLBBBBB", 4, 3, 8, 0, 0, 0, 2)),
        png(stream, header=struct.pack(">LLBBBBB", 4, 2, 8, 0, 0, 0, 0)),
        png(stream, header=struct.pack(">LLBBBBB", 2, 6, 8, 0, 0, 0, 0)),
        png(stream, header=struct.pack(">LLBBBBB", 4000, 3000, 8, 0, 0, 0, 0)),
        png(stream, header=b"\0" * 12),
    ]
    for number, content in enumerate(wrong):
        with pytest.raises(ImageError):
            pytest.fail(f"{number} was read: {read_bytes(content)}")


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P", "I;16"])
@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (21, 16)])
@pytest.mark.parametrize("interlaced", [False, True])
def test_whole_pngs_of_all_kinds_are_read(mode, size, interlaced) -> None:
    wide = mode == "I;16"
    values = np.random.default_rng(0).integers(0, 65536 if wide else 256, size)
    grey = values.astype(np.uint16 if wide else np.uint8)
    content = interlace(grey) if interlaced else picture(grey, "PNG", mode=None if wide else mode)
    assert (read_bytes(content) == grey).all()


def interlace(pixels: np.ndarray) -> bytes:
    """PNG of the seven passes of Adam7, by their definition: the pass of a pixel in each block of 8 x 8."""
    pattern = ["16462646", "77777777", "56565656", "77777777", "36463646", "77777777", "56565656", "77777777"]
    rows, columns = pixels.shape
    passes = np.array([[int(pattern[y % 8][x % 8]) for x in range(columns)] for y in range(rows)])
    data = b""
    for number in range(1, 8):
        for y in range(rows):
            if (passes[y] == number).any():
                data += (
                    b"\0" + pixels[y][passes[y] == number].astype(pixels.dtype.newbyteorder(">")).tobytes()
                )
    depth = 8 * pixels.dtype.itemsize
    return png(zlib.compress(data), header=struct.pack(">LLBBBBB", columns, rows, depth, 0, 0, 0, 1))


def test_a_segment_of_run_lengths_beyond_the_end_is_refused() -> None:
    pixels = scene()
    stream = struct.pack("<16L", 2, 64, 10**9, *[0] * 13) + b"\xd1\0" * 50 + b"\0" * 2000
    with pytest.raises(ImageError, match="header of the compressed pixels is damaged"):
        read_bytes(file_bytes(compressed(pixels, stream, uid.RLELossless)))
