"""Which soft labels are nearer to the lesions that are really there: the paper's proportion rule or crowd posteriors.

The proportion rule takes the place of the peer. Brier score and log loss of the labels of all GTs with a bag, in
simulated cohorts; smaller is better, so a ratio above 1 favours the crowd model. Once with look-alikes, which
deceive all readers together, and once without.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.rows import Row, compare
from overread.bags import make_bags
from overread.models import DawidSkene, RaykarCrowd, votes_on_bags
from overread.simulate import candidate_cohort
from overread.truth import candidate_hits, merge_marks

Floats = NDArray[np.float64]

SMALLEST = 1e-6
RULES = ("Dawid-Skene", "Raykar")


def run(*, quick: bool) -> Iterator[Row]:
    images, seeds = (150, 2) if quick else (600, 10)
    for lookalikes in (0.6, 0.0):
        found = [losses(images, seed, lookalikes) for seed in range(seeds)]
        table = pd.concat(found).groupby("rule").agg(["mean", "std"])
        where = f"{seeds} cohorts of {images} images, {lookalikes:g} look-alikes an image"
        for rule in RULES:
            for loss in ("Brier score", "log loss"):
                ours, peer = table.loc[rule, (loss, "mean")], table.loc["proportion", (loss, "mean")]
                note = (
                    f"mean; peer: the paper's proportion rule; deviation between cohorts "
                    f"{table.loc[rule, (loss, 'std')]:.3f} and {table.loc['proportion', (loss, 'std')]:.3f}; "
                    f"mean label {table.loc[rule, ('label', 'mean')]:.3f}, proportion "
                    f"{table.loc['proportion', ('label', 'mean')]:.3f}, real {table.loc[rule, ('real', 'mean')]:.3f}; "
                    f"mean label where no lesion is {table.loc[rule, ('label of none', 'mean')]:.3f} and "
                    f"{table.loc['proportion', ('label of none', 'mean')]:.3f}"
                )
                yield compare(f"{loss} of {rule} labels, {where}", float(ours), float(peer), loss, note)


def losses(images: int, seed: int, lookalikes: float) -> pd.DataFrame:
    """One row a rule: share of real lesions, mean label, Brier score and log loss of the GTs with a bag."""
    cohort = candidate_cohort(images, n_features=30, lookalikes_per_image=lookalikes, seed=seed)
    truth = merge_marks(cohort.marks, cohort.readings)
    bags = make_bags(cohort.candidates, cohort.features, truth)
    votes = votes_on_bags(bags, truth, cohort.marks, cohort.readings)
    hit = truth.iloc[candidate_hits(cohort.lesions, truth)["truth_row"].unique()]
    lesions = pd.MultiIndex.from_frame(hit[["image_id", "truth_id"]])
    on_gt = bags.bag_table["truth_id"].notna().to_numpy()
    real = pd.MultiIndex.from_frame(bags.bag_table.loc[on_gt, ["image_id", "truth_id"]]).isin(lesions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = {
            "proportion": bags.labels,
            "Dawid-Skene": DawidSkene().fit(votes).posterior_,
            "Raykar": RaykarCrowd(alpha=0.001).fit(bags, votes).posterior_,
        }
    return pd.DataFrame([_scores(rule, label[on_gt], real) for rule, label in labels.items()])


def _scores(rule: str, label: Floats, real: NDArray[np.bool_]) -> dict[str, object]:
    p = np.clip(label, SMALLEST, 1 - SMALLEST)
    return {
        "rule": rule,
        "real": real.mean(),
        "label": p.mean(),
        "label of none": p[~real].mean() if not real.all() else np.nan,
        "Brier score": np.mean((p - real) ** 2),
        "log loss": -np.mean(np.where(real, np.log(p), np.log1p(-p))),
    }
