"""Small files of every compressed format, and damage to their pixels: what is read must be equal, or refused."""

import io
import struct
import zlib
from collections import Counter

import numpy as np
from dicom_files import compressed, jpeg, pydicom_data, radiograph_dataset
from mutated_files import mutated
from PIL import Image
from pydicom import dcmread, uid

from overread.errors import ImageError
from overread.images import name_errors
from overread.images._reading import _decoded


def scene(side: int = 72) -> np.ndarray:
    """Twelve bits of waves and noise."""
    y, x = np.mgrid[:side, : side + 5]
    noise = np.random.default_rng(0).normal(0, 90, x.shape)
    return np.clip(2000 + 1200 * np.sin(x / 9) + 500 * np.cos(y / 5) + noise, 0, 4095).astype(np.uint16)


def file_bytes(dataset) -> bytes:
    """Bytes of a DICOM file."""
    buffer = io.BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return buffer.getvalue()


def picture(pixels: np.ndarray, kind: str, **options) -> bytes:
    """Bytes of a picture file."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format=kind, **options)
    return buffer.getvalue()


def make_sources() -> dict[str, bytes]:
    """One file of each kind by its name."""
    twelve = scene()
    eight = (twelve >> 4).astype(np.uint8)
    sources = {
        "jpeg": picture(eight, "JPEG", quality=90),
        "jpeg progressive": picture(eight, "JPEG", quality=90, progressive=True),
        "jpeg restarts": picture(eight, "JPEG", quality=90, restart_marker_rows=1),
        "dicom jpeg baseline": file_bytes(compressed(eight, jpeg(eight), uid.JPEGBaseline8Bit)),
        "dicom jpeg lossless": lossless(),
        "png": picture(twelve, "PNG"),
        "tiff": picture(eight, "TIFF"),
        "tiff lzw": picture(eight, "TIFF", compression="tiff_lzw"),
        "tiff deflate": picture(eight, "TIFF", compression="tiff_adobe_deflate"),
        "tiff packbits": picture(eight, "TIFF", compression="packbits"),
    }
    for name, syntax in (
        ("dicom rle", uid.RLELossless),
        ("dicom jpeg-ls", uid.JPEGLSLossless),
        ("dicom jpeg 2000", uid.JPEG2000Lossless),
    ):
        dataset = radiograph_dataset(twelve)
        dataset.compress(syntax, generate_instance_uid=False)
        sources[name] = file_bytes(dataset)
    return sources


def lossless() -> bytes:
    """File of the package pydicom-data, as no encoder of lossless JPEG is at hand."""
    dataset = dcmread(pydicom_data("JPEG-LL.dcm"))
    return file_bytes(dataset)


def harmed(content: bytes, number: int) -> bytes:
    """One damaged copy: a flipped bit, a bad block, a gap, a cut before the last bytes, or anything (`mutated`)."""
    random = np.random.default_rng([number, 7])
    at = int(random.integers(len(content)))
    length = int(random.integers(1, max(2, len(content) // 4)))
    kind = number % 6
    if kind == 0:
        return content[:at] + bytes([content[at] ^ 1 << int(random.integers(8))]) + content[at + 1 :]
    if kind == 1:
        return content[:at] + b"\0" * len(content[at : at + length]) + content[at + length :]
    if kind == 2:
        return content[:at] + content[at + length :]
    if kind == 3:
        return content[:at] + content[-2:]
    if kind == 4:
        noise = random.integers(0, 256, len(content[at : at + length]), dtype=np.uint8).tobytes()
        return content[:at] + noise + content[at + length :]
    return mutated(content, number)


def count_outcomes(content: bytes, n_files: int, first: int = 0) -> Counter[str]:
    """Read damaged copies: how many are equal, refused, or read with other pixels."""
    whole = read_bytes(content)
    counts: Counter[str] = Counter()
    for number in range(first, first + n_files):
        try:
            found = read_bytes(harmed(content, number))
        except ImageError:
            counts["refused"] += 1
            continue
        same = found.shape == whole.shape and (found == whole).all()
        counts["equal" if same else "other"] += 1
    return counts


def read_bytes(content: bytes) -> np.ndarray:
    """Stored pixels of a file's bytes, or an `ImageError`."""
    return name_errors("image", lambda: _decoded(content)).stored


def chunk(kind: bytes, content: bytes) -> bytes:
    """Chunk of a PNG with its checksum."""
    return struct.pack(">L", len(content)) + kind + content + struct.pack(">L", zlib.crc32(kind + content))


def png(
    *parts: bytes, header: bytes = struct.pack(">LLBBBBB", 4, 3, 8, 0, 0, 0, 0), end: bytes = b""
) -> bytes:
    """PNG of 4 x 3 grey pixels with these chunks of pixel data."""
    data = b"".join(chunk(b"IDAT", part) for part in parts)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + end + chunk(b"IEND", b"")
