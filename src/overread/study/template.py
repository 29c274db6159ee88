"""The commented ``study.toml`` that ``overread init`` writes: every key with its default and what it means."""

from __future__ import annotations

import json
from typing import Any

from overread.study.settings import Settings

__all__ = ["settings_template"]

SECTIONS = {
    "inputs": "Tables that take the place of a stage, relative to this folder.",
    "merging": "How marks of different readers become one object (docs/merging.md).",
    "labels": "How the number of readers becomes a probability.",
    "candidates": "What is looked for in an image.",
    "features": "Which features are computed.",
    "hits": "When a candidate hits an object.",
    "models": "Which models are fitted.",
    "soft": "The soft model: its path of penalties, and the rule that chooses one.",
    "b1": "B1: settings among which it is tuned, every prune bound with every alpha.",
    "b2": "B2, the mixture of readers: as B1, and what only it has.",
    "evaluation": "What is measured, and how sure it is.",
    "limits": "What one image may cost before it is given up.",
    "execution": "Who works on the images. The results do not depend on it.",
}
COMMENTS = {
    "seed": "Seed of everything random.",
    "inputs.candidates": "Your own candidates: image_id, candidate_id, x_mm, y_mm, radius_mm, response.",
    "inputs.features": "Your own features of these candidates: image_id, candidate_id, one column a feature.",
    "inputs.derive_readings": "Without a readings table, take a reader to have read just what he marked.",
    "merging.method": "star (the paper), components, dbscan or fusion.",
    "merging.size": "Size of a mark: equal_area, major_axis or mean.",
    "merging.size_fraction": "size or area.",
    "merging.similar_size": "Two marks are similar above this ratio of sizes ...",
    "merging.similar_distance": "... and below this distance over size.",
    "merging.distance_by": "Which size divides the distance: max, min or mean.",
    "merging.threshold": "adaptive (the paper) or fixed.",
    "merging.t0": "Normalized overlap that large marks need.",
    "merging.full_size_mm": "Size from which the threshold is t0.",
    "merging.same_reader_hits": "Whether two marks of one reader may be one object.",
    "merging.pair_representative": "Of two marks: random (by the seed), larger or smaller.",
    "merging.merge_coinciding": "Whether objects that hit each other are merged again.",
    "merging.labels": "separate: marks of different labels stay apart; ignore: labels do not matter.",
    "merging.dbscan_eps": "Of dbscan.",
    "merging.dbscan_min_marks": "Of dbscan.",
    "merging.fusion_iou": "Of fusion.",
    "labels.n_min": "Fewest readings an image may have; not set: as the readings say.",
    "labels.n_max": "Most readings an image may have; not set: as the readings say.",
    "labels.smallest_probability": "The paper's P0; not set: 2 / n_max.",
    "labels.depression": "The paper's k_d, which lowers objects of one reader.",
    "labels.score": "Count readers or marks.",
    "candidates.limit": "Most candidates of an image.",
    "features.only": 'Patterns of names; empty: all. For example ["glcm_*", "shape.*"].',
    "hits.rule": "hit (centre in the ellipse, semi-axes at least 5 mm), strict, distance or overlap.",
    "hits.max_distance_mm": "Of the rule distance.",
    "hits.min_overlap": "Of the rule overlap.",
    "hits.margin_mm": "Widens the ellipse of hit and strict.",
    "hits.single_reader": "A candidate on an object of one reader: ignore, or fp. Both are reported.",
    "models.wanted": "Any of soft, b1, b2.",
    "models.folds": "Folds of the out-of-fold scores.",
    "soft.normalizations": "Any of none, bags, class; the rule chooses.",
    "soft.n_lambdas": "Penalties on the path.",
    "soft.min_ratio": "The smallest penalty, as a share of the largest that matters.",
    "soft.divide_by_features": "Whether the penalty is divided by the number of features.",
    "soft.choice_fp_targets": "False positives per image at which penalties are judged.",
    "soft.tolerance": "Accepted loss of sensitivity against the best penalty.",
    "soft.max_gap": "Accepted difference between training and validation.",
    "soft.pick": "Among the accepted: sparsest or best.",
    "soft.n_init": "Starts of the last fit.",
    "b1.prune_bounds": "Prior precision above which a feature is dropped.",
    "b1.alpha_inits": "Prior precision to start from.",
    "b1.screen": "Let only so many features enter; not set: all.",
    "b1.tolerance": "Accepted loss of sensitivity for a sparser setting.",
    "b1.max_iter": "Rounds allowed.",
    "b2.scores": "Scores the mixture learns from: in_sample (the paper) or out_of_fold.",
    "b2.min_positives": "A reader with fewer marks near candidates is left out.",
    "b2.n_bootstrap": "Draws for the intervals of the readers' weights.",
    "evaluation.fp_targets": "False positives per image at which sensitivity is reported.",
    "evaluation.n_bootstrap": "Draws of patients for the intervals.",
    "evaluation.level": "Level of the intervals.",
    "evaluation.size_bins_mm": "Edges of the sizes by which sensitivity is reported.",
    "evaluation.chance_shifts": "Pairings of images for the chance level.",
    "limits.seconds_per_image": "A worker that takes longer is ended.",
    "limits.memory_mb": "Memory of one worker; not set: as much as there is.",
    "execution.executor": "processes, serial or dask.",
    "execution.workers": "Worker processes; not set: one a processor.",
    "execution.scheduler": 'Address of a Dask cluster: "tcp://host:8786".',
    "execution.batch": "Images a Dask task.",
}
EXAMPLES: dict[str, Any] = {
    "inputs.candidates": "candidates.csv",
    "inputs.features": "features.parquet",
    "labels.n_min": 4,
    "labels.n_max": 8,
    "labels.smallest_probability": 0.25,
    "hits.max_distance_mm": 10.0,
    "hits.min_overlap": 0.2,
    "b1.screen": 400,
    "b2.screen": 400,
    "limits.memory_mb": 4000,
    "execution.workers": 2,
    "execution.scheduler": "tcp://127.0.0.1:8786",
}


def settings_template() -> str:
    """Text of a settings file in which every key is there, commented out, with its default.

    Keys without a default are shown with an example.
    """
    values = Settings().plain()
    lines = [
        "# Settings of the study. A key that is commented out has the value shown, unless it says: not set.",
        "",
    ]
    lines += [f"# {COMMENTS['seed']}", f"seed = {values['seed']}"]
    for section, comment in SECTIONS.items():
        lines += ["", f"# {comment}", f"[{section}]"]
        for key, value in values[section].items():
            name = f"{section}.{key}"
            told = COMMENTS.get(name) or COMMENTS[f"b1.{key}"]
            shown = EXAMPLES[name] if value is None else value
            note = " Not set; for example:" if value is None else ""
            lines += [f"# {told}{note}", f"# {key} = {json.dumps(shown)}"]
    return "\n".join(lines) + "\n"
