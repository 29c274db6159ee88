"""Merged objects against a gold standard: every grouping rule and its peers in one run.

    python -m benchmarks.truth_against_gold [--cyto GIT_DIR] [--lidc CSV] [--fields N] [--output JSON]

--cyto is a clone of github.com/YHSI5358/CytoCrowd-Datasets (commit c18d0aa7; bare will do): boxes of four
pathologists and of a senior expert. Only images with even numbers are read, of the files sorted by name and numbered
from 1; the column of names is never read. --lidc is a table of coronal ellipses with pylidc's clusters; again every
second scan. --fields draws N field phantoms, whose lesions are known, with readers of two habits, seed 0.

Thresholds are those of the defaults, or those that `threshold_curve` chooses without the gold standard. An object
counts as found if it matches a gold box one to one, by falling IoU, at 0.5 or more; ellipses count as their boxes. Told
are F1 of the objects of any reader (with a 95 % interval, images drawn again 1,000 times), and of two readers or more;
the mean IoU of the matches; the held-out readers' agreement Q; and the AUC of the number of readers as a label. Peers:
ensemble_boxes (weighted boxes fusion and non-maximum suppression) where it can be imported, and union-find.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.held_out_reader import LIDC_NAMES, area, load_lidc
from overread._text import markdown_table
from overread.marks import ELLIPSE_COLUMNS
from overread.simulate import PictureDistribution, PictureRecipe
from overread.truth import MergeOptions, merge_marks, threshold_curve
from overread.truth._kernels import match_pairs

try:
    import ensemble_boxes
except ImportError:
    ensemble_boxes = None

N_BOOTSTRAP = 1000
GOLD_IOU = 0.5
# The reference size of a picture 3840 pixels wide, by today's default.
CYTO_FULL_SIZE, CYTO_SHAPE = 511.0, (3840.0, 2160.0)
COMMIT = "c18d0aa7"


@dataclass(frozen=True)
class GoldSet:
    """Marks and readings, with gold boxes (image_id, then the edges) where there are any."""

    name: str
    marks: pd.DataFrame
    readings: pd.DataFrame
    gold: pd.DataFrame | None
    options: MergeOptions
    in_mm: bool
    shape: tuple[float, float]


def load_cyto(git_dir: Path) -> GoldSet:
    """Read the even images of CytoCrowd; readers are numbers."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=git_dir, capture_output=True, check=True).stdout

    names = sorted(git("ls-tree", "-r", "--name-only", COMMIT, "imgs").decode().split("\n")[:-1])
    images = {name.removeprefix("imgs/"): f"c{i:03d}" for i, name in enumerate(names, 1) if i % 2 == 0}

    def table(path: str, box: str) -> pd.DataFrame:
        columns = [box, "author_id", "img_name"]
        found = pd.read_csv(io.BytesIO(git("show", f"{COMMIT}:Datasets/{path}")), usecols=columns)
        found = found[found["img_name"].isin(images)]
        edges = found[box].str.strip("[]").str.replace(",", " ").str.split(expand=True).astype(float)
        edges.columns = pd.Index(["x_min", "y_min", "x_max", "y_max"])
        ids = "R" + found["author_id"].astype(str)
        return edges.assign(image_id=found["img_name"].map(images), reader_id=ids).reset_index(drop=True)

    marks, gold = table("WorkerData.csv", "worker_bbox"), table("GroundTruth.csv", "bbox")
    pairs = [(image, reader) for image in images.values() for reader in sorted(set(marks["reader_id"]))]
    readings = pd.DataFrame(pairs, columns=["image_id", "reader_id"])
    options = MergeOptions(full_size=CYTO_FULL_SIZE)
    return GoldSet("CytoCrowd, even images", ellipses_in(marks), readings, gold, options, False, CYTO_SHAPE)


def ellipses_in(boxes: pd.DataFrame) -> pd.DataFrame:
    """Give each box the ellipse that touches its edges."""
    width, height = boxes["x_max"] - boxes["x_min"], boxes["y_max"] - boxes["y_min"]
    centre = [boxes["x_min"] + width / 2, boxes["y_min"] + height / 2]
    axes = [
        np.maximum(width, height) / 2,
        np.minimum(width, height) / 2,
        np.where(width >= height, 0.0, 90.0),
    ]
    columns = dict(zip(ELLIPSE_COLUMNS, [*centre, *axes], strict=True))
    ids = [f"m{i}" for i in range(len(boxes))]
    return boxes[["image_id", "reader_id"]].assign(mark_id=ids, **columns)


