"""Write pixels as PNG, or as a DICOM radiograph. The same arguments give the same bytes."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import UID, DigitalXRayImageStorageForPresentation, ExplicitVRLittleEndian
from pydicom.valuerep import format_number_as_ds

from overread.errors import InvalidInputError
from overread.files import write_atomically
from overread.images._limits import check_shape
from overread.images._spacing import Spacing, given_spacing

LONGEST_ID = 64
WINDOW_PERCENT = (0.5, 99.5)
NOT_KNOWN = (
    "PatientName", "PatientBirthDate", "PatientSex", "StudyDate", "StudyTime", "AccessionNumber",
    "ReferringPhysicianName", "ContentDate", "ContentTime", "PositionerType", "DetectorType",
)  # fmt: skip
VIEWS = {"PA": ("399348003", "SCT", "postero-anterior"), "AP": ("399067008", "SCT", "antero-posterior")}


def write_png16(path: str | Path, pixels: ArrayLike) -> Path:
    """Write a 16-bit grey PNG atomically; it does not contain the pixel size."""
    return _write_png(path, _read_pixels(pixels))


def _write_png(path: str | Path, array: NDArray[np.uint16] | NDArray[np.uint8]) -> Path:
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG", compress_level=6)
    return write_atomically(path, buffer.getvalue())


def write_png_colour(path: str | Path, pixels: ArrayLike) -> Path:
    """Write a colour PNG of 8 bits per channel atomically."""
    array = np.asarray(pixels)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
        raise InvalidInputError(
            f"pixels must be rows x columns x 3 of uint8, not {array.dtype} of shape {array.shape}"
        )
    check_shape(array.shape[0], array.shape[1])
    return _write_png(path, np.ascontiguousarray(array))


def write_dicom(
    path: str | Path,
    pixels: ArrayLike,
    mm_per_px: float | Sequence[float],
    *,
    patient_id: str,
    image_id: str,
    view: str = "PA",
    state_anonymous: bool = True,
) -> Path:
    """Write a chest radiograph as Digital X-Ray Image Storage - For Presentation, uncompressed.

    Higher values absorb more (MONOCHROME2). The header contains no name, date or institution. Its UIDs are a hash of
    the two ids (PS3.5 annex B.2 form), so that images of a patient share nothing but the PatientID. Without
    ``state_anonymous``, PatientIdentityRemoved is missing, and BurnedInAnnotation is YES, the safe value.
    """
    array = _read_pixels(pixels)
    spacing = given_spacing(mm_per_px)
    if view not in VIEWS:
        raise InvalidInputError(f"view must be one of {', '.join(VIEWS)}")
    for name, value in (("patient_id", patient_id), ("image_id", image_id)):
        check_id(name, value)
    dataset = _header(patient_id, image_id)
    if state_anonymous:
        dataset.PatientIdentityRemoved = "YES"
        dataset.DeidentificationMethod = "Overread writes no attribute of the patient but PatientID"
    dataset.BurnedInAnnotation = "NO" if state_anonymous else "YES"
    _add_series(dataset, patient_id, image_id, view)
    _add_pixels(dataset, array, spacing)
    buffer = io.BytesIO()
    dataset.save_as(buffer, enforce_file_format=True)
    return write_atomically(path, buffer.getvalue())


def _read_pixels(pixels: ArrayLike) -> NDArray[np.uint16]:
    """2-D uint16 array within the limits, in the machine's byte order."""
    array = np.asarray(pixels)
    if array.ndim != 2 or array.dtype.kind != "u" or array.dtype.itemsize != 2:
        raise InvalidInputError(
            f"pixels must be rows x columns of uint16, not {array.dtype} of shape {array.shape}"
        )
    check_shape(*array.shape)
    return np.ascontiguousarray(array, dtype=np.uint16)


