"""The CLAIM checklist: which of its items a run can fill.

Mongan, Moy and Kahn (2020), Checklist for Artificial Intelligence in Medical Imaging (CLAIM), Radiology: Artificial
Intelligence 2(2):e200029. The subjects are given in our words under the checklist's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from overread.images import GRID_MM
from overread.report.flow import tell_exclusions, tell_flow
from overread.report.lengths import is_chest
from overread.report.results import StudyResults
from overread.report.words import count, is_nested, name_range, tell_decisions, where_measured

__all__ = ["CLAIM_ITEMS", "list_claim"]

CLAIM_ITEMS: Mapping[int, str] = {
    7: "where the data came from",
    9: "processing of the images before use",
    10: "choice of parts of the data",
    13: "missing data",
    14: "definition of the reference standard",
    15: "why this reference standard",
    16: "who annotated",
    18: "differences between readers and how they were settled",
    19: "size of the sample",
    20: "assignment to parts",
    21: "level at which the parts are disjoint",
    22: "the model",
    23: "software and versions",
    24: "start of the parameters",
    25: "training and its settings",
    26: "choice of the final model",
    28: "measures of performance",
    29: "uncertainty and significance",
    31: "explanation of single answers",
    32: "external data",
    33: "flow of images",
    34: "patients in each part",
    35: "performance in unseen patients",
    36: "intervals of accuracy",
    37: "analysis of errors",
    38: "limits of the study",
}
BY_THE_AUTHORS = "for the authors to say"


def list_claim(results: StudyResults) -> list[tuple[int, str, str]]:
    """Give number, subject and what the run says of every item."""
    filled = _fill_data(results) | _fill_models(results) | _fill_evaluation(results)
    return [(number, subject, filled.get(number, BY_THE_AUTHORS)) for number, subject in CLAIM_ITEMS.items()]


def _fill_data(results: StudyResults) -> dict[int, str]:
    study = results.study
    readings = name_range(study.fewest_readings, study.most_readings)
    patients = ", ".join(f"{split.name} {split.n_patients}" for split in study.splits)
    return {
        9: "the study brings its own features" if study.own_features else _tell_processing(results),
        13: tell_exclusions(results),
        14: f"objects merged from readers' ellipses (T0 = {results.settings['merging']['t0']:g}); golden: marked by "
        f"two readers or more{', unless a chair decided otherwise' if study.decisions else ''}",
        18: f"{count(study.n_readers, 'reader')}, {readings} readings an image; disagreement is kept as the soft label"
        + (f"; {tell_decisions(results)}" if study.decisions else ""),
        19: f"{study.n_images} images, {study.n_golden} golden objects; no sample size was computed in advance",
        20: f"{_tell_folds(results)}by patient, balanced by golden objects with the seed above"
        + ("" if is_nested(results) else ", unless the images table gives the parts"),
        21: _tell_disjoint(results),
        33: tell_flow(results),
        34: f"patients: {patients}",
    }


def _tell_disjoint(results: StudyResults) -> str:
    """Say what no two parts have in common, and by what copies were looked for."""
    compared, parts = results.study.compared, "patients" if is_nested(results) else "parts"
    if "rows" in compared:
        return f"patient; no pixels were read; images with the same features in two {parts} are refused"
    if "" in compared:
        return (
            "patient; copies under another patient were not looked for: no pixels were read, and the features are too"
            " few, or take too few values"
        )
    said = f"patient; identical pixels in two {parts} are refused"
    if "picture" not in compared:
        return f"{said}; copies that differ in a pixel were not looked for"
    plain = f" ({compared['pixels']} images compared by pixels alone)" if "pixels" in compared else ""
    return f"{said}, and pictures that look the same{plain}; copies that were cropped or turned are not recognized"


def _fill_models(results: StudyResults) -> dict[int, str]:
    study = results.study
    own = study.own_candidates or study.own_features
    is_linear = not any(isnan(feature.weight) for feature in results.models[0].features)
    filled = {
        22: "; ".join(f"{model.title}: {model.summary}" for model in results.models),
        23: f"overread {results.version}; versions of all libraries in provenance.json",
        25: "settings in settings.json",
    }
    if is_linear:
        parts = "weights in section Features" if own else "overread explain shows each feature's part"
        filled[31] = f"linear score: {parts}"
    penalized = [model for model in results.models if "lam" in model.parameters]
    if penalized:
        titles = ", ".join(model.title for model in penalized)
        filled |= {
            24: f"{titles}: zero weights, intercept matched to the mean label",
            25: f"{titles}: Newton steps along a path of penalties; settings in settings.json",
        }
    over = "all patients, and again inside each outer fold" if is_nested(results) else "training + validation"
    filled[26] = (
        f"settings of every model by cross-validation over patients of {over}: the sparsest "
        f"within {results.models[0].choice.n_standard_errors:g} standard error of the best"
    )
    return filled


def _tell_processing(results: StudyResults) -> str:
    """Say what was done to the pixels."""
    if is_chest(results):
        return f"pixels resampled to {GRID_MM:g} mm, brightness normalized by percentiles; no display window"
    region, images = results.settings["region"]["kind"], results.settings.get("images", {})
    searched = "a stain" if images.get("stain") else f"the plane {images.get('plane', 'luminance')}"
    return (
        f"own pixels of the file; region: {region.replace('_', ' ')}; searched: {searched}, without its background, in "
        "deviations of the region"
    )


def _tell_folds(results: StudyResults) -> str:
    """Name the folds that stand in the place of a test set."""
    return (
        f"{len(results.headline.chosen)} outer folds for want of a test set, " if is_nested(results) else ""
    )


def _fill_evaluation(results: StudyResults) -> dict[int, str]:
    test = results.detector.test
    return {
        28: "sensitivity to golden objects and to images at fixed numbers of false positives per image (FROC)",
        29: f"{100 * results.level:g} % intervals by {results.n_bootstrap} bootstraps over patients; paired",
        32: "none",
        35: f"Table 1 on {test.n_images} images of {where_measured(results)} with {test.n_gts} golden objects"
        + (
            " (nested cross-validation; the detector fitted to all is not measured)"
            if is_nested(results)
            else ""
        ),
        36: "intervals in Table 1",
        37: "gallery of misses and false positives",
        38: "section Summary",
    }
