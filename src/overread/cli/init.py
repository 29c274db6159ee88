"""`overread init`: a folder of images becomes a study."""

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
"""Files that could not be read and are named one by one, so that the end stays in sight."""
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
    """Make a study out of a folder of DICOM, PNG, TIFF or JPEG files.

    Writes images.csv and a commented study.toml. Where images.csv is there already, its rows stay and the files are
    found by their ids; files that could not be used before are looked at again. Nothing that names a patient is
    written unless you ask for it. Files that cannot be used are left out and listed in found_files.csv; copies of one
    picture, one patient under two ids, lateral, AP and other views, and text in the picture are named with a command
    that cures them.

    Parameters
    ----------
    folder
        Folder with the images, also in folders within it.
    mm_per_px
        Size of a pixel in mm, X or X,Y, for files that do not state it; px: lengths are pixels, for pictures that are
        no chests.
    images
        Table of the files (a column file, path or image_id) with mm_per_px_x and mm_per_px_y, for files that do not
        state it.
    ids
        name: an image's id is its file's name. hash: a salted hash, for files that are named after patients. Without
        it: the name, unless it holds the patient's name or id.
    patients
        hashed: a DICOM file's PatientID as a salted hash. raw: as it stands. none: not read.
    patient_pattern
        Regular expression whose first group in a file's name is the patient, for files without a header.
    drop
        Leave images out, with their marks and readings: ids or file names with commas between them, or kinds:
        duplicate, copy, lateral, ap, non-chest, not-frontal, text, unread (nobody read it), missing (no file).
    same_patient
        A=B: the images A and B (or two patient ids) are of one patient. Repeat it for several.
    different
        A=B: the images A and B look the same but are of different patients. Repeat it for several; images.csv keeps it.
    region
        What the images are: chest; or other pictures whose objects lie in a bright field (field_of_view), inside masks
        (masks) or anywhere (all); or a kind that another package adds. Without it: chest, unless most images show no
        pair of lungs.
    preset
        paper: study.toml follows every rule of the paper; without it Overread's own defaults.
    overwrite
        Replace images.csv and study.toml.
    json
        Print what was made as JSON.
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
    """Say what was made, what was left out, and what comes next."""
    print_line(f"{made.n_images} images, {made.n_patients} patients known")
    out = {
        **made.unreadable,
        **{name: f"{reason} (left out before)" for name, reason in made.stay_out.items()},
    }
    for name, reason in list(out.items())[:MOST_NAMED]:
        print_line(f"left out: {name}: {reason}")
    if len(out) > MOST_NAMED:
        print_line(f"... and {len(out) - MOST_NAMED} more (found_files.csv lists all)")
    if made.unlisted:
        print_line(
            f"left out: {len(made.unlisted)} image files that images.csv does not list: {made.unlisted[0]}, ..."
        )
    for image_id, reason in list(made.dropped.items())[:MOST_NAMED]:
        print_line(f"left out: {image_id}: {reason}")
    if made.dropped:
        print_line(f"left out on request: {len(made.dropped)} images with {made.n_dropped_marks} marks")
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
    """Name what is strange, a few of each kind, with the command that cures it."""
    kinds: dict[str, list[Finding]] = {}
    for finding in made.findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for found in kinds.values():
        for finding in found[:MOST_OF_A_KIND]:
            print_line(f"look at: {finding.image_id}: {finding}")
        if len(found) > MOST_OF_A_KIND:
            command = f"overread check {shell_word(folder)}"
            print_line(f"... and {len(found) - MOST_OF_A_KIND} more of this kind ({command} lists all)")
        print_line(f"   cure: {found[0].cure(folder)}")
