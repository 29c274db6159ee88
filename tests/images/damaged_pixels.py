"""Small files of every compressed format, and damage to them: what is read must be equal, or refused.

As a script: ``damaged_pixels.py FOLDER FIRST LAST``. Reads damaged copies FIRST to LAST - 1 of the files in FOLDER with
bounded memory and time, and prints one JSON object: how many were read, how many refused, and every other exception.
Before each file its number goes to FOLDER/progress, so that the parent knows which one a crash or the alarm stopped at.
"""

import io
import json
import resource
import signal
import struct
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from dicom_files import compressed, jpeg, pydicom_data, radiograph_dataset
from PIL import Image
from pydicom import dcmread, uid

from overread.errors import ImageError
from overread.images import display_image, name_errors, read_image, read_source
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


def picture(pixels: np.ndarray, kind: str, *, mode: str | None = None, **options) -> bytes:
    """Bytes of a picture file, in another of Pillow's modes where one is given."""
    buffer, made = io.BytesIO(), Image.fromarray(pixels)
    (made.convert(mode) if mode else made).save(buffer, format=kind, **options)
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
        # As no encoder of lossless JPEG is at hand.
        "dicom jpeg lossless": file_bytes(dcmread(pydicom_data("JPEG-LL.dcm"))),
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


SECONDS_PER_FILE = 20
ADDRESS_SPACE = 3 << 29
"""1.5 GiB, of which the libraries map about half before the first file."""
LENGTHS = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFE, 0xFFFF, 0x10000, 0x7FFFFFFF]
LENGTHS += [0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF]


def mutated(content: bytes, number: int) -> bytes:
    """One damaged copy; the same number gives the same one."""
    random = np.random.default_rng(number)
    data = bytearray(content)
    # Half of the damage goes to the head, where the sizes are.
    reach = min(len(data), 2000) if random.random() < 0.5 else len(data)
    for _ in range(random.choice([1, 1, 2, 4, 16])):
        at = int(random.integers(reach))
        kind = random.integers(6)
        if kind == 0:
            data[at] ^= 1 << int(random.integers(8))
        elif kind == 1:
            data[at] = int(random.integers(256))
        elif kind == 2:
            width = int(random.choice([2, 4]))
            value = int(random.choice(LENGTHS)) % (1 << 8 * width)
            data[at : at + width] = value.to_bytes(width, str(random.choice(["little", "big"])))
        elif kind == 3:
            del data[at : at + int(random.integers(1, 64))]
        elif kind == 4:
            other = int(random.integers(len(data)))
            data[at:at] = data[other : other + int(random.integers(1, 64))]
        else:
            del data[max(at, 1) :]
        reach = max(1, min(reach, len(data)))
        if not data:
            return b"\0"
    return bytes(data)


def read_all(folder: Path, first: int, last: int) -> dict[str, object]:
    """Read damaged copies; only a radiograph or an `ImageError` is right."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sources = sorted(folder.glob("source-*"))
    path, progress = folder / f"mutated-{first}", folder / "progress"
    counts = {"read": 0, "refused": 0, "wrong": []}
    for number in range(first, last):
        progress.write_text(str(number))
        path.write_bytes(mutated(sources[number % len(sources)].read_bytes(), number))
        signal.alarm(SECONDS_PER_FILE)
        try:
            assert display_image(path).dtype == np.uint8
            stated = read_source(path).spacing.spacing
            image = read_image(path, mm_per_px=0.5 if stated is None else None)
            assert np.isfinite(image.pixels).all()
            counts["read"] += 1
        except ImageError:
            counts["refused"] += 1
        except BaseException as error:
            counts["wrong"].append(f"{number} {sources[number % len(sources)].name}: {error!r}")
        signal.alarm(0)
    counts["peak_mib"] = peak_mib()
    return counts


def peak_mib() -> int:
    """Peak memory of this process; ru_maxrss would keep that of the process before exec, which is pytest's own."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def read_in_child(folder: Path, n_files: int, first: int = 0) -> dict[str, object]:
    """Read damaged copies in children; a child that dies is noted, and the next goes on after that file."""
    outcome, last = {"read": 0, "refused": 0, "peak_mib": 0, "wrong": []}, first + n_files
    while first < last:
        command = [sys.executable, __file__, str(folder), str(first), str(last)]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        if child.returncode == 0:
            counts = json.loads(child.stdout.splitlines()[-1])
            outcome["peak_mib"] = counts["peak_mib"]
            for name in ("read", "refused", "wrong"):
                outcome[name] += counts[name]
            break
        stopped = int((folder / "progress").read_text())
        outcome["wrong"].append(f"{stopped}: the child ended with {child.returncode}: {child.stderr[-300:]}")
        first = stopped + 1
    return outcome


if __name__ == "__main__":
    print(json.dumps(read_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
