"""`overread init`: make a study from a folder of images."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread._commands import Flag, emit
from overread._terminal import print_line
from overread._text import shell_word
from overread.errors import UsageError

if TYPE_CHECKING:
    from overread.study import Finding, MadeStudy


MOST_NAMED = 10
"""Most skipped files that are listed on the screen, so that the end stays visible."""
MOST_OF_A_KIND = 3


def init(
    folder: Path,
    *,
    mm_per_px: str | None = None,
    images: Path | None = None,
    ids: Literal["name", "hash"] | None = None,
    patients: Literal["hashed", "raw", "none"] = "hashed",
    patient_pattern: str | None = None,
    drop: str | None = None,
    same_patient: Annotated[list[str] | None, Parameter(negative=())] = None,
    different: Annotated[list[str] | None, Parameter(negative=())] = None,
    region: str | None = None,
    preset: Literal["paper"] | None = None,
    overwrite: Flag = False,
    json: Flag = False,
) -> None:
    """Turn a folder of DICOM, PNG, TIFF or JPEG files into a study.

    Writes images.csv and a commented study.toml. An existing images.csv keeps its rows, and files that failed
    before are tried again. Files that cannot be used are skipped and listed in found_files.csv.

    Parameters
    ----------
    folder
        Folder with the images, also in subfolders.
    mm_per_px
        Pixel size in mm, X or X,Y, for files that do not state it. px: lengths are in pixels, for images that
        are not chest radiographs.
    images
        Table with mm_per_px_x and mm_per_px_y, and the files in a column file, path or image_id, for files
        that do not state their pixel size.
    ids
        name: an image's id is its file name. hash: a salted hash, for files that are named after patients. By
        default the name, unless it contains the patient's name or id.
    patients
        hashed: the PatientID of a DICOM file as a salted hash. raw: unchanged. none: not read.
    patient_pattern
        Regular expression for file names whose first group is the patient, for files without a header.
    drop
        Remove images with their marks and readings: ids or file names separated by commas, or kinds:
        duplicate, copy, lateral, ap, non-chest, not-frontal, text, unread (no reading), missing (no file).
    same_patient
        A=B: the images A and B (or two patient ids) are of one patient. Repeat for more.
    different
        A=B: the images A and B look the same but are of different patients. Repeat for more; images.csv
        records it.
    region
        Kind of image. chest: chest radiographs. For other images, where to search: field_of_view (the bright
        field), masks (inside masks) or all (everywhere). Or a kind from another package. By default chest,
        unless most images show no pair of lungs.
    preset
        paper: study.toml follows every rule of the paper. By default it has Overread's defaults.
    overwrite
        Replace images.csv and study.toml.
    json
        Print the result as JSON.
    """
    from overread._commands import parse_spacing
    from overread._terminal import ProgressBar
    from overread.study import make_study

    given = parse_spacing(mm_per_px)
    with nullcontext() if json else ProgressBar():
        made = make_study(
            folder,
            mm_per_px=given,
            ids=ids,
            patients=patients,
            patient_pattern=patient_pattern,
            drop=[name.strip() for name in drop.split(",")] if drop else [],
            same_patient=[_parse_pair("--same-patient", text) for text in same_patient or []],
            different=[_parse_pair("--different", text) for text in different or []],
            overwrite=overwrite,
            in_pixels=mm_per_px == "px",
            region=region,
            images_table=images,
            preset=preset or "",
        )
    emit(_record(made), lambda _: _print_made(made, folder), as_json=json)


def _parse_pair(option: str, text: str) -> tuple[str, str]:
    first, _, second = text.partition("=")
    if not first or not second:
        raise UsageError(f"{option} {text!r}: write A=B")
    return first, second


def _record(made: MadeStudy) -> dict[str, Any]:
    return {
        "images": made.n_images,
        "patients": made.n_patients,
        "unreadable": made.unreadable,
        "unlisted": made.unlisted,
        "written": [str(path) for path in made.written],
        "notes": made.notes,
        "findings": [asdict(finding) for finding in made.findings],
        "dropped": made.dropped,
        "dropped_marks": made.n_dropped_marks,
        "stay_out": made.stay_out,
    }


def _print_made(made: MadeStudy, folder: Path) -> None:
    """Print what was written, what was skipped, and the next step."""
    print_line(f"{made.n_images} images, {made.n_patients} patients known")
    out = {
        **made.unreadable,
        **{name: f"{reason} (skipped before)" for name, reason in made.stay_out.items()},
    }
    for name, reason in list(out.items())[:MOST_NAMED]:
        print_line(f"skipped: {name}: {reason}")
    if len(out) > MOST_NAMED:
        print_line(f"... and {len(out) - MOST_NAMED} more (found_files.csv lists all)")
    if made.unlisted:
        print_line(
            f"skipped: {len(made.unlisted)} image files that images.csv does not list: {made.unlisted[0]}, ..."
        )
    for image_id, reason in list(made.dropped.items())[:MOST_NAMED]:
        print_line(f"skipped: {image_id}: {reason}")
    if made.dropped:
        print_line(f"dropped on request: {len(made.dropped)} images with {made.n_dropped_marks} marks")
    _print_findings(made, folder)
    for path in made.written:
        print_line(f"wrote {path}")
    if folder / "study.toml" not in made.written:
        print_line(f"kept {folder / 'study.toml'} (--overwrite replaces it)")
    for note in made.notes:
        print_line(note)
    if not made.notes:
        print_line(f"Next: overread run {shell_word(folder)}")


def _print_findings(made: MadeStudy, folder: Path) -> None:
    """List unusual images, a few of each kind, with the command that fixes them."""
    kinds: dict[str, list[Finding]] = {}
    for finding in made.findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for found in kinds.values():
        for finding in found[:MOST_OF_A_KIND]:
            print_line(f"look at: {finding.image_id}: {finding}")
        if len(found) > MOST_OF_A_KIND:
            command = f"overread check {shell_word(folder)}"
            print_line(f"... and {len(found) - MOST_OF_A_KIND} more of this kind ({command} lists all)")
        print_line(f"   to fix: {found[0].cure(folder)}")
