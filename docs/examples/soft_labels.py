"""
Soft labels from marks
======================

Several readers mark the same images. Their ellipses are merged into objects, and each object gets the share of
readers who marked it: its soft label.
"""

# %%
# A simulated cohort of tables: who read which image, and what was marked. Your own ``marks.csv`` and ``readings.csv``
# have the same columns (``overread.read_folder`` reads them).

from overread import candidate_cohort, marks_figure, merge_marks
from overread.plugins import save_figure

cohort = candidate_cohort(40, n_readers=5, n_features=2, n_informative=2, seed=4)
print(cohort.marks.head(3).round(1).to_string())

# %%
# One row per object: ``n_readers`` of ``n_readings`` marked it, ``probability`` is the soft label, and ``golden`` says
# that two or more readers agree.

truth = merge_marks(cohort.marks, cohort.readings)
print(truth[["image_id", "truth_id", "n_readers", "n_readings", "probability", "golden"]].head().to_string())
print(truth["probability"].value_counts().sort_index())

# %%
# The marks of two images in the readers' colours, and the objects that they merge into.

busiest = truth["image_id"].value_counts().index[:2]
save_figure(marks_figure(cohort.marks, truth, list(busiest)), "soft_labels.png")
