"""Which soft label foretells a reader who had no say in it? Nested votes and the depression of single marks, judged.

    python -m benchmarks.held_out_reader STUDY [STUDY ...] [--lidc CSV] [--vindr CSV] [--field N] [--labels A,B]
        [--full-size X]

A STUDY is a folder with marks and readings; --field draws N field phantoms, with readers of two habits, seed 0. Each
reader in turn is left out; the marks of the others are merged, once with ``nested = "no"`` and once with ``"votes"``
(the objects are the same, their readers are not), and for each object in an image that the left-out reader read it is
asked whether its centre lies in one of that reader's marks. A vote is the same containment, so this judge favours
votes: a copy of a lesion, or a ring, gets the votes of what lies in it and is confirmed by the same test; see
docs/explanation/merging.md. Told are: the share of objects that the reader marked too, by the number of the others'
readers; the area under the ROC curve of the number of readers; the mean log loss of the soft label as it is, and of the
best that a label by number of readers can have; and the depression k_d that would give an object of one reader the
observed share. Intervals: 95 %, images drawn again. Writes Markdown to standard output.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from overread._text import markdown_table
from overread.marks import ELLIPSE_COLUMNS, normalized_ellipses, read_folder, read_marks
from overread.simulate import PictureDistribution, PictureRecipe
from overread.tables import name_lengths
from overread.truth import LabelOptions, MergeOptions, merge_marks, reading_range
from overread.truth._hits import pairs_within_reach
from overread.truth._merging import INSIDE, nested_pairs

N_BOOTSTRAP = 1000
ELLIPSE = name_lengths(ELLIPSE_COLUMNS, "mm")
CLIP = 1e-3
LIDC_NAMES = {
    "scan_id": "image_id",
    "session": "reader_id",
    "annotation_id": "mark_id",
    "cor_x_mm": "x_mm",
    "cor_z_mm": "y_mm",
    "cor_semi_major_mm": "semi_major_mm",
    "cor_semi_minor_mm": "semi_minor_mm",
    "cor_angle_deg": "angle_deg",
}


def load_lidc(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coronal ellipses; every session read every scan."""
    marks = pd.read_csv(path, dtype=str).rename(columns=LIDC_NAMES)
    marks[ELLIPSE] = marks[ELLIPSE].astype(float)
    pairs = [(scan, session) for scan in marks["image_id"].unique() for session in "1234"]
    return marks[[*LIDC_NAMES.values()]], pd.DataFrame(pairs, columns=["image_id", "reader_id"])


