"""
Compare two detectors
=====================

Which of two detectors is better on the same images, and how certain is that? Both see the same resampled patients, and
the p-value comes from swapping them in random patients.
"""

# %%
# The second detector is the first one with noise added to its scores.

import numpy as np

from overread import (
    afroc_curve,
    candidate_cohort,
    case_ratings,
    compare_figures,
    match_detections,
    merge_marks,
    plot_afroc,
)
from overread.froc import verdict
from overread.plugins import save_figure

cohort = candidate_cohort(100, n_features=4, n_informative=4, seed=3)
truth = merge_marks(cohort.marks, cohort.readings)
clear = cohort.features.drop(columns=["image_id", "candidate_id"]).sum(axis=1)
noisy = clear + 4 * np.random.default_rng(3).normal(size=len(clear))
first, second = (
    match_detections(cohort.candidates.assign(score=score), truth, cohort.images) for score in (clear, noisy)
)

# %%
# The conclusion rests on one figure of merit, so it is one test.

figures = compare_figures(first, second, n_bootstrap=200, n_permutations=200)
for sentence in verdict("clear", "noisy", figures):
    print(sentence)

curves = {name: afroc_curve(case_ratings(one)) for name, one in (("clear", first), ("noisy", second))}
save_figure(plot_afroc(curves), "compare_two_detectors.png")
