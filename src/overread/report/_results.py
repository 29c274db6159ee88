"""Every number of a run, as records that are written to ``results.json`` and read back: all that the page shows.

Conventions: sensitivities are fractions. In the file a table is an object of its columns, and null stands for what is
not defined, such as a sensitivity without anything to find, or a threshold above every score.

Records of what a study is made of: files that were found, kinds of images, groups of them.

Which run a page shows: the study's name, the run's name, its id and its date.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from overread._text import short_repr
from overread.errors import FormatError
from overread.files import digest_of_value, from_json, read_json
from overread.froc import (
    AlphaChoice,
    Calibration,
    ChanceLevel,
    FigureComparison,
    FigureEstimate,
    MeanDifference,
    PerformanceTable,
    SettingChoice,
)
from overread.tables import LengthUnit
from overread.truth import ReaderStatistics


@dataclass(frozen=True)
class FoundFiles:
    """Counts of the files that `overread init` found, compared with the images table of the run.

    Attributes
    ----------
    n_found : int
        Image files in the folder when `init` looked.
    left_out : dict
        Files that `init` left out, by reason, the commonest first.
    n_taken_out, n_added : int
        Files that the images table had then and has no more, and those that it has got since.
    """

    n_found: int
    left_out: dict[str, int]
    n_taken_out: int
    n_added: int


@dataclass(frozen=True)
class Spread:
    """Lowest, middle and highest of some numbers."""

    lowest: float
    median: float
    highest: float


@dataclass(frozen=True)
class Description:
    """Description of the images, from their files and the images table.

    Attributes
    ----------
    numbers : dict
        By what they are: pixel size, width and height in mm, tube voltage, age.
    counts : dict
        Images by value, by column: where the pixel size was read, manufacturer, view, sex, ...
    """

    numbers: dict[str, Spread]
    counts: dict[str, dict[str, int]]


@dataclass(frozen=True, eq=False)
class Subgroup:
    """The detector at its locked threshold, by group of test images.

    ``table`` has the columns of `overread.froc.performance_by`.
    """

    column: str
    table: pd.DataFrame


SCHEMA = "overread.results/8"

Treatment = Literal["fp", "ignore"]
ThresholdSource = Literal["in_sample", "out_of_fold"]
ClaimAnswer = Literal["yes", "no", "undecided"]


@dataclass(frozen=True)
class Quarantined:
    """A skipped image: its id, the kind of error, and the reason."""

    image_id: str
    kind: str
    reason: str


@dataclass(frozen=True)
class SplitSummary:
    """Counts of training, validation or test, without skipped images.

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
    """Counts of the study; they include skipped images, which ``quarantined`` lists.

    ``is_simulated`` says that `overread.simulate` made it; ``own_candidates`` and ``own_features`` that it brought
    tables of its own. ``found`` is None where `overread init` did not make the study. ``decisions`` counts what a chair
    decided on objects (lesion, not, unsure, open); it is empty where the study uses no adjudication. ``compared``
    counts the images by what copies in two parts were looked for: "picture" (and pixels), "pixels" alone, "rows" of
    features, or "" where nothing could be compared.
    """

    n_images: int
    n_patients: int
    n_readers: int
    n_readings: int
    n_marks: int
    n_marked_images: int
    n_objects: int
    n_golden: int
    n_features: int
    fewest_readings: int
    most_readings: int
    is_simulated: bool
    own_candidates: bool
    own_features: bool
    decisions: dict[str, int]
    splits: list[SplitSummary]
    quarantined: list[Quarantined]
    found: FoundFiles | None
    compared: dict[str, int]
    description: Description


@dataclass(frozen=True, eq=False)
class Example:
    """A region whose marks and merged objects are shown: ``left``, ``top`` and ``side`` of a square of the image."""

    image_id: str
    left: float
    top: float
    side: float
    marks: pd.DataFrame
    objects: pd.DataFrame


@dataclass(frozen=True, eq=False)
class PaperChoice:
    """Choice of the paper's rule for the soft model, and its bounds."""

    choice: AlphaChoice
    fp_targets: list[float]
    tolerance: float
    max_gap: float
    pick: str


@dataclass(frozen=True)
class FeatureWeight:
    """A feature that a model reads.

    Attributes
    ----------
    name, meaning, words : str
        Name and formula of the feature, and what it measures in words; both are empty for one that is not in the
        catalogue.
    weight : float
        Its coefficient; NaN in a model that has none.
    importance : float
        What features are sorted by (`ModelResult.importance_is`).
    """

    name: str
    meaning: str
    words: str
    weight: float
    importance: float


