"""Candidates against ground truth: which are hits, which false positives, which neither.

Conventions: an image without candidates and without GTs still counts in the number of images. A *target* is
a GT that has to be found: the golden ones (two readers or more), and with ``single_reader="hit"`` the
others too. A missed target has score minus infinity, whatever the scale of the scores, so logits work as
well as probabilities.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError, TableError
from overread.froc._counting import Counting
from overread.froc._kernels import mark_strongest
from overread.tables import LengthUnit
from overread.truth import candidate_hits, plain_pair

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def check_image_ids(images: pd.DataFrame) -> NDArray[np.object_]:
    """Ids of the images, each once; no images at all is an error."""
    _require_columns("images", images, "image_id")
    if images.empty:
        raise TableError("images: no rows; FP per image needs every image that was read, found or not")
    ids = images["image_id"]
    missing_or_twice = ids.isna() | ids.duplicated()
    if missing_or_twice.any():
        row = int(np.flatnonzero(missing_or_twice)[0])
        raise TableError(f"images, row {row}, column image_id: {ids.iloc[row]!r} is missing or not unique")
    return ids.to_numpy(dtype=object)


def _patient_codes(images: pd.DataFrame) -> tuple[Ints, NDArray[np.object_] | None]:
    """Code of each image's patient, and the ids by code; without patient_id every image stands for itself."""
    if "patient_id" not in images.columns:
        return np.arange(len(images)), None
    patients = images["patient_id"]
    if patients.isna().any():
        row = int(np.flatnonzero(patients.isna())[0])
        raise TableError(
            f"images, row {row}, column patient_id: missing; fill it, or drop the column to resample images"
        )
    codes, ids = pd.factorize(patients)
    return np.asarray(codes, dtype=np.int64), np.asarray(ids, dtype=object)


def image_codes(name: str, table: pd.DataFrame, index: pd.Index) -> Ints:
    """Position of each row's image in the images table."""
    _require_columns(name, table, "image_id")
    codes = np.asarray(index.get_indexer(pd.Index(table["image_id"])), dtype=np.int64)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0])
        raise TableError(
            f"{name}, row {row}, column image_id: {table['image_id'].iloc[row]!r} is not in the images; "
            "add the image there, or keep only the rows of the images under test"
        )
    return codes


def _golden_targets(truth: pd.DataFrame) -> Bools:
    """Which GTs at least two readers marked (paper section 5.1)."""
    if "golden" in truth.columns:
        golden = truth["golden"]
        if golden.isna().any() or not set(golden.unique()) <= {0, 1}:
            raise TableError("truth, column golden: values other than true and false")
        return golden.to_numpy(np.bool_)
    if "n_readers" not in truth.columns:
        return np.ones(len(truth), dtype=np.bool_)
    readers = pd.to_numeric(truth["n_readers"], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(readers))
    if len(wrong):
        given = truth["n_readers"].iloc[wrong[0]]
        raise TableError(f"truth, row {wrong[0]}, column n_readers: {given!r:.40} is not a number of readers")
    return np.asarray(readers >= 2)


def candidate_scores(scores: str | ArrayLike | pd.DataFrame, candidates: pd.DataFrame) -> Floats:
    """One finite score per candidate row, from a column, an array or a scores table."""
    name = "scores"
    if isinstance(scores, str):
        _require_columns("candidates", candidates, scores)
        name, scores = f"candidates, column {scores}", candidates[scores]
    elif isinstance(scores, pd.DataFrame):
        name, scores = "scores table", _join_scores(scores, candidates)
    return _check_scores(scores, len(candidates), name)


