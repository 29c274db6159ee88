"""Cures of what is strange about a study's images: leave images out, join patients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from overread.errors import UsageError
from overread.marks.file_names import ImageNames
from overread.marks.mark_set import find_table
from overread.study.image_findings import KINDS, Finding
from overread.tables.table_files import read_table, table_bytes

__all__ = ["choose_dropped", "drop_rows", "find_unread", "merge_patients", "note_different"]

# Two ids of one patient are joined, not dropped.
DROPPED_KINDS = (*(kind for kind in KINDS if kind != "patient"), "unread", "missing")


def choose_dropped(
    drop: Sequence[str], images: pd.DataFrame, findings: Sequence[Finding], unread: Sequence[str]
) -> dict[str, str]:
    """Reason by id of the images that are to be left out.

    Parameters
    ----------
    drop
        Kinds of findings, ``unread``, ``missing`` (of which nothing is left here), or images by any name.
    images
        The images table.
    findings
        What is strange about them.
    unread
        Images without a reading.
    """
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    dropped: dict[str, str] = {}
    for wanted in drop:
        if wanted == "unread":
            dropped |= dict.fromkeys(unread, "nobody read it")
        elif wanted == "patient":
            raise UsageError(
                "--drop patient: say that the two ids are of one patient instead, by --same-patient A=B"
            )
        elif wanted in KINDS:
            dropped |= {finding.image_id: str(finding) for finding in findings if finding.kind == wanted}
        elif (image_id := names.find(wanted)) is not None:
            said = next((str(finding) for finding in findings if finding.image_id == image_id), "")
            dropped[image_id] = said or "taken out by hand"
        elif wanted != "missing":
            raise UsageError(
                f"--drop {wanted}: no such image, and no kind; kinds are {', '.join(DROPPED_KINDS)}"
            )
    return dropped


def find_unread(folder: Path, images: pd.DataFrame) -> list[str]:
    """Images without a reading; none where there are no readings yet."""
    path = find_table(folder, "readings")
    if path is None:
        return []
    read = set(read_table(path, "readings")["image_id"])
    return [image for image in images["image_id"] if image not in read]


def drop_rows(folder: Path, image_ids: Sequence[str]) -> tuple[dict[str, bytes], int]:
    """Move the marks and readings of images into tables of what was left out.

    Returns
    -------
    dict
        New content of the tables by name, to be written together.
    int
        Number of marks that were moved.
    """
    new: dict[str, bytes] = {}
    n_marks = 0
    for kind in ("readings", "marks"):
        path = find_table(folder, kind)
        if path is None:
            continue
        table = read_table(path, kind)
        gone = table["image_id"].isin(list(image_ids))
        if not gone.any():
            continue
        kept = folder / f"left_out_{kind}.csv"
        parts = [read_table(kept, kind)] if kept.is_file() else []
        joined = pd.concat([*parts, table[gone]], ignore_index=True)
        keys = [name for name in ("image_id", "reader_id", "mark_id") if name in joined]
        # Of a mark that was left out before and has come again, the later one counts.
        new[kept.name] = table_bytes(joined.drop_duplicates(keys, keep="last"), kept)
        new[path.name] = table_bytes(table[~gone].reset_index(drop=True), path)
        n_marks = int(gone.sum()) if kind == "marks" else n_marks
    return new, n_marks


def merge_patients(images: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Give all images of the second of each pair the patient of the first; each is an image or a patient's id."""
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    patients = images["patient_id"].copy()
    for pair in pairs:
        rows = []
        for name in pair:
            image_id = names.find(name)
            row = (images["image_id"] == image_id) if image_id else patients == name
            if not name or not row.any():
                raise UsageError(f"--same-patient {pair[0]}={pair[1]}: no image and no patient {name!r}")
            rows.append(row)
        first, second = (patients[row].iloc[0] for row in rows)
        kept = first or second or f"patient of {images.loc[rows[0], 'image_id'].iloc[0]}"
        joined = rows[0] | rows[1]
        for patient in (first, second):
            joined |= (patients == patient) & (patient != "")
        patients[joined] = kept
    return images.assign(patient_id=patients)


def note_different(images: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Note with the second image of each pair that the first is of another patient, though they look alike."""
    if not pairs:
        return images
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    noted = images["different_from"].copy() if "different_from" in images else pd.Series("", images.index)
    for pair in pairs:
        one, other = (names.find(name) for name in pair)
        if one is None or other is None or one == other:
            raise UsageError(f"--different {pair[0]}={pair[1]}: name two images")
        row = images["image_id"] == other
        told = [text for text in noted[row].iloc[0].split(";") if text]
        noted[row] = ";".join(dict.fromkeys([*told, one]))
    return images.assign(different_from=noted)
