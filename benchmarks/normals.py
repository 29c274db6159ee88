"""Radiographs that networks may be trained on: of patients never labelled Nodule or Mass, in no benchmark or check."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from overread.simulate._backgrounds import BackgroundFile

__all__ = ["list_normals"]

# What is measured on the training must not have seen: the benchmark with its 41 findings, and the real check.
KEPT_APART = ("images.csv", "findings.csv", "other_findings.csv")


def list_normals(folder: Path, *, per_patient: int | None = None) -> list[BackgroundFile]:
    """List the files of FOLDER/normals by name.

    Parameters
    ----------
    folder
        With normals.csv and, if they are there, the tables of `KEPT_APART`.
    per_patient
        Most files of one patient; all by default.

    Raises
    ------
    ValueError
        If a file has a finding, or its patient is in a table that is kept apart.
    """
    table = read_table(folder / "normals.csv").sort_values("file")
    apart = {
        patient
        for name in KEPT_APART
        if (folder / name).exists()
        for patient in read_table(folder / name)["patient"]
    }
    wrong = table[(table["finding_labels"] != "No Finding") | table["patient"].isin(apart)]
    if len(wrong):
        raise ValueError(f"{folder / 'normals.csv'}: not to be trained on: {', '.join(wrong['file'][:3])}")
    if per_patient is not None:
        table = table[table.groupby("patient").cumcount() < per_patient]
    return [
        BackgroundFile(folder / "normals" / row.file, row.patient, (row.mm_per_px_x, row.mm_per_px_y))
        for row in table.itertuples()
    ]


def read_table(path: Path) -> pd.DataFrame:
    """Read a table of files, ids as text."""
    return pd.read_csv(path, dtype={"file": str, "patient": str})
