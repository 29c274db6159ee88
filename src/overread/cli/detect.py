"""``overread detect``: run a trained detector on new images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread._commands import (
    WITH_BAD_IMAGES,
    Flag,
    ImageFile,
    OutputPath,
    PixelSize,
    at_least_one,
    emit,
    list_images,
    open_detector,
    parse_spacing,
    print_plain,
    refuse_to_overwrite,
)
from overread.errors import ImageError, InvalidInputError, UsageError, require_extra
from overread.files import real_path

if TYPE_CHECKING:
    import pandas as pd

    from overread.study import Detector, Documents, FoundMarks, MarkRate


# The results so far, in the output folder. Without it the same command starts from the beginning.
JOURNAL = "detections.journal"
# Most images that a line of the summary lists; set by judgement.
NAMED = 5


def detect(
    detector: Path,
    images: Annotated[list[Path], Parameter(consume_multiple=True, negative=())],
    *,
    output: OutputPath = Path("detections"),
    fp: float | None = None,
    format: Literal["csv", "json"] = "csv",
    mm_per_px: PixelSize = None,
    masks: Path | None = None,
    all_candidates: Flag = False,
    overlay: Flag = False,
    sr: Flag = False,
    gsps: Flag = False,
    anonymous: Flag = False,
    workers: int | None = None,
    json: Flag = False,
) -> int:
    """Find candidates, score them, and write those above the locked threshold.

    Exit code 3: some images were skipped; they are listed. Exit code 4: no image could be used, and nothing
    was written. Run the same command again to continue one that was stopped.

    Parameters
    ----------
    detector
        Folder of a run, or its detector.json.
    images
        Image files or folders. In a folder with images.csv, the images of that table; otherwise all image
        files in the folder and its subfolders.
    output
        Folder for the results.
    fp
        Operating point: false positives per image in training + validation. By default the study's, usually
        0.5.
    format
        Format of the table of detections.
    mm_per_px
        Pixel size in mm, X or X,Y, where the file does not state it.
    masks
        Folder of masks with the names of their images, for a detector that searches inside masks.
    all_candidates
        Also write the candidates below the threshold.
    overlay
        Write a PNG of each image with its detections.
    sr
        Write DICOM structured reports (TID 1500), one per DICOM study. They contain the patient's name unless
        you give --anonymous.
    gsps
        Write DICOM presentation states, one per image, which viewers draw over it. They contain the patient's
        name unless you give --anonymous.
    anonymous
        Write nothing that may name a patient: images are called image-0001, ... in their order, no path is
        written, and patient and visit are empty in the documents. Until the command ends, a journal in the
        output folder holds the paths.
    workers
        Number of worker processes; by default one per processor, and none for a few images.
    json
        Print a summary as JSON.
    """
    from overread._terminal import ProgressBar
    from overread.study import Batch, Documents, MarkRate, Request, choose_workers, refuse_other_than_dicom

    at_least_one(workers=workers)
    with_documents = sr or gsps
    if with_documents:
        require_extra("pacs", "overread detect --sr or --gsps")
    model = open_detector(detector)
    point = model.operating_point(fp)
    files = _gather_files(images, parse_spacing(mm_per_px), output)
    paths = [file.path for file in files]
    table = output / f"detections.{format}"
    names = _image_ids(files, anonymous=anonymous)
    pictures = _name_pictures(paths, output, names if anonymous else None) if overlay else {}
    journal = output / JOURNAL
    refuse_to_overwrite(paths, [table, journal, *pictures.values()])
    if with_documents:
        refuse_other_than_dicom(paths)
    _make_folder(output)
    request = Request(
        model, point.fp_target, all_candidates=all_candidates, documents=with_documents, masks=masks
    )
    batch = Batch(request, journal, pictures=pictures, n_workers=choose_workers(workers, len(files)))
    ids = dict(zip(paths, names, strict=True))
    with ProgressBar():
        found = batch.run((file.path, file.mm_per_px) for file in files)
    if not found:
        _print_bad(batch.bad)
        raise ImageError("no image could be used; nothing was written")
    _write_detections([_name_rows(one, ids[one.path], anonymous=anonymous) for one in found], table, model)
    kinds = Documents(sr=sr, gsps=gsps, anonymous=anonymous)
    documents = _document_studies(found, f"Overread {model.name}", output, batch.bad, kinds)
    if anonymous:
        # It holds the names of the files, and nothing is left to continue.
        journal.unlink(missing_ok=True)
    marks = MarkRate(point.record(), len(found), sum(int(one.rows["shown"].sum()) for one in found))
    in_training = [ids[one.path] for one in found if one.in_training]
    record = {
        "model": model.name,
        "trained_on": model.trained_on,
        "verdict": model.verdict,
        "fp_target": point.fp_target,
        "threshold": point.threshold,
        "images": marks.n_images,
        "detections": marks.n_marks,
        "marks_per_image": marks.n_marks / marks.n_images,
        "marks_per_image_where_locked": point.marks_per_image,
        "p_value_of_marks_per_image": marks.p_value,
        "images_in_training": None if model.seen is None else in_training,
        "table": str(table),
        "documents": [str(path) for path in documents],
        "bad_images": {str(path): reason for path, reason in batch.bad.items()},
        "resumed_images": batch.n_resumed,
        "images_per_second": batch.n_worked / batch.seconds if batch.n_worked else None,
    }
    emit(record, lambda _: _show(record, marks, model), as_json=json)
    return WITH_BAD_IMAGES if batch.bad else 0


def _make_folder(out: Path) -> None:
    """Make the output folder."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file. Give --output a folder.")
    out.mkdir(parents=True, exist_ok=True)


