"""Candidates, their features and the truth become bags (paper, section "CAD objective")."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags.bags import Bags
from overread.bags.ids import object_array
from overread.bags.instances import InstanceMatrix, read_instances, take_rows
from overread.bags.validation import offsets_of_sizes
from overread.errors import InvalidInputError, TableError
from overread.truth import HIT, HitRule, candidate_hits

__all__ = ["make_bags", "score_table", "truth_without_bag"]

KEYS = ["image_id", "candidate_id"]


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
) -> Bags:
    """Arrange the candidates that hit a GT into its bag, and each other one into a negative bag.

    A candidate that hits two GTs goes to the nearer (distance of the centres over the GT's size). A GT that
    no candidate hits, or whose candidates all went to nearer GTs, has no bag: :func:`truth_without_bag`
    lists it for the denominator of a sensitivity.

    Parameters
    ----------
    candidates : pandas.DataFrame
        ``image_id``, ``candidate_id``, ``x_mm``, ``y_mm`` (and ``radius_mm`` where the rule asks for it).
    features : pandas.DataFrame
        ``image_id``, ``candidate_id`` and one numeric column a feature; a row a candidate, in any order.
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

    Returns
    -------
    Bags
        In the order in which the candidates first name them. ``bag_ids`` are (image_id, "truth", truth_id) or
        (image_id, "candidate", candidate_id), ``instance_ids`` (image_id, candidate_id); ``bag_table`` has
        ``image_id``, ``truth_id`` (missing for negatives) and, where the truth has it, ``golden``.
    """
    column = _label_column(labels)
    _require_columns(candidates, "candidates", KEYS)
    _require_columns(truth, "truth", ["image_id", "truth_id", column])
    _refuse_repeated(candidates, "candidates", KEYS)
    _refuse_repeated(truth, "truth", ["image_id", "truth_id"])
    positives = truth[truth["golden"].astype(bool)] if labels == "golden" else truth
    truth_row = _nearest_truth(candidates, positives, rule)
    alone = truth_row < 0
    codes, _ = pd.factorize(np.where(alone, len(positives) + np.arange(len(candidates)), truth_row))
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = order[offsets_of_sizes(sizes)[:-1]]
    table = _bag_table(candidates.iloc[first], positives, truth_row[first])
    probability = np.append(positives[column].to_numpy(dtype=np.float64), 0.0)[truth_row[first]]
    feature_row = _feature_rows(features, candidates)
    matrix = _read_features(features)
    return Bags(
        InstanceMatrix(take_rows(matrix.values, feature_row[order]), matrix.feature_names),
        offsets_of_sizes(sizes),
        bag_ids=_bag_ids(table, candidates["candidate_id"].iloc[first]),
        labels=probability,
        reader_weight=None if readings is None else _weights(table, readings, n_max, truth),
        groups=_groups(table["image_id"], images),
        instance_ids=_candidate_keys(candidates.iloc[order]),
        bag_table=table,
        source_rows=order,
    )


def truth_without_bag(bags: Bags, truth: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the truth that have no bag: missed by all candidates, but part of a denominator."""
    if bags.bag_table is None:
        raise InvalidInputError("these bags were not made by make_bags: they carry no truth ids")
    positive = bags.bag_table[bags.bag_table["truth_id"].notna()]
    with_bag = pd.MultiIndex.from_frame(positive[["image_id", "truth_id"]])
    return truth[~pd.MultiIndex.from_frame(truth[["image_id", "truth_id"]]).isin(with_bag)]


def score_table(bags: Bags, **scores: Any) -> pd.DataFrame:
    """Return a table of scores: ``image_id``, ``candidate_id`` and one column a model.

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


def _label_column(labels: str) -> str:
    if labels not in ("soft", "golden"):
        raise InvalidInputError(f'labels must be "soft" or "golden", got {labels!r}')
    return "probability" if labels == "soft" else "golden"


def _require_columns(table: pd.DataFrame, name: str, columns: list[str]) -> None:
    for column in columns:
        if column not in table:
            raise TableError(f"{name}: no column {column}; it has {', '.join(map(str, table.columns[:20]))}")


def _refuse_repeated(table: pd.DataFrame, name: str, keys: list[str]) -> None:
    repeated = np.flatnonzero(table.duplicated(keys).to_numpy())
    if len(repeated):
        row = table.iloc[repeated[0]]
        found = ", ".join(f"{key} {row[key]!r}" for key in keys)
        raise TableError(f"{name} row {repeated[0]}: {found} is there twice; one row each")


def _nearest_truth(candidates: pd.DataFrame, truth: pd.DataFrame, rule: HitRule) -> NDArray[np.int64]:
    hits = candidate_hits(candidates, truth, rule)
    hits = hits.sort_values(["candidate_row", "distance", "truth_row"], kind="stable")
    nearest = hits.drop_duplicates("candidate_row")
    rows = np.full(len(candidates), -1, dtype=np.int64)
    rows[nearest["candidate_row"].to_numpy()] = nearest["truth_row"].to_numpy()
    return rows


def _bag_table(first: pd.DataFrame, truth: pd.DataFrame, truth_row: NDArray[np.int64]) -> pd.DataFrame:
    # Position -1, a negative bag, takes the entry appended at the end.
    table = {
        "image_id": first["image_id"].to_numpy(dtype=object),
        "truth_id": object_array([*truth["truth_id"], None])[truth_row],
    }
    if "golden" in truth:
        table["golden"] = np.append(truth["golden"].to_numpy(dtype=bool), False)[truth_row]
    return pd.DataFrame(table)


def _bag_ids(table: pd.DataFrame, candidate_ids: pd.Series[Any]) -> NDArray[Any]:
    positive = table["truth_id"].notna()
    kinds = np.where(positive, "truth", "candidate").tolist()
    names = table["truth_id"].where(positive, candidate_ids.to_numpy(dtype=object))
    return object_array(list(zip(table["image_id"].to_list(), kinds, names.to_list(), strict=True)))


def _candidate_keys(candidates: pd.DataFrame) -> NDArray[Any]:
    columns = (candidates[key].to_list() for key in KEYS)
    return object_array(list(zip(*columns, strict=True)))


def _feature_rows(features: pd.DataFrame, candidates: pd.DataFrame) -> NDArray[np.int64]:
    _require_columns(features, "features", KEYS)
    _refuse_repeated(features, "features", KEYS)
    rows = pd.MultiIndex.from_frame(features[KEYS]).get_indexer(pd.MultiIndex.from_frame(candidates[KEYS]))
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        image, candidate = candidates[KEYS].iloc[missing[0]]
        raise TableError(f"features: no row for candidate {candidate!r} of image {image!r}")
    if len(features) > len(candidates):
        raise TableError(f"features: {len(features)} rows for {len(candidates)} candidates; drop the others")
    return rows.astype(np.int64)


def _read_features(features: pd.DataFrame) -> InstanceMatrix:
    try:
        return read_instances(features.drop(columns=KEYS))
    except InvalidInputError as error:
        raise TableError(f"features: {error}") from error


def _weights(
    table: pd.DataFrame, readings: pd.DataFrame, n_max: int | None, truth: pd.DataFrame
) -> NDArray[np.float64]:
    _require_columns(readings, "readings", ["image_id", "reader_id"])
    _refuse_repeated(readings, "readings", ["image_id", "reader_id"])
    counts = readings["image_id"].value_counts()
    largest = int(counts.max()) if n_max is None else n_max
    if counts.max() > largest:
        raise InvalidInputError(
            f"image {counts.index[0]!r} has {counts.max()} readings, over n_max {largest}"
        )
    n_readings = table["image_id"].map(counts)
    if n_readings.isna().any():
        image = table.loc[n_readings.isna(), "image_id"].iloc[0]
        raise TableError(f"readings: no reading of image {image!r}, which has candidates")
    _refuse_other_weights(truth, counts / largest)
    return n_readings.to_numpy(dtype=np.float64) / largest


def _refuse_other_weights(truth: pd.DataFrame, weight_of_image: pd.Series[Any]) -> None:
    if "weight" not in truth:
        return
    expected = truth["image_id"].map(weight_of_image).to_numpy(dtype=np.float64)
    given = truth["weight"].to_numpy(dtype=np.float64)
    differ = np.flatnonzero(np.abs(given - expected) > 1e-9)
    if len(differ):
        row = differ[0]
        raise TableError(
            f"truth row {row}: weight {given[row]:g}, but the readings give {expected[row]:g}; pass the "
            "n_max with which the truth was made"
        )


def _groups(image_ids: pd.Series[Any], images: pd.DataFrame | None) -> NDArray[Any]:
    if images is None or "patient_id" not in images:
        return image_ids.to_numpy(dtype=object)
    _require_columns(images, "images", ["image_id"])
    _refuse_repeated(images, "images", ["image_id"])
    patients = image_ids.map(images.set_index("image_id")["patient_id"])
    if patients.isna().any():
        image = image_ids[patients.isna()].iloc[0]
        raise TableError(f"images: image {image!r} has candidates but no patient_id")
    return patients.to_numpy(dtype=object)
