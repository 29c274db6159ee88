"""
Any 2-D picture
===============

Chests are one case. A picture of anything, grey or in colour, with or without a size in millimetres, goes the same
way: a region, blobs that may be objects, features of them.
"""

# %%
# A round colour picture with vessels, a bright disc, bright and dark lesions; a file as your own would be. Lengths
# are pixels here.

from pathlib import Path
from tempfile import TemporaryDirectory

from overread import BlobFinder, extract_generic, picture_cohort, picture_figure, read_picture
from overread.plugins import save_figure

with TemporaryDirectory() as folder:
    study = picture_cohort(Path(folder) / "study", n_images=1, seed=2)
    (file,) = (study / "images").iterdir()
    field = read_picture(file, mm_per_px=1.0, region="field_of_view")
print(field.shape, f"{field.region.mean():.0%} of the picture is field of view")

# %%
# Blobs of 2 to 8 pixels, bright or dark, and generic features of each.

candidates = BlobFinder("both", smallest=2, largest=8)(field, limit=10)
features = extract_generic(field, candidates)
print(features.shape[1], "columns of features; the first candidates:")
print(candidates.head(3).round(1).to_string())

save_figure(picture_figure(field, candidates, unit="px"), "any_picture.png")
