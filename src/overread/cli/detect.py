"""``overread detect``: run a trained detector on new radiographs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from overread.cli.conventions import WITH_BAD_IMAGES, open_detector, print_plain, refuse_to_overwrite
from overread.cli.image_folder import ImageFile, list_images, parse_spacing
from overread.errors import ImageError, InvalidInputError, StorageError, UsageError
from overread.files.regular import real_path

if TYPE_CHECKING:
    import pandas as pd

    from overread.cli.structured_reports import ImageReport
    from overread.images import Radiograph
    from overread.study.detector import Detector, OperatingPoint

__all__ = ["detect"]


def detect(
    detector: Path,
    images: Annotated[list[Path], Parameter(consume_multiple=True, negative=())],
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("detections"),
    fp: float = 1.0,
    format: Literal["csv", "json"] = "csv",
    mm_per_px: Annotated[str | None, Parameter(name="--mm-per-px")] = None,
    all_candidates: Annotated[bool, Parameter(negative=())] = False,
    overlay: Annotated[bool, Parameter(negative=())] = False,
    sr: Annotated[bool, Parameter(negative=())] = False,
    anonymous: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Find candidates, score them, and write those above the locked threshold.

    Exit code 3: some images could not be used; they are named, the others are done. Where not one could be used,
    nothing is written and the exit code is 4.

    Parameters
    ----------
    detector
        Detector file of a run (detector.json), or the run's folder.
    images
        Image files, or folders of them: the images of images.csv where there is one, else the image files in them and
        in folders within them.
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
        Write DICOM structured reports (TID 1500), one for each study of the images. They name the patient as the
        images do, unless --anonymous is given.
    anonymous
        Write nothing that may name a patient: images are called image-0001, ... in the order in which they are given,
        no path is written, and the reports' attributes of patient and visit are empty.
    json
        Print a summary for machines.
    """
    from overread.cli.structured_reports import refuse_other_than_dicom, write_reports
    from overread.plots import save_figure
    from overread.report.overlay import detections_figure

    model = open_detector(detector)
    point = model.operating_point(fp)
    files = gather_files(images, parse_spacing(mm_per_px), out)
    paths = [file.path for file in files]
    table = out / f"detections.{format}"
    names = number_images(files) if anonymous else image_ids(files)
    pictures = name_pictures(paths, out, names if anonymous else None) if overlay else {}
    refuse_to_overwrite(paths, [table, *pictures.values()])
    if sr:
        refuse_other_than_dicom(paths)
    make_folder(out)
    summary = Summary(model.name, point, table)
    tables, reports = [], []
    for found in detect_each(model, files, names, fp, summary, with_report=sr):
        if anonymous:
            del found.candidates["image"]
        tables.append(found.candidates if all_candidates else found.candidates[found.candidates["shown"]])
        if found.report is not None:
            reports.append(found.report)
        if overlay:
            save_figure(detections_figure(found.radiograph, found.candidates), pictures[found.path])
    if not tables:
        print_bad(summary.bad)
        raise ImageError("not one image could be used; nothing was written")
    write_detections(tables, table)
    if reports:
        summary.reports += write_reports(reports, f"Overread {model.name}", out, anonymous=anonymous)
    print_summary(summary, as_json=json)
    return WITH_BAD_IMAGES if summary.bad else 0


@dataclass(frozen=True, eq=False)
class Found:
    """All candidates of one image, with a column that says which are shown."""

    path: Path
    radiograph: Radiograph
    candidates: pd.DataFrame
    report: ImageReport | None


class Summary:
    """What the command tells in the end."""

    def __init__(self, model: str, point: OperatingPoint, table: Path) -> None:
        self.model, self.point, self.table = model, point, table
        self.n_images = self.n_shown = 0
        self.reports: list[Path] = []
        self.bad: dict[str, str] = {}


def detect_each(
    model: Detector,
    files: Sequence[ImageFile],
    names: Sequence[str],
    fp: float,
    summary: Summary,
    *,
    with_report: bool,
) -> Iterator[Found]:
    """Run the detector on one image after the other; those that cannot be used are noted and left out."""
    from overread.cli.structured_reports import ImageReport
    from overread.images import read_image

    for file, image_id in zip(show_progress(files), names, strict=True):
        try:
            radiograph = read_image(file.path, mm_per_px=file.mm_per_px, grid_mm=model.grid_mm)
            candidates = model.detect(radiograph)
            candidates["shown"] = model.shown(candidates, fp)
            shown = candidates[candidates["shown"]]
            report = ImageReport.of(file.path, radiograph, shown) if with_report else None
        except (InvalidInputError, StorageError) as error:
            summary.bad[str(file.path)] = str(error)
            continue
        candidates.insert(0, "image_id", image_id)
        candidates["image"] = str(file.path)
        summary.n_images += 1
        summary.n_shown += len(shown)
        yield Found(file.path, radiograph, candidates, report)


