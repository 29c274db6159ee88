"""DICOM Comprehensive SR, template TID 1500: writing.

One document for each reader and study. The image library lists every image that the reader read; a reader who
marked nothing at all gets one group that says so. The reader's id is his login name, exactly; the mark's id
is the tracking identifier. UIDs follow from ids and marks, so the same tables give the same UIDs, and a
document with other marks has another one. Positions are
float32 (FL) and must lie within the image, as the standard wants.
"""

from __future__ import annotations

import hashlib
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from highdicom import sr
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sr.codedict import codes
from pydicom.sr.coding import Code

from overread.errors import TableError, UsageError
from overread.files.atomic import write_atomically
from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.marks.formats.dicom_sr import CERTAINTY, read_dicom
from overread.marks.formats.outline import PixelEllipse, outline_of_ellipse
from overread.marks.mark_set import MarkSet
from overread.marks.pixels import rescale_ellipses
from overread.tables.cell_types import quote_cell

__all__ = ["header_of", "write"]

LONGEST_MEANING = 64
LONGEST_ID = 1024
KNOWN_FINDINGS = {"Nodule": Code("27925004", "SCT", "Nodule"), "Mass": Code("4147007", "SCT", "Mass")}
NEEDED = ("path", "mm_per_px_x", "mm_per_px_y")
# Of the modules patient and general study: attributes of type 2, which may be empty, and of type 3.
NAMING = (
    "PatientName",
    "PatientID",
    "PatientBirthDate",
    "PatientSex",
    "StudyDate",
    "StudyTime",
    "AccessionNumber",
    "ReferringPhysicianName",
    "StudyID",
)
NAMING_OPTIONAL = (
    "IssuerOfPatientID",
    "OtherPatientIDs",
    "OtherPatientIDsSequence",
    "OtherPatientNames",
    "PatientAge",
    "PatientSize",
    "PatientWeight",
    "PatientBirthTime",
    "PatientComments",
    "EthnicGroup",
    "Occupation",
    "AdditionalPatientHistory",
    "StudyDescription",
    "PhysiciansOfRecord",
    "NameOfPhysiciansReadingStudy",
    "AdmittingDiagnosesDescription",
    "InstitutionName",
    "InstitutionAddress",
    "InstitutionalDepartmentName",
    "StationName",
    "PerformingPhysicianName",
    "OperatorsName",
    "ReferencedRequestSequence",
)


def write(
    mark_set: MarkSet,
    folder: Path,
    *,
    images_folder: Path,
    geometry: str = "ellipse",
    observer: Literal["person", "device"] = "person",
    anonymous: bool = False,
) -> list[Path]:
    """Write the documents of a mark set into a folder, made if need be; return their paths.

    Parameters
    ----------
    mark_set : MarkSet
        Its images table must have path (a DICOM image), mm_per_px_x and mm_per_px_y.
    folder : Path
        Where the documents go.
    images_folder : Path
        Folder that the paths of the images are relative to.
    geometry : {"ellipse", "polyline"}
        ``ellipse`` loses nothing; ``polyline`` is a closed outline of 64 points, for viewers that cannot draw
        oblique ellipses.
    observer : {"person", "device"}
        Whether the readers are people or programs.
    anonymous : bool
        Leave out what names the patient and the visit: a document then belongs to its images by their UIDs alone.
    """
    if geometry not in ("ellipse", "polyline"):
        raise UsageError(f"geometry {geometry!r}: there are ellipse and polyline")
    images = {str(row["image_id"]): row for row in mark_set.images.to_dict("records")}
    headers = {image: header_of(image, row, images_folder) for image, row in images.items()}
    documents: dict[tuple[str, str], list[str]] = {}
    for image, reader in mark_set.readings[["image_id", "reader_id"]].itertuples(index=False, name=None):
        if image not in headers:
            raise TableError(f"readings: image {quote_cell(image)} is not in the images table")
        documents.setdefault((reader, str(headers[image].StudyInstanceUID)), []).append(image)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for (reader, _), names in documents.items():
        mine = mark_set.marks[
            (mark_set.marks["reader_id"] == reader) & mark_set.marks["image_id"].isin(names)
        ]
        groups = [group_of(mark, images, headers, geometry) for mark in mine.to_dict("records")]
        unmarked = [headers[name] for name in names if name not in set(mine["image_id"])]
        if unmarked:
            groups.append(nothing_found(reader, unmarked))
        content = mine.to_json(orient="values", double_precision=15)
        document = document_of(reader, observer, [headers[name] for name in names], groups, content)
        if anonymous:
            leave_out_names(document)
        written.append(write_atomically(folder / f"{document.SOPInstanceUID}.dcm", as_bytes(document)))
    return written


