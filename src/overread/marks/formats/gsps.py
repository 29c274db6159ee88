"""DICOM grayscale softcopy presentation states (GSPS): reading.

Positions are (column, row) in pixels; the top-left corner of the first pixel is (0, 0) (PS3.3 C.10.5), which is
Overread's convention. Each graphic object of type ELLIPSE, CIRCLE or closed POLYLINE in units of pixels is a mark. In
states that Overread wrote, the content description is the reader's id; in others the creator's name is the reader.
Every image that a state refers to is a reading, also without marks; but an image with only text, compound graphics or
an overlay is refused, because these may be marks. The image id is the SOP instance UID, unless an images table gives
each id its ``sop_instance_uid``.
"""

import math
from pathlib import Path
from typing import Any

from pydicom.dataset import Dataset

from overread.errors import FormatError
from overread.files import parse_json
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats.dicom_sr import image_of, items, open_document, shape_of
from overread.tables import quote_cell

GSPS_CLASS = "1.2.840.10008.5.1.4.1.1.11.1"
# Marks a state written by Overread, whose content description is a reader's id.
CONTENT_LABEL = "OVERREAD"


def read(path: Path, *, spacings: Spacings | None = None) -> MarkSet:
    """Read one presentation state, which is one reader's.

    Parameters
    ----------
    path : Path
        The DICOM file.
    spacings : Spacings
        Millimetres per pixel, which the state does not record.
    """
    what, fault = "grayscale presentation state", "cannot be understood"
    with open_document(path, (GSPS_CLASS,), what, fault) as state:
        builder = MarkSetBuilder(str(path), spacings or Spacings())
        _read_state(builder, state)
    return builder.build()


def _read_state(builder: MarkSetBuilder, state: Dataset) -> None:
    """Add the state's images, their reading by its creator, and its marks."""
    reader = _reader_of(state, builder.source)
    names = builder.spacings.instances
    patient = str(state.get("PatientID", "") or "")
    for series in items(state, "ReferencedSeriesSequence"):
        for image in items(series, "ReferencedImageSequence"):
            image_id = image_of(image, names)
            builder.add_image(image_id, patient_id=patient)
            builder.add_reading(image_id, reader)
    groups = {
        int(group.GraphicGroupID): str(group.get("GraphicGroupDescription", "") or "")
        for group in items(state, "GraphicGroupSequence")
    }
    number = 0
    unread: dict[str, str] = {}
    for annotation in items(state, "GraphicAnnotationSequence"):
        images = [image_of(image, names) for image in items(annotation, "ReferencedImageSequence")]
        for drawn in items(annotation, "GraphicObjectSequence"):
            number += 1
            _add_object(builder, drawn, images, reader, groups, f"graphic object {number}")
        if kind := _other_drawing(annotation):
            unread |= dict.fromkeys(images or builder.images, kind)
    if any(0x6000 <= element.tag.group <= 0x601E for element in state):  # PS3.3 C.9.2: overlay planes
        unread |= dict.fromkeys(builder.images, "overlay")
    for image_id, kind in unread.items():
        if image_id not in builder.mark_ids:
            raise FormatError(
                f"{builder.source}: image {quote_cell(image_id)} has only drawings that are not imported: "
                f"{kind} (draw an ellipse, a circle or a closed outline)"
            )


def _other_drawing(annotation: Dataset) -> str:
    """Name of other drawings of an annotation on the image, if any; captions do not count."""
    if any(
        str(item.get("CompoundGraphicUnits", "")) != "DISPLAY"
        for item in items(annotation, "CompoundGraphicSequence")
    ):
        return "compound graphics"
    units = ("AnchorPointAnnotationUnits", "BoundingBoxAnnotationUnits")
    texts = items(annotation, "TextObjectSequence")
    return (
        "text" if any(str(item.get(unit, "DISPLAY")) != "DISPLAY" for item in texts for unit in units) else ""
    )


def _reader_of(state: Dataset, source: str) -> str:
    """Return the creator; a state without one is refused."""
    ours = str(state.get("ContentLabel", "")) == CONTENT_LABEL
    reader = str(state.get("ContentDescription" if ours else "ContentCreatorName", "") or "")
    if not reader:
        raise FormatError(f"{source}: has no creator, so the reader is unknown")
    return reader


def _add_object(
    builder: MarkSetBuilder,
    drawn: Dataset,
    images: list[str],
    reader: str,
    groups: dict[int, str],
    place: str,
) -> None:
    """Add a graphic object as a mark."""
    if str(drawn.GraphicAnnotationUnits) != "PIXEL":
        raise FormatError(f"{builder.source}, {place}: is drawn on the display, not on the image")
    if len(images) != 1:
        raise FormatError(f"{builder.source}, {place}: refers to {len(images)} images instead of one")
    shape = shape_of(drawn, f"{builder.source}, {place}")
    is_ours = str(drawn.get("TrackingUID", "")) != ""
    said = _exact_words(groups.get(int(drawn.get("GraphicGroupID", 0) or 0), "")) if is_ours else {}
    confidence = said.get("confidence")
    builder.add_mark(
        images[0],
        reader,
        str(drawn.get("TrackingID", "") or place),
        **shape._asdict(),
        label=str(said.get("label") or ""),
        confidence=float(confidence) if isinstance(confidence, int | float) else math.nan,
        place=place,
    )


def _exact_words(description: str) -> dict[str, Any]:
    """Label and confidence in a group's description, as Overread writes it; empty for other texts."""
    try:
        said = parse_json(description.encode(), "the description")
    except FormatError:
        return {}
    return said if isinstance(said, dict) else {}
