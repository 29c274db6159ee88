"""Marks become ground truth, readers become codes, and the images are divided by patient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pandas as pd

from overread.bags import refuse_leakage, split_by_patient
from overread.errors import DataWarning, InvalidInputError, TableError
from overread.froc import gts_for_half_width
from overread.study._inputs import code_marks, code_patients
from overread.study._settings import Settings
from overread.study.stages.performance import WIDEST_HALF_WIDTH
from overread.study.stages.stage import Inputs, Made, Stage
from overread.tables import plain
from overread.truth import MergeOptions, apply_adjudication, merge_marks, reader_statistics

READER_TABLES = ("readings_per_image", "readers", "reader_pairs")


def _merge_into_truth(inputs: Inputs) -> Made:
    """Merge the marks, and replace readers by codes: marks, readings, truth and reader statistics."""
    marks, readings, codes = inputs["input/marks"], inputs["input/readings"], inputs["input/reader_codes"]
    settings = inputs.settings
    options = MergeOptions(**dict(settings.merging), seed=settings.seed)
    labels, unit = settings.labels.make_options(), settings.units.unit
    merged, _ = plain(merge_marks(marks, readings, options=options, labels=labels, unit=unit))
    decisions = inputs["input/adjudication"]
    truth = merged if decisions is None else apply_adjudication(merged, decisions)
    if not len(truth) or not truth["golden"].any():
        raise TableError(
            "marks: no two readers marked the same object, so there is nothing to find or to learn"
        )
    coded = code_marks(marks, codes)
    code_of = dict(zip(zip(coded["image_id"], coded["original"], strict=True), coded["mark_id"], strict=True))
    lists = [name for name in ("mark_ids", "nested_mark_ids") if name in truth]
    members = {
        name: pd.Series(
            [
                tuple(sorted(code_of[image, mark] for mark in mark_ids))
                for image, mark_ids in zip(truth["image_id"], truth[name], strict=True)
            ],
            index=truth.index,
            dtype=object,
        )
        for name in lists
    }
    # Readers are compared with readers, not with the chair, who saw their marks.
    statistics = reader_statistics(marks, readings, options=options, truth=merged, unit=unit)
    tables = {
        "marks": coded.drop(columns="original"),
        "readings": _code_readers(readings, codes, "reader_id")[["image_id", "reader_id"]],
        "truth": truth.assign(**members),
        "readings_per_image": statistics.readings_per_image,
        "readers": _sort_by_code(_code_readers(statistics.readers, codes, "reader_id"), "reader_id"),
        "reader_pairs": _code_readers(statistics.pairs, codes, "reader_a", "reader_b"),
    }
    return {f"tables/{name}.parquet": table for name, table in tables.items()}


def _code_readers(table: pd.DataFrame, codes: Mapping[str, str], *columns: str) -> pd.DataFrame:
    """Replace reader ids by codes."""
    return table.assign(**{name: table[name].map(codes).astype("str") for name in columns})


def _sort_by_code(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort rows by the number of the code: R2 before R10."""
    number = table[column].str.slice(1).astype(int)
    return table.loc[number.sort_values(kind="stable").index].reset_index(drop=True)


def _divide_images(inputs: Inputs) -> Made:
    """Give image_id, patient_id (a code) and split of every image; the study's split if it has one.

    Without a test set, all figures are cross-validated over all patients.
    """
    given, settings = inputs["input/images"], inputs.settings
    images = pd.DataFrame({"image_id": given["image_id"], "patient_id": code_patients(given)})
    if "different_from" in given:
        images["different_from"] = given["different_from"]
    headline, has_own = settings.evaluation.headline, "split" in given and (given["split"] != "").any()
    if has_own and headline != "nested":
        images["split"] = given["split"]
        if headline == "test" and not (images["split"] == "test").any():
            raise InvalidInputError(
                'images, column split: no image is "test" (give some, or set headline = "nested" in [evaluation])'
            )
    else:
        images["split"] = _divide_patients(images, inputs["tables/truth.parquet"], settings)
    refuse_leakage(images)
    return {"tables/split.parquet": images}


def _divide_patients(images: pd.DataFrame, truth: pd.DataFrame, settings: Settings) -> pd.Series[str]:
    """Divide by the settings' shares; without a test set where the headline is nested, or that set would be too small.

    Too small is one whose interval of the sensitivity would be wider than the page calls an answer, were it one half
    and were objects independent: the widest interval that a share can have.
    """
    shares, seed = settings.split, settings.seed
    if settings.evaluation.headline != "nested":
        fractions = (shares.training, shares.validation, shares.test)
        parts = split_by_patient(images, truth, fractions=fractions, random_state=seed).astype("str")
        tested = truth["image_id"].isin(images.loc[parts == "test", "image_id"]) & truth["golden"].astype(
            bool
        )
        needed = gts_for_half_width(0.5, WIDEST_HALF_WIDTH, level=settings.evaluation.level)
        if settings.evaluation.headline == "test" or tested.sum() >= needed:
            return parts
    rest = shares.training + shares.validation
    return split_by_patient(
        images,
        truth,
        names=("training", "validation"),
        fractions=(shares.training / rest, shares.validation / rest),
        random_state=seed,
    ).astype("str")


def check_parts(inputs: Inputs) -> Made:
    """Warn before any work if the test part has no consensus object."""
    images, truth = inputs["tables/split.parquet"], inputs["tables/truth.parquet"]
    tested = images.loc[images["split"] == "test", "image_id"]
    # Without a test part the figures are those of a nested cross-validation.
    if len(tested) and not truth.loc[truth["golden"], "image_id"].isin(tested).any():
        warnings.warn(
            f"the test part ({len(tested)} images) has no consensus object, so no sensitivity can be measured on it"
            " (put images with objects that several readers marked into it, by the column split)",
            DataWarning,
            stacklevel=2,
        )
    return {}


TRUTH = Stage(
    "truth",
    reads=("input/marks", "input/readings", "input/reader_codes", "input/adjudication"),
    writes=tuple(f"tables/{name}.parquet" for name in ("marks", "readings", "truth", *READER_TABLES)),
    settings=("merging", "labels", "seed", "units.unit"),
    make=_merge_into_truth,
)
SPLIT = Stage(
    "split",
    reads=("input/images", "tables/truth.parquet"),
    writes=("tables/split.parquet",),
    settings=("seed", "split", "evaluation.headline", "evaluation.level"),
    make=_divide_images,
)
CHECK_PARTS = Stage(
    "check_parts", reads=("tables/split.parquet", "tables/truth.parquet"), writes=(), make=check_parts
)
