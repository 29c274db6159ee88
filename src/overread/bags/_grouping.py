"""Candidates, their features and the truth become bags (paper, section "CAD objective"), and bags tables again.

Which candidate hits which GT is found once, by :func:`group_candidates`. Bags with soft or golden labels, of all
images or of some, are made from that :class:`Grouping`; each of them holds one copy of its rows of the features. They
ask for no more than :class:`FeatureRows`, so that the features may as well lie on disk. :func:`reader_bags` makes one
set of bags per reader, as the mixture of readers (B2) needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.bags import _validation as check
from overread.bags._bags import Bags
from overread.bags._validation import InstanceMatrix, object_array
from overread.errors import InvalidInputError, TableError
from overread.tables import LengthUnit
from overread.truth import HIT, HitRule, candidate_hits

KEYS = ["image_id", "candidate_id"]


class FeatureRows(Protocol):
    """Source of the features of candidates."""

    def find_rows(self, image_ids: NDArray[Any], candidate_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row of each of some candidates."""
        ...

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return some rows, in the order asked for."""
        ...


@short_repr()
@dataclass(frozen=True, eq=False)
class CandidateFeatures:
    """A table of features, read by :func:`read_features`; `keys` are image and candidate of each row of the matrix."""

    matrix: InstanceMatrix
    keys: pd.MultiIndex

    def __len__(self) -> int:
        return len(self.keys)

    def find_rows(self, image_ids: NDArray[Any], candidate_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row of each of some candidates."""
        rows = self.keys.get_indexer(pd.MultiIndex.from_arrays([image_ids, candidate_ids]))
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            image, candidate = image_ids[missing[0]], candidate_ids[missing[0]]
            raise TableError(f"features: no row for candidate {candidate!r} of image {image!r}")
        return rows.astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return rows in the given order; copy them only if they are not contiguous."""
        return InstanceMatrix(check.take_rows(self.matrix.values, rows), self.matrix.feature_names)


def read_features(features: pd.DataFrame) -> CandidateFeatures:
    """Check a table of features: unique keys, finite numbers in all other cells."""
    check.require_columns(features, "features", KEYS, key=KEYS)
    try:
        matrix = check.read_instances(features.drop(columns=KEYS))
    except InvalidInputError as error:
        raise TableError(f"features: {error}") from error
    return CandidateFeatures(matrix, pd.MultiIndex.from_frame(features[KEYS]))


def truth_without_bag(bags: Bags, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the truth that have no bag: missed by all candidates, but part of a denominator."""
    if bags.bag_table is None:
        raise InvalidInputError("these bags were not made by make_bags: they carry no truth ids")
    positive = bags.bag_table[bags.bag_table["truth_id"].notna()]
    with_bag = pd.MultiIndex.from_frame(positive[["image_id", "truth_id"]])
    return truth[~pd.MultiIndex.from_frame(truth[["image_id", "truth_id"]]).isin(with_bag)]


def score_table(bags: Bags, **scores: Any) -> pd.DataFrame:
    """Return a table of scores: ``image_id``, ``candidate_id`` and one column per model.

    Parameters
    ----------
    bags : Bags
        Made by :func:`make_bags`.
    **scores : array-like of shape (n_instances,)
        Scores of the instances under the model's name, in the order of ``bags.instances``.
    """
    if bags.instance_ids is None:
        raise InvalidInputError("these bags carry no candidate ids: make them with make_bags")
    table = pd.DataFrame(bags.instance_ids.tolist(), columns=KEYS)
    for name, values in scores.items():
        column = np.asarray(values, dtype=np.float64)
        if column.shape != (bags.n_instances,):
            raise InvalidInputError(
                f"scores {name} have shape {column.shape} for {bags.n_instances} instances"
            )
        table[name] = column
    return table


# Weights are n / n_max of small integers: what differs by more than this was made with another n_max.
SAME_WEIGHT = 1e-9


