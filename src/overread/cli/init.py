"""`overread init`: a folder of images becomes a study."""

from __future__ import annotations

import json as json_text
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from overread.study.init_study import MadeStudy

__all__ = ["init"]

MOST_NAMED = 10
"""Files that could not be read and are named one by one, so that the end stays in sight."""


def init(
    folder: Path,
    *,
    mm_per_px: str | None = None,
    ids: Literal["name", "hash"] | None = None,
    patients: Literal["hashed", "raw", "none"] = "hashed",
    patient_pattern: str | None = None,
    overwrite: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Make a study out of a folder of DICOM, PNG, TIFF or JPEG files.

    Writes images.csv and a commented study.toml. Where an import has made images.csv already, its ids stay and the
    files are found by them. Nothing that names a patient is written unless you ask for it.

    Parameters
    ----------
    folder
        Folder with the images, also in folders within it.
    mm_per_px
        Size of a pixel in mm, X or X,Y, for files that do not state it.
    ids
        name: an image's id is its file's name. hash: a salted hash, for files that are named after patients. Without
        it: the name, unless it holds the patient's name or id.
    patients
        hashed: a DICOM file's PatientID as a salted hash. raw: as it stands. none: not read.
    patient_pattern
        Regular expression whose first group in a file's name is the patient, for files without a header.
    overwrite
        Replace images.csv and study.toml.
    json
        Print what was made as JSON.
    """
    from overread.cli.image_folder import parse_spacing
    from overread.progress import ProgressBar
    from overread.study.init_study import make_study

    given = parse_spacing(mm_per_px)
    with nullcontext() if json else ProgressBar():
        made = make_study(
            folder,
            mm_per_px=given,
            ids=ids,
            patients=patients,
            patient_pattern=patient_pattern,
            overwrite=overwrite,
        )
    if json:
        print_json(made)
    else:
        print_made(made, folder)


def print_json(made: MadeStudy) -> None:
    """Say what was made, for machines."""
    record = {
        "images": made.n_images,
        "patients": made.n_patients,
        "unreadable": made.unreadable,
        "unlisted": made.unlisted,
        "written": [str(path) for path in made.written],
        "notes": made.notes,
    }
    print(json_text.dumps(record))


def print_made(made: MadeStudy, folder: Path) -> None:
    """Say what was made, what was left out, and what comes next."""
    print(f"{made.n_images} images, {made.n_patients} patients known")
    for name, reason in list(made.unreadable.items())[:MOST_NAMED]:
        print(f"left out: {name}: {reason}")
    if len(made.unreadable) > MOST_NAMED:
        print(f"... and {len(made.unreadable) - MOST_NAMED} more")
    if made.unlisted:
        print(
            f"left out: {len(made.unlisted)} image files that images.csv does not list: {made.unlisted[0]}, ..."
        )
    for path in made.written:
        print(f"wrote {path}")
    if folder / "study.toml" not in made.written:
        print(f"kept {folder / 'study.toml'} (--overwrite replaces it)")
    for note in made.notes:
        print(note)
    if not made.notes:
        print(f"Next: overread run {folder}")
