"""From a hospital's files to a report: data as a new user has them, and the commands that take them in.

`make_files` writes 62 DICOM files of 16 kinds of header (57 usable, 3 broken, one lateral, one duplicate under another
patient), a DICOMDIR, and a spreadsheet of three readers as CSV with semicolons and as XLSX. `walk` goes from there to
the report and counts the commands. Run: python -m benchmarks.own_data FOLDER
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pydicom
from numpy.typing import NDArray
from pydicom.uid import UID, ExplicitVRLittleEndian, ImplicitVRLittleEndian, JPEG2000Lossless, RLELossless

from overread.cli import main
from overread.images import write_dicom

SYNTAXES = (ExplicitVRLittleEndian, ImplicitVRLittleEndian, RLELossless, JPEG2000Lossless)
HEADER = ("Dateiname", "Arzt", "X", "Y", "Breite", "Höhe", "Befund", "Bemerkung")
QUICK = """seed = 3
[models]
wanted = ["soft", "b1"]
folds = 2
[soft]
normalizations = ["bags"]
n_lambdas = 8
[evaluation]
n_bootstrap = 100
chance_shifts = 3
"""


@dataclass(frozen=True)
class HeaderKind:
    """One of 16 ways in which a header may say the same."""

    inverted: bool
    imager_spacing: bool
    syntax: UID


KINDS = [HeaderKind(*kind) for kind in product((False, True), (False, True), SYNTAXES)]


def write_kind(path: Path, pixels: NDArray[np.uint16], mm: float, kind: HeaderKind, number: int) -> None:
    """Write 12-bit pixels under one kind of header."""
    low = (pixels >> 4).astype(np.uint16)
    write_dicom(path, low, mm, patient_id=f"MRN-{number:04d}", image_id=str(number))
    dataset = pydicom.dcmread(path)
    dataset.BitsStored, dataset.HighBit = 12, 11
    if kind.inverted:
        dataset.PhotometricInterpretation = "MONOCHROME1"
        dataset.PixelData = (4095 - low).tobytes()
    if kind.imager_spacing:
        dataset.ImagerPixelSpacing = dataset.PixelSpacing
        del dataset.PixelSpacing
    dataset.ViewPosition = "PA"
    if kind.syntax in (RLELossless, JPEG2000Lossless):
        dataset.compress(kind.syntax, generate_instance_uid=False)
        dataset.save_as(path)
    else:
        dataset.file_meta.TransferSyntaxUID = kind.syntax
        pydicom.dcmwrite(path, dataset, implicit_vr=kind.syntax.is_implicit_VR, little_endian=True)


def make_files(
    folder: Path, pictures: Sequence[NDArray[np.uint16]], mm: float, marks: pd.DataFrame
) -> tuple[Path, Path]:
    """Write the files of a study and its spreadsheets, and return those.

    Parameters
    ----------
    folder
        Gets the image files.
    pictures
        Pixels of each image, 16 bit.
    mm
        Size of a pixel.
    marks
        Columns image (its number), reader, x, y, width, height in px; x, y the corner.
    """
    folder.mkdir(parents=True)
    for number, pixels in enumerate(pictures, start=1):
        write_kind(folder / f"CXR_{number:03d}.dcm", pixels, mm, KINDS[(number - 1) % len(KINDS)], number)
    n = len(pictures)
    lateral = pydicom.dcmread(folder / "CXR_002.dcm")
    lateral.ViewPosition = "LL"
    lateral.PixelData = np.roll(np.frombuffer(lateral.PixelData, np.uint16), 7).tobytes()
    lateral.save_as(folder / f"CXR_{n + 1:03d}.dcm")
    write_kind(folder / f"CXR_{n + 2:03d}.dcm", pictures[min(9, n - 1)], mm, KINDS[0], 9000)
    whole = (folder / "CXR_001.dcm").read_bytes()
    (folder / f"CXR_{n + 3:03d}.dcm").write_bytes(whole[: len(whole) // 2])
    (folder / f"CXR_{n + 4:03d}.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"nothing")
    (folder / f"CXR_{n + 5:03d}.dcm").write_bytes(b"")
    index = pydicom.Dataset()
    index.file_meta = pydicom.dataset.FileMetaDataset()
    index.file_meta.MediaStorageSOPClassUID = UID("1.2.840.10008.1.3.10")
    index.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    index.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    index.FileSetID = "DISK1"
    pydicom.dcmwrite(folder / "DICOMDIR", index, enforce_file_format=True)
    return write_sheets(folder.parent, list(rows_of(marks, n)))


def rows_of(marks: pd.DataFrame, n_images: int) -> Iterator[list[object]]:
    """Rows of the spreadsheet; one on a broken file too, as readers had it on their screens."""
    for mark in marks.to_dict("records"):
        place = [round(mark[name], 1) for name in ("x", "y", "width", "height")]
        yield [f"CXR_{mark['image']:03d}.dcm", mark["reader"], *place, "Rundherd", ""]
    yield [
        f"CXR_{n_images + 3:03d}.dcm",
        str(marks["reader"].iloc[0]),
        200.5,
        210.0,
        30.0,
        28.5,
        "Rundherd",
        "unscharf",
    ]


def write_sheets(folder: Path, rows: list[list[object]]) -> tuple[Path, Path]:
    """Write a German CSV and an XLSX with the same rows."""
    text = [
        ";".join(str(cell).replace(".", ",") if isinstance(cell, float) else str(cell) for cell in row)
        for row in rows
    ]
    csv = folder / "Befunde.csv"
    csv.write_bytes(("\ufeff" + "\r\n".join([";".join(HEADER), *text]) + "\r\n").encode())
    book = openpyxl.Workbook()
    for row in (HEADER, *rows):
        book.active.append(list(row))
    book.create_sheet("Notizen")
    book.save(folder / "Befunde.xlsx")
    return csv, folder / "Befunde.xlsx"


def commands(folder: Path, sheet: Path, new_image: Path, *, run: bool = True) -> list[list[str]]:
    """Give the commands from files to report and first detections."""
    told = ["--xy", "corner", "--all-read-all"]
    first = [
        ["init", str(folder), "--drop", "duplicate,lateral"],
        ["import", str(sheet), "--output", str(folder), *told],
    ]
    if not run:
        return [*first, ["check", str(folder)]]
    main_run = folder / "runs" / "main"
    found = folder.parent / "found"
    return [
        *first,
        ["run", str(folder)],
        ["detect", str(main_run), str(new_image), "-o", str(found), "--overlay"],
    ]


def walk(folder: Path, steps: Sequence[Sequence[str]], settings: str = "") -> list[tuple[str, int, float]]:
    """Do the commands; give each with its exit code and processor seconds. Settings replace those of init."""
    done = []
    for step in steps:
        start = time.process_time()
        code = main(list(step))
        done.append((step[0], code, time.process_time() - start))
        if step[0] == "init" and settings:
            (folder / "study.toml").write_text(settings)
        if code:
            break
    return done


def add_blob(
    picture: NDArray[np.uint16], x: float, y: float, radius: float, strength: float
) -> NDArray[np.uint16]:
    """Add a bright blob, ``strength`` of the picture's range high."""
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    distance = ((columns + 0.5 - x) ** 2 + (rows + 0.5 - y) ** 2) / radius**2
    height = strength * (float(picture.max()) - float(picture.min()))
    return np.clip(picture + height * np.exp(-distance), 0, 65535).astype(np.uint16)


