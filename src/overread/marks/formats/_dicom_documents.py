"""Common parts of DICOM documents about images: references, series, identity.

A document refers to images by their headers. Attributes that the standard requires, even if empty (type 2), are left
empty where they are missing or unreadable. The SOP instance UID is a hash of the document's content without the time of
writing, so that equal content gives the same instance.
"""

import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.filebase import DicomBytesIO
from pydicom.filewriter import write_dataset

from overread.errors import FormatError, InvalidInputError, TableError
from overread.files import write_atomically
from overread.marks._ellipse import ELLIPSE_COLUMNS, Ellipse, rescale_ellipses
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import records
from overread.marks.formats.dicom_sr import read_dicom
from overread.tables import name_lengths, quote_cell, unit_of

Observer = Literal["person", "device"]

# Longest value of LO, and of the meaning of a code (PS3.5 table 6.2-1).
LONGEST_MEANING = 64
# Longest id that is written where the standard sets no limit (UT, UC): set by judgement, far above any real id.
LONGEST_ID = 1024
NEEDED_COLUMNS = ("path", "mm_per_px_x", "mm_per_px_y")
# Attributes by their use.
ATTRIBUTES = {
    # Of the modules patient and general study: those that name a patient and are optional (type 3).
    "naming": "IssuerOfPatientID OtherPatientIDs OtherPatientIDsSequence OtherPatientNames PatientAge PatientSize "
    "PatientWeight PatientBirthTime PatientComments EthnicGroup Occupation AdditionalPatientHistory StudyDescription "
    "PhysiciansOfRecord NameOfPhysiciansReadingStudy AdmittingDiagnosesDescription InstitutionName InstitutionAddress "
    "InstitutionalDepartmentName StationName PerformingPhysicianName OperatorsName ReferencedRequestSequence",
    # Other attributes of the image that a document repeats: issuer, description, conversion to grey.
    "repeated": "IssuerOfPatientID StudyDescription Modality InstanceNumber SamplesPerPixel PhotometricInterpretation "
    "PixelRepresentation BitsAllocated BitsStored NumberOfFrames RescaleIntercept RescaleSlope RescaleType "
    "ModalityLUTSequence WindowCenter WindowWidth WindowCenterWidthExplanation VOILUTFunction VOILUTSequence",
    # Time and software of writing: not part of the content.
    "volatile": "SOPInstanceUID InstanceCreationDate InstanceCreationTime ContentDate ContentTime "
    "PresentationCreationDate PresentationCreationTime ContributingEquipmentSequence SoftwareVersions",
}
NAMING, REPEATED, VOLATILE = (words.split() for words in ATTRIBUTES.values())
# Optional free text about the conversion to grey, by software or a person.
FREE_TEXT = ("LUTExplanation", "WindowCenterWidthExplanation")
# Required text, with the terms that the standard defines (PS3.3 C.11.1.1.2); any other becomes "unspecified".
DEFINED_TERMS = frozenset(["OD", "HU", "US", "MGML", "Z_EFF", "ED", "EDW", "HU_MOD", "PCT"])
UNSPECIFIED = "US"
VOI_FUNCTIONS = frozenset(["LINEAR", "LINEAR_EXACT", "SIGMOID"])  # PS3.3 C.11.2.1.3
# Needed elements of these sequences' items; other elements are dropped.
LUT_SEQUENCES = ("ModalityLUTSequence", "VOILUTSequence")
LUT_ELEMENTS = frozenset(["LUTDescriptor", "LUTData", "ModalityLUTType"])
IDENTITY = ("SOPClassUID", "SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "Rows", "Columns")
# Type 2 of the modules Patient and General Study (PS3.3 C.7.1.1, C.7.2.1): required, possibly empty. By name: the valid
# form of a value; others are emptied.
TYPE_2 = {
    **dict.fromkeys(
        ("PatientName", "PatientID", "ReferringPhysicianName", "StudyID", "AccessionNumber"), ".*"
    ),
    **dict.fromkeys(("PatientBirthDate", "StudyDate"), r"\d{8}"),
    "StudyTime": r"\d{2}(\d{2}(\d{2}(\.\d{1,6})?)?)?",
    "PatientSex": "[MFO]",
}
# First series numbers by kind, set by judgement: above those of modalities.
FIRST_SERIES = {
    ("SR", "person"): 91001,
    ("PR", "person"): 92001,
    ("SR", "device"): 93001,
    ("PR", "device"): 94001,
}


@dataclass(frozen=True)
class Sources:
    """Material of documents: rows of the images table, DICOM headers by image, numbers of readers."""

    images: dict[str, dict[str, Any]]
    headers: dict[str, Dataset]
    places: dict[str, int]

    @classmethod
    def of(cls, mark_set: MarkSet, folder: Path) -> Self:
        """Open the images of a mark set; a reading of an image that is not among them is refused."""
        images = {str(row["image_id"]): row for row in records(mark_set.images)}
        headers = {image: header_of(image, row, folder) for image, row in images.items()}
        for image in mark_set.readings["image_id"]:
            if image not in headers:
                raise TableError(f"readings: image {quote_cell(image)} is not in the images table")
        readers = dict.fromkeys(mark_set.readings["reader_id"])
        return cls(images, headers, {reader: place for place, reader in enumerate(readers)})

    def identify(
        self, kind: Literal["SR", "PR"], image: str, reader: str, observer: Observer
    ) -> dict[str, Any]:
        """Identity of a reader's document on an image and others of its study, as highdicom takes it.

        Number and description of the series identify the reader or program. The instance number is that of the image,
        so that documents of one series sort like the images.
        """
        header = self.headers[image]
        number = FIRST_SERIES[kind, observer] + self.places[reader]
        what = "marks of" if observer == "person" else "detections by"
        plain = "".join(letter for letter in reader if letter.isprintable() and letter != "\\")
        uid = uid_of("series", kind, str(header.StudyInstanceUID), reader, str(number))
        try:
            instance_number = max(int(header.InstanceNumber), 1)
        except (AttributeError, TypeError, ValueError):
            instance_number = 1
        return {
            "series_instance_uid": uid,
            "series_number": number,
            "series_description": f"Overread {kind}: {what} {plain}"[:LONGEST_MEANING].strip(),
            "sop_instance_uid": uid,  # until write_document knows the content
            "instance_number": instance_number,
            "manufacturer": "Overread",
            "manufacturer_model_name": "Overread",
        }


def header_of(image: str, row: Mapping[Any, Any], folder: Path) -> Dataset:
    """Header of an image's DICOM file, reduced to the repeated attributes; type 2 attributes may be empty."""
    for name in NEEDED_COLUMNS:
        value = row.get(name, "")
        if value == "" or value != value:
            raise TableError(f"images: image {quote_cell(image)}: a DICOM document needs the column {name}")
    path = folder / str(row["path"])
    full = read_dicom(path, headers_only=True)
    header = Dataset()
    for name in (*IDENTITY, *TYPE_2, *REPEATED):
        _copy_element(full, header, name)
    if header.get("VOILUTFunction", "LINEAR") not in VOI_FUNCTIONS:
        del header.VOILUTFunction
    for name in IDENTITY:
        if header.get(name, None) in (None, ""):
            raise TableError(f"{path}: is not a DICOM image: {name} is missing")
    for name, form in TYPE_2.items():
        if name not in header or not re.fullmatch(form, str(header.get(name, "") or ""), re.DOTALL):
            setattr(header, name, "")
    return header


def _copy_element(source: Dataset, target: Dataset, name: str) -> None:
    """Copy an element if it exists and is readable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name in source:
                target.add(source[name])
                str(target[name].value)
        except Exception:  # pydicom raises almost anything on values that break their type
            if name in target:
                delattr(target, name)


@contextmanager
def refuse_unusable_headers(header: Dataset) -> Iterator[None]:
    """Turn any error caused by a header into one typed error; highdicom raises many kinds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InvalidInputError:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        raise FormatError(
            f"image {header.SOPInstanceUID}: its DICOM header is not sufficient for a document"
        ) from error  # whose message may quote the header


def graphic_points(
    mark: Mapping[Any, Any], image: Mapping[Any, Any], header: Dataset, geometry: str = "ellipse"
) -> NDArray[np.float64]:
    """Points of a mark in pixels: end points of the axes, or a closed outline; all must lie within the image.

    Both SR (PS3.3 C.18.6) and presentation states (C.10.5) put (0, 0) at the top-left corner of the first pixel.
    """
    unit = unit_of(map(str, mark)) or "mm"
    shape = [[mark[name] for name in name_lengths(ELLIPSE_COLUMNS, unit)]]
    scale = (1.0, 1.0) if unit == "px" else (1 / image["mm_per_px_x"], 1 / image["mm_per_px_y"])
    ellipse = Ellipse(*rescale_ellipses(shape, *scale)[0].tolist())
    if geometry == "polyline":
        outline = ellipse.outline()
        points = np.vstack([outline, outline[:1]])
    else:
        # Four points of the outline are the end points of the axes: at 180, 0, 270 and 90 degrees.
        points = ellipse.outline(4)[[2, 0, 3, 1]]
    if points.min() < 0 or points[:, 0].max() > header.Columns or points[:, 1].max() > header.Rows:
        raise TableError(
            f"marks: mark {quote_cell(str(mark['mark_id']))} of image {quote_cell(str(mark['image_id']))} reaches "
            "beyond the image, which DICOM does not allow (remove or correct it)"
        )
    return points


def exact_text(text: str, what: str, longest: int = LONGEST_ID) -> str:
    """Refuse text that DICOM changes: it drops trailing blanks, and programs fail on control characters."""
    if text != text.rstrip() or not text.isprintable() or len(text) > longest:
        raise TableError(f"the {what} id {quote_cell(text)} would be changed by DICOM (choose another)")
    return text


def person_name(reader: str) -> str:
    """Reader as a DICOM person name, for people; the id is stored elsewhere."""
    plain = "".join(letter if letter.isalnum() and letter.isascii() else " " for letter in reader)
    return (" ".join(plain.split())[:60] or "Reader") + "^"


def uid_of(*parts: str) -> str:
    """UID derived from texts: 2.25 and 128 bits of their SHA-256."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"2.25.{int.from_bytes(hashlib.sha256(text).digest()[:16], 'big')}"


def content_uid(document: Dataset) -> str:
    """UID derived from a document's content, without time and software of writing."""
    said = Dataset()
    for element in document:
        if element.keyword not in VOLATILE and element.tag.group != 2:
            said.add(element)
    # Implicit little endian: only lengths and values, for any syntax of the file.
    buffer = DicomBytesIO()
    buffer.is_implicit_VR, buffer.is_little_endian = True, True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_dataset(buffer, said)
    return uid_of("document", hashlib.sha256(buffer.getvalue()).hexdigest())


def _leave_out_names(document: Dataset) -> None:
    """Empty the attributes of patient and visit from the images' headers, and free text; remove optional ones."""

    def leave_out(dataset: Dataset, element: Any) -> None:
        name = element.keyword
        if name in TYPE_2:
            element.value = ""
        elif name in ("RescaleType", "ModalityLUTType"):
            element.value = element.value if element.value in DEFINED_TERMS else UNSPECIFIED
        elif name in LUT_SEQUENCES:
            for item in element.value:
                for other in [one.tag for one in item if one.keyword not in LUT_ELEMENTS]:
                    del item[other]
        elif element.tag.is_private or name in NAMING or name in FREE_TEXT:
            del dataset[element.tag]

    document.walk(leave_out)


def write_document(document: Any, folder: Path, mode: int | None, *, anonymous: bool) -> Path:
    """Give a document its identity and write it to a folder; an existing one with the same content stays."""
    if anonymous:
        _leave_out_names(document)
    document.SpecificCharacterSet = "ISO_IR 192"  # UTF-8: ids may have any letters
    uid = content_uid(document)
    document.SOPInstanceUID = document.file_meta.MediaStorageSOPInstanceUID = uid
    path = folder / f"{uid}.dcm"
    try:
        if path.is_file() and content_uid(dcmread(path)) == uid:
            return path
    except Exception:  # a damaged file is written again
        pass
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document.save_as(buffer)
    # A link of this name is not the user's and is not followed.
    return write_atomically(path, buffer.getvalue(), mode=mode, within=folder)
