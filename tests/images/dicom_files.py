"""DICOM files made for the tests by pydicom, and where the files of its packages lie."""

import io
import struct
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image
from pydicom import uid
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence

PATIENT = "Doe^Jane^Secret"
UNCOMPRESSED = [
    *(uid.ExplicitVRLittleEndian, uid.ImplicitVRLittleEndian, uid.ExplicitVRBigEndian),
    uid.DeflatedExplicitVRLittleEndian,
]


def folder_of(package: str) -> Path:
    """Folder of an installed package, without importing it."""
    return Path(find_spec(package).origin).parent


def pydicom_file(name: str) -> Path:
    """File in pydicom's own wheel."""
    return folder_of("pydicom") / "data" / "test_files" / name


def pydicom_data(name: str) -> Path:
    """File in the package pydicom-data."""
    return folder_of("data_store") / "data" / name


def radiograph_dataset(pixels: np.ndarray, *, syntax=uid.ExplicitVRLittleEndian, **attributes) -> FileDataset:
    """Small CR image of the pixels' type; attributes of None are left out."""
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = syntax
    meta.MediaStorageSOPClassUID = uid.ComputedRadiographyImageStorage
    meta.MediaStorageSOPInstanceUID = "2.25.1"
    dataset = FileDataset(
        None,
        {},
        file_meta=meta,
        preamble=b"\0" * 128,
        is_implicit_VR=syntax.is_implicit_VR,
        is_little_endian=syntax.is_little_endian,
    )
    dataset.SOPClassUID = meta.MediaStorageSOPClassUID
    dataset.SOPInstanceUID = "2.25.1"
    dataset.PatientName = PATIENT
    dataset.PatientID = "S3CR3T"
    bits = pixels.dtype.itemsize * 8
    values = {
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "PixelSpacing": [0.2, 0.2],
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        "PixelData": pixels.tobytes(),
        **attributes,
    }
    for name, value in values.items():
        if value is not None:
            setattr(dataset, name, value)
    dataset["PixelData"].VR = "OB" if bits == 8 else "OW"
    return dataset


def lookup(first: int, entries, bits: int = 16) -> Sequence:
    """Sequence of one look-up table."""
    item = Dataset()
    item.add_new("LUTDescriptor", "US", [len(entries) % 65536, first, bits])
    item.add_new("LUTData", "OW", np.asarray(entries, "<u2").tobytes())
    return Sequence([item])


def save(dataset: Dataset, path: Path) -> Path:
    """Write in the data set's transfer syntax, deflated where that says so."""
    syntax = dataset.file_meta.TransferSyntaxUID
    if syntax == uid.ExplicitVRBigEndian:
        stored = np.frombuffer(dataset.PixelData, f"<u{dataset.BitsAllocated // 8}")
        dataset.PixelData = stored.astype(stored.dtype.newbyteorder(">")).tobytes()
    dataset.save_as(path, enforce_file_format=True)
    return path


def compressed(pixels: np.ndarray, codestream: bytes, syntax: str, **attributes) -> FileDataset:
    """Image whose pixel data are one given codestream."""
    dataset = radiograph_dataset(pixels, syntax=syntax, **attributes)
    dataset.PixelData = encapsulate([codestream])
    dataset["PixelData"].is_undefined_length = True
    dataset["PixelData"].VR = "OB"
    return dataset


def jpeg(pixels: np.ndarray) -> bytes:
    """Baseline JPEG by Pillow."""
    buffer = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(buffer, format="JPEG", quality=95)
    return buffer.getvalue()


def empty_ht_codestream(rows: int, columns: int) -> bytes:
    """High-throughput JPEG 2000 codestream of one empty packet: every 8-bit pixel decodes to 128."""
    size = struct.pack(">HLLLLLLLLHBBB", 0x4000, columns, rows, 0, 0, columns, rows, 0, 0, 1, 7, 1, 1)
    coding = bytes([0, 0, 0, 1, 0, 0, 4, 4, 0x40, 1])
    quantization = bytes([0x40, 8 << 3])
    packet = b"\xff\x93" + b"\0"
    tile = struct.pack(">HLBB", 0, 12 + len(packet), 0, 1)

    def segment(marker: int, body: bytes) -> bytes:
        return struct.pack(">HH", marker, len(body) + 2) + body

    return b"".join(
        [
            b"\xff\x4f",
            segment(0xFF51, size),
            segment(0xFF50, struct.pack(">LH", 1 << 17, 0)),
            segment(0xFF52, coding),
            segment(0xFF5C, quantization),
            segment(0xFF90, tile),
            packet,
            b"\xff\xd9",
        ]
    )
