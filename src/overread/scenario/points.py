"""All points of a design, each a file that is whole or absent: a scenario that was stopped goes on where it was."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from overread import __version__
from overread.errors import InvalidInputError
from overread.files.atomic import write_atomically
from overread.files.digests import digest_of_value
from overread.files.lock import folder_lock
from overread.files.records import from_json, to_json
from overread.files.strict_json import json_text, read_json
from overread.models.fitting import single_threaded_blas
from overread.progress import count_steps, say
from overread.scenario.contenders import CONTENDERS, KNOW_READERS, find_labels
from overread.scenario.design import Condition, Design
from overread.scenario.material import Material
from overread.scenario.measure import Measures, measure_point
from overread.scenario.sets import TestSet, draw_seed, make_test_set, make_training_set
from overread.study.cohort import Split

__all__ = ["Point", "claim_folder", "list_points", "run_points"]

POINTS = "points"
# What only says how much of a design is done, or how fast: points of other values are the same points.
NOT_OF_A_POINT = {"": ("name", "seeds"), "source": ("workers",), "grid": ("images",), "fit": ("models",)}


@dataclass(frozen=True)
class Point:
    """A contender on one training set.

    Attributes
    ----------
    key
        Of the design without its seeds, models and numbers of images: points of another design are no points of it.
    seed, condition, model
        Which point it is.
    seconds
        Processor time.
    measures
        What was found; None where the contender cannot be fitted to this training set.
    reason
        Why it cannot; else empty.
    """

    key: str
    seed: int
    condition: Condition
    model: str
    seconds: float
    measures: Measures | None
    reason: str


def run_points(design: Design, material: Material, folder: Path) -> list[Point]:
    """Measure every point of a design that the folder has not; return all of them.

    Parameters
    ----------
    design
        What is wanted; more seeds, models or images than before keep the points that are there.
    material
        What it is drawn from.
    folder
        Gets a file for each point.

    Raises
    ------
    LockedError
        If another run writes to it.
    """
    with folder_lock(folder, "lock", "another scenario is written to it"), single_threaded_blas():
        _measure_missing(design, folder, material)
    return list_points(design, folder)


def list_points(design: Design, folder: Path) -> list[Point]:
    """Read the points of a design that are there."""
    key = _key(design)
    found = (_read(folder, seed, condition, model, key) for seed, condition, model in design.points())
    return [point for point in found if point is not None]


def claim_folder(folder: Path, design: Design) -> None:
    """Write the design into a folder, which is made; refuse one that holds the points of another design.

    Raises
    ------
    InvalidInputError
        If it does, or holds points of another version.
    """
    (folder / POINTS).mkdir(parents=True, exist_ok=True)
    place, key = folder / "design.json", _key(design)
    if place.is_file():
        known = read_json(place)
        if not isinstance(known, dict) or known.get("key") != key:
            raise InvalidInputError(
                f"{folder}: holds the points of another design, or of another version; give another folder to --out"
            )
    record = {"key": key, "overread": __version__, "design": design.to_plain()}
    write_atomically(place, json_text(record, indent=1).encode(), within=folder)


def _key(design: Design) -> str:
    plain = design.to_plain()
    for section, names in NOT_OF_A_POINT.items():
        for name in names:
            del (plain[section] if section else plain)[name]
    return digest_of_value([plain, __version__])


def _measure_missing(design: Design, folder: Path, material: Material) -> None:
    key = _key(design)
    wanted = [one for one in design.points() if _read(folder, *one, key) is None]
    if not wanted:
        say("every point is there")
        return
    test = make_test_set(material, design)
    for point in count_steps("points", _measure_each(wanted, design, material, test), len(wanted)):
        name = _file(point.seed, point.condition, point.model)
        write_atomically(folder / name, json_text(to_json(point)).encode(), within=folder)


def _measure_each(
    wanted: list[tuple[int, Condition, str]], design: Design, material: Material, test: TestSet
) -> Iterator[Point]:
    """Measure points; those of a training set come together, and fits that are the same are done once."""
    at: tuple[int, Condition] | None = None
    for seed, condition, model in wanted:
        if at is None or seed != at[0]:
            drawn = draw_seed(material, design, seed)
        if (seed, condition) != at:
            training = _make_training_set(material, drawn, condition, design)
            # Sets that differ only in who read what have the same marks.
            if at is None or (seed, condition.images, condition.readings) != (
                at[0],
                at[1].images,
                at[1].readings,
            ):
                known = _Known()
            at = (seed, condition)
        same = known.find(model, training)
        if same is None:
            same = _measure(design, training, test, seed, condition, model)
            known.keep(same, training)
            yield same
        else:
            yield _copy(same, condition, model, training)


class _Known:
    """Points of training sets with the same marks."""

    def __init__(self) -> None:
        self._of_labels: list[tuple[np.ndarray, Point]] = []
        self._of_model: dict[str, Point] = {}

    def find(self, model: str, training: Split | str) -> Point | None:
        """Find a point whose fit would be the same."""
        if model in self._of_model:
            return self._of_model[model]
        labels = None if isinstance(training, str) else find_labels(CONTENDERS[model], training)
        same = (one for own, one in self._of_labels if labels is not None and np.array_equal(own, labels))
        return next(same, None)

    def keep(self, point: Point, training: Split | str) -> None:
        """Keep a point that was measured, unless another reader would have changed it."""
        if point.model not in KNOW_READERS:
            self._of_model[point.model] = point
        labels = None if isinstance(training, str) else find_labels(CONTENDERS[point.model], training)
        if labels is not None:
            self._of_labels.append((labels, point))


def _copy(same: Point, condition: Condition, model: str, training: Split | str) -> Point:
    """Return a point of the same fit, whose readers are other ones."""
    measures = same.measures
    if measures is not None and isinstance(training, Split):
        measures = replace(measures, n_readers=training.readings["reader_id"].nunique())
    return replace(same, condition=condition, model=model, seconds=0.0, measures=measures)


def _make_training_set(
    material: Material, drawn: object, condition: Condition, design: Design
) -> Split | str:
    """Return the training set, or why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make_training_set(material, drawn, condition, design)  # type: ignore[arg-type]
        except InvalidInputError as error:
            return str(error)


def _measure(
    design: Design, training: Split | str, test: TestSet, seed: int, condition: Condition, model: str
) -> Point:
    started, measures, reason = time.process_time(), None, training if isinstance(training, str) else ""
    if isinstance(training, Split):
        try:
            # Warnings of small training sets, a thousand times over; the figures tell.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measures = measure_point(
                    CONTENDERS[model],
                    training,
                    test,
                    design.settings(),
                    fp_targets=design.fit.fp_targets,
                    n_bootstrap=design.fit.n_bootstrap,
                    seed=seed,
                )
        except InvalidInputError as error:
            reason = str(error)
    seconds = round(time.process_time() - started, 3)
    return Point(_key(design), seed, condition, model, seconds, measures, reason)


def _file(seed: int, condition: Condition, model: str) -> str:
    own = condition.images_per_reader
    return f"{POINTS}/{model}-{condition.images}x{condition.readings}-{own}-seed{seed}.json"


def _read(folder: Path, seed: int, condition: Condition, model: str, key: str) -> Point | None:
    place = folder / _file(seed, condition, model)
    if not place.is_file():
        return None
    point = from_json(Point, read_json(place), place.name)
    return point if point.key == key else None
