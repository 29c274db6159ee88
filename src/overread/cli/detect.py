"""``overread detect``: run a trained detector on new radiographs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from overread.errors import InvalidInputError, UsageError

__all__ = ["detect", "read_spacing"]

ENDINGS = {".dcm", ".dicom", ".png", ".tif", ".tiff", ".jpg", ".jpeg"}
WITH_BAD_IMAGES = 3


def detect(
    detector: Path,
    images: Annotated[list[Path], Parameter(consume_multiple=True)],
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("detections"),
    fp: float = 1.0,
    format: Literal["csv", "json"] = "csv",
    mm_per_px: Annotated[str | None, Parameter(name="--mm-per-px")] = None,
    all_candidates: Annotated[bool, Parameter(negative=())] = False,
    overlay: Annotated[bool, Parameter(negative=())] = False,
    sr: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Find candidates, score them, and write those above the locked threshold.

    Exit code 3: some images could not be used; they are named, the others are done.

    Parameters
    ----------
    detector
        Detector file of a run (detector.json), or the run's folder.
    images
        Image files, or folders of them.
    out
        Folder for the results.
    fp
        Operating point: false positives per image of training + validation.
    format
        Of the table of detections.
    mm_per_px
        Size of a pixel where the file does not say: one number, or x,y.
    all_candidates
        Write the candidates below the threshold too.
    overlay
        Write a picture of each image with its detections.
    sr
        Write DICOM structured reports (TID 1500), one for each study of the images.
    json
        Print a summary for machines.
    """
    from overread.cli.detect_output import (
        Reported,
        refuse_other_than_dicom,
        tell,
        write_detections,
        write_overlay,
        write_reports,
    )
    from overread.images import read_image
    from overread.study.detector import Detector

    model = Detector.read(detector / "detector.json" if detector.is_dir() else detector)
    point = model.operating_point(fp)
    spacing = read_spacing(mm_per_px)
    files = image_files(images)
    if sr:
        refuse_other_than_dicom(files)
    out.mkdir(parents=True, exist_ok=True)
    tables, reported, bad = [], [], {}
    for path in progress(files):
        try:
            radiograph = read_image(path, mm_per_px=spacing, grid_mm=model.grid_mm)
            found = model.detect(radiograph)
            found["shown"] = model.shown(found, fp)
            if sr:
                reported.append(Reported.of(path, radiograph, found[found["shown"]]))
        except InvalidInputError as error:
            bad[str(path)] = str(error)
            continue
        found.insert(0, "image", str(path))
        tables.append(found if all_candidates else found[found["shown"]])
        if overlay:
            write_overlay(radiograph, found, out / f"{output_name(path, files)}.png")
    table = write_detections(tables, out / f"detections.{format}")
    reports = write_reports(reported, model, out) if reported else []
    tell(model, point, tables, bad, table, reports, as_json=json)
    return WITH_BAD_IMAGES if bad else 0


def image_files(given: Sequence[Path]) -> list[Path]:
    """Files as given and the images of the folders by name, each once."""
    files: dict[Path, Path] = {}
    for path in given:
        inside = [path]
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
            if not inside:
                raise UsageError(f"{path}: no image in this folder ({', '.join(sorted(ENDINGS))})")
        for file in inside:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def read_spacing(text: str | None) -> float | tuple[float, float] | None:
    """Size of a pixel from "0.143" or "0.14,0.15"."""
    if text is None:
        return None
    try:
        sides = [float(part) for part in text.split(",")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(0 < side < float("inf") for side in sides):
        raise UsageError(f"--mm-per-px {text}: give one positive number, or x,y")
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])


def progress(files: Sequence[Path]) -> Iterator[Path]:
    """Go through the files with a bar on the terminal's error stream."""
    from rich.console import Console
    from rich.progress import track

    yield from track(files, "detecting", console=Console(stderr=True), disable=len(files) < 3)


def output_name(path: Path, files: Sequence[Path]) -> str:
    """Name for an image's picture: its own, with a number where two files share it."""
    same = [other for other in files if other.stem == path.stem]
    return path.stem if len(same) == 1 else f"{path.stem}-{same.index(path) + 1}"
