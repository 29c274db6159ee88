"""
FROC with intervals
===================

Sensitivity against false positives per image, for any detector whose detections are a table. Intervals resample
patients.
"""

# %%
# You need detections with a score, and the truth. Here the sum of some simulated features is the detector.

from overread import (
    bootstrap,
    candidate_cohort,
    estimate_figures,
    froc_curve,
    match_detections,
    merge_marks,
    plot_froc,
    sensitivity_at,
)
from overread.plugins import save_figure

cohort = candidate_cohort(150, n_features=4, n_informative=4, seed=2)
truth = merge_marks(cohort.marks, cohort.readings)
score = cohort.features.drop(columns=["image_id", "candidate_id"]).sum(axis=1)
matching = match_detections(cohort.candidates.assign(score=score), truth, cohort.images)

# %%
# The curve at three operating points, and the same with intervals.

points = sensitivity_at(froc_curve(matching), [0.5, 1.0, 2.0])
print(points[["fp_target", "threshold", "gt_sensitivity", "image_sensitivity"]].round(2).to_string())
intervals = bootstrap(matching, fp_targets=[0.5, 1.0, 2.0], n_bootstrap=200).intervals()
print(intervals.query("measure == 'gt_sensitivity'").round(2).to_string())

# %%
# One number for the whole curve: AFROC and weighted AFROC.

for figure_of_merit in estimate_figures(matching, n_bootstrap=200):
    print(figure_of_merit)

save_figure(plot_froc({"detector": (matching, None)}, n_bootstrap=200), "froc_with_intervals.png")