def draw_fields(n_images: int) -> GoldSet:
    """Draw field phantoms; lesions are circles, and labels are ignored."""
    recipe = PictureRecipe(n_images, PictureDistribution(), seed=0)
    rows = [recipe.make(number).rows for number in range(n_images)]
    marks, readings, lesions = (
        pd.DataFrame([row for one in rows for row in one[kind]]) for kind in ("marks", "readings", "lesions")
    )
    half = lesions["diameter_mm"] / 2
    gold = pd.DataFrame(
        {
            "image_id": lesions["image_id"],
            "x_min": lesions["x_mm"] - half,
            "y_min": lesions["y_mm"] - half,
            "x_max": lesions["x_mm"] + half,
            "y_max": lesions["y_mm"] + half,
        }
    )
    marks = marks[["image_id", "reader_id", "mark_id", *ELLIPSE_COLUMNS]]
    return GoldSet(f"{n_images} field phantoms", marks, readings, gold, MergeOptions(), False, (4e3, 4e3))


def even_lidc(path: Path) -> tuple[GoldSet, set[tuple[str, ...]]]:
    """Every second scan, and pylidc's clusters in them."""
    marks, readings = load_lidc(path)
    even = sorted(marks["image_id"].unique())[1::2]
    marks, readings = (table[table["image_id"].isin(even)] for table in (marks, readings))
    clusters = pd.read_csv(path, dtype=str).rename(columns=LIDC_NAMES)
    clusters = clusters[clusters["image_id"].isin(even)].groupby(["image_id", "pylidc_cluster"])["mark_id"]
    groups = {tuple(sorted(ids)) for _, ids in clusters}
    return GoldSet("LIDC-IDRI, even scans", marks, readings, None, MergeOptions(), True, (5e2, 5e2)), groups


def boxes_of(table: pd.DataFrame) -> np.ndarray:
    """Edges of the boxes around ellipses."""
    x, y, a, b, angle = table[list(ELLIPSE_COLUMNS)].to_numpy(float).T
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    half = np.hypot(a * c, b * s), np.hypot(a * s, b * c)
    return np.column_stack([x - half[0], y - half[1], x + half[0], y + half[1]])