def weigh_readings(
    image_ids: pd.Series[Any], readings: pd.DataFrame, n_max: int | None, truth: pd.DataFrame
) -> NDArray[np.float64]:
    """Return the paper's a = n_readings / n_max of each image (appendix, "Different number of annotators").

    Without `n_max` it is found in the readings. Where the truth has a ``weight``, that must be the same.
    """
    check.require_columns(readings, "readings", ["image_id", "reader_id"], key=["image_id", "reader_id"])
    counts = readings["image_id"].value_counts()
    largest = int(counts.max()) if n_max is None else n_max
    if counts.max() > largest:
        raise InvalidInputError(
            f"image {counts.index[0]!r} has {counts.max()} readings, over n_max {largest}"
        )
    n_readings = image_ids.map(counts)
    if n_readings.isna().any():
        image = image_ids[n_readings.isna()].iloc[0]
        raise TableError(f"readings: no reading of image {image!r}, which has candidates")
    if "weight" in truth:
        expected = truth["image_id"].map(counts / largest).to_numpy(dtype=np.float64)
        given = truth["weight"].to_numpy(dtype=np.float64)
        for row in np.flatnonzero(np.abs(given - expected) > SAME_WEIGHT):
            raise TableError(
                f"truth row {row}: weight {given[row]:g}, but the readings give {expected[row]:g}; pass the "
                "n_max with which the truth was made"
            )
    return n_readings.to_numpy(dtype=np.float64) / largest


def find_patients(image_ids: pd.Series[Any], images: pd.DataFrame | None) -> NDArray[Any]:
    """Return the patient of each image, or the image itself if the images table has no patients."""
    if images is None or "patient_id" not in images:
        return image_ids.to_numpy(dtype=object)
    check.require_columns(images, "images", ["image_id"], key=["image_id"])
    patients = image_ids.map(images.set_index("image_id")["patient_id"])
    if patients.isna().any():
        image = image_ids[patients.isna()].iloc[0]
        raise TableError(f"images: image {image!r} has candidates but no patient_id")
    return patients.to_numpy(dtype=object)


