"""
Your own features
=================

Your own candidates and features, such as the last layer of a network, become a compact model. Overread does not need
to know what the features mean.
"""

# %%
# Thirty columns, three of which carry information on what the readers marked.

import numpy as np
import pandas as pd

from overread import (
    SoftMILLogisticRegression,
    candidate_cohort,
    candidate_hits,
    make_bags,
    merge_marks,
    score_table,
)
from overread.plugins import empty_figure, save_figure

cohort = candidate_cohort(120, n_features=2, n_informative=1, seed=6)
truth = merge_marks(cohort.marks, cohort.readings)
keys = cohort.candidates[["image_id", "candidate_id"]]
is_hit = np.zeros(len(keys))
is_hit[candidate_hits(cohort.candidates, truth)["candidate_row"]] = 1
values = np.random.default_rng(6).normal(size=(len(keys), 30))
values[:, :3] += np.outer(is_hit, [2.0, -1.5, 1.0])
features = pd.concat([keys, pd.DataFrame(values, columns=[f"net_{i}" for i in range(30)])], axis=1)

# %%
# All candidates on an object are its bag: one of them has to look like it, not all. ``fit`` keeps few features.

bags = make_bags(cohort.candidates, features, truth, readings=cohort.readings, images=cohort.images)
model = SoftMILLogisticRegression(alpha=0.005).fit(bags, bags.labels)
weights = pd.Series(model.coef_[0] * model.scale_, index=model.feature_names_in_)
kept = weights[weights != 0].sort_values(key=abs)
print(kept.round(2))
print(score_table(bags, soft=model.instance_decision_function(bags)).head(3).round(2).to_string())

# %%
# Weight per standard deviation.

figure = empty_figure(7, 4)
axes = figure.subplots()
axes.barh(kept.index, kept)
axes.set_xlabel("weight per standard deviation")
save_figure(figure, "own_features.png")