@dataclass(frozen=True, eq=False)
class SetResult:
    """One model on one set of images.

    Attributes
    ----------
    n_images, n_gts, n_gts_reached, n_positive_images, n_positive_images_reached : int
        Denominators.
    curve : DataFrame
        Corners of the FROC curve: threshold, fp_per_image and the four measures.
    band : DataFrame
        Sensitivities and FP per image on a grid of FP targets with intervals; the threshold is estimated again in
        each replicate. Columns: fp_target, threshold, measure, estimate, lower, upper. The study's FP targets are on
        the grid.
    figures : tuple
        AFROC and wAFROC with intervals; none where there is nothing to find, or no image without a target.
    """

    n_images: int
    n_gts: int
    n_gts_reached: int
    n_positive_images: int
    n_positive_images_reached: int
    curve: pd.DataFrame
    band: pd.DataFrame
    figures: tuple[FigureEstimate, ...]


@dataclass(frozen=True, eq=False)
class Counted:
    """One model under one treatment of candidates on GTs of a single reader.

    Attributes
    ----------
    single_reader : str
        "fp": they are false positives; "ignore": they are nothing.
    training, out_of_fold, test : SetResult
        Training + validation in sample, the same by models that did not see the patient, and the test set.
    locked : DataFrame
        Operating points from training + validation carried to the test set: source ("in_sample" or "out_of_fold"),
        fp_target, threshold, measure, estimate, lower, upper; thresholds are fixed in the bootstrap. The rows of
        the measure fp_per_image are the induced FP per image.
    by_size : DataFrame
        Sensitivity on the test set by size of the GT at the operating point.
    chance : ChanceLevel
        Sensitivities on the test set beside those of candidates moved to other images; None without GTs.
    thresholds : str, default='out_of_fold'
        Source of the study's own thresholds, which the detector has.
    """

    single_reader: Treatment
    training: SetResult
    out_of_fold: SetResult
    test: SetResult
    locked: pd.DataFrame
    by_size: pd.DataFrame
    chance: ChanceLevel | None
    thresholds: ThresholdSource = "out_of_fold"

    @property
    def points(self) -> pd.DataFrame:
        """Rows of ``locked`` at the study's thresholds."""
        return self.locked[self.locked["source"] == self.thresholds]


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model.

    Attributes
    ----------
    name, title, summary : str
        Name in files and columns ("soft"), in print ("Soft"), and what it is in a sentence.
    file : str
        The saved model, relative to the run's folder.
    parameters : dict
        Parameters of the estimator.
    n_features, features, importance_is
        Number of features that the model uses; the features, most important first; the meaning of importance.
    intercept : float
        NaN in a model that has none.
    converged, certificate
        Whether the fit converged, and its report.
    choice : SettingChoice
        How cross-validation chose its settings; the columns that differ come first in the table.
    reader_importance, left_out_readers
        For a mixture of readers: the readers' weights with intervals (Figure 5); readers with too few marks.
    score_map : str
        How scores become probabilities: "none", "sigmoid", "isotonic" or "rank" (too little to calibrate with).
    calibration, uncalibrated : Calibration
        Calibration of the probabilities of test bags against their soft labels, with and without the map; None if there
        are ranks and no probabilities. In a nested run, from the outer folds with enough data to calibrate.
    counted : list of Counted
        Performance under each treatment of single-reader GTs; the study's own choice comes first.
    """

    name: str
    title: str
    summary: str
    file: str
    parameters: dict[str, Any]
    n_features: int
    features: list[FeatureWeight]
    importance_is: str
    intercept: float
    converged: bool
    certificate: dict[str, Any]
    choice: SettingChoice
    reader_importance: pd.DataFrame
    left_out_readers: dict[str, str]
    score_map: str
    calibration: Calibration | None
    uncalibrated: Calibration | None
    counted: list[Counted]


@dataclass(frozen=True, eq=False)
class PaperPerformance:
    """The models counted as in the paper, whatever the settings of the study.

    Thresholds are those of the scores in sample, candidates on objects of a single reader are false positives, and
    every candidate counts.

    Attributes
    ----------
    of_reached, of_all : PerformanceTable
        Table 1 with sensitivities to the GTs that some candidate hits, as in the paper, and to all; no intervals.
    training, test : dict
        By title: corners of the FROC curves of training + validation and of the test set.
    """

    of_reached: PerformanceTable
    of_all: PerformanceTable
    training: dict[str, pd.DataFrame]
    test: dict[str, pd.DataFrame]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Two models on the same test images; differences are second minus first.

    ``mean`` is the difference in GT sensitivity in the mean over the study's FP targets; ``points`` are the columns of
    `overread.froc.Comparison.table`; ``figures`` compare whole curves.
    """

    first: str
    second: str
    single_reader: Treatment
    mean: MeanDifference
    points: pd.DataFrame
    figures: tuple[FigureComparison, ...]


