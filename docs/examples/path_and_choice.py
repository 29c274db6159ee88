"""
A path and its choice
=====================

With an L1 penalty a model uses few features; how few depends on the penalty. The path shows each feature as it enters,
and held-out patients say where to stop.
"""

# %%
# Bags of a simulated cohort with 40 features, 8 of which are informative.

import numpy as np

from overread import (
    SoftMILPath,
    SoftStratifiedGroupKFold,
    candidate_cohort,
    make_bags,
    mean_soft_kl,
    merge_marks,
)
from overread.plugins import empty_figure, save_figure

cohort = candidate_cohort(120, n_features=40, n_informative=8, seed=1)
truth = merge_marks(cohort.marks, cohort.readings)
bags = make_bags(cohort.candidates, cohort.features, truth, readings=cohort.readings, images=cohort.images)
path = SoftMILPath(n_alphas=15).fit(bags, bags.labels)

# %%
# Three folds of patients: how far are the predictions from the soft labels of patients that the model has not seen?

divergence = np.zeros(len(path.alphas_))
for train, test in SoftStratifiedGroupKFold(3).split(bags, bags.labels, bags.groups):
    fold = SoftMILPath(alphas=path.alphas_).fit(bags[train], bags.labels[train])
    divergence += [
        mean_soft_kl(bags.labels[test], log_proba=fold.model(step).predict_log_proba(bags[test]))
        for step in range(len(path.alphas_))
    ]
chosen = int(divergence.argmin())
print(f"penalty {path.alphas_[chosen]:.4f}: {path.n_features_[chosen]} of {bags.n_features} features")

# %%
# ``overread run`` chooses by FROC instead, with a standard error in favour of the smaller model
# (``overread.choose_setting``).

figure = empty_figure(8, 4.5)
path.plot(figure.subplots(), chosen=chosen)
save_figure(figure, "path_and_choice.png")
