"""DICOM Comprehensive SR, template TID 1500: reading.

Positions are (column, row) in pixels; the top-left corner of the first pixel is (0, 0), its other corner (1, 1) (PS3.3
C.18.6), which is Overread's convention. Coordinates (SCOORD) of type ELLIPSE (end points of the major, then of the
minor axis), CIRCLE or closed POLYLINE at any depth below a measurement group are marks: those of the group's image
region, and those that a measurement is inferred from, as OHIF and Cornerstone write them. Lines and points next to such
a shape measure it. A group without such a shape is refused, unless it states that nothing was found, and so is a
document without groups or with shapes outside them: none of these is a reading without marks. The observer of the
document is the reader: the login name if present, else the name. The images of the image library, the sources of a
group and those under a shape are readings, also without marks. The image id is the SOP instance UID, unless an images
table gives each id its ``sop_instance_uid``.
"""

import io
import logging
import math
import warnings
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.errors import InvalidDicomError

from overread.errors import FormatError, OverreadError
from overread.files import open_regular, read_capped
from overread.marks._ellipse import DrawnEllipse, ellipse_of_outline
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings

LARGEST_FILE = 1 << 26
DEEPEST = 50
ELEMENT_HEAD = 8
SR_CLASSES = frozenset(f"1.2.840.10008.5.1.4.1.1.88.{number}" for number in (22, 33, 34))
LOGIN, PERSON, DEVICE_NAME, DEVICE_UID = "128774", "121008", "121013", "121012"
GROUP, TRACKING, TRACKING_UID, FINDING = "125007", "112039", "112040", "121071"
CERTAINTY = "111012"
NOT_DETECTED = "260415000"  # SNOMED CT
# Kinds that may measure another shape of the group, such as its diameter.
MEASURES = ("POINT", "MULTIPOINT", "POLYLINE")
# What dcmjs writes without a name: all its readers would be the same.
UNKNOWN = "unknown^unknown"


def read(path: Path, *, spacings: Spacings | None = None, reader: str | None = None) -> MarkSet:
    """Read one SR document, which is one reader's.

    Parameters
    ----------
    path : Path
        The DICOM file.
    spacings : Spacings
        Millimetres per pixel, which the document does not state.
    reader : str
        The reader, instead of the document's observer.
    """
    with open_document(path, SR_CLASSES, "structured report", "does not follow TID 1500") as document:
        builder = MarkSetBuilder(str(path), spacings or Spacings())
        _read_document(builder, document, reader)
    return builder.build()


@contextmanager
def open_document(path: Path, classes: Container[str], what: str, fault: str) -> Iterator[Dataset]:
    """Read a document of some SOP classes, and turn errors caused by its values into a `FormatError`."""
    with _without_remarks():
        document = read_dicom(path)
        if str(document.get("SOPClassUID", "")) not in classes:
            raise FormatError(f"{path}: a DICOM file, but not a {what}")
        try:
            yield document
        except OverreadError:
            raise
        except Exception as error:  # pydicom raises almost anything on values that break their type
            raise FormatError(f"{path}: a {what} that {fault}: {error}") from error


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Silence pydicom's warnings on invalid values; relevant ones raise errors here."""
    logger = logging.getLogger("pydicom")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class _WholeReads(io.BytesIO):
    """Bytes of a file that refuse a read past their end, which pydicom would truncate."""

    def read(self, size: int | None = -1) -> bytes:
        """Read ``size`` bytes or raise; reading an element's head at the very end is allowed."""
        data = super().read(size)
        if size is not None and len(data) < size and (data or size != ELEMENT_HEAD):
            raise EOFError("the file ends in the middle of an element")
        return data