@short_repr()
@dataclass(frozen=True, eq=False)
class Grouping:
    """Candidates, the GTs, and which of them hit each other; :func:`group_candidates` makes one.

    Hits are rows of candidates and of ``truth``, by candidate, the nearest GT first. ``feature_rows`` says where the
    features of each candidate are; where it is None, every :meth:`make_bags` looks them up.
    """

    image_ids: NDArray[Any]
    candidate_ids: NDArray[Any]
    truth: pd.DataFrame
    hit_candidate: NDArray[np.int64]
    hit_truth: NDArray[np.int64]
    feature_rows: NDArray[np.int64] | None = None

    def locate(self, features: FeatureRows) -> Grouping:
        """Look up the rows of all candidates once, for bags of parts of them."""
        return replace(self, feature_rows=features.find_rows(self.image_ids, self.candidate_ids))

    def of_images(self, image_ids: Iterable[Any]) -> Grouping:
        """Return the candidates and GTs of some images, in their order; no hit is looked for again."""
        chosen = set(image_ids)
        inside = pd.Series(self.image_ids).isin(chosen).to_numpy()
        return self.select(inside, self.truth["image_id"].isin(chosen).to_numpy())

    def select(self, candidates: NDArray[np.bool_], truth: NDArray[np.bool_]) -> Grouping:
        """Return the candidates and the GTs of two masks, with the hits between them."""
        kept = candidates[self.hit_candidate] & truth[self.hit_truth]
        return Grouping(
            self.image_ids[candidates],
            self.candidate_ids[candidates],
            self.truth[truth],
            (np.cumsum(candidates) - 1)[self.hit_candidate[kept]],
            (np.cumsum(truth) - 1)[self.hit_truth[kept]],
            None if self.feature_rows is None else self.feature_rows[candidates],
        )

    def make_bags(
        self,
        features: FeatureRows,
        *,
        labels: Literal["soft", "golden"] = "soft",
        readings: pd.DataFrame | None = None,
        n_max: int | None = None,
        images: pd.DataFrame | None = None,
        with_ids: bool = True,
    ) -> Bags:
        """Arrange the candidates into bags, as :func:`make_bags` does; tables of more images need ``n_max``.

        Ids of bags and instances take some hundred bytes each; without them the bags are numbered.
        """
        if labels not in ("soft", "golden"):
            raise InvalidInputError(f'labels must be "soft" or "golden", got {labels!r}')
        column = "probability" if labels == "soft" else "golden"
        check.require_columns(
            self.truth, "truth", ["image_id", "truth_id", column], key=["image_id", "truth_id"]
        )
        label = self.truth[column].to_numpy(dtype=np.float64)
        truth_row = self._choose_truth(label, golden=labels == "golden")
        lonely = len(self.truth) + np.arange(len(truth_row))
        codes, _ = pd.factorize(np.where(truth_row < 0, lonely, truth_row))
        order = np.argsort(codes, kind="stable")
        offsets = check.offsets_of_sizes(np.bincount(codes))
        first = order[offsets[:-1]]
        table = self._bag_table(first, truth_row[first])
        rows = self.feature_rows
        if rows is None:
            rows = features.find_rows(self.image_ids, self.candidate_ids)
        return Bags(
            features.take(rows[order]),
            offsets,
            bag_ids=self._bag_ids(table, first) if with_ids else None,
            labels=np.append(label, 0.0)[truth_row[first]],
            reader_weight=(
                None if readings is None else weigh_readings(table["image_id"], readings, n_max, self.truth)
            ),
            groups=find_patients(table["image_id"], images),
            instance_ids=_zip_ids(self.image_ids[order], self.candidate_ids[order]) if with_ids else None,
            bag_table=table,
            source_rows=order,
        )

    def _choose_truth(self, label: NDArray[np.float64], *, golden: bool) -> NDArray[np.int64]:
        """Return the GT of each candidate: of those that it hits the one with the highest label, then the nearest."""
        candidate, truth = self.hit_candidate, self.hit_truth
        if golden:
            counts = label[truth] > 0
            candidate, truth = candidate[counts], truth[counts]
        order = np.lexsort((-label[truth], candidate))
        rows, first = np.unique(candidate[order], return_index=True)
        chosen = np.full(len(self.image_ids), -1, dtype=np.int64)
        chosen[rows] = truth[order][first]
        return chosen

    def _bag_table(self, first: NDArray[np.int64], truth_row: NDArray[np.int64]) -> pd.DataFrame:
        # Position -1, a negative bag, takes the entry appended at the end.
        table = {
            "image_id": self.image_ids[first],
            "truth_id": object_array([*self.truth["truth_id"], None])[truth_row],
        }
        if "golden" in self.truth:
            table["golden"] = np.append(self.truth["golden"].to_numpy(dtype=bool), False)[truth_row]
        return pd.DataFrame(table)

    def _bag_ids(self, table: pd.DataFrame, first: NDArray[np.int64]) -> NDArray[Any]:
        positive = table["truth_id"].notna().to_numpy()
        kinds = np.where(positive, "truth", "candidate")
        names = np.where(positive, table["truth_id"].to_numpy(dtype=object), self.candidate_ids[first])
        return _zip_ids(self.image_ids[first], kinds, names)


def group_candidates(
    candidates: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    rule: HitRule = HIT,
    hits: pd.DataFrame | None = None,
    unit: LengthUnit | None = None,
) -> Grouping:
    """Find which candidates hit which objects; ``hits`` takes earlier results of `candidate_hits`."""
    check.require_columns(candidates, "candidates", KEYS, key=KEYS)
    check.require_columns(truth, "truth", ["image_id", "truth_id"])
    hits = candidate_hits(candidates, truth, rule, unit=unit) if hits is None else hits
    hits = hits.sort_values(["candidate_row", "distance", "truth_row"], kind="stable")
    return Grouping(
        _share_objects(candidates["image_id"]),
        _share_objects(candidates["candidate_id"]),
        truth,
        hits["candidate_row"].to_numpy(dtype=np.int64),
        hits["truth_row"].to_numpy(dtype=np.int64),
    )