def _show(record: dict[str, Any], marks: MarkRate, model: Detector) -> None:
    """Print a summary for people."""
    _print_bad(record["bad_images"])
    print_plain(
        f"{marks.n_marks} detections in {marks.n_images} images by {model.name} at the threshold for "
        f"{record['fp_target']:g} false positives per image (score {record['threshold']:.3g}): {record['table']}"
    )
    print_plain(marks.tell(), style="yellow" if marks.differs else None)
    print_plain(f"The detector was trained on {model.trained_on}.")
    seen = record["images_in_training"]
    if seen is None:
        print_plain("It does not record which images those were, so some of these may be among them.")
    elif seen:
        more = ""
        if len(seen) > NAMED:
            more = f" and {len(seen) - NAMED} more (all: images_in_training in --json)"
        print_plain(
            f"It was trained on {len(seen)} of these {marks.n_images} images, so its detections there do not "
            f"show how good it is: {', '.join(seen[:NAMED])}{more}",
            style="yellow",
        )
    if not model.score_map.is_probability:
        print_plain(
            "Its study had too few marks for calibration: detections have ranks but no probabilities."
        )
    if record["images_per_second"] is None:
        print_plain("all images were already processed")
    else:
        before = f"; {record['resumed_images']} were already processed" if record["resumed_images"] else ""
        print_plain(f"{record['images_per_second']:.2g} images per second{before}")
    if record["documents"]:
        print_plain(f"{len(record['documents'])} DICOM documents in the same folder")
    if model.verdict:
        print_plain(f"Verdict of its study: {model.verdict}")


def _name_rows(found: FoundMarks, image_id: str, *, anonymous: bool) -> pd.DataFrame:
    """Rows of the table for one image; without its path if the output is anonymous."""
    rows = found.rows.copy()
    if found.in_training is not None:
        rows["in_training"] = found.in_training
    if not anonymous:
        rows["image"] = str(found.path)
    rows.insert(0, "image_id", image_id)
    return rows


def _document_studies(
    found: Sequence[FoundMarks], observer: str, out: Path, bad: dict[Path, str], kinds: Documents
) -> list[Path]:
    """Write the documents of each DICOM study; if that fails, its images are recorded as bad."""
    from overread.study import write_documents

    studies: dict[str, dict[str, FoundMarks]] = {}
    for one in found:
        if one.report is None:
            continue
        images = studies.setdefault(one.report.image["study"], {})
        first = images.setdefault(one.report.image["image_id"], one)
        if first.report is not None and not one.report.marks.equals(first.report.marks):
            bad[one.path] = (
                f"no DICOM document: {first.path} has the same SOP instance UID and other detections"
            )
    written = []
    for images in studies.values():
        reports = [one.report for one in images.values() if one.report is not None]
        try:
            written += write_documents(reports, observer, out, kinds)
        except InvalidInputError as error:
            bad.update({one.path: f"no DICOM document: {error}" for one in images.values()})
    return written


def _gather_files(given: Sequence[Path], mm_per_px: tuple[float, float] | None, out: Path) -> list[ImageFile]:
    """List the given files and the images of folders, each once, without the results of an earlier run."""
    from overread.marks import without_ending

    files: dict[Path, ImageFile] = {}
    for path in given:
        inside = [ImageFile(without_ending(path.name), path, mm_per_px)]
        if path.is_dir():
            inside = list_images(path, mm_per_px=mm_per_px)
            if real_path(path) in real_path(out).parents:
                inside = [file for file in inside if real_path(out) not in real_path(file.path).parents]
        for file in inside:
            files.setdefault(real_path(file.path), file)
    return list(files.values())


def _image_ids(files: Sequence[ImageFile], *, anonymous: bool) -> list[str]:
    """Return each image's id in its folder, its path where ids collide, or a number if anonymous."""
    if anonymous:
        return [f"image-{number:04d}" for number in range(1, len(files) + 1)]
    counts = Counter(file.image_id for file in files)
    return [file.image_id if counts[file.image_id] == 1 else str(file.path) for file in files]


def _name_pictures(paths: Sequence[Path], out: Path, names: Sequence[str] | None = None) -> dict[Path, Path]:
    """Name each image's picture after its file, with a number where names collide.

    Given names are not changed.
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


def _write_detections(tables: Sequence[pd.DataFrame], path: Path, model: Detector) -> None:
    """Write all detections to one CSV or JSON file, by its ending, with lengths in the unit of the detector."""
    import pandas as pd

    from overread.files import write_atomically
    from overread.tables import named, write_table

    table = named(pd.concat(tables, ignore_index=True), model.unit)
    if path.suffix == ".csv":
        write_table(table, path)
    else:
        write_atomically(path, table.to_json(orient="records", double_precision=15).encode())


def _print_bad(bad: Mapping[Any, str]) -> None:
    """List the skipped images with their reasons."""
    for path, reason in bad.items():
        print_plain(f"{path}: {reason.removeprefix(f'{path}: ')}", style="red", stderr=True)