def _join_scores(scores: pd.DataFrame, candidates: pd.DataFrame) -> pd.Series:
    """Scores in the candidates' order, joined by image_id and candidate_id."""
    keys = ["image_id", "candidate_id"]
    _require_columns("scores", scores, *keys)
    _require_columns("candidates", candidates, *keys)
    models = [column for column in scores.columns if column not in keys]
    if len(models) != 1:
        raise TableError(f"scores: {len(models)} model columns ({models}); pass a table with one")
    if scores.duplicated(keys).any():
        row = int(np.flatnonzero(scores.duplicated(keys))[0])
        raise TableError(f"scores, row {row}: the same image_id and candidate_id twice")
    joined = candidates[keys].merge(scores, on=keys, how="left", indicator=True)
    absent = np.flatnonzero(joined["_merge"] != "both")
    if len(absent):
        raise TableError(f"scores: no row for candidates row {int(absent[0])} ({len(absent)} in all)")
    return joined[models[0]]


def _check_scores(scores: Any, n_candidates: int | None, name: str = "scores") -> Floats:
    """Finite float64 scores of the expected number."""
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TableError(f"{name}: not numbers ({error})") from None
    if values.ndim != 1 or (n_candidates is not None and len(values) != n_candidates):
        raise TableError(f"{name}: shape {values.shape}, but there are {n_candidates} candidates")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise TableError(
            f"{name}, row {int(bad[0])}: score is {values[bad[0]]}; scores must be finite numbers"
        )
    return values


def _require_columns(name: str, table: pd.DataFrame, *columns: str) -> None:
    """Name the missing column and its table."""
    for column in columns:
        if column not in table.columns:
            raise TableError(f"{name}: no column {column!r}; it has {', '.join(map(str, table.columns))}")


def _first_of_each(codes: Ints, order: Ints) -> Ints:
    """Rows that come first of their code in an order that keeps equal codes together."""
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = np.diff(codes[order]) != 0
    return np.flatnonzero(begins)


def non_max_suppression(
    images: ArrayLike, x: ArrayLike, y: ArrayLike, radius: ArrayLike, scores: ArrayLike
) -> NDArray[np.bool_]:
    """Return False for detections that lie on a stronger one of their image.

    ``images`` are numbers of images; of equal scores the first row counts as the stronger.
    """
    codes = np.asarray(images, dtype=np.int64)
    values = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((np.arange(len(values)), -values, codes))
    places = np.column_stack([x, y, radius]).astype(np.float64)
    return mark_strongest(places, order, np.append(_first_of_each(codes, order), len(order)))


# 64 bits: two of a million ids share a hash with a chance of 3e-8.
HASH_DIGITS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """What hits what, without any score: shared by all models that score the same candidates.

    Candidates and GTs have image codes, in the order of their tables; each hit has the rows of both and the distance
    over the size. ``places`` are x, y and radius of each candidate; None where the radius is not known.
    """

    candidate_images: Ints
    truth_images: Ints
    truth_golden: Bools
    hit_candidates: Ints
    hit_truth: Ints
    hit_distances: Floats
    truth: pd.DataFrame
    places: Floats | None = None

    def find_shown(self, counting: Counting, scores: Floats) -> Bools:
        """Candidates that are shown: all, or those that lie on no stronger one."""
        if counting.repeats == "count" or self.places is None:
            return np.ones(len(scores), dtype=np.bool_)
        x, y, radius = self.places.T
        return non_max_suppression(self.candidate_images, x, y, radius, scores)

    def hits_that_count(self, counting: Counting) -> Bools:
        """Hits that count: all, or for each candidate its nearest GT."""
        if counting.shared_candidates == "all":
            return np.ones(len(self.hit_candidates), dtype=np.bool_)
        order = np.lexsort((self.hit_truth, self.hit_distances, self.hit_candidates))
        counted = np.zeros(len(order), dtype=np.bool_)
        counted[order[_first_of_each(self.hit_candidates, order)]] = True
        return counted


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """Things to find, targets or images with a target; the one place that says what *reached* and *found* mean.

    A target is reached when any candidate hits it, an image when one of its targets is reached. Neither scores nor the
    suppression of repeats have a say in that. A target is found at a threshold when a candidate hits it that is
    shown and has at least that score, an image when one of its targets is found. ``scores`` are the best of the shown
    candidates that hit it; minus infinity where none does.
    """

    images: Ints
    scores: Floats
    reached: Bools

    @property
    def findable(self) -> Bools:
        """Whether some threshold finds it; what no shown candidate hits is not found even at minus infinity."""
        return self.scores > -np.inf

    def found_at(self, threshold: float) -> Bools:
        """Whether this threshold finds it."""
        return self.findable & (self.scores >= threshold)


