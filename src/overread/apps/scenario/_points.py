"""All points of a design, in a journal, so that a scenario that was stopped can continue.

One point of a scenario: a contender tuned and fitted on one training set, and its results on unseen images.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from overread import __version__
from overread._terminal import count_steps
from overread.apps.scenario._contenders import CONTENDERS, KNOW_READERS, estimate_skills, find_labels
from overread.apps.scenario._design import Condition, Design
from overread.apps.scenario._draw import TestSet, draw_seed, make_test_set, make_training_set
from overread.apps.scenario._material import Material
from overread.errors import InvalidInputError
from overread.files import (
    Journal,
    digest_of_value,
    from_json,
    json_text,
    read_json,
    to_json,
    write_atomically,
)
from overread.froc import Matching, bootstrap, calibration
from overread.models import count_features, single_threaded_blas
from overread.study import Settings, Split, StudyModel, choose_from_trials, make_folds, score_held_out

Floats = NDArray[np.float64]
Made = TypeVar("Made")

# Probabilities are clipped at the smallest share that 100,000 readings can show.
CLIP = 1e-5


@dataclass(frozen=True)
class Found:
    """Sensitivity at the false positives of the design, on the test set and in each draw of its patients."""

    sensitivity: list[float]
    draws: list[list[float]]
    n_objects: int
    n_patients: int


@dataclass(frozen=True)
class Prediction:
    """Quality of probabilities of unseen bags as predictions of the share of readers who mark.

    Attributes
    ----------
    deviance, deviance_of_mean
        Mean Kullback-Leibler divergence of the probability from the share, twice; and that of a constant prediction of
        the mean.
    spearman
        Rank correlation on bags that any reader marked.
    slope
        Slope of the logistic recalibration; 1 is ideal.
    """

    deviance: float
    deviance_of_mean: float
    spearman: float
    slope: float

    @property
    def deviance_explained(self) -> float:
        """Share of the deviance of the mean that is explained."""
        return 1 - self.deviance / self.deviance_of_mean


@dataclass(frozen=True)
class Measures:
    """Results of a point.

    Attributes
    ----------
    n_features
        Number of features of the model.
    golden, known
        Sensitivity to the readers' consensus objects, and to the known objects (None if unknown).
    prediction
        Prediction of the share of readers.
    n_images, n_readings, n_readers, n_objects, n_golden
        Sizes of the training set.
    skills
        Rows of reader_id, sensitivity, specificity that the contender estimates; empty where it does not.
    """

    n_features: int
    golden: Found
    known: Found | None
    prediction: Prediction
    n_images: int
    n_readings: int
    n_readers: int
    n_objects: int
    n_golden: int
    skills: list[dict[str, Any]] = field(default_factory=list)

    @property
    def images_of_a_reader(self) -> float:
        """Mean number of images per reader."""
        return self.n_readings / self.n_readers


def tune_and_fit(model: StudyModel, training: Split, settings: Settings, seed: int) -> Any:
    """Choose the settings of a model by the rule of a study, and fit it to the whole training set."""
    grid = model.grid(training, settings)
    folds = make_folds(training, settings.models.folds, seed)
    trials = [score_held_out(model, grid, fold, settings) for fold in folds]
    choice, _ = choose_from_trials(training, trials, settings)
    fitted = model.prepare_for_folds(model.build(grid[choice.position], settings))
    model.fit(fitted, training)
    return fitted


def measure_point(
    model: StudyModel,
    training: Split,
    test: TestSet,
    settings: Settings,
    *,
    fp_targets: list[float],
    n_bootstrap: int,
    seed: int,
) -> Measures:
    """Choose the settings by the rule of a study, fit to all of the training set, and measure on the test set."""
    fitted = tune_and_fit(model, training, settings, seed)
    scores = model.score(fitted, test.split.features)
    return Measures(
        n_features=count_features(fitted),
        golden=_find(test.golden.with_scores(scores), fp_targets, n_bootstrap),
        known=None if test.known is None else _find(test.known.with_scores(scores), fp_targets, n_bootstrap),
        prediction=_foretell_shares(fitted.predict_proba(test.bags)[:, 1], test.shares),
        n_images=training.readings["image_id"].nunique(),
        n_readings=len(training.readings),
        n_readers=training.readings["reader_id"].nunique(),
        n_objects=len(training.truth),
        n_golden=int(training.truth["golden"].sum()),
        skills=estimate_skills(model, fitted, training),
    )


def _find(matching: Matching, fp_targets: list[float], n_bootstrap: int) -> Found:
    drawn = bootstrap(matching, fp_targets=fp_targets, n_bootstrap=n_bootstrap)
    return Found(
        sensitivity=drawn.points["gt_sensitivity"].tolist(),
        draws=np.round(drawn.replicates["gt_sensitivity"], 5).tolist(),
        n_objects=matching.n_gts,
        n_patients=drawn.n_units["gt_sensitivity"],
    )


def _foretell_shares(probabilities: Floats, shares: Floats) -> Prediction:
    """Judge probabilities of bags by the shares of readers who marked them."""
    clipped = np.clip(probabilities, CLIP, 1 - CLIP)
    judged = calibration(clipped, shares, n_bootstrap=0)
    marked = shares > 0
    varies = np.ptp(clipped[marked]) > 0 and np.ptp(shares[marked]) > 0 if marked.any() else False
    return Prediction(
        deviance=2 * float(judged.kl.estimate),
        deviance_of_mean=2 * float(judged.kl_of_the_mean),
        spearman=float(spearmanr(clipped[marked], shares[marked]).statistic) if varies else float("nan"),
        slope=float(judged.slope.estimate),
    )


POINTS = "points.journal"
# Increased when the format of points changes, so that a folder with older ones is refused.
LAYOUT = 2
# Keys that change only how much of a design is done, or how fast, but not its points.
NOT_OF_A_POINT = {"": ("name", "seeds"), "source": ("workers",), "grid": ("images",), "fit": ("models",)}


@dataclass(frozen=True)
class MeasuredPoint:
    """A contender on one training set.

    Attributes
    ----------
    seed, condition, model
        Identity of the point.
    seconds
        Processor time.
    measures
        Results; None if the contender cannot be fitted to this training set.
    reason
        Reason for that; otherwise empty.
    """

    seed: int
    condition: Condition
    model: str
    seconds: float
    measures: Measures | None
    reason: str

    @property
    def found(self) -> Measures:
        """Results of a point that could be fitted."""
        assert self.measures is not None
        return self.measures


def run_points(design: Design, material: Material, folder: Path) -> list[MeasuredPoint]:
    """Measure every missing point of a design; return all of them."""
    with _journal(design, folder) as journal, single_threaded_blas():
        journal.resume()
        known = {name for name, _ in journal.entries()}
        wanted = [one for one in design.points() if _name(*one) not in known]
        test = make_test_set(material, design) if wanted else None
        measured = iter(()) if test is None else _measure_each(wanted, design, material, test)
        for point in count_steps("points", measured, len(wanted)):
            journal.add(_name(point.seed, point.condition, point.model), to_json(point))
    return list_points(design, folder)


def list_points(design: Design, folder: Path) -> list[MeasuredPoint]:
    """Read the finished points of a design."""
    known = dict(_journal(design, folder).entries())
    names = (_name(*one) for one in design.points())
    return [from_json(MeasuredPoint, known[name], name) for name in names if name in known]


def claim_folder(folder: Path, design: Design) -> None:
    """Write the design to a new folder; refuse one with points of another design."""
    folder.mkdir(parents=True, exist_ok=True)
    place, key = folder / "design.json", _key(design)
    if place.is_file():
        known = read_json(place)
        if not isinstance(known, dict) or known.get("key") != key:
            raise InvalidInputError(
                f"{folder}: contains points of another design or version. Give another folder to --output."
            )
    record = {"key": key, "overread": __version__, "design": design.model_dump(mode="json")}
    write_atomically(place, json_text(record, indent=1).encode(), within=folder)


def _key(design: Design) -> str:
    """Digest of a design without its seeds, models and numbers of images; which all its points share."""
    plain = design.model_dump(mode="json")
    for section, names in NOT_OF_A_POINT.items():
        for name in names:
            del (plain[section] if section else plain)[name]
    return digest_of_value([plain, __version__, LAYOUT])


def _journal(design: Design, folder: Path) -> Journal:
    return Journal(folder / POINTS, _key(design), lock=("lock", "another scenario writes to it"))


def _measure_each(
    wanted: list[tuple[int, Condition, str]], design: Design, material: Material, test: TestSet
) -> Iterator[MeasuredPoint]:
    """Measure points, by training set; equal fits are done once."""
    for seed, of_seed in groupby(wanted, key=lambda one: one[0]):
        drawn = draw_seed(material, design, seed)
        # Sets that differ only in the readers have the same marks.
        for _, of_marks in groupby(of_seed, key=lambda one: (one[1].images, one[1].readings)):
            known: list[tuple[MeasuredPoint, Floats | None]] = []
            for condition, own in groupby(of_marks, key=lambda one: one[1]):
                training = _try_quietly(make_training_set, material, drawn, condition, design)
                for _, _, model in own:
                    labels = None if isinstance(training, str) else find_labels(CONTENDERS[model], training)
                    same = _find_same(known, model, labels)
                    if same is None:
                        same = _measure(design, training, test, seed, condition, model)
                        known.append((same, labels))
                        yield same
                    else:
                        yield _copy(same, condition, model, training)


def _find_same(
    known: list[tuple[MeasuredPoint, Floats | None]], model: str, labels: Floats | None
) -> MeasuredPoint | None:
    """Find a point whose fit would be the same: of a model that does not ask who marked, or of equal labels."""
    for point, own in known:
        if point.model == model and model not in KNOW_READERS:
            return point
        if labels is not None and own is not None and np.array_equal(own, labels):
            return point
    return None


def _copy(same: MeasuredPoint, condition: Condition, model: str, training: Split | str) -> MeasuredPoint:
    """Return a point of the same fit, whose readers are other ones."""
    measures = same.measures
    if measures is not None and isinstance(training, Split):
        measures = replace(measures, n_readers=training.readings["reader_id"].nunique())
    return replace(same, condition=condition, model=model, seconds=0.0, measures=measures)


def _try_quietly(make: Callable[..., Made], *given: Any, **options: Any) -> Made | str:
    """Return the result of a function, or the reason for its failure; its warnings are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*given, **options)
        except InvalidInputError as error:
            return str(error)


def _measure(
    design: Design, training: Split | str, test: TestSet, seed: int, condition: Condition, model: str
) -> MeasuredPoint:
    if isinstance(training, str):
        return MeasuredPoint(seed, condition, model, 0.0, None, training)
    started = time.process_time()
    found = _try_quietly(
        measure_point,
        *(CONTENDERS[model], training, test, design.settings()),
        fp_targets=design.fit.fp_targets,
        n_bootstrap=design.fit.n_bootstrap,
        seed=seed,
    )
    seconds = round(time.process_time() - started, 3)
    if isinstance(found, str):
        return MeasuredPoint(seed, condition, model, seconds, None, found)
    return MeasuredPoint(seed, condition, model, seconds, found, "")


def _name(seed: int, condition: Condition, model: str) -> str:
    own = condition.images_per_reader
    return f"{model}-{condition.images}x{condition.readings}-{own}-seed{seed}"
