"""``overread detect``: run a trained detector on new radiographs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from overread.cli.exit_codes import WITH_BAD_IMAGES
from overread.cli.image_folder import ImageFile, list_images, parse_spacing
from overread.cli.outputs import refuse_to_overwrite
from overread.errors import ImageError, InvalidInputError, UsageError

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
        Write DICOM structured reports (TID 1500), one for each study of the images.
    json
        Print a summary for machines.
    """
    from overread.cli.detect_output import (
        Reported,
        refuse_other_than_dicom,
        tell,
        tell_bad,
        write_detections,
        write_overlay,
        write_reports,
    )
    from overread.images import read_image
    from overread.study.detector import Detector

    model = Detector.read(detector / "detector.json" if detector.is_dir() else detector)
    point = model.operating_point(fp)
    files = images_given(images, parse_spacing(mm_per_px), out)
    paths = [file.path for file in files]
    table_file = out / f"detections.{format}"
    overlays = [out / f"{name}.overlay.png" for name in output_names(paths)] if overlay else []
    refuse_to_overwrite(paths, [table_file, *overlays])
    if sr:
        refuse_other_than_dicom(paths)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; --out is a folder for the results")
    out.mkdir(parents=True, exist_ok=True)
    tables, reported, bad = [], [], {}
    for index, (file, image_id) in enumerate(zip(progress(files), image_ids(files), strict=True)):
        path = file.path
        try:
            radiograph = read_image(path, mm_per_px=file.mm_per_px, grid_mm=model.grid_mm)
            found = model.detect(radiograph)
            found["shown"] = model.shown(found, fp)
            if sr:
                reported.append(Reported.of(path, radiograph, found[found["shown"]]))
        except InvalidInputError as error:
            bad[str(path)] = str(error)
            continue
        found.insert(0, "image_id", image_id)
        found["image"] = str(path)
        tables.append(found if all_candidates else found[found["shown"]])
        if overlay:
            write_overlay(radiograph, found, overlays[index])
    if not tables:
        tell_bad(bad)
        raise ImageError("not one image could be used; nothing was written")
    table = write_detections(tables, table_file)
    reports = write_reports(reported, model, out) if reported else []
    tell(model, point, tables, bad, table, reports, as_json=json)
    return WITH_BAD_IMAGES if bad else 0


def images_given(given: Sequence[Path], mm_per_px: tuple[float, float] | None, out: Path) -> list[ImageFile]:
    """Files as given and the images of the folders, each once; results of an earlier run in a folder are none."""
    files: dict[Path, ImageFile] = {}
    for path in given:
        inside = [ImageFile(path.name, path, mm_per_px)]
        if path.is_dir():
            inside = list_images(path, mm_per_px=mm_per_px)
            if path.resolve() in out.resolve().parents:
                inside = [file for file in inside if out.resolve() not in file.path.resolve().parents]
        for file in inside:
            files.setdefault(file.path.resolve(), file)
    return list(files.values())


def image_ids(files: Sequence[ImageFile]) -> list[str]:
    """Id of each image as its folder names it; the path where two would be the same."""
    counts = Counter(file.image_id for file in files)
    return [file.image_id if counts[file.image_id] == 1 else str(file.path) for file in files]


def progress(files: Sequence[ImageFile]) -> Iterator[ImageFile]:
    """Go through the files with a bar on the terminal's error stream."""
    from rich.console import Console
    from rich.progress import track

    yield from track(files, "detecting", console=Console(stderr=True), disable=len(files) < 3)


def output_names(paths: Sequence[Path]) -> list[str]:
    """Name for each image's picture: its own, with a number where files share it; no two are equal."""
    counts = Counter(path.stem for path in paths)
    taken = {stem for stem, count in counts.items() if count == 1}
    names = []
    for path in paths:
        name, number = path.stem, 0
        while counts[path.stem] > 1 and (number == 0 or name in taken):
            number += 1
            name = f"{path.stem}-{number}"
        taken.add(name)
        names.append(name)
    return names
