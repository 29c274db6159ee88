"""What a study's page shows: records of results that were computed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from overread.froc import Calibration, ChanceLevel, FigureComparison, LambdaChoice, Matching, PerformanceTable
from overread.report.gallery import Crop
from overread.truth import ReaderStatistics
from overread.truth.plots import Picture

__all__ = ["ModelContent", "PairedComparison", "StudyContent"]


@dataclass(frozen=True, eq=False)
class ModelContent:
    """One model of the study.

    Parameters
    ----------
    name, summary
        "Soft", "B1", "B2", and what it is in one sentence.
    training, test
        Its scores on training + validation and on the test set.
    features
        Selected features in the order of falling importance: feature, weight (per standard deviation), meaning.
    calibration
        Of its probabilities on the test set's bags; None where the scores are no probabilities.
    """

    name: str
    summary: str
    training: Matching
    test: Matching
    features: pd.DataFrame
    calibration: Calibration | None = None


@dataclass(frozen=True, eq=False)
class PairedComparison:
    """Two models on the same test images: differences at the FP targets, and of the whole curve."""

    first: str
    second: str
    points: pd.DataFrame
    figures: tuple[FigureComparison, ...]


@dataclass(frozen=True, eq=False)
class StudyContent:
    """Everything on the page of one run.

    Parameters
    ----------
    title, lead
        Heading and first paragraph.
    facts
        What was run on what: label and value, in order.
    marks, readings, truth, statistics
        Tables of the study, reader ids as they may be shown, and the statistics of the readers.
    examples
        Images whose merging is shown, from most to least telling.
    pictures
        Pixels by image id, for the examples.
    choice
        Choice of lambda; None where the soft model was not wanted.
    models
        In the order of the paper: Soft, B1, B2.
    table, table_ignoring, table_out_of_fold
        Table 1 with single-reader objects counted as false positives; with them left out of the count; and with
        thresholds from out-of-fold scores, counted as the study counts.
    fp_targets
        FP per image at which thresholds are set.
    level, n_bootstrap, seed
        Of all intervals: 0.95 for 95 %; how many times patients are resampled.
    comparisons
        Every two models, paired.
    chance
        Chance level of the first model's candidates on the test set.
    by_size
        Sensitivity of the first model by size of the object (`overread.froc.sensitivity_by`), and fp_target.
    reader_importance
        Of the mixture of readers (Figure 5); None where it was not fitted.
    gallery_threshold
        A sentence: at which threshold the crops are sorted.
    hits, misses, false_positives
        Crops of the test set.
    quarantined
        image_id, reason of the images that could not be used.
    limits
        What the reader of the page must not conclude.
    claim
        Items of the CLAIM checklist by number: what the run says about them.
    """

    title: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    marks: pd.DataFrame
    readings: pd.DataFrame
    truth: pd.DataFrame
    statistics: ReaderStatistics
    examples: tuple[str, ...]
    pictures: Mapping[str, Picture]
    choice: LambdaChoice | None
    models: tuple[ModelContent, ...]
    table: PerformanceTable
    table_ignoring: PerformanceTable
    table_out_of_fold: PerformanceTable
    fp_targets: tuple[float, ...]
    level: float
    n_bootstrap: int
    seed: int
    comparisons: tuple[PairedComparison, ...]
    chance: ChanceLevel | None
    by_size: pd.DataFrame
    reader_importance: pd.DataFrame | None
    gallery_threshold: str
    hits: tuple[Crop, ...]
    misses: tuple[Crop, ...]
    false_positives: tuple[Crop, ...]
    quarantined: pd.DataFrame
    limits: tuple[str, ...]
    claim: Mapping[int, str] = field(default_factory=dict)
