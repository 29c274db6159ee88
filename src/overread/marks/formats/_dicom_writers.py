"""DICOM documents: Comprehensive SR of template TID 1500, and grayscale softcopy presentation states (GSPS).

SR: one document for each reader and study. The image library lists every image that the reader read; if the reader
marked nothing, one group says so. The reader's id is the login name, exactly; the mark's id is the tracking identifier.
The document is complete, final and unverified.

GSPS: one state for each reader and image, which viewers draw over the image: ellipses as graphic objects, each with a
line with rank, label and probability, and in the corner the reader, also without marks. Text is for people; the exact
label and confidence of a mark are the description of its graphic group, the mark's id is its tracking id, and the
reader's id the content description.

Positions are float32 (FL) and must lie within the image, as the standard wants.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from highdicom import PresentationLUTTransformation, pr, sr
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.sr.codedict import codes
from pydicom.sr.coding import Code

from overread import __version__
from overread._text import percent
from overread.errors import FormatError, TableError, UsageError
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
from overread.marks.formats.gsps import CONTENT_LABEL
from overread.tables import quote_cell

KNOWN_FINDINGS = {"Nodule": Code("27925004", "SCT", "Nodule"), "Mass": Code("4147007", "SCT", "Mass")}
# Corner of the display with the reader's name; set by judgement.
TITLE_BOX = (0.01, 0.01, 0.6, 0.05)


def write_sr(
    mark_set: MarkSet,
    folder: Path,
    *,
    images_folder: Path,
    geometry: str = "ellipse",
    observer: Observer = "person",
    anonymous: bool = False,
    mode: int | None = None,
) -> list[Path]:
    """Write the documents of a mark set to a folder, created if needed; return their paths.

    Parameters
    ----------
    mark_set : MarkSet
        Its images table must have path (a DICOM image), mm_per_px_x and mm_per_px_y.
    folder : Path
        Folder for the documents.
    images_folder : Path
        Folder that the paths of the images are relative to.
    geometry : {"ellipse", "polyline"}
        ``ellipse`` loses nothing; ``polyline`` is a closed outline of 64 points, for viewers that cannot draw
        oblique ellipses.
    observer : {"person", "device"}
        Whether the readers are people or programs.
    anonymous : bool
        Omit patient and visit; a document then refers to its images only by their UIDs.
    mode : int or None
        Permissions of the files; None: those that ``open`` gives.
    """
    if geometry not in ("ellipse", "polyline"):
        raise UsageError(f"geometry {geometry!r}: give ellipse or polyline")
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
    """Code a label: in SNOMED if known, else privately, with the label as its meaning."""
    if not label:
        return None
    if label != label.strip() or len(label) > LONGEST_MEANING or "\\" in label or not label.isprintable():
        raise TableError(
            f"marks: the label {quote_cell(label)} is too long or unprintable for DICOM (at most 64 characters)"
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


def write_gsps(
    mark_set: MarkSet,
    folder: Path,
    *,
    images_folder: Path,
    observer: Observer = "person",
    anonymous: bool = False,
    mode: int | None = None,
    ranked: bool = False,
) -> list[Path]:
    """Write the presentation states of a mark set to a folder, created if needed; return their paths.

    Parameters
    ----------
    mark_set : MarkSet
        Its images table must have path (a grey DICOM image), mm_per_px_x and mm_per_px_y.
    folder : Path
        Folder for the states.
    images_folder : Path
        Folder that the paths of the images are relative to.
    observer : {"person", "device"}
        Whether the readers are people or programs.
    anonymous : bool
        Whether the attributes of patient and visit are left empty.
    mode : int or None
        Permissions of the files; None: those that ``open`` gives.
    ranked : bool
        Whether the marks have a column ``rank``, whole numbers from 1 that differ within an image, to be written.
    """
    sources = Sources.of(mark_set, images_folder)
    by_reading = dict(iter(mark_set.marks.groupby(["image_id", "reader_id"], sort=False)))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for image, reader in zip(mark_set.readings["image_id"], mark_set.readings["reader_id"], strict=True):
        header = sources.headers[image]
        mine = by_reading.get((image, reader), mark_set.marks[:0])
        with refuse_unusable_headers(header):
            ranks = mine["rank"].astype(int) if ranked else _rank_marks(mine)
            drawn = [
                _Drawing(mark, rank, sources.images[image], header)
                for mark, rank in zip(records(mine), ranks.tolist(), strict=True)
            ]
            state = _state_of(reader, header, drawn, sources.identify("PR", image, reader, observer))
        written.append(write_document(state, folder, mode, anonymous=anonymous))
    return written


def _rank_marks(marks: pd.DataFrame) -> pd.Series[int]:
    """Rank marks by decreasing confidence; equal ones and those without confidence in their order."""
    confidence = marks["confidence"] if "confidence" in marks else pd.Series(math.nan, index=marks.index)
    return confidence.fillna(-math.inf).rank(method="first", ascending=False).astype(int)


class _Drawing:
    """Graphic group, ellipse and text of one mark."""

    def __init__(self, mark: Mapping[Any, Any], rank: int, image: Mapping[Any, Any], header: Dataset) -> None:
        label, confidence = str(mark.get("label", "") or ""), float(mark.get("confidence", math.nan))
        if len(label) > LONGEST_MEANING or not label.isprintable():
            raise TableError(
                f"marks: the label {quote_cell(label)} is longer than 64 characters, or unprintable"
            )
        mark_id = exact_text(str(mark["mark_id"]), "mark")
        said = {"label": label, "confidence": None if math.isnan(confidence) else confidence}
        self.group = pr.GraphicGroup(rank, f"mark {rank}", json.dumps(said, ensure_ascii=False))
        tracking = {
            "tracking_id": mark_id,
            "tracking_uid": uid_of("mark", str(header.SOPInstanceUID), str(mark["reader_id"]), mark_id),
            "graphic_group": self.group,
        }
        points = graphic_points(mark, image, header)
        self.ellipse = pr.GraphicObject("ELLIPSE", points, "PIXEL", **tracking)
        parts = [f"#{rank}", label, percent(confidence, 0, unit=" %", undefined="")]
        self.text = pr.TextObject(
            " ".join(part for part in parts if part),
            "PIXEL",
            anchor_point=_text_corner(points, header),
            anchor_point_visible=False,
            **tracking,
        )


def _text_corner(points: NDArray[np.float64], header: Dataset) -> tuple[float, float]:
    """Top right of the box around an ellipse, by the end points of its axes, within the image."""
    centre = points.mean(axis=0)
    axes = (points[1] - points[0]) / 2, (points[3] - points[2]) / 2
    half = np.hypot(*axes)
    x, y = centre[0] + half[0], centre[1] - half[1]
    return min(float(x), float(header.Columns)), max(float(y), 0.0)


def _state_of(reader: str, header: Dataset, drawn: Sequence[_Drawing], identity: Mapping[str, Any]) -> Any:
    """Presentation state of one reader's marks on one image."""
    if int(header.get("SamplesPerPixel", 1)) != 1:
        raise FormatError(
            f"image {header.SOPInstanceUID}: is in colour, which a grey presentation state cannot show"
        )
    header.SamplesPerPixel = 1
    count = "no marks" if not drawn else f"{len(drawn)} mark{'s' if len(drawn) > 1 else ''}"
    title = pr.TextObject(f"{reader}: {count}", "DISPLAY", bounding_box=TITLE_BOX, text_justification="LEFT")
    # Groups are in the order of their numbers, objects in that of the marks.
    groups = sorted((drawing.group for drawing in drawn), key=lambda group: group.graphic_group_id)
    layer = pr.GraphicLayer("MARKS", order=1, description="Marks")
    annotation = pr.GraphicAnnotation(
        [header],
        layer,
        graphic_objects=[drawing.ellipse for drawing in drawn],
        text_objects=[title, *(drawing.text for drawing in drawn)],
    )
    # MONOCHROME1 images are shown inverted, which a state must state (PS3.3 C.11.6).
    inverse = str(header.get("PhotometricInterpretation", "")) == "MONOCHROME1"
    state = pr.GrayscaleSoftcopyPresentationState(
        referenced_images=[header],
        software_versions=__version__,
        device_serial_number=None,
        content_label=CONTENT_LABEL,
        content_description=exact_text(reader, "reader", LONGEST_MEANING),
        content_creator_name=person_name(reader),
        graphic_layers=[layer],
        graphic_groups=groups or None,
        graphic_annotations=[annotation],
        presentation_lut_transformation=PresentationLUTTransformation(
            presentation_lut_shape="INVERSE" if inverse else "IDENTITY"
        ),
        **identity,
    )
    state.BodyPartExamined = (
        "CHEST"  # not a paired body part, so that the series needs no laterality (type 2C)
    )
    return state
