"""Every number of a run, as records that are written to ``results.json`` and read back.

Conventions: sensitivities are fractions; None stands for what is not defined, such as a sensitivity without
anything to find, or a threshold above every score. Lists of plain records are tables, a record a row;
`frame` makes a data frame of them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from overread.errors import FormatError
from overread.files.strict_json import read_json

__all__ = [
    "SCHEMA",
    "Choice",
    "Counted",
    "FeatureWeight",
    "ModelResult",
    "PartSummary",
    "Quarantined",
    "Readers",
    "Rows",
    "SetResult",
    "StudyResults",
    "StudySummary",
    "frame",
    "plain",
    "read_results",
]

SCHEMA = "overread.results/1"

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Quarantined:
    """An image that was given up: its id, the kind of fault, and why."""

    image_id: str
    kind: str
    reason: str


@dataclass(frozen=True)
class PartSummary:
    """Counts of training, validation or test, without quarantined images.

    ``n_golden_reached`` counts the golden GTs that at least one candidate hits.
    """

    name: str
    n_images: int
    n_patients: int
    n_images_with_golden: int
    n_objects: int
    n_golden: int
    n_golden_reached: int
    n_candidates: int


@dataclass(frozen=True)
class StudySummary:
    """What the study is made of; counts include quarantined images, which ``quarantined`` lists."""

    n_images: int
    n_patients: int
    n_readers: int
    n_readings: int
    n_marks: int
    n_objects: int
    n_golden: int
    n_features: int
    fewest_readings: int
    most_readings: int
    parts: list[PartSummary]
    quarantined: list[Quarantined]


@dataclass(frozen=True)
class Readers:
    """How the readers read (`overread.truth.ReaderStatistics`); readers go by their codes."""

    readings_per_image: Rows
    readers: Rows
    pairs: Rows


@dataclass(frozen=True)
class Choice:
    """The choice of lambda and normalization (`overread.froc.LambdaChoice`)."""

    lam: float
    normalization: str
    n_features: int
    intersects: bool
    widening: float
    disjoint_share: float | None
    fp_targets: list[float]
    tolerance: float
    max_gap: float
    pick: str
    table: Rows
    intervals: Rows
    frequencies: Rows


@dataclass(frozen=True)
class FeatureWeight:
    """A feature that a model reads: its weight, and the weight per standard deviation of the feature."""

    name: str
    weight: float
    standardized: float


@dataclass(frozen=True)
class SetResult:
    """One model on one set of images.

    Attributes
    ----------
    n_images, n_gts, n_gts_reached, n_positive_images, n_positive_images_reached
        Denominators.
    curve
        Corners of the FROC curve: threshold, fp_per_image and the four measures.
    band
        Sensitivities on a grid of FP per image with intervals; the threshold is estimated anew in each replicate.
        Columns: fp_target, threshold, measure, estimate, lower, upper. The study's FP targets are on the grid.
    figures
        AFROC and wAFROC with intervals.
    """

    n_images: int
    n_gts: int
    n_gts_reached: int
    n_positive_images: int
    n_positive_images_reached: int
    curve: Rows
    band: Rows
    figures: Rows


@dataclass(frozen=True)
class Counted:
    """One model under one treatment of candidates on GTs of a single reader.

    Attributes
    ----------
    single_reader
        "fp": they are false positives; "ignore": they are nothing.
    training, out_of_fold, test
        Training + validation in sample, the same by models that did not see the patient, and the test set.
    locked
        Operating points from training + validation carried to the test set: source ("in_sample" or "out_of_fold"),
        fp_target, threshold, measure, estimate, lower, upper; thresholds are fixed in the bootstrap. The rows of
        the measure fp_per_image are the induced FP per image.
    by_size
        Sensitivity on the test set by size of the GT at each out-of-fold operating point.
    chance
        Sensitivities on the test set beside those of candidates moved to other images.
    chance_reached
        Share of golden GTs that moved candidates reach.
    """

    single_reader: Literal["fp", "ignore"]
    training: SetResult
    out_of_fold: SetResult
    test: SetResult
    locked: Rows
    by_size: Rows
    chance: Rows
    chance_reached: float | None


@dataclass(frozen=True)
class ModelResult:
    """One model.

    Attributes
    ----------
    name, title
        Name in files and columns ("soft", "b1", "b2"), and in print.
    file
        The saved model, relative to the run's folder.
    parameters
        Of the estimator.
    n_features, intercept, features
        What it reads, heaviest standardized weight first.
    converged, certificate
        Whether the fit did what was asked, and its report.
    tuning
        For B1 and B2: one row per setting that was tried.
    reader_importance, left_out_readers
        For B2: weights of the readers with intervals (Figure 5); readers with too few marks.
    calibration
        On the test set's bags, against the labels the model learns from (``labels``: "soft" or "golden").
    counted
        Performance under each treatment of single-reader GTs; the study's own choice comes first.
    """

    name: str
    title: str
    file: str
    parameters: dict[str, Any]
    n_features: int
    intercept: float
    features: list[FeatureWeight]
    converged: bool
    certificate: dict[str, Any]
    tuning: Rows
    reader_importance: Rows
    left_out_readers: dict[str, str]
    calibration: dict[str, Any]
    counted: list[Counted]


@dataclass(frozen=True)
class StudyResults:
    """Everything that a run found.

    Attributes
    ----------
    schema_
        Version of this layout.
    rule
        What a hit is, in words.
    fp_targets, level, n_bootstrap, seed
        Of the evaluation.
    table1
        The paper's Table 1 for every source of thresholds and every treatment: source, single_reader, table
        (`overread.froc.PerformanceTable` as plain values).
    comparisons
        Every two models on the test set: first, second, single_reader, then the columns of
        `overread.froc.Comparison.table`; the difference is second minus first.
    """

    schema_: str
    rule: str
    fp_targets: list[float]
    level: float
    n_bootstrap: int
    seed: int
    study: StudySummary
    readers: Readers
    choice: Choice | None
    models: list[ModelResult]
    table1: Rows
    comparisons: Rows

    def model(self, name: str) -> ModelResult:
        """Return the model of a name."""
        return next(model for model in self.models if model.name == name)


def plain(value: Any) -> Any:
    """Turn records, tables and arrays into JSON values; NaN and infinities become None."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, pd.DataFrame):
        columns = {str(name): plain(value[name].tolist()) for name in value.columns}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def frame(rows: Rows) -> pd.DataFrame:
    """Make a data frame of a list of records."""
    return pd.DataFrame(rows)


def read_results(path: Path) -> StudyResults:
    """Read ``results.json`` back.

    Raises
    ------
    FormatError
        If the file is not what this version writes.
    """
    record = read_json(path)
    if not isinstance(record, dict) or record.get("schema_") != SCHEMA:
        raise FormatError(f"{path}: its schema is not {SCHEMA} (run the study again with this version)")
    try:
        return TypeAdapter(StudyResults).validate_python(record)
    except ValidationError as error:
        fault = error.errors()[0]
        raise FormatError(f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
