"""What the page shows of images: hits, misses and false positives, examples of features and marks, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from overread.froc import Matching, performance_by
from overread.images import SpacingSource
from overread.marks import ELLIPSE_COLUMNS
from overread.report import N_TOLD, Description, Example, Gallery, ModelResult, Spread, Subgroup
from overread.study._cohort import KEYS, Cohort, Split
from overread.study._settings import Settings
from overread.study.intake._columns import measure_spread
from overread.study.stages.performance import count_draws
from overread.tables import UNIT_WORDS, LengthUnit

PLACE = ("x", "y", "radius")
OBJECT = ("image_id", "truth_id", *ELLIPSE_COLUMNS, "n_readers", "n_readings")


def sort_gallery(
    model: str,
    cohort: Cohort,
    scores: pd.DataFrame,
    objects: pd.DataFrame,
    *,
    point: tuple[float, float],
    known_nodules: pd.DataFrame | None = None,
) -> Gallery:
    """Sort unseen candidates and golden GTs at one operating point."""
    (fp_target, threshold), test = point, cohort.unseen
    candidates = test.candidates.merge(scores[[*KEYS, model]], on=KEYS).rename(columns={model: "score"})
    on_any = candidates.index.isin(test.hits["candidate_row"])
    shown = test.matching.require_geometry().find_shown(test.counting, candidates["score"].to_numpy())
    wrong = candidates[(candidates["score"] >= threshold) & shown & ~on_any]
    golden = objects[objects["golden"] & objects["image_id"].isin(test.images["image_id"])]
    golden = golden.rename(columns={f"{model}_score": "score", f"{model}_candidate": "candidate_id"})
    found = (golden["score"] >= threshold).to_numpy()
    place = test.candidates[[*KEYS, *PLACE]].rename(columns={name: f"candidate_{name}" for name in PLACE})
    hits = golden[found].merge(place, on=KEYS, how="left")
    return Gallery(
        model=model,
        fp_target=fp_target,
        threshold=threshold,
        hits=_best_first(hits)[[*OBJECT, "score", *(f"candidate_{name}" for name in PLACE)]],
        misses=golden[~found].sort_values("semi_major", ascending=False, kind="stable", ignore_index=True)[
            [*OBJECT, "reached", "score"]
        ],
        false_positives=_best_first(wrong.assign(is_nodule=_lie_on_nodules(wrong, known_nodules)))[
            [*KEYS, *PLACE, "score", "is_nodule"]
        ],
    )


def _lie_on_nodules(candidates: pd.DataFrame, nodules: pd.DataFrame | None) -> NDArray[np.bool_]:
    """Return which candidates have their centre in a nodule."""
    if nodules is None:
        return np.zeros(len(candidates), dtype=np.bool_)
    numbered = candidates[["image_id", "x", "y"]].assign(row=np.arange(len(candidates)))
    pairs = numbered.merge(nodules, on="image_id", suffixes=("", "_nodule"))
    away = np.hypot(pairs["x"] - pairs["x_nodule"], pairs["y"] - pairs["y_nodule"])
    return np.isin(np.arange(len(candidates)), pairs.loc[away <= pairs["diameter"] / 2, "row"])


def _best_first(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.sort_values("score", ascending=False, kind="stable", ignore_index=True)


# Not the very ends, which are oddities; set by judgement.
QUANTILES = {"low": 0.03, "high": 0.97}
COLUMNS = ["feature", "end", "image_id", "x", "y", "radius", "value"]


def find_examples(models: Sequence[ModelResult], test: Split) -> pd.DataFrame:
    """Find a low and a high example of the features that the page describes, of many images."""
    names = list(dict.fromkeys(one.name for model in models for one in model.features[:N_TOLD]))
    if not names:
        return pd.DataFrame(columns=COLUMNS)
    values = test.features.read(names)
    used: set[str] = set()
    rows = []
    for name in names:
        for end, quantile in QUANTILES.items():
            chosen = _choose_row(
                values[name].to_numpy(np.float64), test.candidates["image_id"], quantile, used
            )
            candidate = test.candidates.iloc[chosen]
            used.add(str(candidate["image_id"]))
            rows.append((name, end, *candidate[COLUMNS[2:6]], float(values[name].iloc[chosen])))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"x": "float64", "y": "float64", "radius": "float64"})


def _choose_row(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    images: pd.Series[str],
    quantile: float,
    used: set[str],
) -> int:
    """Take the candidate at a quantile of the values, or the nearest one of an image that was not used yet."""
    order = np.argsort(values, kind="stable")
    place = round(quantile * (len(order) - 1))
    # A few ranks to either side look alike; further away the value would be another.
    n_near = max(1, len(order) // 50)
    ranks = np.arange(max(0, place - n_near), min(len(order), place + n_near + 1))
    near = ranks[np.argsort(np.abs(ranks - place), kind="stable")][:n_near]
    fresh = (int(rank) for rank in near if str(images.iloc[order[rank]]) not in used)
    return int(order[next(fresh, place)])


# A mark is of another scale if it is half as wide, and of the same if it is not wider by half; set by judgement.
OTHER_SCALE, SAME_SCALE = 2.0, 1.5
# More small marks in a large one make a region no better an example.
ENOUGH_SMALL = 3
# Of the view to the marks, so that their surroundings can be seen; set by judgement.
ZOOM = 1.6


def choose_examples(marks: pd.DataFrame, truth: pd.DataFrame) -> list[Example]:
    """Take a region that readers marked at several scales, and an easy one of another image."""
    if marks.empty:
        return []
    near = _pair_marks(marks)
    found = near.groupby("mark").agg(
        n_small=("is_small", "sum"),
        n_readers=("reader_id", "nunique"),
        n_marks=("other", "size"),
        spread=("log_size", np.ptp),
    )
    hard = found.assign(n_small=found["n_small"].clip(upper=ENOUGH_SMALL)).sort_values(
        ["n_small", "n_readers", "spread"], ascending=False, kind="stable"
    )
    chosen = [int(hard.index[0])]
    images = marks["image_id"].to_numpy()
    others = found[images[found.index] != images[chosen[0]]]
    if len(others):
        is_easy = (others["n_marks"] == others["n_readers"]) & (others["spread"] <= np.log(SAME_SCALE))
        easy = others.assign(is_easy=is_easy).sort_values(
            ["is_easy", "n_readers", "spread"], ascending=[False, False, True], kind="stable"
        )
        chosen.append(int(easy.index[0]))
    return [_cut_region(mark, near.loc[near["mark"] == mark, "other"], marks, truth) for mark in chosen]


def _pair_marks(marks: pd.DataFrame) -> pd.DataFrame:
    """List for each mark the marks whose centre lies within its larger axis, itself included."""
    centres = marks[["x", "y"]].to_numpy(np.float64)
    reach = marks["semi_major"].to_numpy(np.float64)
    pairs = []
    for rows in marks.reset_index(drop=True).groupby("image_id").indices.values():
        inside = cKDTree(centres[rows]).query_ball_point(centres[rows], reach[rows], return_sorted=True)
        pairs.append((np.repeat(rows, [len(one) for one in inside]), rows[np.concatenate(inside)]))
    mark, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
    readers = marks["reader_id"].to_numpy(object)
    size = np.sqrt(reach * marks["semi_minor"].to_numpy(np.float64))
    ratio = size[mark] / size[other]
    return pd.DataFrame(
        {
            "mark": mark,
            "other": other.astype(np.int64),
            "reader_id": readers[other],
            "is_small": (ratio >= OTHER_SCALE) & (readers[mark] != readers[other]),
            "log_size": np.log(size[other]),
        }
    )


def _cut_region(mark: int, others: pd.Series[int], marks: pd.DataFrame, truth: pd.DataFrame) -> Example:
    """Take the square around some marks, and all marks and objects that reach into it."""
    image_id = str(marks["image_id"].iloc[mark])
    low, high = (
        side(
            marks[["x", "y"]].to_numpy(np.float64)[others]
            + sign * marks["semi_major"].to_numpy(np.float64)[others, None],
            axis=0,
        )
        for side, sign in ((np.min, -1), (np.max, 1))
    )
    side = ZOOM * float((high - low).max())
    left, top = (float(middle) - side / 2 for middle in (low + high) / 2)

    def reach_into(table: pd.DataFrame) -> pd.DataFrame:
        own = table[table["image_id"] == image_id]
        inside = [
            (own[name] + own["semi_major"] > start) & (own[name] - own["semi_major"] < start + side)
            for name, start in (("x", left), ("y", top))
        ]
        return own[inside[0] & inside[1]].reset_index(drop=True)

    return Example(image_id, left, top, side, reach_into(marks), reach_into(truth))


def describe_images(facts: pd.DataFrame, told: Description, unit: LengthUnit = "mm") -> Description:
    """Add what the files say to what the images table says; a study that opens no image knows no files."""
    numbers: dict[str, Spread] = {}
    word = UNIT_WORDS[unit]
    if "source_mm_per_px" in facts:
        sides = np.array([list(sides) for sides in facts["source_mm_per_px"]], dtype=np.float64)
        numbers[f"pixel size, {word}"] = Spread(*(float(end(sides)) for end in (np.min, np.median, np.max)))
    for side in ("width", "height"):
        if (name := f"{side}_{unit}") in facts and (spread := measure_spread(facts[name])):
            numbers[f"{side}, {word}"] = spread
    counts: dict[str, dict[str, int]] = {}
    if "spacing_source" in facts:
        told_by = facts["spacing_source"].astype("str").replace(str(SpacingSource.GIVEN), "the images table")
        counts["pixel size from"] = dict(Counter(told_by).most_common())
    return replace(told, numbers=numbers | told.numbers, counts=counts | told.counts)


def evaluate_subgroups(
    test: Matching, values: Mapping[str, Mapping[str, str]], threshold: float, settings: Settings
) -> list[Subgroup]:
    """Judge the detector in each group of test images; nothing where no score reaches the threshold."""
    if np.isnan(threshold):
        return []
    found = []
    for column, of_image in values.items():
        groups = [of_image[str(image_id)] for image_id in test.image_ids]
        found.append(
            Subgroup(column, performance_by(test, groups, threshold=threshold, **count_draws(settings)))
        )
    return found