def read_dicom(path: Path, *, headers_only: bool = False) -> Dataset:
    """Read a DICOM file; any failure becomes one typed error.

    In memory, an element that claims 4 GB reads only the existing bytes; from a file it would be allocated first.
    """
    try:
        if headers_only:
            with _without_remarks(), open_regular(path) as file:
                return dcmread(file, stop_before_pixels=True)
        content = read_capped(
            path,
            LARGEST_FILE,
            lambda _: FormatError(f"{path}: more than {LARGEST_FILE >> 20} MB of structured report"),
        )
        dataset = dcmread(_WholeReads(content))
        for _ in _walk(dataset):
            pass
    except FormatError as error:
        raise FormatError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    except InvalidDicomError as error:
        raise FormatError(f"{path}: is not a DICOM file") from error
    except (Exception, RecursionError) as error:
        raise FormatError(f"{path}: cannot be read as DICOM: {error or type(error).__name__}") from error
    return dataset


def items(dataset: Dataset, name: str) -> Iterator[Dataset]:
    """Items of a sequence; empty if it is missing."""
    return iter(dataset.get(name, None) or ())


def _walk(item: Dataset, depth: int = 0) -> Iterator[Dataset]:
    """Content items below an item, in order, to a bounded depth."""
    if depth > DEEPEST:
        raise FormatError(f"content nested deeper than {DEEPEST} items")
    for child in items(item, "ContentSequence"):
        yield child
        yield from _walk(child, depth + 1)


def _concept(item: Dataset) -> str:
    """Code value of a content item's name."""
    return next((str(name.get("CodeValue", "")) for name in items(item, "ConceptNameCodeSequence")), "")


def _children(item: Dataset, code: str) -> Iterator[Dataset]:
    """Children of an item with a code."""
    return (child for child in items(item, "ContentSequence") if _concept(child) == code)


def _read_document(builder: MarkSetBuilder, document: Dataset, reader: str | None) -> None:
    """Add the document's images, their reading by its observer, and its marks."""
    who = reader or _observer(document, builder.source)
    names = builder.spacings.instances
    patient = str(document.get("PatientID", "") or "")
    for item in _walk(document):
        if item.get("ValueType", "") == "IMAGE":
            image_id = image_of(item.ReferencedSOPSequence[0], names)
            builder.add_image(image_id, patient_id=patient)
            builder.add_reading(image_id, who)
    groups = [item for item in _walk(document) if _concept(item) == GROUP]
    if not groups:
        raise FormatError(
            f"{builder.source}: no measurement group, so it does not state whether anything was found"
        )
    if any(item.get("ValueType", "") in ("SCOORD", "SCOORD3D") for item in _walk_group(document)):
        raise FormatError(
            f"{builder.source}: has a shape outside the measurement groups, which cannot be imported (put it "
            "in a measurement group)"
        )
    identifiers = Counter(_text_of(group, TRACKING) for group in groups)
    for number, group in enumerate(groups, start=1):
        place = f"measurement group {number}"
        named = _text_of(group, TRACKING)
        # Cornerstone gives all marks of a tool one identifier; then the UID distinguishes them.
        mark_id = (named if identifiers[named] == 1 else "") or _text_of(group, TRACKING_UID) or place
        shapes = _shapes_of(group, names, f"{builder.source}, {place}")
        for index, (image_id, shape) in enumerate(shapes):
            builder.add_mark(
                image_id,
                who,
                f"{mark_id}/{index + 1}" if index else mark_id,
                **shape._asdict(),
                label=next(iter(_codes_of(group, FINDING, "CodeMeaning")), ""),
                confidence=_certainty_of(group),
                place=place,
            )


def _observer(document: Dataset, source: str) -> str:
    """Return the observer; a document without one is refused."""
    found = {_concept(item): item for item in reversed([*items(document, "ContentSequence")])}
    for code, attribute in (
        (LOGIN, "TextValue"),
        (PERSON, "PersonName"),
        (DEVICE_NAME, "TextValue"),
        (DEVICE_UID, "UID"),
    ):
        name = str(found[code].get(attribute, "") or "") if code in found else ""
        if name and name != UNKNOWN:
            return name
    raise FormatError(f"{source}: has no observer, so the reader is unknown (give --reader NAME={source})")