@short_repr("n_images", "n_patients", "n_gts", "fp_scores", "candidate_scores", "counting")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Matching:
    """One model's scores on one set of images, reduced to what FROC analysis needs.

    Attributes
    ----------
    image_ids : ndarray of any type
        Ids of all images, with or without candidates and GTs; codes below index this array.
    patients : ndarray of int
        Patient code of each image, 0 .. n_patients - 1; the image's own code where no patient is known.
    patient_ids : ndarray of any type, optional
        Id of each patient by code; None where no patient is known.
    has_ids : bool, default=True
        Whether ``image_ids`` are the images' own; else they only number them.
    fp_scores, fp_images
        Score and image code of each false positive.
    gt_scores, gt_images, gt_reached
        The fields of :class:`Sought` for each target: best score of the shown candidates that hit it (minus
        infinity where none does), its image code, and whether any candidate hits it, shown or not.
    strata : DataFrame
        The truth table's rows of the targets, in the same order: lesion size, number of readers, any column.
    counting : Counting
        What a hit is, and how hits are counted.
    geometry : Geometry, optional
        Hits without scores; None when the matching was made by :meth:`from_events`.
    """

    image_ids: NDArray[np.object_]
    patients: Ints
    fp_scores: Floats
    fp_images: Ints
    gt_scores: Floats
    gt_images: Ints
    gt_reached: Bools
    strata: pd.DataFrame
    counting: Counting
    geometry: Geometry | None = None
    candidate_scores: Floats | None = None
    patient_ids: NDArray[np.object_] | None = None
    has_ids: bool = True

    @property
    def n_images(self) -> int:
        """Number of images, the denominator of FP per image."""
        return len(self.image_ids)

    @property
    def n_patients(self) -> int:
        """Number of patients, the unit that is resampled."""
        return int(self.patients.max()) + 1

    @property
    def n_gts(self) -> int:
        """Number of targets, the denominator of GT sensitivity."""
        return len(self.gt_scores)

    def targets(self) -> Sought:
        """Return the targets as things to find."""
        return Sought(self.gt_images, self.gt_scores, self.gt_reached)

    def positive_images(self) -> Sought:
        """Return the images with a target as things to find, in the order of their codes."""
        images, inverse = np.unique(self.gt_images, return_inverse=True)
        best = np.full(len(images), -np.inf)
        np.maximum.at(best, inverse, self.gt_scores)
        reached = np.zeros(len(images), dtype=np.bool_)
        np.logical_or.at(reached, inverse, self.gt_reached)
        return Sought(images, best, reached)

    def count_shown(self, threshold: float) -> Ints:
        """Count the candidates of each image that are shown at a threshold, whatever they hit."""
        geometry = self.require_geometry()
        assert self.candidate_scores is not None
        shown = geometry.find_shown(self.counting, self.candidate_scores) & (
            self.candidate_scores >= threshold
        )
        return np.bincount(geometry.candidate_images[shown], minlength=self.n_images)

    def with_scores(self, scores: ArrayLike) -> Self:
        """Return the same hits under another model's scores, one per candidate row."""
        geometry = self.require_geometry()
        checked = _check_scores(scores, len(geometry.candidate_images))
        return replace(self, candidate_scores=checked, **_events(geometry, self.counting, checked))

    def with_counting(self, **options: Any) -> Self:
        """Return the same hits and scores, counted by other options (see :class:`~overread.froc.Counting`).

        The rule stays as it is: another one would have other hits.
        """
        if "rule" in options:
            raise InvalidInputError("another rule has other hits: match() the candidates by it")
        geometry = self.require_geometry()
        assert self.candidate_scores is not None
        changed = replace(self.counting, **options)
        return replace(self, counting=changed, **_events(geometry, changed, self.candidate_scores))

    def require_geometry(self) -> Geometry:
        """Return the geometry, or say that there is none."""
        if self.geometry is None:
            raise InvalidInputError("this matching was made from events and has no candidates: use match()")
        return self.geometry

    def fingerprint(self) -> str:
        """SHA-256 of images, patients, events, rule and options: names the data a number came from."""
        digest = hashlib.sha256()
        for image_id in self.image_ids:
            encoded = str(image_id).encode()
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        for name in ("patients", "fp_scores", "fp_images", "gt_scores", "gt_images", "gt_reached"):
            array = np.ascontiguousarray(getattr(self, name))
            digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
        digest.update(repr((self.counting.rule_record(), self.counting.option_record())).encode())
        return digest.hexdigest()

    def hash_members(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Hashes of the ids of images and of patients, to find out later whether another set shares any of them.

        They are not secret, as ids can be guessed, but there are no ids to read.
        """
        known = (self.image_ids if self.has_ids else (), () if self.patient_ids is None else self.patient_ids)
        images, patients = (
            tuple(sorted(hashlib.sha256(str(one).encode()).hexdigest()[:HASH_DIGITS] for one in ids))
            for ids in known
        )
        return images, patients

    @classmethod
    def from_events(
        cls,
        *,
        n_images: int,
        fp_scores: ArrayLike,
        fp_images: ArrayLike,
        gt_scores: ArrayLike,
        gt_images: ArrayLike,
        patients: ArrayLike | None = None,
        strata: pd.DataFrame | None = None,
        image_ids: ArrayLike | None = None,
    ) -> Self:
        """Make a matching from events that another tool matched; missed GTs have score minus infinity.

        ``image_ids`` names the images; without them a lock cannot check whether two sets share an image.
        """
        if n_images < 1:
            raise InvalidInputError("there are no images: FP per image has no denominator")
        fps = _check_scores(fp_scores, None)
        gts = np.asarray(gt_scores, dtype=np.float64).ravel()
        if np.isnan(gts).any() or np.isposinf(gts).any():
            raise InvalidInputError("gt_scores: NaN or +inf; a missed GT has -inf, any other a finite score")
        codes = []
        for name, given, scores in (("fp_images", fp_images, fps), ("gt_images", gt_images, gts)):
            values = np.asarray(given, dtype=np.int64).ravel()
            if len(values) != len(scores) or not ((values >= 0) & (values < n_images)).all():
                raise InvalidInputError(f"{name}: need {len(scores)} codes in 0..{n_images - 1}")
            codes.append(values)
        ids = np.array([str(code) for code in range(n_images)], dtype=object)
        if image_ids is not None:
            ids = check_image_ids(pd.DataFrame({"image_id": pd.Series(image_ids, dtype=object)}))
        labels = np.arange(n_images) if patients is None else np.asarray(patients)
        if len(ids) != n_images or labels.shape != (n_images,):
            raise InvalidInputError(f"image_ids, patients: need one per image ({n_images})")
        return cls(
            image_ids=ids,
            has_ids=image_ids is not None,
            patients=np.unique(labels, return_inverse=True)[1].astype(np.int64),
            fp_scores=fps,
            fp_images=codes[0],
            gt_scores=gts,
            gt_images=codes[1],
            gt_reached=np.isfinite(gts),
            strata=pd.DataFrame(index=range(len(gts))) if strata is None else strata.reset_index(drop=True),
            counting=Counting(rule=None),
        )


def match_detections(
    candidates: pd.DataFrame,
    truth: pd.DataFrame,
    images: pd.DataFrame,
    *,
    scores: str | ArrayLike | pd.DataFrame = "score",
    counting: Counting | None = None,
    hits: pd.DataFrame | None = None,
    unit: LengthUnit | None = None,
) -> Matching:
    """Match scored candidates to ground truth.

    Parameters
    ----------
    candidates : DataFrame
        image_id, x_mm, y_mm (or _px, _percent) and what the rule needs. May be empty.
    truth : DataFrame
        image_id and the GT's ellipse, in the same unit. ``golden`` says which GTs are targets; without it
        ``n_readers >= 2`` does, and without that too every GT is golden. May be empty.
    images : DataFrame
        image_id of every image that was read, found or not, and patient_id where known.
    scores : str or array-like or DataFrame, default='score'
        Column of ``candidates``; or one score per row; or a table of image_id, candidate_id and one model
        column.
    counting : Counting, optional
        What a hit is and how hits are counted; None: :class:`~overread.froc.Counting` as it is.
    hits : DataFrame, optional
        The hits by this rule, where `overread.truth.candidate_hits` found them before.
    unit : {'mm', 'px', 'percent'}, optional
        Unit of lengths with plain names; None: their names end in it, or the rule says it.
    """
    counting = counting or Counting()
    if counting.rule is None:
        raise InvalidInputError("match: needs a rule of what hits what")
    given = truth.reset_index(drop=True)
    candidates, truth, unit = plain_pair(candidates, truth, unit or counting.rule.unit)
    rule = counting.rule.in_unit(unit)
    counting = replace(counting, rule=rule)
    image_ids = check_image_ids(images)
    index = pd.Index(image_ids)
    candidate_images = image_codes("candidates", candidates, index)
    truth_images = image_codes("truth", truth, index)
    values = candidate_scores(scores, candidates)
    hits = candidate_hits(candidates, truth, rule) if hits is None else hits
    places = None
    if {"x", "y", "radius"} <= set(candidates.columns):
        places = candidates[["x", "y", "radius"]].to_numpy(dtype=np.float64)
    geometry = Geometry(
        candidate_images=candidate_images,
        truth_images=truth_images,
        truth_golden=_golden_targets(truth),
        hit_candidates=hits["candidate_row"].to_numpy(np.int64),
        hit_truth=hits["truth_row"].to_numpy(np.int64),
        hit_distances=hits["distance"].to_numpy(np.float64),
        truth=given,
        places=places if places is not None and np.isfinite(places).all() else None,
    )
    patients, patient_ids = _patient_codes(images)
    return Matching(
        image_ids=image_ids,
        patients=patients,
        patient_ids=patient_ids,
        counting=counting,
        geometry=geometry,
        candidate_scores=values,
        **_events(geometry, counting, values),
    )


def _events(geometry: Geometry, counting: Counting, scores: Floats) -> dict[str, Any]:
    """Fields of a :class:`Matching` that depend on scores or options."""
    target = geometry.truth_golden | (counting.single_reader == "hit")
    counted = geometry.hits_that_count(counting)
    reached = np.zeros(len(target), dtype=np.bool_)
    reached[geometry.hit_truth[counted & target[geometry.hit_truth]]] = True

    false_positive = geometry.find_shown(counting, scores)
    on_target = counted & target[geometry.hit_truth] & false_positive[geometry.hit_candidates]
    hit_candidate, hit_gt = geometry.hit_candidates[on_target], geometry.hit_truth[on_target]
    best = np.full(len(target), -np.inf)
    np.maximum.at(best, hit_gt, scores[hit_candidate])
    if counting.single_reader == "ignore":
        false_positive[geometry.hit_candidates[counted]] = False
    false_positive[hit_candidate] = False
    if counting.extra_hits == "fp":
        # Candidates that are the best of none of their targets; ties go by distance, then row.
        ties = (hit_candidate, geometry.hit_distances[on_target], -scores[hit_candidate], hit_gt)
        order = np.lexsort(ties)
        best_ones = hit_candidate[order[_first_of_each(hit_gt, order)]]
        false_positive[np.setdiff1d(hit_candidate, best_ones)] = True
    rows = np.flatnonzero(target)
    return {
        "fp_scores": scores[false_positive],
        "fp_images": geometry.candidate_images[false_positive],
        "gt_scores": best[rows],
        "gt_images": geometry.truth_images[rows],
        "gt_reached": reached[rows],
        "strata": geometry.truth.iloc[rows].reset_index(drop=True),
    }