def simulated_files(folder: Path, n_images: int = 57) -> tuple[Path, Path]:
    """Write files from simulated phantoms and readers."""
    from overread.images import read_source
    from overread.tables import read_table

    source = folder / "phantoms"
    if not source.is_dir():
        main(["simulate", str(source), "--n-images", str(n_images), "--readers", "3", "--seed", "5"])
    images = read_table(source / "images.csv", "images")
    pictures = [np.asarray(read_source(source / path).stored, np.uint16) for path in images["path"]]
    shift = max(0, 16 - max(int(picture.max()) for picture in pictures).bit_length())
    pictures = [picture << shift for picture in pictures]
    mm = float(images["mm_per_px_x"].iloc[0])
    random = np.random.default_rng(1)
    rows = []
    for place, picture in enumerate(pictures):
        for _ in range(random.integers(0, 3)):
            x, y = random.uniform(0.2, 0.8, 2) * picture.shape[::-1]
            radius, strength = random.uniform(5, 9) / mm, random.uniform(0.1, 0.3)
            pictures[place] = picture = add_blob(picture, x, y, radius, strength)
            # Three readers who see most blobs, and draw a little off.
            for reader in [name for name in ("AB", "CD", "EF") if random.uniform() < 0.85]:
                side = 2 * radius * random.uniform(1.0, 1.4)
                corner = (centre + random.normal(0, 1.5) - side / 2 for centre in (x, y))
                rows.append((place + 1, reader, *corner, side, side))
    table = pd.DataFrame(rows, columns=["image", "reader", "x", "y", "width", "height"])
    return make_files(folder / "study", pictures, mm, table)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    csv, xlsx = simulated_files(place)
    result = walk(place / "study", commands(place / "study", xlsx, place / "study" / "CXR_003.dcm"), QUICK)
    print(f"{len(result)} commands, {sum(code not in (0, 3) for _, code, _ in result)} stumbles")
    for name, code, seconds in result:
        print(f"{name}: exit code {code}, {seconds:.1f} s of processor time")