def image_of(item: Dataset, names: dict[str, str]) -> str:
    """Id of the image that an item refers to."""
    uid = str(item.ReferencedSOPInstanceUID)
    return names.get(uid, uid)


def _shapes_of(group: Dataset, names: dict[str, str], where: str) -> list[tuple[str, DrawnEllipse]]:
    """Image and ellipse of each shape below a group, each once; empty only if it states that nothing was found."""
    found: dict[tuple[str, str, tuple[float, ...]], DrawnEllipse] = {}
    refused: FormatError | None = None
    for item in _walk_group(group):
        if item.get("ValueType", "") == "SCOORD3D":
            raise FormatError(f"{where}: the region is in space (SCOORD3D), not in an image")
        if item.get("ValueType", "") != "SCOORD":
            continue
        kind = str(item.GraphicType)
        key = _image_under(item, names, where), kind, tuple(map(float, item.GraphicData))
        try:
            found[key] = shape_of(item, where)
        except FormatError as error:
            if kind not in MEASURES:
                raise
            refused = error
    if not found and refused is not None:
        raise FormatError(f"{refused} (draw it as an ellipse, a circle or a closed outline)") from refused
    if not found and NOT_DETECTED not in _codes_of(group, FINDING, "CodeValue"):
        raise FormatError(
            f"{where}: has no shape, and does not state that nothing was found (remove the group, or draw an "
            "ellipse, a circle or a closed outline)"
        )
    return [(image_id, shape) for (image_id, _, _), shape in found.items()]


def _walk_group(item: Dataset) -> Iterator[Dataset]:
    """Content items below a group or document, without those of nested groups."""
    for child in items(item, "ContentSequence"):
        if _concept(child) != GROUP:
            yield child
            yield from _walk_group(child)


def _image_under(region: Dataset, names: dict[str, str], where: str) -> str:
    """Id of the one image that coordinates lie in."""
    images = [
        image_of(item.ReferencedSOPSequence[0], names)
        for item in items(region, "ContentSequence")
        if "ReferencedSOPSequence" in item
    ]
    if len(images) != 1:
        raise FormatError(f"{where}: the region refers to {len(images)} images instead of one")
    return images[0]


def shape_of(region: Dataset, where: str) -> DrawnEllipse:
    """Ellipse of a region's graphic data."""
    points: NDArray[np.float64] = np.array(region.GraphicData, float).reshape(-1, 2)
    kind = str(region.GraphicType)
    if kind == "ELLIPSE" and len(points) == 4:
        first, second = points[1] - points[0], points[3] - points[2]
        x, y = points.mean(axis=0)
        semi_axes = float(np.hypot(*first)) / 2, float(np.hypot(*second)) / 2
        return DrawnEllipse((x, y), semi_axes, math.degrees(math.atan2(first[1], first[0])))
    if kind == "CIRCLE" and len(points) == 2:
        radius = math.dist(points[0], points[1])
        return DrawnEllipse((points[0, 0], points[0, 1]), (radius, radius))
    if kind == "POLYLINE" and len(points) >= 4 and np.array_equal(points[0], points[-1]):
        return ellipse_of_outline(points[:-1])
    raise FormatError(
        f"{where}: a region of type {kind} with {len(points)} points is not an ellipse, a circle or a closed outline"
    )


def _text_of(group: Dataset, code: str) -> str:
    """Text or UID of a group's child."""
    return next(
        (str(item.get("TextValue", "") or item.get("UID", "") or "") for item in _children(group, code)), ""
    )


def _codes_of(group: Dataset, name: str, attribute: str) -> list[str]:
    """Values or meanings of the codes of a group's children of one name."""
    return [
        str(code.get(attribute, "") or "")
        for item in _children(group, name)
        for code in items(item, "ConceptCodeSequence")
    ]


def _certainty_of(group: Dataset) -> float:
    """Certainty of the finding, if measured."""
    for item in _children(group, CERTAINTY):
        for value in items(item, "MeasuredValueSequence"):
            exact = value.get("FloatingPointValue", None)
            return float(exact if exact is not None else value.NumericValue)
    return math.nan