def header_of(image: str, row: Mapping[Any, Any], folder: Path) -> Dataset:
    """Header of an image's DICOM file."""
    for name in NEEDED:
        value = row.get(name, "")
        if value == "" or value != value:
            raise TableError(
                f"images: image {quote_cell(image)}: a structured report needs the column {name}"
            )
    header = read_dicom(folder / str(row["path"]), headers_only=True)
    for name in ("SOPInstanceUID", "StudyInstanceUID", "Rows", "Columns"):
        if name not in header:
            raise TableError(f"{folder / str(row['path'])}: no DICOM image: {name} is missing")
    return header


def group_of(
    mark: Mapping[Any, Any],
    images: Mapping[str, Mapping[Any, Any]],
    headers: Mapping[str, Dataset],
    geometry: str,
) -> Any:
    """Measurement group (TID 1410) of a mark."""
    image = str(mark["image_id"])
    header = headers[image]
    source = sr.SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID)
    points = graphic_points(mark, images[image], geometry)
    if points.min() < 0 or points[:, 0].max() > header.Columns or points[:, 1].max() > header.Rows:
        raise TableError(
            f"marks: mark {quote_cell(str(mark['mark_id']))} of image {quote_cell(image)} reaches beyond the image, "
            "which DICOM does not allow (take it out, or correct it)"
        )
    mark_id = exact_text(str(mark["mark_id"]), "mark")
    certainty = mark.get("confidence", math.nan)
    measured = [] if math.isnan(certainty) else [certainty_item(float(certainty))]
    return sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(uid_of(image, mark_id), mark_id),
        referenced_region=sr.ImageRegion(geometry.upper(), points, source),
        finding_type=finding_code(str(mark.get("label", "") or "")),
        measurements=measured,
    )


def graphic_points(mark: Mapping[Any, Any], image: Mapping[Any, Any], geometry: str) -> NDArray[np.float64]:
    """Points of a mark in pixels: end points of the axes, or a closed outline."""
    shape = [[mark[name] for name in ELLIPSE_COLUMNS]]
    x, y, a, b, angle = rescale_ellipses(shape, 1 / image["mm_per_px_x"], 1 / image["mm_per_px_y"])[
        0
    ].tolist()
    ellipse = PixelEllipse((x, y), (a, b), angle)
    if geometry == "polyline":
        outline = outline_of_ellipse(ellipse)
        return np.vstack([outline, outline[:1]])
    # Four points of the outline are the end points of the axes: at 180, 0, 270 and 90 degrees.
    return outline_of_ellipse(ellipse, 4)[[2, 0, 3, 1]]


def certainty_item(certainty: float) -> Any:
    """Confidence of a mark as a measurement."""
    name, unit = Code(CERTAINTY, "DCM", "Certainty of Finding"), Code("1", "UCUM", "no units")
    return sr.Measurement(name=name, value=certainty, unit=unit)


