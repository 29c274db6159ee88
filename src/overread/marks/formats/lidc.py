"""LIDC-IDRI XML: outlines on CT, points on chest radiographs.

Coordinates are pixel indices; index k covers [k, k + 1] px, so a point is taken at k + 0.5. On CT (``LidcReadMessage``)
a nodule outlined in several slices becomes one ellipse in the coronal plane (see `overread.marks.formats.lidc`);
nodules under 3 mm, which have one point and no characteristics, and non-nodules are left out. On radiographs
(``IdriReadMessage``) each reader was asked about each nodule and gave a point with a confidence: 1 means not seen,
without a mark; 2 and 3 are marks, circles of a radius that the user gives.

Every reading session is a reading. Readers are anonymous and their order varies between cases, so a reader id is valid
only within its image. A radiograph's file without sessions gives no reading.

CT outlines of a nodule become one ellipse in the coronal plane, the view of a chest radiograph.

In each slice, the outline covers the columns from its first to its last pixel, both whole, over the slice's height. The
silhouette of the nodule is the union of these rectangles, and its mark the ellipse with the same first and second
moments: semi-axes 2 sqrt(eigenvalue) of the covariance. x runs along the image's columns from the left edge of the
first; y runs down, so y = -z, where z grows towards the head. Pixel k covers [k, k + 1].
"""

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from overread.errors import FormatError
from overread.marks._ellipse import DrawnEllipse
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import NO_SPACING, MarkSetBuilder, Spacings
from overread.marks.formats._readers import child_text, children, local_name, number_in, read_xml


@dataclass(frozen=True)
class SliceExtent:
    """Columns that an outline covers in one slice, both included, and the slice's position in mm."""

    first_column: float
    last_column: float
    z_mm: float


def coronal_ellipse(extents: list[SliceExtent], *, mm_per_px: float, slice_mm: float) -> DrawnEllipse:
    """Ellipse in mm with the moments of the silhouette; in one slice, outlines that share columns cover them once."""
    rows = _join_extents(extents)
    left, right = rows[:, 0] * mm_per_px, (rows[:, 1] + 1) * mm_per_px
    width, x, y = right - left, (left + right) / 2, -rows[:, 2]
    area = width * slice_mm
    weight = area / area.sum()
    centre_x, centre_y = float(weight @ x), float(weight @ y)
    xx = float(weight @ (width**2 / 12 + (x - centre_x) ** 2))
    yy = float(weight @ (slice_mm**2 / 12 + (y - centre_y) ** 2))
    xy = float(weight @ ((x - centre_x) * (y - centre_y)))
    spread = float(np.hypot((xx - yy) / 2, xy))
    larger = (xx + yy) / 2 + spread
    smaller = (xx * yy - xy * xy) / larger
    angle = float(np.rad2deg(np.arctan2(2 * xy, xx - yy))) / 2
    return DrawnEllipse((centre_x, centre_y), (2 * larger**0.5, 2 * smaller**0.5), angle)


def _join_extents(extents: list[SliceExtent]) -> NDArray[np.float64]:
    """Rows of first column, last column, z; extents of one slice that share a column are one row."""
    rows: list[list[float]] = []
    for extent in sorted(extents, key=lambda extent: (extent.z_mm, extent.first_column)):
        if rows and rows[-1][2] == extent.z_mm and extent.first_column <= rows[-1][1] + 1:
            rows[-1][1] = max(rows[-1][1], extent.last_column)
        else:
            rows.append([extent.first_column, extent.last_column, extent.z_mm])
    return np.array(rows)


NOT_SEEN = 1.0


def read(
    path: Path,
    *,
    spacings: Spacings | None = None,
    slice_mm: float | None = None,
    radius_mm: float | None = None,
) -> MarkSet:
    """Read the XML file of one case.

    Parameters
    ----------
    path : Path
        A ``LidcReadMessage`` or an ``IdriReadMessage``.
    spacings : Spacings
        Millimetres per pixel, which the file does not state.
    slice_mm : float
        Distance between CT slices, which the file does not state either. Needed for CT.
    radius_mm : float
        Radius of the circle for a point. Needed for radiographs.
    """
    root = read_xml(path, ["LidcReadMessage", "IdriReadMessage"], "LIDC-IDRI")
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    if local_name(root) == "LidcReadMessage":
        _read_ct(builder, root, slice_mm)
    else:
        _read_radiograph(builder, root, radius_mm)
    return builder.build()