def make_bags(
    candidates: pd.DataFrame,
    features: pd.DataFrame,
    truth: pd.DataFrame,
    *,
    rule: HitRule = HIT,
    labels: Literal["soft", "golden"] = "soft",
    readings: pd.DataFrame | None = None,
    n_max: int | None = None,
    images: pd.DataFrame | None = None,
    unit: LengthUnit | None = None,
) -> Bags:
    """Arrange the candidates that hit a GT into its bag, and each other one into a negative bag.

    A candidate that hits two GTs goes to the more probable; where both are as probable, to the nearer (distance of the
    centres over the GT's size). A GT that no candidate hits, or whose candidates all went to other GTs, has no bag:
    :func:`truth_without_bag` lists it for the denominator of a sensitivity. For several bags of one study, or of some
    of its images, use :func:`group_candidates`.

    Parameters
    ----------
    candidates : pandas.DataFrame
        ``image_id``, ``candidate_id``, ``x_mm``, ``y_mm`` (and ``radius_mm`` where the rule asks for it); or ``_px``,
        ``_percent`` in place of ``_mm``.
    features : pandas.DataFrame
        ``image_id``, ``candidate_id`` and one numeric column per feature; one row per candidate, in any order.
    truth : pandas.DataFrame
        ``image_id``, ``truth_id``, the ellipse, and ``probability`` or ``golden``.
    rule : HitRule
        What counts as a hit.
    labels : {"soft", "golden"}
        "soft": the label is the GT's ``probability``. "golden", for the binary classifier B1: only golden GTs
        make bags, labelled 1; candidates on other GTs are negatives.
    readings : pandas.DataFrame, optional
        ``image_id``, ``reader_id``; gives every bag, negatives too, its image's weight a = n / ``n_max``.
    n_max : int, optional
        Largest number of readings of an image in the study; found in ``readings`` where None. Give it when
        ``readings`` is a part of the study.
    images : pandas.DataFrame, optional
        ``image_id``, ``patient_id``: the bags of a patient form a group. Without it, or without patient ids, an
        image is a group.
    unit : {"mm", "px", "percent"}, optional
        Unit of lengths with plain names; None: their names end in it.

    Returns
    -------
    Bags
        In the order in which the candidates first name them. ``bag_ids`` are (image_id, "truth", truth_id) or
        (image_id, "candidate", candidate_id), ``instance_ids`` (image_id, candidate_id); ``bag_table`` has
        ``image_id``, ``truth_id`` (missing for negatives) and, where the truth has it, ``golden``. The instances
        share memory with ``features`` where the rows are in the order of the bags already.
    """
    grouping = group_candidates(candidates, truth, rule=rule, unit=unit)
    matrix = read_features(features)
    if len(matrix) > len(candidates):
        matrix.find_rows(grouping.image_ids, grouping.candidate_ids)
    _refuse_strangers(len(matrix), candidates)
    return grouping.make_bags(matrix, labels=labels, readings=readings, n_max=n_max, images=images)


def _refuse_strangers(n_rows: int, candidates: pd.DataFrame) -> None:
    """Refuse features of more than the candidates."""
    if n_rows > len(candidates):
        raise TableError(f"features: {n_rows} rows for {len(candidates)} candidates; drop the others")


def _share_objects(column: pd.Series[Any]) -> NDArray[Any]:
    # One object for all rows that are equal: a table of strings would make each of them again.
    codes, values = pd.factorize(column, use_na_sentinel=False)
    return np.asarray(values, dtype=object)[codes]


def _zip_ids(*columns: NDArray[Any]) -> NDArray[Any]:
    return object_array(list(zip(*(column.tolist() for column in columns), strict=True)))


