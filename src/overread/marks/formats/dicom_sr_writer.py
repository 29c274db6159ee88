"""DICOM Comprehensive SR, template TID 1500: writing.

One document for each reader and study. The image library lists every image that the reader read; a reader who
marked nothing at all gets one group that says so. The reader's id is his login name, exactly; the mark's id
is the tracking identifier. The document is complete and final, and nobody has verified it. Positions are
float32 (FL) and must lie within the image, as the standard wants.
"""

import hashlib
import math
from collections import defaultdict
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
from overread.marks.formats._builder import records
from overread.marks.formats._dicom_documents import (
    LONGEST_MEANING,
    Observer,
    Sources,
    exact_text,
    graphic_points,
    person_name,
    refuse_unusable_headers,
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
    sources = Sources.of(mark_set, images_folder)
    documents: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for image, reader in zip(mark_set.readings["image_id"], mark_set.readings["reader_id"], strict=True):
        documents[reader, str(sources.headers[image].StudyInstanceUID)].append(image)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for (reader, _), names in documents.items():
        mine = mark_set.marks[
            (mark_set.marks["reader_id"] == reader) & mark_set.marks["image_id"].isin(names)
        ]
        headers = [sources.headers[name] for name in names]
        with refuse_unusable_headers(headers[0]):
            groups = [_group_of(mark, sources, geometry) for mark in records(mine)]
            unmarked = [sources.headers[name] for name in names if name not in set(mine["image_id"])]
            if unmarked:
                groups.append(_nothing_found(reader, unmarked))
            document = sr.ComprehensiveSR(
                evidence=headers,
                content=sr.MeasurementReport(
                    observation_context=_context_of(reader, observer),
                    procedure_reported=Code("399208008", "SCT", "Chest X-ray"),
                    imaging_measurements=groups,
                ),
                software_versions=__version__,
                is_complete=True,
                is_final=True,
                **sources.identify("SR", names[0], reader, observer),
            )
        written.append(write_document(document, folder, mode, anonymous=anonymous))
    return written


def _group_of(mark: Mapping[str, Any], sources: Sources, geometry: str) -> Any:
    """Measurement group (TID 1410) of a mark."""
    image = str(mark["image_id"])
    header = sources.headers[image]
    source = sr.SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID)
    points = graphic_points(mark, sources.images[image], header, geometry)
    mark_id = exact_text(str(mark["mark_id"]), "mark")
    certainty = float(mark.get("confidence", math.nan))
    name, unit = Code(CERTAINTY, "DCM", "Certainty of Finding"), Code("1", "UCUM", "no units")
    tracking = uid_of("mark", str(header.SOPInstanceUID), str(mark["reader_id"]), mark_id)
    return sr.PlanarROIMeasurementsAndQualitativeEvaluations(
        tracking_identifier=sr.TrackingIdentifier(tracking, mark_id),
        referenced_region=sr.ImageRegion(geometry.upper(), points, source),
        finding_type=_finding_code(str(mark.get("label", "") or "")),
        measurements=[] if math.isnan(certainty) else [sr.Measurement(name=name, value=certainty, unit=unit)],
    )


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


def _context_of(name: str, observer: Observer) -> Any:
    """Observer context of a reader or a program."""
    if observer == "person":
        person = sr.PersonObserverIdentifyingAttributes(
            name=person_name(name), login_name=exact_text(name, "reader")
        )
        return sr.ObservationContext(observer_person_context=sr.ObserverContext(codes.DCM.Person, person))
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
            sr.QualitativeEvaluation(codes.DCM.Finding, Code(NOT_DETECTED, "SCT", "Not detected"))
        ],
    )