def box_iou(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """IoU of every two boxes."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) for boxes in (first, second)]
    return np.asarray(shared / (areas[0][:, None] + areas[1][None] - shared))


@dataclass(frozen=True)
class Objects:
    """Objects of one method: their images, boxes and numbers of readers."""

    image: np.ndarray
    boxes: np.ndarray
    n_readers: np.ndarray

    @classmethod
    def from_truth(cls, truth: pd.DataFrame) -> Objects:
        """Take the boxes around the merged ellipses."""
        return cls(truth["image_id"].to_numpy(object), boxes_of(truth), truth["n_readers"].to_numpy())


def match_gold(objects: Objects, gold: pd.DataFrame) -> np.ndarray:
    """IoU of the gold box that each object matches, one to one and by falling IoU; 0 for none."""
    matched = np.zeros(len(objects.image))
    rows_of = pd.Series(np.arange(len(objects.image))).groupby(objects.image).indices
    for image, boxes in gold.groupby("image_id"):
        rows = rows_of.get(image)
        if rows is None:
            continue
        iou = box_iou(objects.boxes[rows], boxes[["x_min", "y_min", "x_max", "y_max"]].to_numpy(float))
        first, second = np.nonzero(iou >= GOLD_IOU)
        order = np.argsort(-iou[first, second], kind="stable")
        first, second = first[order], second[order]
        kept = match_pairs(first, second, *iou.shape)
        matched[rows[first[kept]]] = iou[first[kept], second[kept]]
    return matched


def judge(objects: Objects, gold: pd.DataFrame) -> dict[str, Any]:
    """Figures against gold."""
    images, codes = np.unique([*objects.image, *gold["image_id"]], return_inverse=True)
    of_object, of_gold = (
        codes[: len(objects.image)],
        np.bincount(codes[len(objects.image) :], minlength=len(images)),
    )

    def f1(least: int, times: np.ndarray) -> float:
        chosen = objects.n_readers >= least
        kept = Objects(objects.image[chosen], objects.boxes[chosen], objects.n_readers[chosen])
        found = np.bincount(of_object[chosen], match_gold(kept, gold) > 0, len(images))
        number = np.bincount(of_object[chosen], minlength=len(images))
        return np.asarray(2 * times @ found / (times @ (number + of_gold)))

    once = np.ones((1, len(images)))
    random = np.random.default_rng(0)
    draws = np.array(
        [
            np.bincount(random.integers(len(images), size=len(images)), minlength=len(images))
            for _ in range(N_BOOTSTRAP)
        ]
    )
    matched = match_gold(objects, gold)
    return {
        "objects": len(matched),
        "F1": float(f1(1, once)[0]),
        "interval": [float(value) for value in np.quantile(f1(1, draws), [0.025, 0.975])],
        "F1 of two readers": float(f1(2, once)[0]),
        "mean IoU": float(matched[matched > 0].mean()),
        "AUC of n_readers": area(
            objects.n_readers.astype(float), (matched > 0).astype(float), np.ones(len(matched))
        ),
    }


def own_rules(options: MergeOptions) -> dict[str, MergeOptions]:
    """Our rules with labels ignored; those whose name ends in "chosen" get their threshold from held-out readers."""
    usual = replace(options, labels="ignore")
    fixed = replace(usual, threshold="fixed")
    rules = {
        "star, adaptive T (the paper)": usual,
        "star, adaptive T, nested votes": replace(usual, nested="votes"),
        "star, adaptive T, mean outline": replace(usual, outline="mean"),
        "star, fixed T, representative": fixed,
        "star, fixed T, mean outline": replace(fixed, outline="mean"),
        "components, fixed T, mean outline": replace(fixed, method="components", outline="mean"),
        "dbscan": replace(usual, method="dbscan"),
        "fusion": replace(usual, method="fusion"),
        "linkage": replace(usual, method="linkage"),
        "linkage, nested votes": replace(usual, method="linkage", nested="votes"),
    }
    chosen = ("star, adaptive", "star, fixed", "components", "fusion", "linkage")
    again = {
        f"{name}, chosen": one
        for name, one in rules.items()
        if name.startswith(chosen) and one.nested == "no"
    }
    return rules | again


def merge_by_rule(
    data: GoldSet, name: str, options: MergeOptions
) -> tuple[MergeOptions, pd.DataFrame, float | None]:
    """Options with the threshold that was judged, the merged objects, and the held-out readers' agreement."""
    curve = threshold_curve(data.marks, data.readings, options=options)
    quality = None
    if curve is not None:
        step = curve.chosen if name.endswith("chosen") else curve.used
        changed: dict[str, Any] = {curve.option: step}
        options = replace(options, **changed)
        quality = float(curve.table.set_index("threshold")["agreement"][step])
    return options, merge_marks(data.marks, data.readings, options=options, in_mm=data.in_mm), quality


def by_image(
    data: GoldSet, merge: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
) -> Objects:
    """Objects of a peer, which takes the boxes and reader codes of one image and gives boxes and numbers of readers."""
    boxes, readers = boxes_of(data.marks), pd.factorize(data.marks["reader_id"])[0]
    found = [
        (image, *merge(boxes[rows], readers[rows]))
        for image, rows in pd.Series(np.arange(len(boxes)))
        .groupby(data.marks["image_id"].to_numpy())
        .indices.items()
    ]
    return Objects(
        np.concatenate([np.full(len(made), image, object) for image, made, _ in found]),
        np.concatenate([made for _, made, _ in found]),
        np.concatenate([number for _, _, number in found]),
    )


def union_find(least: float) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Mean box of the connected components of boxes of different readers with a larger IoU."""
    from scipy.sparse.csgraph import connected_components

    def merge(boxes: np.ndarray, readers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        linked = (box_iou(boxes, boxes) > least) & (readers[:, None] != readers[None])
        number, groups = connected_components(linked, directed=False)
        means = np.array([boxes[groups == group].mean(axis=0) for group in range(number)])
        return means, np.array([len(set(readers[groups == group])) for group in range(number)])

    return merge


def ensemble(
    method: str, least: float, shape: tuple[float, float]
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Fuse with ensemble_boxes: one list of boxes for each reader; its score counts the lists, over all four."""
    size = np.tile(shape, 2)

    def merge(boxes: np.ndarray, readers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lists = [np.clip(boxes[readers == reader] / size, 0, 1).tolist() for reader in np.unique(readers)]
        scores, labels = [[1.0] * len(one) for one in lists], [[0] * len(one) for one in lists]
        if method == "wbf":
            made, score, _ = ensemble_boxes.weighted_boxes_fusion(lists, scores, labels, iou_thr=least)
            return np.asarray(made) * size, np.rint(np.asarray(score) * len(lists)).astype(int)
        made, _, _ = ensemble_boxes.nms(lists, scores, labels, iou_thr=least)
        near = box_iou(np.asarray(made) * size, boxes) > least
        return np.asarray(made) * size, np.array([max(len(set(readers[row])), 1) for row in near])

    return merge


def peers(data: GoldSet) -> Iterator[tuple[str, Objects]]:
    """Objects of other libraries, at their defaults and where a gold standard was said to want them."""
    for least in (0.3, 0.4, 0.5):
        yield f"union-find, IoU {least}", by_image(data, union_find(least))
    if ensemble_boxes is None:
        return
    for method, least in (("wbf", 0.55), ("wbf", 0.4), ("wbf", 0.3), ("nms", 0.5), ("nms", 0.4)):
        yield f"ensemble_boxes {method}, IoU {least}", by_image(data, ensemble(method, least, data.shape))


def run_gold(data: GoldSet) -> list[dict[str, Any]]:
    """Rows of all rules and peers on a set with gold boxes."""
    assert data.gold is not None
    rows = []
    for name, options in own_rules(data.options).items():
        options, truth, quality = merge_by_rule(data, name, options)
        rows.append(row_of(name, options, quality) | judge(Objects.from_truth(truth), data.gold))
    rows += [{"rule": name} | judge(objects, data.gold) for name, objects in peers(data)]
    return rows


def run_clusters(data: GoldSet, clusters: set[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Rows of our rules: the share of other clusters that they reproduce exactly."""
    rows = []
    for name, options in own_rules(data.options).items():
        options, truth, quality = merge_by_rule(data, name, options)
        same = len(clusters & set(truth["mark_ids"])) / len(clusters)
        rows.append(row_of(name, options, quality) | {"objects": len(truth), "clusters reproduced": same})
    return rows


def row_of(name: str, options: MergeOptions, quality: float | None) -> dict[str, Any]:
    """Name of a rule with its threshold, and the agreement of held-out readers."""
    from overread.truth._grouping import find_rule

    option = find_rule(options.method).threshold
    return {"rule": name, "threshold": None if option is None else getattr(options, option), "Q": quality}


def show(name: str, rows: list[dict[str, Any]]) -> None:
    """Print a table as Markdown."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    print(f"## {name}\n\n{markdown_table(columns, cells)}\n", flush=True)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(f"{one:.3f}" for one in value)
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cyto", type=Path)
    parser.add_argument("--lidc", type=Path)
    parser.add_argument("--fields", type=int, metavar="N")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, list[dict[str, Any]]] = {}
    sets = [load_cyto(given.cyto)] if given.cyto else []
    sets += [draw_fields(given.fields)] if given.fields else []
    for data in sets:
        results[data.name] = run_gold(data)
        show(data.name, results[data.name])
    if given.lidc:
        data, clusters = even_lidc(given.lidc)
        results[data.name] = run_clusters(data, clusters)
        show(data.name, results[data.name])
    if given.output:
        facts = {"date": date.today().isoformat(), "versions": {name: _version(name) for name in VERSIONS}}
        given.output.write_text(json.dumps(facts | {"results": results}, indent=1) + "\n", encoding="utf-8")


VERSIONS = ("overread", "numpy", "scipy", "numba", "ensemble-boxes")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
