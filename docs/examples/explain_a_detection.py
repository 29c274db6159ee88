"""
Explain a detection
===================

Why did the detector mark this? The score of the soft model is a sum, so each feature contributes to it. The detector
here is trained on only eighteen phantoms.
"""

# %%
# Run a small study; ``overread run`` does the same on the command line.

from pathlib import Path
from tempfile import TemporaryDirectory

from overread import CaseDistribution, Detector, NoduleDistribution, cohort, read_image, run_study
from overread.plugins import empty_figure, save_figure

SETTINGS = """
seed = 0
[candidates]
limit = 10
[models]
wanted = ["soft"]
folds = 3
[evaluation]
n_bootstrap = 200
headline = "test"
[execution]
executor = "serial"
"""

with TemporaryDirectory() as folder:
    study = Path(folder) / "study"
    law = CaseDistribution(
        nodules=NoduleDistribution(counts=(0.2, 0.2, 0.3, 0.3), conspicuity=(1.2, 4.0)), distractors=0.6
    )
    cohort(study, n_images=18, law=law, seed=0)
    (study / "study.toml").write_text(SETTINGS)
    run = run_study(study)
    detector = Detector.read(run.folder / "detector.json")
    radiograph = read_image(study / "images" / "case00003.dcm")

# %%
# Take the candidate with the highest score in an image. Contributions add up to the score.

why = detector.explain(radiograph)
print(why.candidate.to_string())
table = why.contributions
print(table.round(3).to_string(index=False))
assert abs(table["contribution"].sum() - why.candidate["score"]) < 1e-6

# %%
# What raises the score, and what lowers it.

figure = empty_figure(8, 0.8 + 0.4 * len(table))
axes = figure.subplots()
axes.barh(table["feature"][::-1], table["contribution"][::-1])
axes.set_xlabel("contribution to the score")
save_figure(figure, "explain_a_detection.png")