def finding_code(label: str) -> Code | None:
    """Code a label: in SNOMED where it is one of ours, else privately, with the label as its meaning."""
    if not label:
        return None
    if label != label.strip() or len(label) > LONGEST_MEANING or "\\" in label or not label.isprintable():
        raise TableError(
            f"marks: the label {quote_cell(label)} cannot be a code's meaning in DICOM (at most 64 characters)"
        )
    digest = hashlib.sha256(label.encode()).hexdigest()[:12]
    return KNOWN_FINDINGS.get(label, Code(digest, "99OVERREAD", label))


def document_of(
    reader: str, observer: str, headers: Sequence[Dataset], groups: Sequence[Any], content: str
) -> sr.ComprehensiveSR:
    """One reader's report on the images of one study; its UID follows from ``content`` too."""
    report = sr.MeasurementReport(
        observation_context=person_context(reader) if observer == "person" else device_context(reader),
        procedure_reported=Code("399208008", "SCT", "Chest X-ray"),
        imaging_measurements=groups,
    )
    study = str(headers[0].StudyInstanceUID)
    document = sr.ComprehensiveSR(
        evidence=headers,
        content=report,
        series_instance_uid=uid_of("series", study, reader),
        series_number=1,
        sop_instance_uid=uid_of("document", study, reader, content),
        instance_number=1,
        manufacturer="Overread",
        is_complete=True,
    )
    document.SpecificCharacterSet = "ISO_IR 192"  # UTF-8: ids may have any letters
    return document


def leave_out_names(document: Dataset) -> None:
    """Empty what the images' headers gave of patient and visit; an attribute that need not be there goes."""

    def leave_out(dataset: Dataset, element: Any) -> None:
        if element.keyword in NAMING:
            element.value = ""
        elif element.keyword in NAMING_OPTIONAL:
            del dataset[element.tag]

    document.walk(leave_out)


def person_context(reader: str) -> Any:
    """Observer context of a reader."""
    person = sr.PersonObserverIdentifyingAttributes(
        name=person_name(reader), login_name=exact_text(reader, "reader")
    )
    return sr.ObservationContext(observer_person_context=sr.ObserverContext(codes.DCM.Person, person))


def device_context(name: str) -> Any:
    """Observer context of a program."""
    device = sr.DeviceObserverIdentifyingAttributes(
        uid=uid_of("device", name), name=exact_text(name, "device"), manufacturer_name="Overread"
    )
    return sr.ObservationContext(observer_device_context=sr.ObserverContext(codes.DCM.Device, device))


def nothing_found(reader: str, headers: Sequence[Dataset]) -> Any:
    """Group (TID 1501) that says that the images were read and nothing was marked."""
    sources = [
        sr.SourceImageForMeasurementGroup(header.SOPClassUID, header.SOPInstanceUID) for header in headers
    ]
    uid = uid_of("nothing", reader, *(str(header.SOPInstanceUID) for header in headers))
    return sr.MeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(uid, "no finding"),
        source_images=sources,
        qualitative_evaluations=[
            sr.QualitativeEvaluation(codes.DCM.Finding, Code("260415000", "SCT", "Not detected")),
        ],
    )


def exact_text(text: str, what: str) -> str:
    """Text that DICOM keeps as it is: it drops trailing blanks, and readers trip over control characters."""
    if text != text.rstrip() or not text.isprintable() or len(text) > LONGEST_ID:
        raise TableError(
            f"the {what} id {quote_cell(text)} would not come back exactly from DICOM (choose another)"
        )
    return text


def person_name(reader: str) -> str:
    """Reader as a DICOM person name: for people to read; the login name holds the id."""
    plain = "".join(letter if letter.isalnum() and letter.isascii() else " " for letter in reader)
    return (" ".join(plain.split())[:60] or "Reader") + "^"


def uid_of(*parts: str) -> str:
    """UID that follows from texts: 2.25 and 128 bits of their SHA-256."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return f"2.25.{int.from_bytes(hashlib.sha256(text).digest()[:16], 'big')}"


def as_bytes(document: sr.ComprehensiveSR) -> bytes:
    """Document as the bytes of a DICOM file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document.save_as(buffer)
    return buffer.getvalue()
