"""Sentences for a run's page: what was run on what, what must not be concluded, items of a checklist."""

from __future__ import annotations

import numpy as np

from overread import __version__
from overread.files.study_layout import SIMULATION_FILE
from overread.images import GRID_MM
from overread.study.finished import FinishedRun
from overread.study.settings import Settings

__all__ = ["SUMMARIES", "claim", "facts", "limits"]

SUMMARIES = {
    "soft": "Logistic regression on bags of candidates with an L1 penalty, trained on the soft labels.",
    "b1": "Relevance vector machine on bags (RVMMIL), trained on golden objects against everything else.",
    "b2": "A mixture of one RVMMIL per reader; features are those of all readers together.",
}


def facts(run: FinishedRun) -> tuple[tuple[str, str], ...]:
    """Say what was run on what."""
    results, settings = run.results, run.settings
    study = results.study
    parts = ", ".join(f"{part.name} {part.n_images}" for part in study.parts)
    reached = sum(part.n_golden_reached for part in study.parts)
    golden = sum(part.n_golden for part in study.parts)
    kind = ", simulated" if simulated(run) else ""
    return (
        ("images", f"{study.n_images} of {study.n_patients} patients{kind} ({parts})"),
        (
            "readings",
            f"{study.n_readings} by {study.n_readers} readers, "
            f"{study.fewest_readings} to {study.most_readings} an image",
        ),
        ("marks", f"{study.n_marks}, merged into {study.n_objects} objects, {study.n_golden} golden"),
        (
            "candidates",
            (
                "the study's own"
                if own_candidates(settings)
                else f"at most {settings.candidates.limit} an image"
            )
            + f"; some candidate hits {reached} of {golden} golden objects",
        ),
        ("features", str(study.n_features) + (", the study's own" if settings.inputs.features else "")),
        ("a hit is", results.rule),
        ("intervals", f"{100 * results.level:g} %, {results.n_bootstrap} bootstraps over patients"),
        ("seed", str(results.seed)),
        ("version", f"overread {__version__}"),
    )


def simulated(run: FinishedRun) -> bool:
    """Whether the study was written by `overread.simulate`."""
    return (run.study / SIMULATION_FILE).is_file()


def own_candidates(settings: Settings) -> bool:
    """Whether the study brings its candidates; a table of features names them too."""
    return settings.inputs.candidates is not None or settings.inputs.features is not None


def limits(run: FinishedRun, single_reader: str) -> tuple[str, ...]:
    """Say what must not be concluded."""
    results = run.results
    test = results.models[0].counted[0].test
    said = [
        "The truth here is the readers' agreement, not a biopsy: an object that all readers missed counts as a false "
        "positive where it is found.",
    ]
    if simulated(run):
        said.insert(
            0,
            "The nodules and the readers are simulated: this shows that the system works, not how well it would do "
            "on patients.",
        )
    if test.n_gts < 400:
        width = 100 * 1.96 * np.sqrt(0.25 / max(test.n_gts, 1))
        said.append(
            f"{test.n_gts} golden objects in the test set: a sensitivity near one half is known to about "
            f"\N{PLUS-MINUS SIGN}{width:.0f} points."
        )
    if single_reader == "ignore":
        said.append(
            "Candidates on objects that a single reader marked count neither as hits nor as false positives, unless a "
            "table says otherwise."
        )
    if any(not model.converged for model in results.models):
        names = ", ".join(model.title for model in results.models if not model.converged)
        said.append(f"Not converged: {names}. Raise max_iter in study.toml.")
    return tuple(said)


def claim(run: FinishedRun) -> dict[int, str]:
    """Items of the CLAIM checklist that the run knows."""
    results, settings = run.results, run.settings
    study = results.study
    merging = settings.merge_options()
    soft = results.choice
    test = study.parts[-1]
    return {
        9: "the study brings its own features"
        if settings.inputs.features
        else f"pixels resampled to {GRID_MM:g} mm, brightness normalized by percentiles; no display window",
        13: f"{len(study.quarantined)} images could not be used and were left out",
        14: f"objects merged from readers' ellipses (T0 = {merging.t0:g}); golden: marked by two readers or more",
        18: f"{study.n_readers} readers, {study.fewest_readings} to {study.most_readings} readings an image; "
        "disagreement is kept as the soft label",
        19: f"{study.n_images} images, {study.n_golden} golden objects; no sample size was computed in advance",
        20: "by patient, balanced by golden objects with the seed above, unless the images table gives the parts",
        21: "patient; identical pixels in two parts are refused",
        22: "; ".join(f"{model.title}: {SUMMARIES[model.name]}" for model in results.models),
        23: f"overread {__version__}; versions of all libraries in provenance.json",
        24: "" if soft is None else "Soft: zero weights, intercept matched to the mean label",
        25: "settings in settings.json"
        if soft is None
        else "Soft: Newton steps along a path of penalties; settings in settings.json",
        26: ""
        if soft is None
        else f"lambda {soft.lam:.3g} by the two-interval rule (tolerance {soft.tolerance:g}, gap {soft.max_gap:g})",
        28: "sensitivity to golden objects and to images at fixed numbers of false positives per image (FROC)",
        29: f"{100 * results.level:g} % intervals by {results.n_bootstrap} bootstraps over patients; paired",
        31: "linear score: weights in section Features"
        if own_candidates(settings)
        else "linear score: overread explain shows each feature's part",
        32: "none",
        33: f"{study.n_images} given, {len(study.quarantined)} left out; "
        + ", ".join(f"{part.name} {part.n_images}" for part in study.parts),
        35: f"Table 1 on {test.n_images} test images with {test.n_golden} golden objects",
        36: "intervals in Table 1",
        37: "gallery of misses and false positives",
        38: "section Summary",
    }
