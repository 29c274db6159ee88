"""DICOM Comprehensive SR, template TID 1500: writing.

One document for each reader and study. The image library lists every image that the reader read; a reader who
marked nothing at all gets one group that says so. The reader's id is his login name, exactly; the mark's id
is the tracking identifier. The document is complete and final, and nobody has verified it. Positions are
float32 (FL) and must lie within the image, as the standard wants.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from highdicom import sr
from pydicom.dataset import Dataset
from pydicom.sr.codedict import codes
from pydicom.sr.coding import Code

from overread import __version__
from overread.errors import TableError, UsageError
from overread.marks._mark_set import MarkSet
from overread.marks.formats._dicom_documents import (
    LONGEST_MEANING,
    Observer,
    SeriesFacts,
    describe_series,
    exact_text,
    graphic_points,
    header_of,
    instance_number_of,
    leave_out_names,
    person_name,
    refuse_unusable_headers,
    series_positions,
    uid_of,
    write_document,
)
from overread.marks.formats.dicom_sr import CERTAINTY, NOT_DETECTED
from overread.tables import quote_cell

KNOWN_FINDINGS = {"Nodule": Code("27925004", "SCT", "Nodule"), "Mass": Code("4147007", "SCT", "Mass")}


def write(
    mark_set: MarkSet,
    folder: Path,
    *,
    images_folder: Path,
    geometry: str = "ellipse",
    observer: Observer = "person",
    anonymous: bool = False,
    mode: int | None = None,
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
    mode : int or None
        Permissions of the files; None: as ``open`` gives them.
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
    places = series_positions(mark_set.readings["reader_id"])
    written = []
    for (reader, study), names in documents.items():
        mine = mark_set.marks[
            (mark_set.marks["reader_id"] == reader) & mark_set.marks["image_id"].isin(names)
        ]
        series = describe_series("SR", study, reader, places[reader], observer)
        with refuse_unusable_headers(headers[names[0]]):
            groups = [_group_of(mark, images, headers, geometry) for mark in mine.to_dict("records")]
            unmarked = [headers[name] for name in names if name not in set(mine["image_id"])]
            if unmarked:
                groups.append(_nothing_found(reader, unmarked))
            document = _document_of(reader, observer, [headers[name] for name in names], groups, series)
        if anonymous:
            leave_out_names(document)
        written.append(write_document(document, folder, mode))
    return written


def _group_of(
    mark: Mapping[Any, Any],
    images: Mapping[str, Mapping[Any, Any]],
    headers: Mapping[str, Dataset],
    geometry: str,
) -> Any:
    """Measurement group (TID 1410) of a mark."""
    image = str(mark["image_id"])
    header = headers[image]
    source = sr.SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID)
    points = graphic_points(mark, images[image], header, geometry)
    mark_id = exact_text(str(mark["mark_id"]), "mark")
    certainty = mark.get("confidence", math.nan)
    measured = [] if math.isnan(certainty) else [_certainty_item(float(certainty))]
    tracking = uid_of("mark", str(header.SOPInstanceUID), str(mark["reader_id"]), mark_id)
    return sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(tracking, mark_id),
        referenced_region=sr.ImageRegion(geometry.upper(), points, source),
        finding_type=_finding_code(str(mark.get("label", "") or "")),
        measurements=measured,
    )


def _certainty_item(certainty: float) -> Any:
    """Confidence of a mark as a measurement."""
    name, unit = Code(CERTAINTY, "DCM", "Certainty of Finding"), Code("1", "UCUM", "no units")
    return sr.Measurement(name=name, value=certainty, unit=unit)


def _finding_code(label: str) -> Code | None:
    """Code a label: in SNOMED where it is one of ours, else privately, with the label as its meaning."""
    if not label:
        return None
    if label != label.strip() or len(label) > LONGEST_MEANING or "\\" in label or not label.isprintable():
        raise TableError(
            f"marks: the label {quote_cell(label)} cannot be a code's meaning in DICOM (at most 64 characters)"
        )
    digest = hashlib.sha256(label.encode()).hexdigest()[:12]
    return KNOWN_FINDINGS.get(label, Code(digest, "99OVERREAD", label))


def _document_of(
    reader: str, observer: Observer, headers: Sequence[Dataset], groups: Sequence[Any], series: SeriesFacts
) -> sr.ComprehensiveSR:
    """One reader's report on the images of one study."""
    report = sr.MeasurementReport(
        observation_context=_person_context(reader) if observer == "person" else _device_context(reader),
        procedure_reported=Code("399208008", "SCT", "Chest X-ray"),
        imaging_measurements=groups,
    )
    return sr.ComprehensiveSR(
        evidence=headers,
        content=report,
        series_instance_uid=series.uid,
        series_number=series.number,
        series_description=series.description,
        sop_instance_uid=series.uid,  # until write_document knows the content
        instance_number=instance_number_of(headers[0]),
        manufacturer="Overread",
        manufacturer_model_name="Overread",
        software_versions=__version__,
        is_complete=True,
        is_final=True,
    )


def _person_context(reader: str) -> Any:
    """Observer context of a reader."""
    person = sr.PersonObserverIdentifyingAttributes(
        name=person_name(reader), login_name=exact_text(reader, "reader")
    )
    return sr.ObservationContext(observer_person_context=sr.ObserverContext(codes.DCM.Person, person))


def _device_context(name: str) -> Any:
    """Observer context of a program."""
    device = sr.DeviceObserverIdentifyingAttributes(
        uid=uid_of("device", name), name=exact_text(name, "device"), manufacturer_name="Overread"
    )
    return sr.ObservationContext(observer_device_context=sr.ObserverContext(codes.DCM.Device, device))


def _nothing_found(reader: str, headers: Sequence[Dataset]) -> Any:
    """Group (TID 1501) that says that the images were read and nothing was marked."""
    sources = [
        sr.SourceImageForMeasurementGroup(header.SOPClassUID, header.SOPInstanceUID) for header in headers
    ]
    uid = uid_of("nothing", reader, *(str(header.SOPInstanceUID) for header in headers))
    return sr.MeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(uid, "no finding"),
        source_images=sources,
        qualitative_evaluations=[
            sr.QualitativeEvaluation(codes.DCM.Finding, Code(NOT_DETECTED, "SCT", "Not detected")),
        ],
    )