def check_id(name: str, value: str) -> None:
    """Refuse an id that a DICOM long string would change."""
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_ID:
        raise InvalidInputError(f"{name} must be text of 1 to {LONGEST_ID} characters")
    if value != value.strip() or "\\" in value or not value.isprintable():
        raise InvalidInputError(f"{name} has a backslash, a control character, or a space at an end")


def _hash_uid(*parts: str) -> UID:
    """UID 2.25.<128 bits of the parts' SHA-256>."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return UID(f"2.25.{int.from_bytes(digest[:16], 'big')}")


def _header(patient_id: str, image_id: str) -> FileDataset:
    """File meta information, patient and study; unknown required attributes are empty."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = DigitalXRayImageStorageForPresentation
    meta.MediaStorageSOPInstanceUID = _hash_uid("instance", patient_id, image_id)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.ImplementationClassUID = _hash_uid("implementation", "overread.images")
    meta.ImplementationVersionName = "OVERREAD"
    dataset = FileDataset(None, {}, file_meta=meta, preamble=b"\0" * 128)
    dataset.SpecificCharacterSet = "ISO_IR 192"
    dataset.SOPClassUID = meta.MediaStorageSOPClassUID
    dataset.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    dataset.PatientID = patient_id
    for keyword in NOT_KNOWN:
        setattr(dataset, keyword, "")
    dataset.StudyInstanceUID = _hash_uid("study", patient_id, image_id)
    dataset.StudyID = image_id[:16].strip()
    return dataset


def _add_series(dataset: Dataset, patient_id: str, image_id: str, view: str) -> None:
    """Series, equipment and view."""
    dataset.SeriesInstanceUID = _hash_uid("series", patient_id, image_id)
    dataset.Modality = "DX"
    dataset.PresentationIntentType = "FOR PRESENTATION"
    dataset.SeriesNumber = 1
    dataset.InstanceNumber = 1
    dataset.Manufacturer = "Overread"
    dataset.ManufacturerModelName = "overread.images"
    dataset.DeviceSerialNumber = "0"
    dataset.SoftwareVersions = "1"
    dataset.BodyPartExamined = "CHEST"
    dataset.ImageLaterality = "U"
    dataset.AnatomicRegionSequence = [_code_item("51185008", "SCT", "Chest")]
    dataset.ViewPosition = view
    dataset.ViewCodeSequence = [_code_item(*VIEWS[view])]
    dataset.ViewCodeSequence[0].ViewModifierCodeSequence = []
    dataset.PatientOrientation = ["L", "F"]
    dataset.AcquisitionContextSequence = []


def _code_item(value: str, scheme: str, meaning: str) -> Dataset:
    """Item of a code sequence."""
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = value, scheme, meaning
    return item


def _add_pixels(dataset: Dataset, array: NDArray[np.uint16], spacing: Spacing) -> None:
    """Detector, image and pixel modules."""
    size = [format_number_as_ds(spacing.y), format_number_as_ds(spacing.x)]
    dataset.PixelSpacing = size
    dataset.ImagerPixelSpacing = size
    dataset.ImageType = ["DERIVED", "PRIMARY"]
    dataset.SamplesPerPixel = 1
    dataset.PhotometricInterpretation = "MONOCHROME2"
    dataset.Rows, dataset.Columns = array.shape
    dataset.BitsAllocated = dataset.BitsStored = 16
    dataset.HighBit = 15
    dataset.PixelRepresentation = 0
    dataset.PixelIntensityRelationship = "LOG"
    dataset.PixelIntensityRelationshipSign = -1
    dataset.RescaleIntercept, dataset.RescaleSlope, dataset.RescaleType = 0, 1, "US"
    dataset.PresentationLUTShape = "IDENTITY"
    dataset.LossyImageCompression = "00"
    low, high = (float(v) for v in np.percentile(array, WINDOW_PERCENT))
    dataset.WindowCenter = format_number_as_ds((low + high) / 2.0)
    dataset.WindowWidth = format_number_as_ds(max(high - low, 1.0))
    dataset.PixelData = array.astype("<u2", copy=False).tobytes()