def make_folder(out: Path) -> None:
    """Make the folder for the results."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; --out is a folder for the results")
    out.mkdir(parents=True, exist_ok=True)


def gather_files(given: Sequence[Path], mm_per_px: tuple[float, float] | None, out: Path) -> list[ImageFile]:
    """List files as given and the images of folders, each once; results of an earlier run in a folder are none."""
    files: dict[Path, ImageFile] = {}
    for path in given:
        inside = [ImageFile(path.name, path, mm_per_px)]
        if path.is_dir():
            inside = list_images(path, mm_per_px=mm_per_px)
            if real_path(path) in real_path(out).parents:
                inside = [file for file in inside if real_path(out) not in real_path(file.path).parents]
        for file in inside:
            files.setdefault(real_path(file.path), file)
    return list(files.values())


def image_ids(files: Sequence[ImageFile]) -> list[str]:
    """Id of each image as its folder names it; the path where two would be the same."""
    counts = Counter(file.image_id for file in files)
    return [file.image_id if counts[file.image_id] == 1 else str(file.path) for file in files]


def number_images(files: Sequence[ImageFile]) -> list[str]:
    """Name the images by their number, which tells nothing."""
    return [f"image-{number:04d}" for number in range(1, len(files) + 1)]


def show_progress(files: Sequence[ImageFile]) -> Iterator[ImageFile]:
    """Go through the files with a bar on the terminal's error stream."""
    from rich.console import Console
    from rich.progress import track

    yield from track(files, "detecting", console=Console(stderr=True), disable=len(files) < 3)


def name_pictures(paths: Sequence[Path], out: Path, names: Sequence[str] | None = None) -> dict[Path, Path]:
    """Name each image's picture after its file, with a number where files share the name; no two are equal.

    Names that are given are taken as they are.
    """
    if names is not None:
        return {path: out / f"{name}.overlay.png" for path, name in zip(paths, names, strict=True)}
    counts = Counter(path.stem for path in paths)
    taken = {stem for stem, count in counts.items() if count == 1}
    pictures = {}
    for path in paths:
        name, number = path.stem, 0
        while counts[path.stem] > 1 and (number == 0 or name in taken):
            number += 1
            name = f"{path.stem}-{number}"
        taken.add(name)
        pictures[path] = out / f"{name}.overlay.png"
    return pictures


def write_detections(tables: Sequence[pd.DataFrame], path: Path) -> None:
    """Write all detections in one file, CSV or JSON by its ending."""
    import pandas as pd

    from overread.files.atomic import write_atomically
    from overread.tables import write_table

    table = pd.concat(tables, ignore_index=True)
    if path.suffix == ".csv":
        write_table(table, path)
    else:
        write_atomically(path, table.to_json(orient="records", double_precision=15).encode())


def print_bad(bad: dict[str, str]) -> None:
    """Name the images that could not be used, with the reason."""
    for path, reason in bad.items():
        print_plain(f"{path}: {reason.removeprefix(f'{path}: ')}", style="red", stderr=True)


def print_summary(summary: Summary, *, as_json: bool) -> None:
    """Say what was found, for people or for machines."""
    from json import dumps

    point = summary.point
    if as_json:
        record = {
            "model": summary.model,
            "fp_target": point.fp_target,
            "threshold": point.threshold,
            "images": summary.n_images,
            "detections": summary.n_shown,
            "table": str(summary.table),
            "reports": [str(path) for path in summary.reports],
            "bad_images": summary.bad,
        }
        print(dumps(record, ensure_ascii=False))
        return
    print_bad(summary.bad)
    print_plain(
        f"{summary.n_shown} detections in {summary.n_images} images by {summary.model} at the threshold for "
        f"{point.fp_target:g} false positives per image (score {point.threshold:.3g}): {summary.table}"
    )
    if summary.reports:
        print_plain(f"{len(summary.reports)} structured reports beside it")
