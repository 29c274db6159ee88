"""From the user's tables to coded ones: marks, readings, truth, reader statistics, split."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from overread.bags import refuse_leakage, split_by_patient
from overread.errors import TableError
from overread.study.inputs import StudyInputs, coded_marks, patient_codes
from overread.study.settings import Settings
from overread.tables.table_files import parquet_bytes
from overread.truth import merge_marks, reader_statistics

__all__ = ["READER_TABLES", "split_table", "truth_tables"]

READER_TABLES = ("readings_per_image", "readers", "reader_pairs")


def truth_tables(inputs: StudyInputs, settings: Settings) -> Mapping[str, bytes]:
    """Merge the marks, and put codes in place of readers: marks, readings, truth and reader statistics."""
    options = settings.merge_options()
    truth = merge_marks(inputs.marks, inputs.readings, options=options, labels=settings.label_options())
    if not len(truth) or not truth["golden"].any():
        raise TableError(
            "marks: no two readers marked the same object, so there is nothing to find or to learn"
        )
    marks = coded_marks(inputs.marks, inputs.reader_codes)
    code_of = dict(zip(zip(marks["image_id"], marks["original"], strict=True), marks["mark_id"], strict=True))
    members = [
        tuple(sorted(code_of[image, mark] for mark in mark_ids))
        for image, mark_ids in zip(truth["image_id"], truth["mark_ids"], strict=True)
    ]
    statistics = reader_statistics(inputs.marks, inputs.readings, options=options)
    tables = {
        "marks": marks.drop(columns="original"),
        "readings": coded(inputs.readings, inputs.reader_codes, "reader_id")[["image_id", "reader_id"]],
        "truth": truth.assign(mark_ids=pd.Series(members, index=truth.index, dtype=object)),
        "readings_per_image": statistics.readings_per_image,
        "readers": by_code(coded(statistics.readers, inputs.reader_codes, "reader_id"), "reader_id"),
        "reader_pairs": coded(statistics.pairs, inputs.reader_codes, "reader_a", "reader_b"),
    }
    return {f"tables/{name}.parquet": parquet_bytes(table) for name, table in tables.items()}


def coded(table: pd.DataFrame, codes: Mapping[str, str], *columns: str) -> pd.DataFrame:
    """Put codes in place of reader ids."""
    return table.assign(**{name: table[name].map(codes).astype("str") for name in columns})


def by_code(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort rows by the number of the code: R2 before R10."""
    number = table[column].str.slice(1).astype(int)
    return table.loc[number.sort_values(kind="stable").index].reset_index(drop=True)


def split_table(inputs: StudyInputs, truth: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """image_id, patient_id (a code) and split of every image; the study's own split where it has one.

    Raises
    ------
    LeakageError
        If a patient is in two parts.
    """
    images = pd.DataFrame({"image_id": inputs.images["image_id"], "patient_id": patient_codes(inputs.images)})
    if "split" in inputs.images and (inputs.images["split"] != "").any():
        images["split"] = inputs.images["split"]
    else:
        images["split"] = split_by_patient(images, truth, random_state=settings.seed).astype("str")
    refuse_leakage(images)
    return images