@dataclass(frozen=True)
class AlikeClaim:
    """Whether all models perform alike.

    Yes, if of every two of them the interval of `ModelComparison.mean` lies within ``margin`` to either side of 0; no,
    if two of them differ (p-value times number of pairs).

    ``first`` and ``second`` are the pair that decides, ``mean`` is their difference.
    """

    answer: ClaimAnswer
    margin: float
    n_gts: int
    first: str
    second: str
    mean: MeanDifference


@dataclass(frozen=True)
class CompactClaim:
    """Whether Soft is the most compact model.

    Yes, if it has the fewest features in every fold; no, if another model has fewer in every fold.

    Attributes
    ----------
    sensitivity : float
        Out-of-fold sensitivity that every model reaches: that of the best setting of the worst of them.
    n_features : dict
        By model: features in each fold of its sparsest setting that is as sensitive.
    """

    answer: ClaimAnswer
    sensitivity: float
    n_features: dict[str, list[int]]


@dataclass(frozen=True)
class PenaltyClaim:
    """Whether the penalty controls the number of features of Soft.

    Spearman's rank correlation of the two along a path, the weakest of all normalizations. Yes, if it is -0.9 or less;
    no, if it is -0.5 or more. ``fewest`` and ``most`` are features along the paths.
    """

    answer: ClaimAnswer
    correlation: float
    n_penalties: int
    fewest: int
    most: int


@dataclass(frozen=True, eq=False)
class ShiftClaim:
    """Whether unseen patients have more false positives per image than thresholds were locked for.

    Yes, if the interval of every model lies above the target; no, if that of no model reaches above it.

    ``table`` has model, estimate, lower and upper: false positives per image at the locked thresholds.
    """

    answer: ClaimAnswer
    fp_target: float
    table: pd.DataFrame


@dataclass(frozen=True)
class WeightsClaim:
    """Whether the weights of the mixture follow the readers' sensitivities.

    Spearman's rank correlation of the two with its interval (Bonett and Wright 2000), which is missing with fewer than
    four readers. Yes, if the interval lies above 0; no, if it lies below 0.5.
    """

    answer: ClaimAnswer
    correlation: float
    lower: float
    upper: float
    n_readers: int


@dataclass(frozen=True, eq=False)
class Claims:
    """The paper's claims for this study; None if the run cannot answer one."""

    alike: AlikeClaim | None
    compact: CompactClaim | None
    penalty: PenaltyClaim | None
    false_positives: ShiftClaim | None
    weights: WeightsClaim | None


@dataclass(frozen=True, eq=False)
class Headline:
    """Kind of evaluation: test set or nested cross-validation.

    Attributes
    ----------
    kind : {'test', 'nested'}
        "test": results from a test set. "nested": results from all patients, each scored by models, settings,
        thresholds and maps that were made without that patient; the detector is fitted to all patients likewise.
    chosen : list of str
        For a nested run: the model that each outer fold supports.
    counted : Counted
        For a nested run: performance of the model that each outer fold supports, counted together; None: performance of
        the supported model.
    """

    kind: Literal["test", "nested"]
    chosen: list[str]
    counted: Counted | None


@dataclass(frozen=True, eq=False)
class Verdict:
    """Verdict on the detector: the first statement of the page.

    Attributes
    ----------
    model, fp_target
        The supported model, and its operating point: the FP target nearest to ``[evaluation] operating_fp``.
    sensitivity, lower, upper, fp_per_image, chance : float
        GT sensitivity there on the test set with its interval, the induced FP per image, and the sensitivity of
        candidates moved to other images.
    n_readers, fewest_objects : int
        Readers of ``StudyResults.reader_points`` that the verdict counts: those with enough objects.
    n_better, n_worse : int
        How many of them found clearly more, or clearly fewer, than the detector with as many false marks: the interval
        of the difference leaves out 0.
    median_reader, margin
        The reader in the middle of them, by how far each is ahead of the detector; of two in the middle the one further
        ahead; None without readers. The detector keeps up if the lower end of the interval of its difference from this
        reader is not below minus the margin.
    grade : str
        "too small", "chance", "too few readers", "below readers", "undecided" or "among readers".
    wanted_half_width, objects_needed, images_needed
        Golden objects in the test set, and images like these, for an interval of this half-width.
    better_on_test : str
        A model that is better than the supported one on the test set, if there is any.
    """

    model: str
    fp_target: float
    sensitivity: float
    lower: float
    upper: float
    fp_per_image: float
    chance: float
    n_readers: int
    fewest_objects: int
    n_better: int
    n_worse: int
    median_reader: str | None
    margin: float
    grade: str
    wanted_half_width: float
    objects_needed: int
    images_needed: int
    better_on_test: str | None


