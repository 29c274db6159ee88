"""The rows "Files" of the list of hostile inputs: each gets a typed error, in bounded memory and time."""

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from damaged_pixels import png
from dicom_files import compressed, empty_ht_codestream, jpeg, pydicom_data, radiograph_dataset, save
from PIL import Image
from pydicom import uid
from pydicom.encaps import generate_frames

from overread.errors import ImageError
from overread.images import _codestreams as dicom_codestreams
from overread.images import read_image

READ = """
import json, resource, sys
from damaged_pixels import peak_mib
from overread.errors import ImageError
from overread.images import read_image
resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
for path in sys.argv[1:]:
    before, said = peak_mib(), None
    try:
        read_image(path, mm_per_px=0.2)
    except ImageError as error:
        said = str(error)
    print(json.dumps([peak_mib() - before, peak_mib(), said]))
"""


def read_in_child(*paths):
    """For each file: by how many MiB the child's peak grew, the peak, and why the file was refused."""
    child = subprocess.run(
        [sys.executable, "-c", READ, *map(str, paths)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    return [json.loads(line) for line in child.stdout.splitlines()]


def small(**attributes):
    return radiograph_dataset(np.arange(64, dtype=np.uint16).reshape(8, 8), **attributes)


def headed(body: bytes, syntax=uid.ExplicitVRLittleEndian) -> bytes:
    """Meta information of a small file, with another body."""
    identifier = syntax.encode() + b"\0" * (len(syntax) % 2)
    element = struct.pack("<HH2sH", 2, 0x10, b"UI", len(identifier)) + identifier
    return b"\0" * 128 + b"DICM" + element + body


def test_every_truncation_of_a_small_file_is_refused(tmp_path):
    path = save(small(), tmp_path / "a.dcm")
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ImageError):
            read_image(path)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.jpg", "lzw.tif"])
def test_truncated_pictures_are_refused(tmp_path, twelve_bits, name):
    path = tmp_path / name
    options = {"compression": "tiff_lzw"} if name == "lzw.tif" else {}
    Image.fromarray((twelve_bits >> 4).astype(np.uint8)).save(path, **options)
    content = path.read_bytes()
    for length in range(0, len(content) * 9 // 10, 97):
        path.write_bytes(content[:length])
        with pytest.raises(ImageError):
            read_image(path, mm_per_px=0.2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"x,y\n1,2\n", "not a DICOM, PNG, TIFF or JPEG file"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (b"\xff\xd8\xff", "damaged"),
        (b"II*\0", "damaged"),
        (b"\0" * 128 + b"DICM", "transfer syntax"),
        (headed(b"", syntax=uid.MPEG2MPML), "transfer syntax"),
    ],
)
@pytest.mark.parametrize("ending", ["png", "dcm"])
def test_the_content_decides_not_the_name(tmp_path, content, message, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=message):
        read_image(path, mm_per_px=0.2)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path, message in ((tmp_path / "none.png", "no such file"), (tmp_path, "folder")):
        with pytest.raises(ImageError, match=message):
            read_image(path)


def run_lengths_of(rows, path):
    """680 bytes that claim a large image."""
    stream = struct.pack("<16L", 2, 64, 114, *[0] * 13) + b"\x81\0" * 50
    dataset = compressed(np.zeros((8, 8), np.uint16), stream, uid.RLELossless)
    dataset.Rows = dataset.Columns = rows
    assert save(dataset, path).stat().st_size < 900
    return path.read_bytes()


def deflate_bomb():
    """1 MB that inflates to 1 GB."""
    engine = zlib.compressobj(9, wbits=-15)
    engine.compress(bytes(1 << 20))
    engine.flush(zlib.Z_FULL_FLUSH)
    # After a full flush every block of zeros is coded alike, and stands for itself.
    block = engine.compress(bytes(1 << 20)) + engine.flush(zlib.Z_FULL_FLUSH)
    content = headed(block * 1000 + engine.flush(), uid.DeflatedExplicitVRLittleEndian)
    assert 900_000 < len(content) < 1_100_000
    return content


def nested(depth, tag):
    level = struct.pack("<HH2sHL", *tag, b"SQ", 0, 0xFFFFFFFF)
    return headed((level + struct.pack("<HHL", 0xFFFE, 0xE000, 0xFFFFFFFF)) * depth)


def element_of(length):
    """An element that claims a length."""
    return headed(struct.pack("<HH2sHL", 0x28, 0x3006, b"OW", 0, length) + b"\0" * 100)


HUGE = struct.pack(">LLBBBBB", 60000, 60000, 16, 0, 0, 0, 0)
# The bomb comes last, as the peak of a process never falls.
REFUSED = {
    "run lengths beyond the cap": (
        lambda path: run_lengths_of(65535, path),
        "more than the limit of 33,554,432",
        40,
    ),
    "run lengths for too many": (lambda path: run_lengths_of(5000, path), "cannot hold", 40),
    "png": (lambda _: png(zlib.compress(bytes(1000)), header=HUGE), "more than the limit of 33,554,432", 40),
    **{
        f"element of {length:x}": (lambda _, n=length: element_of(n), "longer than the file", 40)
        for length in (0xFFFFFFF0, 0xFFFFFFFE, 0x7FFFFFFF)
    },
    **{
        f"{depth} sequences {tag}": (lambda _, d=depth, t=tag: nested(d, t), "nested deeper", 40)
        for depth in (300, 100_000)
        for tag in ((0x0008, 0x1140), (0x0028, 0x3010))
    },
    "deflate bomb": (lambda _: deflate_bomb(), "inflates to more than", 450),
}


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What one child says of each of these files, and by how much it grew."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = [folder / f"{number}.dcm" for number in range(len(REFUSED))]
    for path, (make, _, _) in zip(paths, REFUSED.values(), strict=True):
        path.write_bytes(make(path))
    return dict(zip(REFUSED, read_in_child(*paths), strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_refused_in_bounded_memory_and_time(refusals, name):
    _, message, most_mib = REFUSED[name]
    assert message in refusals[name][2]
    # With all files before it, whose peak could hide its own.
    until = list(REFUSED).index(name) + 1
    assert sum(grown for grown, _, _ in list(refusals.values())[:until]) <= most_mib


def test_more_elements_than_the_cap(tmp_path):
    path = tmp_path / "a.dcm"
    path.write_bytes(headed(struct.pack("<HH2sH", 0x0009, 0x10, b"LO", 0) * 100_001))
    with pytest.raises(ImageError, match="more than 100,000 elements"):
        read_image(path)


@pytest.mark.filterwarnings("ignore:Invalid value for VR DS")
@pytest.mark.parametrize(
    "text",
    [
        r"0,143\0,143",
        r"nan\nan",
        r"inf\inf",
        r"0\0",
        r"0.000\0.143",
        r"-0.1\-0.1",
        r"1e9\1e9",
        r"0.143",
        r"1_0\1_0",
        r"x",
    ],
)
def test_spacing_that_must_not_be_believed(tmp_path, text):
    dataset = small(PixelSpacing=None, StudyDescription="x" * len(text))
    path = save(dataset, tmp_path / "a.dcm")
    padded = text.encode() + b" " * (len(text) % 2)
    element = struct.pack("<HH2sH", 0x28, 0x30, b"DS", len(padded)) + padded
    content = path.read_bytes()
    at = content.index(struct.pack("<HH2s", 0x28, 0x100, b"US"))
    path.write_bytes(content[:at] + element + content[at:])
    with pytest.raises(ImageError, match=r"PixelSpacing.*give mm_per_px"):
        read_image(path)
    assert read_image(path, mm_per_px=0.2).source_mm_per_px == (0.2, 0.2)


def test_a_panic_of_a_decoder_is_an_image_error(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(dicom_codestreams, "_check_run_lengths", lambda *_: None)
    # A literal run of 4 bytes of which one is there: pylibjpeg-rle reads past its end.
    stream = struct.pack("<16L", 2, 64, 66, *[0] * 13) + b"\x03\x27\xc3"
    path = save(compressed(np.zeros((6, 8), np.uint16), stream, uid.RLELossless), tmp_path / "a.dcm")
    with pytest.raises(ImageError, match="PanicException"):
        read_image(path)
    assert "panicked" in capfd.readouterr().err


@pytest.mark.parametrize(
    "head", [(0, 64, 0), (1, 64, 0), (2, 64, 64), (2, 70, 80), (2, 64, 60), (16, 64, 70)]
)
def test_a_damaged_head_of_rle_is_refused(tmp_path, head):
    stream = struct.pack("<16L", *head, *[0] * 13) + b"\xd1\0" * 2
    path = save(compressed(np.zeros((6, 8), np.uint16), stream, uid.RLELossless), tmp_path / "a.dcm")
    with pytest.raises(ImageError, match="header"):
        read_image(path)


def test_an_interrupt_is_not_swallowed(tmp_path, monkeypatch):
    path = save(small(), tmp_path / "a.dcm")

    def interrupted(content):
        raise KeyboardInterrupt

    monkeypatch.setattr("overread.images._reading._decoded", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_image(path)


@pytest.mark.parametrize("syntax", [uid.JPEG2000Lossless, uid.JPEGLSLossless], ids=lambda u: u.keyword)
def test_a_codestream_that_is_cut_or_of_another_size_is_refused(tmp_path, twelve_bits, syntax):
    dataset = radiograph_dataset(twelve_bits)
    dataset.compress(syntax, generate_instance_uid=False)
    (stream,) = generate_frames(dataset.PixelData, number_of_frames=1)
    cut = compressed(twelve_bits, stream[: len(stream) // 2], syntax)
    dataset.Rows = 5000
    for wrong, message in ((cut, "no end marker"), (dataset, "size of the compressed pixels differs")):
        with pytest.raises(ImageError, match=message):
            read_image(save(wrong, tmp_path / "a.dcm"))


@pytest.mark.parametrize(
    ("at", "value"), [(0, b"\x01"), (2, b"\xff\xff"), (6, b"\0\0")], ids=["precincts", "layers", "blocks"]
)
def test_a_codestream_in_too_many_parts_is_refused(tmp_path, at, value):
    stream = bytearray(empty_ht_codestream(40, 40))
    body = stream.index(b"\xff\x52") + 4
    stream[body + at : body + at + len(value)] = value
    if at == 0:
        stream[body - 2 : body] = struct.pack(">H", 13)
        stream[body + 10 : body + 10] = b"\x11"
    path = save(compressed(np.zeros((40, 40), np.uint8), bytes(stream), uid.HTJ2K), tmp_path / "a.dcm")
    with pytest.raises(ImageError, match="more parts than any image needs"):
        read_image(path)


def test_a_jpeg_of_very_many_scans_is_refused(tmp_path, twelve_bits):
    picture = jpeg((twelve_bits >> 4).astype(np.uint8))
    scan = picture[picture.index(b"\xff\xda") : -2]
    stream = picture[:-2] + scan * 200 + b"\xff\xd9"
    (tmp_path / "a.jpg").write_bytes(stream)
    save(compressed(np.zeros((60, 84), np.uint8), stream, uid.JPEGBaseline8Bit), tmp_path / "a.dcm")
    for path in tmp_path.iterdir():
        with pytest.raises(ImageError, match="100 scans"):
            read_image(path, mm_per_px=0.2)


def test_a_repeated_element_is_refused(tmp_path):
    path = save(small(), tmp_path / "a.dcm")
    content = path.read_bytes()
    at = content.index(struct.pack("<HH2s", 0x28, 0x100, b"US"))
    path.write_bytes(content[:at] + struct.pack("<HH2sHH", 0x28, 0x10, b"US", 2, 4) + content[at:])
    with pytest.raises(ImageError, match=r"\(0028,0010\) occurs twice"):
        read_image(path)


def test_the_real_radiograph_takes_bounded_memory():
    ((_, peak, refused),) = read_in_child(pydicom_data("RG1_J2KR.dcm"))
    assert refused is None
    assert peak < 600