def draw_fields(n_images: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw marks and readings of field phantoms; a pixel is the unit of length."""
    recipe = PictureRecipe(n_images, PictureDistribution(), seed=0)
    made = [recipe.make(number) for number in range(n_images)]
    marks = pd.DataFrame([row for one in made for row in one.rows["marks"]])
    readings = pd.DataFrame([row for one in made for row in one.rows["readings"]])
    return marks[["image_id", "reader_id", "mark_id", *ELLIPSE, "label"]], readings


def hold_out_readers(marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions) -> pd.DataFrame:
    """One row for each object of the others and reader left out: image, readers, probability, whether he marked it."""
    return pd.concat(list(_hold_out(marks, readings, options)), ignore_index=True)


def _hold_out(marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions) -> Iterator[pd.DataFrame]:
    for reader in sorted(readings["reader_id"].unique()):
        seen = readings.loc[readings["reader_id"] == reader, "image_id"]
        others = readings[(readings["reader_id"] != reader) & readings["image_id"].isin(seen)]
        # Soft labels need two readings.
        counts = others["image_id"].value_counts()
        others = others[others["image_id"].isin(counts.index[counts >= 2])]
        their_marks = marks[(marks["reader_id"] != reader) & marks["image_id"].isin(others["image_id"])]
        if their_marks.empty:
            continue
        truth = merge_marks(their_marks, others, options=options)
        limits = reading_range(others, LabelOptions())
        own = marks[marks["reader_id"] == reader]
        yield pd.DataFrame(
            {
                "image_id": truth["image_id"],
                "n_readers": truth["n_readers"],
                "n_readings": truth["n_readings"],
                "probability": truth["probability"],
                "undepressed": (2.0 / limits.n_max) * limits.n_min / truth["n_readings"],
                "marked": cover_centres(truth, own),
            }
        )


def cover_centres(truth: pd.DataFrame, marks: pd.DataFrame) -> np.ndarray:
    """Whether the centre of each object lies in one of the marks of its image, and of its label where it has one."""
    keys = ["image_id", *(["label"] if "label" in truth else [])]
    both = pd.concat([truth[keys], marks[keys]]).fillna("")
    codes = both.groupby(keys).ngroup().to_numpy(np.int64)
    points = truth[["x_mm", "y_mm"]].to_numpy(np.float64)
    ellipses = normalized_ellipses(marks[ELLIPSE].to_numpy(np.float64))
    first, second = pairs_within_reach(
        codes[: len(truth)], points, np.zeros(len(points)), codes[len(truth) :], ellipses, ellipses[:, 2]
    )
    covered = np.zeros(len(truth), dtype=bool)
    covered[first[INSIDE.hits(points[first], ellipses[second])]] = True
    return covered


def count_touched(truth: pd.DataFrame, marks: pd.DataFrame) -> tuple[int, int]:
    """Count the objects of one reader that touch another reader's mark as nested marks do, and all of one reader."""
    single = truth[truth["n_readers"] == 1]
    keys = ["image_id", *(["label"] if "label" in truth else [])]
    codes = pd.concat([single[keys], marks[keys]]).fillna("").groupby(keys).ngroup().to_numpy(np.int64)
    ellipses = (normalized_ellipses(table[ELLIPSE].to_numpy(np.float64)) for table in (single, marks))
    objects, touching = nested_pairs(
        codes[: len(single)], next(ellipses), codes[len(single) :], next(ellipses)
    )
    reader_of = dict(
        zip(zip(marks["image_id"], marks["mark_id"], strict=True), marks["reader_id"], strict=True)
    )
    drawn = np.array(
        [reader_of[image, ids[0]] for image, ids in zip(single["image_id"], single["mark_ids"], strict=True)],
        dtype=object,
    )
    others = marks["reader_id"].to_numpy(object)[touching] != drawn[objects]
    return len(np.unique(objects[others])), len(single)


def judge(table: pd.DataFrame, weight: np.ndarray) -> dict[str, float]:
    """Figures of one rule; `weight` says how often each row counts."""
    marked = table["marked"].to_numpy(float)
    share = table["n_readers"].to_numpy(float) / table["n_readings"].to_numpy(float)
    single = table["n_readers"].to_numpy() == 1
    probability = np.clip(table["probability"].to_numpy(), CLIP, 1 - CLIP)
    by_count = (
        pd.DataFrame({"s": share, "w": weight, "wy": weight * marked})
        .groupby("s")[["w", "wy"]]
        .transform("sum")
    )
    observed = np.clip((by_count["wy"] / by_count["w"].clip(lower=1e-12)).to_numpy(), CLIP, 1 - CLIP)
    confirmed = (weight * marked)[single].sum() / max(weight[single].sum(), 1e-12)
    return {
        "golden": float(weight[~single].sum() / weight.sum()),
        "single confirmed": float(confirmed),
        "several confirmed": float((weight * marked)[~single].sum() / max(weight[~single].sum(), 1e-12)),
        "AUC": area(share, marked, weight),
        "log loss": log_loss(probability, marked, weight),
        "best log loss": log_loss(observed, marked, weight),
        "best k_d": float(confirmed / np.average(table["undepressed"][single], weights=weight[single]))
        if weight[single].sum()
        else float("nan"),
    }


def log_loss(probability: np.ndarray, marked: np.ndarray, weight: np.ndarray) -> float:
    """Mean of - log of the probability of what happened."""
    return float(np.average(-np.log(np.where(marked > 0, probability, 1 - probability)), weights=weight))


def area(score: np.ndarray, marked: np.ndarray, weight: np.ndarray) -> float:
    """Area under the ROC curve of rows that count `weight` (whole) times."""
    times = weight.astype(int)
    score, marked = np.repeat(score, times), np.repeat(marked, times)
    n_marked = marked.sum()
    if n_marked in (0, len(marked)):
        return float("nan")
    ranks = rankdata(score)[marked > 0].sum()
    return float((ranks - n_marked * (n_marked + 1) / 2) / (n_marked * (len(marked) - n_marked)))


def compare_rules(marks: pd.DataFrame, readings: pd.DataFrame, options: dict[str, Any]) -> str:
    """Markdown: a row a rule, and their paired difference."""
    tables = [
        hold_out_readers(marks, readings, MergeOptions(nested=rule, **options)) for rule in ("no", "votes")
    ]
    truth = merge_marks(marks, readings, options=MergeOptions(**options))
    touched, single = count_touched(truth, marks)
    names, codes = np.unique(tables[0]["image_id"], return_inverse=True)
    codes = [codes, np.searchsorted(names, tables[1]["image_id"])]
    random = np.random.default_rng(0)
    values = [judge(table, np.ones(len(table))) for table in tables]
    drawn: list[list[dict[str, float]]] = [[], []]
    for _ in range(N_BOOTSTRAP):
        times = np.bincount(random.integers(len(names), size=len(names)), minlength=len(names))
        for which, table in enumerate(tables):
            drawn[which].append(judge(table, times[codes[which]].astype(float)))
    rows = []
    frames = [pd.DataFrame(one) for one in drawn]
    for name, value, frame in zip(("no", "votes"), values, frames, strict=True):
        rows.append([name, *(tell(value[key], frame[key]) for key in value)])
    rows.append(
        [
            "votes - no",
            *(tell(values[1][key] - values[0][key], frames[1][key] - frames[0][key]) for key in values[0]),
        ]
    )
    head = (
        f"{len(marks)} marks, {len(truth)} objects, {int(truth['golden'].sum())} golden; of {single} objects of one "
        f"reader {touched} ({100 * touched / max(single, 1):.0f} %) touch another reader's mark.\n\n"
    )
    return head + markdown_table(["nested", *values[0]], rows)


def tell(value: float, draws: pd.Series) -> str:
    """Value with its interval."""
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, nargs="*")
    parser.add_argument("--lidc", type=Path)
    parser.add_argument("--vindr", type=Path)
    parser.add_argument("--field", type=int, metavar="N")
    parser.add_argument("--labels", help="of the studies: these only, taken as one")
    parser.add_argument("--full-size", type=float, default=MergeOptions().full_size)
    given = parser.parse_args()
    options = {"full_size": given.full_size}
    if given.lidc:
        print("## LIDC\n\n" + compare_rules(*load_lidc(given.lidc), options), flush=True)
    if given.vindr:
        study = read_marks(given.vindr, "vindr", mm_per_px=0.15, labels=["Nodule/Mass"])
        print("## VinDr\n\n" + compare_rules(study.marks, study.readings, options), flush=True)
    if given.field:
        print("## fields\n\n" + compare_rules(*draw_fields(given.field), options), flush=True)
    for path in given.study:
        study = read_folder(path)
        marks = study.marks
        if given.labels:
            marks = marks[marks["label"].isin(given.labels.split(","))].drop(columns="label")
        print(
            f"## {path.name} {given.labels or ''}\n\n" + compare_rules(marks, study.readings, options),
            flush=True,
        )


if __name__ == "__main__":
    main()