def _header_text(root: Element, name: str, source: str) -> str:
    """Text of a required member of the header."""
    for header in children(root, "ResponseHeader"):
        if text := child_text(header, name):
            return text
    raise FormatError(f"{source}: the header lacks <{name}>")


def _read_ct(builder: MarkSetBuilder, root: Element, slice_mm: float | None) -> None:
    """Add a CT case: the series is the image, each session a reading, each outlined nodule a mark."""
    if slice_mm is None or not slice_mm > 0:
        raise FormatError(
            f"{builder.source}: contains CT outlines. Give slice_mm (--slice-mm), the distance between slices in mm."
        )
    image_id = _header_text(root, "SeriesInstanceUid", builder.source)
    mm_per_px, _ = _spacing_of(builder, image_id)
    builder.add_image(image_id)
    for number, session in enumerate(children(root, "readingSession"), start=1):
        builder.add_reading(image_id, f"{image_id}/{number}")
        for nodule in children(session, "unblindedReadNodule"):
            if next(children(nodule, "characteristics"), None) is not None:
                name = child_text(nodule, "noduleID") or ""
                extents = _extents_of(nodule, f"{builder.source}, session {number}, nodule {name!r}")
                ellipse = coronal_ellipse(extents, mm_per_px=mm_per_px, slice_mm=slice_mm)
                told = {**ellipse._asdict(), "label": "nodule", "in_mm": True}
                builder.add_mark(image_id, f"{image_id}/{number}", f"{number}/{name}", **told)


def _spacing_of(builder: MarkSetBuilder, image_id: str) -> tuple[float, float]:
    spacing = builder.spacings.find(image_id)
    if spacing is None:
        raise FormatError(f"{builder.source}: {NO_SPACING}")
    return spacing


def _extents_of(nodule: Element, where: str) -> list[SliceExtent]:
    """Outlines of a nodule, without holes, and without single points next to outlines."""
    outlines = [
        _outline(roi, where) for roi in children(nodule, "roi") if child_text(roi, "inclusion") == "TRUE"
    ]
    if not outlines:
        raise FormatError(f"{where}: characteristics without an outline")
    return [extent for extent, points in outlines if points > 1] or [extent for extent, _ in outlines]


def _outline(roi: Element, where: str) -> tuple[SliceExtent, int]:
    """Extent of an outline in its slice, and the number of its points."""
    columns = [number_in(child_text(edge, "xCoord"), "xCoord", where) for edge in children(roi, "edgeMap")]
    if not columns:
        raise FormatError(f"{where}: an outline without points")
    z = number_in(child_text(roi, "imageZposition"), "imageZposition", where)
    return SliceExtent(min(columns), max(columns), z), len(columns)


def _read_radiograph(builder: MarkSetBuilder, root: Element, radius_mm: float | None) -> None:
    """Add a radiograph: the series is the image, each session a reading, each nodule seen a mark."""
    sessions = list(children(root, "CXRreadingSession"))
    if not sessions:
        return
    image_id = _header_text(root, "CXRSeriesInstanceUid", builder.source)
    builder.add_image(image_id)
    for number, session in enumerate(sessions, start=1):
        reader = f"{image_id}/{number}"
        builder.add_reading(image_id, reader)
        for nodule in children(session, "unblindedRead"):
            name = child_text(nodule, "noduleID") or ""
            where = f"{builder.source}, session {number}, nodule {name!r}"
            traits = next(children(nodule, "characteristics"), None)
            if traits is None:
                raise FormatError(f"{where}: no characteristics, so the confidence is unknown")
            confidence = number_in(child_text(traits, "confidence"), "confidence", where)
            if confidence == NOT_SEEN:
                continue
            if radius_mm is None or not radius_mm > 0:
                raise FormatError(f"{where}: a point has no size. Give radius_mm (--radius-mm).")
            spacing = _spacing_of(builder, image_id)
            edges = (edge for roi in children(nodule, "roi") for edge in children(roi, "edgeMap"))
            for point, edge in enumerate(edges):
                x, y = (number_in(child_text(edge, key), key, where) for key in ("xCoord", "yCoord"))
                builder.add_mark(
                    image_id,
                    reader,
                    f"{number}/{name}" + (f"/{point}" if point else ""),
                    centre=((x + 0.5) * spacing[0], (y + 0.5) * spacing[1]),
                    semi_axes=(radius_mm, radius_mm),
                    confidence=confidence,
                    label="nodule",
                    in_mm=True,
                )
