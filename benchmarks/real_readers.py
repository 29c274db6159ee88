"""Four real readers: hard exudates and red lesions on DIARETDB1's photographs (docs/results/real_readers.md).

    python -m benchmarks.real_readers STUDY [--part training|all|official] [--images FOLDER] [--training FILE]
        [--work FOLDER] [--sections froc,readers,unseen,growth]

STUDY is a folder with marks and readings (lengths at 0.1 mm a pixel, labels as in the data); --images is the folder of
its photographs (STUDY/images), --training the file with the ids of the official training part, one a line
(STUDY/train.txt). "training": five folds by image over the official training part; "all": over all images; "official":
trained on the training part, tested on the rest. Every choice (penalty, normalization, prune bound) is made by five
folds inside what a model is fitted to. --work gets candidates and features, and keeps them.

Sections. froc: sensitivity to golden objects, merged without and with votes across scales, of every model and label
rule. readers: each reader as a detector of the golden objects of the three others, beside the model that learnt from
these three. unseen: labels from three readers, asked is whether the fourth covers a candidate (area under the ROC
curve). growth: fewer readers and fewer images. Intervals: 95 %, images drawn again. Writes Markdown to standard
output; no image, mark or result of an image.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from benchmarks.field_cohort import COUNTING, GROUPS, Source, make_split, read_group, relabel
from overread._text import markdown_table
from overread.froc import bootstrap, match_detections
from overread.marks import read_folder
from overread.study import (
    KEYS,
    MODELS,
    Fold,
    Split,
    choose_from_trials,
    make_folds,
    parse_settings,
    score_held_out,
)
from overread.truth import MergeOptions, candidate_hits, merge_marks

TARGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
GROWTH_TARGETS = (1.0, 2.0, 4.0)
N_BOOTSTRAP = 1000
N_FOLDS = 5
SECTIONS = ("froc", "readers", "unseen", "growth")
LABEL_RULES = ("soft", "share", "golden", "majority", "any")
# Chosen on the 28 training images of DIARETDB1: the red lesions need many features, which a path that ends at 0.02 does
# not reach; features normalized over bags find .69 and .76 of the golden hard exudates at 2 and 4 FP, by class .63 and
# .69. The best setting is taken, not the sparsest within a standard error of it (no difference on hard exudates).
SETTINGS = parse_settings(
    {
        "models": {"folds": N_FOLDS, "choice_fp_targets": [1.0, 2.0, 4.0], "standard_errors": 0.0},
        "soft": {"normalizations": ["bags"], "n_lambdas": 30, "min_ratio": 0.001},
        "b1": {"prune_bounds": [100.0, 1e4], "screen": 60},
        "b2": {"prune_bounds": [100.0], "screen": 60, "n_bootstrap": 0},
    }
)
Scores = np.ndarray


@dataclass(frozen=True)
class Parts:
    """How images are divided: into what is fitted to, and what is scored."""

    part: str
    training: Sequence[str]

    def divide(self, split: Split) -> list[Fold]:
        """Folds whose held-out images are scored."""
        if self.part != "official":
            return make_folds(split, N_FOLDS, 0)
        inside = split.images["image_id"].isin(self.training)
        ids = split.images["image_id"]
        return [Fold(split.of_images(ids[~inside]), split.of_images(ids[inside]))]

    def scored(self, images: pd.DataFrame) -> pd.DataFrame:
        """Images that get scores of models that did not see them."""
        if self.part != "official":
            return images
        return images[~images["image_id"].isin(self.training)].reset_index(drop=True)


def score_unseen(split: Split, folds: Sequence[Fold], name: str = "soft") -> Scores:
    """Score candidates by models that saw neither their image nor chose a setting on it; NaN where none did."""
    model = MODELS[name]
    parts = []
    for fold in folds:
        grid = model.grid(fold.rest, SETTINGS)
        inner = make_folds(fold.rest, N_FOLDS, 0)
        trials = [score_held_out(model, grid, one, SETTINGS) for one in inner]
        choice, _ = choose_from_trials(fold.rest, trials, SETTINGS)
        fitted = model.prepare_for_folds(model.build(grid[choice.position], SETTINGS))
        model.fit(fitted, fold.rest)
        parts.append(fold.held_out.candidates[KEYS].assign(score=model.score(fitted, fold.held_out.features)))
    scores = split.candidates[KEYS].merge(pd.concat(parts), on=KEYS, how="left", validate="one_to_one")
    return scores["score"].to_numpy()


def match_scored(source: Source, truth: pd.DataFrame, scores: Scores, parts: Parts) -> Any:
    """Match the candidates of scored images with a truth."""
    images = parts.scored(source.images)
    inside = source.candidates["image_id"].isin(images["image_id"]).to_numpy()
    return match_detections(
        source.candidates[inside].reset_index(drop=True),
        truth[truth["image_id"].isin(images["image_id"])].reset_index(drop=True),
        images,
        scores=scores[inside],
        counting=COUNTING,
    )


def tell_sensitivities(matching: Any, targets: Sequence[float] = TARGETS) -> list[str]:
    """Sensitivity to golden objects at each number of false positives, with its interval."""
    table = bootstrap(matching, fp_targets=targets, n_bootstrap=N_BOOTSTRAP).intervals()
    wanted = table[table["measure"] == "gt_sensitivity"]
    return [f"{tell(row.estimate)} ({tell(row.lower)}-{tell(row.upper)})" for row in wanted.itertuples()]


def tell(value: float) -> str:
    """Three digits without the leading zero."""
    return f"{value:.3f}".replace("0.", ".", 1)


def compare_models(source: Source, parts: Parts) -> Iterator[str]:
    """Section froc."""
    truths = {nested: make_split(source, nested=nested) for nested in ("no", "votes")}
    response = source.candidates["response"].to_numpy()
    scored = [("finder alone", "", response)]
    for nested, split in truths.items():
        word = "votes" if nested == "votes" else "paper"
        for rule in LABEL_RULES:
            labelled = relabel(split, rule)
            scored.append((f"soft model, {rule}", word, score_unseen(labelled, parts.divide(labelled))))
    plain = truths["no"]
    scored += [(name, "paper", score_unseen(plain, parts.divide(plain), name)) for name in ("b1", "b2")]
    for nested, split in truths.items():
        rows = [
            [name, merge, *tell_sensitivities(match_scored(source, split.truth, scores, parts))]
            for name, merge, scores in scored
        ]
        reached = match_scored(source, split.truth, response, parts)
        title = "with votes across scales" if nested == "votes" else "by the paper's merge"
        yield (
            f"Golden objects {title}: {reached.n_gts} in {reached.n_images} images, "
            f"{100 * reached.gt_reached.mean():.1f} % reached by the candidates.\n\n"
            + markdown_table(["labels", "merge", *(f"{target:g} FP" for target in TARGETS)], rows)
        )


def judge_readers(source: Source, parts: Parts) -> Iterator[str]:
    """Section readers."""
    images = parts.scored(source.images)
    rows = []
    for reader in source.readers:
        split = make_split(source, readers=[one for one in source.readers if one != reader])
        own = source.marks[
            (source.marks["reader_id"] == reader) & source.marks["image_id"].isin(images["image_id"])
        ]
        truth = split.truth[split.truth["image_id"].isin(images["image_id"])].reset_index(drop=True)
        radius = np.sqrt(own["semi_major_mm"] * own["semi_minor_mm"])
        drawn = own.assign(candidate_id=own["mark_id"], radius_mm=radius)[
            [*KEYS, "x_mm", "y_mm", "radius_mm"]
        ]
        person = bootstrap(
            match_detections(
                drawn.reset_index(drop=True), truth, images, scores=np.ones(len(drawn)), counting=COUNTING
            ),
            thresholds=[0.5],
            n_bootstrap=N_BOOTSTRAP,
        )
        fps = float(person.points["fp_per_image"].iloc[0])
        model = bootstrap(
            match_scored(source, split.truth, score_unseen(split, parts.divide(split)), parts),
            fp_targets=[fps],
            n_bootstrap=N_BOOTSTRAP,
        )
        values = [float(one.points["gt_sensitivity"].iloc[0]) for one in (person, model)]
        draws = model.replicates["gt_sensitivity"][:, 0] - person.replicates["gt_sensitivity"][:, 0]
        low, high = np.nanquantile(draws, [0.025, 0.975])
        difference = f"{values[1] - values[0]:+.3f} ({low:+.3f} to {high:+.3f})"
        rows.append([reader, tell(values[0]), f"{fps:.2f}", tell(values[1]), difference])
    yield markdown_table(["reader", "sensitivity", "FP per image", "model there", "model - reader"], rows)


def foretell_readers(source: Source, parts: Parts) -> Iterator[str]:
    """Section unseen."""
    images = parts.scored(source.images)["image_id"]
    inside = source.candidates["image_id"].isin(images).to_numpy()
    names, codes = np.unique(source.candidates["image_id"][inside], return_inverse=True)
    kinds = [(rule, nested) for nested in ("no", "votes") for rule in ("soft", "share", "golden", "any")]
    values: dict[Any, list[np.ndarray]] = {kind: [] for kind in kinds}
    random = np.random.default_rng(0)
    counts = [np.ones(len(names), dtype=int)]
    counts += [
        np.bincount(random.integers(len(names), size=len(names)), minlength=len(names)) for _ in range(200)
    ]
    for reader in source.readers:
        covered = np.zeros(len(source.candidates), dtype=bool)
        assert COUNTING.rule is not None
        own = source.marks[source.marks["reader_id"] == reader].reset_index(drop=True)
        covered[candidate_hits(source.candidates, own, COUNTING.rule)["candidate_row"]] = True
        for rule, nested in kinds:
            others = [one for one in source.readers if one != reader]
            split = relabel(make_split(source, nested=nested, readers=others), rule)
            scores = score_unseen(split, parts.divide(split))[inside]
            values[rule, nested].append(
                np.array([measure_area(scores, covered[inside], times[codes]) for times in counts])
            )
    means = {kind: np.mean(columns, axis=0) for kind, columns in values.items()}
    rows = []
    for rule, nested in kinds:
        mean = means[rule, nested]
        cells = [tell_draws(mean, ""), tell_draws(mean - means["soft", "no"], "+")]
        rows.append([rule, "votes" if nested == "votes" else "paper", *cells])
    yield markdown_table(["labels", "merge", "AUC, mean of the readers", "against soft, paper"], rows)


def measure_area(scores: Scores, covered: np.ndarray, weight: np.ndarray) -> float:
    """Area under the ROC curve of candidates that count `weight` times."""
    scores, marked = np.repeat(scores, weight), np.repeat(covered, weight)
    n_marked = int(marked.sum())
    ranks = rankdata(scores)[marked].sum()
    return float((ranks - n_marked * (n_marked + 1) / 2) / (n_marked * (len(marked) - n_marked)))


def tell_draws(values: np.ndarray, sign: str) -> str:
    """Write the first value with the interval of the others."""
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return f"{values[0]:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def grow(source: Source, parts: Parts) -> Iterator[str]:
    """Section growth: sensitivity to the golden objects of all readers, by the mean of the draws."""
    whole = make_split(source).truth
    rows = []
    for n_readers in range(1, len(source.readers) + 1):
        teams = list(combinations(source.readers, n_readers))
        for share in (1 / 3, 2 / 3, 1.0):
            found = []
            for number, team in enumerate(teams):
                split = relabel(make_split(source, readers=list(team)), "share")
                folds = [thin_out(fold, share, number) for fold in parts.divide(split)]
                matching = match_scored(source, whole, score_unseen(split, folds), parts)
                points = bootstrap(matching, fp_targets=GROWTH_TARGETS, n_bootstrap=2).points
                found.append(points["gt_sensitivity"].to_numpy())
            images = round(np.mean([len(fold.rest.images) for fold in folds]))
            cells = [f"{tell(mean)} ({tell(low)}-{tell(high)})" for mean, low, high in zip(
                np.mean(found, axis=0), np.min(found, axis=0), np.max(found, axis=0), strict=True)]  # fmt: skip
            rows.append([str(n_readers), str(images), str(len(teams)), *cells])
    yield "In brackets: lowest and highest of the teams of readers.\n\n" + markdown_table(
        ["readers", "images", "teams", *(f"{target:g} FP" for target in GROWTH_TARGETS)], rows
    )


def thin_out(fold: Fold, share: float, seed: int) -> Fold:
    """Keep a part of the images that a fold is fitted to; some with an object are always among them."""
    ids = fold.rest.images["image_id"].to_numpy()
    kept = np.random.default_rng(seed).permutation(ids)[: max(round(share * len(ids)), 2 * N_FOLDS)]
    return fold if share == 1.0 else replace(fold, rest=fold.rest.of_images(kept))


def describe_merging(source: Source) -> str:
    """Count marks, objects and golden objects by both merges."""
    told = []
    for nested in ("no", "votes"):
        truth = merge_marks(source.marks, source.readings, options=MergeOptions(nested=nested))
        told.append(f"{len(truth)} objects, {int(truth['golden'].sum())} golden (nested {nested})")
    radii = " to ".join(f"{radius:.2f}" for radius in source.radii)
    return (
        f"{len(source.images)} images, {len(source.marks)} marks of {len(source.readers)} readers; "
        f"{'; '.join(told)}; radii sought {radii} mm."
    )


WORK = {"froc": compare_models, "readers": judge_readers, "unseen": foretell_readers, "growth": grow}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    parser.add_argument("--part", choices=["training", "all", "official"], default="training")
    parser.add_argument("--images", type=Path)
    parser.add_argument("--training", type=Path)
    parser.add_argument("--work", type=Path, default=Path("real-readers"))
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--group", choices=[group.name for group in GROUPS])
    given = parser.parse_args()
    training = sorted((given.training or given.study / "train.txt").read_text(encoding="utf-8").split())
    images = training
    if given.part != "training":
        images = sorted(read_folder(given.study).readings["image_id"].unique())
    parts = Parts(given.part, training)
    for group in GROUPS:
        if given.group not in (None, group.name):
            continue
        sized_by = training if given.part == "official" else images
        source = read_group(
            given.study, given.images or given.study / "images", given.work, group, images, sized_by
        )
        print(f"## {group.name}, {given.part}\n\n{describe_merging(source)}\n", flush=True)
        for section in given.sections.split(","):
            for text in WORK[section](source, parts):
                print(f"### {section}\n\n{text}\n", flush=True)


if __name__ == "__main__":
    main()
