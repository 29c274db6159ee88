"""Which soft labels are nearer to the lesions that are really there: the paper's proportion rule or crowd posteriors.

Run by ``python -m benchmarks.crowd_labels``; prints the Brier score and log loss of the labels of all GTs with a bag.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from overread.bags import make_bags
from overread.models import DawidSkene, RaykarCrowd
from overread.models.crowd.votes import votes_on_bags
from overread.simulate import candidate_cohort
from overread.truth import candidate_hits, merge_marks


def main() -> None:
    print("seed  GTs  lesions  rule         mean   Brier  log loss")
    for seed in range(3):
        cohort = candidate_cohort(600, n_features=30, seed=seed)
        truth = merge_marks(cohort.marks, cohort.readings)
        bags = make_bags(cohort.candidates, cohort.features, truth)
        votes = votes_on_bags(bags, truth, cohort.marks, cohort.readings)
        hit = truth.iloc[candidate_hits(cohort.lesions, truth)["truth_row"].unique()]
        real = pd.MultiIndex.from_frame(hit[["image_id", "truth_id"]])
        on_gt = bags.bag_table["truth_id"].notna().to_numpy()
        y = pd.MultiIndex.from_frame(bags.bag_table.loc[on_gt, ["image_id", "truth_id"]]).isin(real)
        posteriors = {
            "proportion": bags.labels,
            "Dawid-Skene": DawidSkene().fit(votes).posterior_,
            "Raykar": RaykarCrowd(lam=0.001).fit(bags, votes).posterior_,
        }
        for name, labels in posteriors.items():
            p = np.clip(labels[on_gt], 1e-6, 1 - 1e-6)
            loss = -np.mean(np.where(y, np.log(p), np.log1p(-p)))
            brier = np.mean((p - y) ** 2)
            print(
                f"{seed:4d} {len(y):4d} {y.mean():8.3f}  {name:11s} {p.mean():.3f}  {brier:.3f}  {loss:8.3f}"
            )


if __name__ == "__main__":
    main()