class ReaderBags(Mapping[str, Bags]):
    """Bags of each reader by reader id, made on request, so that only one copy is in memory.

    ``without_candidates`` names readers without a candidate in any of their images, who are not in it.
    """

    def __init__(
        self,
        grouping: Grouping,
        features: FeatureRows,
        readings: pd.DataFrame,
        *,
        images: pd.DataFrame | None,
        with_ids: bool = True,
    ) -> None:
        self._grouping = grouping.locate(features) if grouping.feature_rows is None else grouping
        self._features, self._readings = features, readings
        self._options: dict[str, Any] = {"images": images, "with_ids": with_ids}
        by_reader = readings.groupby("reader_id", sort=True)["image_id"]
        self._images_of = {str(reader): set(ids) for reader, ids in by_reader}
        present = set(grouping.image_ids)
        self.without_candidates = tuple(r for r, ids in self._images_of.items() if not ids & present)

    def of_images(self, image_ids: Iterable[Any]) -> ReaderBags:
        """Return the bags of some images, in their order; no hit is looked for again."""
        chosen = set(image_ids)
        readings = self._readings[self._readings["image_id"].isin(chosen)]
        return ReaderBags(self._grouping.of_images(chosen), self._features, readings, **self._options)

    def with_features(self, features: FeatureRows) -> ReaderBags:
        """Return the same bags with features from elsewhere."""
        return ReaderBags(self._grouping, features, self._readings, **self._options)

    def __iter__(self) -> Iterator[str]:
        return (reader for reader in self._images_of if reader not in self.without_candidates)

    def __len__(self) -> int:
        return len(self._images_of) - len(self.without_candidates)

    def __getitem__(self, reader: str) -> Bags:
        if reader not in self._images_of or reader in self.without_candidates:
            raise KeyError(reader)
        read = self._grouping.of_images(self._images_of[reader])
        own = (read.truth["reader_id"] == reader).to_numpy(dtype=bool)
        every = np.ones(len(read.image_ids), dtype=bool)
        return read.select(every, own).make_bags(self._features, labels="golden", **self._options)


def reader_bags(
    candidates: pd.DataFrame,
    features: pd.DataFrame | FeatureRows,
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    rule: HitRule = HIT,
    images: pd.DataFrame | None = None,
    feature_rows: NDArray[np.int64] | None = None,
    with_ids: bool = True,
) -> ReaderBags:
    """Arrange, for each reader, the candidates of the images that this reader read into bags (paper, section 5.1).

    A reader's positive bags, labelled 1, are the candidates that hit one of that reader's marks, a bag a mark;
    every other candidate of an image the reader read is a negative bag. Marks in images that no candidate is in
    make no bag; a mark without a reading is refused. ``feature_rows`` are as in :class:`Grouping`.
    """
    check.require_columns(marks, "marks", ["image_id", "reader_id", "mark_id"])
    check.require_columns(readings, "readings", ["image_id", "reader_id"])
    pairs = pd.MultiIndex.from_frame(readings[["image_id", "reader_id"]])
    known = pd.MultiIndex.from_frame(marks[["image_id", "reader_id"]]).isin(pairs)
    for row in np.flatnonzero(~known):
        image, reader = marks[["image_id", "reader_id"]].iloc[row]
        raise TableError(
            f"marks row {row}: reader {reader!r} marked image {image!r}, but readings has no such reading"
        )
    truth = marks.rename(columns={"mark_id": "truth_id"}).assign(golden=True)
    grouping = replace(group_candidates(candidates, truth, rule=rule), feature_rows=feature_rows)
    if isinstance(features, pd.DataFrame):
        check.require_columns(features, "features", KEYS)
        _refuse_strangers(int(features["image_id"].isin(candidates["image_id"]).sum()), candidates)
        features = read_features(features)
    return ReaderBags(grouping, features, readings, images=images, with_ids=with_ids)
