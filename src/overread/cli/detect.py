"""``overread detect``: run a trained detector on new radiographs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.images import Radiograph
    from overread.study.detector import Detector

__all__ = ["detect"]

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
        Write a DICOM structured report (TID 1500) for each DICOM image.
    json
        Print a summary for machines.
    """
    from overread.images import read_image
    from overread.study.detector import Detector

    model = Detector.read(detector / "detector.json" if detector.is_dir() else detector)
    model.operating_point(fp)
    spacing = read_spacing(mm_per_px)
    files = image_files(images)
    if sr:
        refuse_other_than_dicom(files)
    out.mkdir(parents=True, exist_ok=True)
    tables, bad = [], {}
    for path in progress(files):
        try:
            radiograph = read_image(path, mm_per_px=spacing, grid_mm=model.grid_mm)
            found = model.detect(radiograph)
            found.insert(0, "image", str(path))
            found["shown"] = model.shown(found, fp)
            kept = found if all_candidates else found[found["shown"]]
            tables.append(kept)
            if overlay:
                write_overlay(radiograph, found, out / f"{file_name(path, files)}.png")
            if sr:
                write_report(path, radiograph, found[found["shown"]], model, out)
        except InvalidInputError as error:
            bad[str(path)] = str(error)
    table = write_table(tables, out, format)
    tell(model, fp, files, tables, bad, table, as_json=json)
    return WITH_BAD_IMAGES if bad else 0


def image_files(given: Sequence[Path]) -> list[Path]:
    """Files as given, and the images of the folders by name."""
    files: list[Path] = []
    for path in given:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
            if not inside:
                raise UsageError(f"{path}: no image in this folder ({', '.join(sorted(ENDINGS))})")
            files += inside
        else:
            files.append(path)
    return files


def refuse_other_than_dicom(files: Sequence[Path]) -> None:
    """Say at once that only DICOM images can have a report."""
    for path in files:
        if path.suffix.lower() in ENDINGS - {".dcm", ".dicom"}:
            raise UsageError(
                f"{path}: --sr needs DICOM images: a report refers to its image by its DICOM identity"
            )


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


def file_name(path: Path, files: Sequence[Path]) -> str:
    """Name for an image's outputs: its own, with a number where two files share it."""
    same = [other for other in files if other.stem == path.stem]
    return path.stem if len(same) == 1 else f"{path.stem}-{same.index(path) + 1}"


def write_overlay(radiograph: Radiograph, found: pd.DataFrame, path: Path) -> None:
    """Picture with the shown detections solid and the next ten candidates faint."""
    from overread.figures import save_figure
    from overread.report.overlay import detections_figure

    save_figure(detections_figure(radiograph, found), path)


def write_report(path: Path, radiograph: Radiograph, found: pd.DataFrame, model: Detector, out: Path) -> None:
    """Structured report of one DICOM image."""
    import pandas as pd

    from overread.marks.formats.dicom_sr_writer import write
    from overread.marks.mark_set import MarkSet

    sides = zip(radiograph.source_shape[::-1], radiograph.source_mm_per_px, strict=True)
    width, height = (n * side for n, side in sides)
    x, y = found["x_mm"], found["y_mm"]
    room = pd.concat([x, width - x, y, height - y], axis=1).min(axis=1) * 0.999
    radius = pd.concat([found["radius_mm"], room], axis=1).min(axis=1)
    reader, image = f"Overread {model.name}", "image"
    marks = pd.DataFrame(
        {
            "image_id": image,
            "reader_id": reader,
            "mark_id": found["candidate_id"],
            "x_mm": x,
            "y_mm": y,
            "semi_major_mm": radius,
            "semi_minor_mm": radius,
            "angle_deg": 0.0,
            "confidence": found["probability"],
            "label": "Nodule",
        }
    )
    row = {"image_id": image, "path": path.name, "mm_per_px_x": radiograph.source_mm_per_px[0],
           "mm_per_px_y": radiograph.source_mm_per_px[1]}  # fmt: skip
    mark_set = MarkSet(
        marks=marks,
        readings=pd.DataFrame({"image_id": [image], "reader_id": [reader]}),
        images=pd.DataFrame([row]),
    )
    write(mark_set, out, images_folder=path.parent, observer="device")


def write_table(tables: Sequence[pd.DataFrame], out: Path, format: str) -> Path:
    """Write all detections in one file."""
    import pandas as pd

    from overread.storage import write_atomically

    columns = ["image", "candidate_id", "x_mm", "y_mm", "radius_mm", "score", "probability", "shown"]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    text = (
        table.to_csv(index=False) if format == "csv" else table.to_json(orient="records", double_precision=15)
    )
    return write_atomically(out / f"detections.{format}", text.encode())


def tell(
    model: Detector,
    fp: float,
    files: Sequence[Path],
    tables: Sequence[pd.DataFrame],
    bad: dict[str, str],
    table: Path,
    *,
    as_json: bool,
) -> None:
    """Say what was found, for people or for machines."""
    from json import dumps

    from rich.console import Console

    n_shown = sum(int(part["shown"].sum()) for part in tables)
    point = model.operating_point(fp)
    summary: dict[str, Any] = {
        "model": model.name,
        "fp_target": point.fp_target,
        "threshold": point.threshold,
        "images": len(files) - len(bad),
        "detections": n_shown,
        "table": str(table),
        "bad_images": bad,
    }
    if as_json:
        print(dumps(summary, ensure_ascii=False))
        return
    console = Console(stderr=True)
    for path, reason in bad.items():
        said = reason if reason.startswith(path) else f"{path}: {reason}"
        console.print(said, style="red", markup=False, highlight=False, soft_wrap=True)
    Console().print(
        f"{n_shown} detections in {len(tables)} images by {model.name} at the threshold for {fp:g} false positives per "
        f"image (score {point.threshold:.3g}): {table}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