@dataclass(frozen=True, eq=False)
class Gallery:
    """Candidates and golden GTs of the test set at one operating point of one model, sorted.

    Attributes
    ----------
    model, fp_target, threshold
        The operating point, as the verdict's; NaN where no score reaches it.
    hits : DataFrame
        Golden GTs that are found, highest score first: image_id, the ellipse, n_readers, n_readings, score, and x, y
        and radius of the candidate.
    misses : DataFrame
        Golden GTs that are not, the largest first; the score is missing where no candidate hits them.
    false_positives : DataFrame
        Candidates at or above the threshold that hit no GT, highest score first; ``is_nodule`` says that a simulated
        nodule lies there that no reader marked.
    """

    model: str
    fp_target: float
    threshold: float
    hits: pd.DataFrame
    misses: pd.DataFrame
    false_positives: pd.DataFrame


@short_repr("supported", "seed", "n_bootstrap", "level", "fp_targets", "models")
@dataclass(frozen=True, eq=False)
class StudyResults:
    """All results of a run.

    Attributes
    ----------
    schema, version : str
        Of this layout; of the package that wrote it.
    unit : {'mm', 'px', 'percent'}
        Of every length: mm, px, or percent of an image's width.
    rule : str
        What a hit is, in words.
    fp_targets, level, n_bootstrap, seed
        Settings of the evaluation.
    settings, preset_changes
        All settings that the results depend on; those whose values differ from the preset that they name,
        None without one.
    models, skipped_models
        Those that were fitted; and why others that were wanted could not be, by title.
    headline : Headline
        What kind of figures these are. Of a nested run all that is said to be of the test set is of all patients, each
        unseen, on the scale of `overread.froc.to_fp_scale`.
    reader_points : DataFrame
        Each reader and the detector in unseen patients, judged by the same objects and rules: reader_id, n_images,
        n_gts, sensitivity, fp_per_image, detector_sensitivity; and difference, detector minus reader, with its
        interval: lower, upper.
    verdict : Verdict
        Verdict on the detector: the first statement of the page.
    supported, support
        Name of the model that out-of-fold scores support, which is the detector: the most compact one that cannot be
        distinguished from the best; and the comparison.
    table, paper
        Table 1 with the thresholds that the detector has under the study's own counting, and as in the paper.
    claims : Claims
        The paper's claims.
    comparisons : list of ModelComparison
        Every two models under both treatments.
    subgroups : list of Subgroup
        The supported model in groups of the test images.
    feature_examples : DataFrame
        For the features that the page describes, a candidate of the test set with a low value and one with a
        high value: feature, end ("low", "high"), image_id, x, y, radius, value.
    """

    schema: str
    version: str
    unit: LengthUnit
    rule: str
    fp_targets: list[float]
    level: float
    n_bootstrap: int
    seed: int
    settings: dict[str, Any]
    study: StudySummary
    readers: ReaderStatistics
    examples: list[Example]
    paper_choice: PaperChoice | None
    models: list[ModelResult]
    skipped_models: dict[str, str]
    headline: Headline
    reader_points: pd.DataFrame
    verdict: Verdict
    supported: str
    support: SettingChoice
    table: PerformanceTable
    paper: PaperPerformance
    claims: Claims
    comparisons: list[ModelComparison]
    gallery: Gallery
    subgroups: list[Subgroup]
    feature_examples: pd.DataFrame
    preset_changes: dict[str, Any] | None = None

    def model(self, name: str) -> ModelResult:
        """Return the model of a name."""
        return next(model for model in self.models if model.name == name)

    @property
    def detector(self) -> Counted:
        """What was measured of the detector in unseen patients."""
        return self.headline.counted or self.model(self.supported).counted[0]


def read_results(path: Path) -> StudyResults:
    """Read ``results.json`` back."""
    record = read_json(path)
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise FormatError(f"{path}: its schema is not {SCHEMA} (run the study again with this version)")
    return from_json(StudyResults, record, str(path))


# 48 bits: enough to distinguish the runs of a laboratory, short enough to read out.
ID_DIGITS = 12


@dataclass(frozen=True)
class RunHead:
    """Head of the page: study, run, id and date."""

    study: str
    run: str
    id: str  # Begins the SHA-256 of the results: the same results have the same id
    date: str  # Day (UTC) on which the results were computed, as 2026-01-31


def head_run(study: str, run: str, results: Any) -> RunHead:
    """Name a run by its results; the date is today, or that of ``SOURCE_DATE_EPOCH`` where this is set."""
    # Who builds reproducibly fixes the day (reproducible-builds.org, SOURCE_DATE_EPOCH).
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    return RunHead(study, run, digest_of_value(results)[:ID_DIGITS], now.date().isoformat())
