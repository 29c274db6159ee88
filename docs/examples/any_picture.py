"""
Any 2-D image
=============

Overread is not limited to chest radiographs. On any 2-D image, greyscale or colour, with or without a pixel size, you
can choose a region, find blobs, and compute their features.
"""

# %%
# A simulated colour image of a round field with vessels, a bright disc, and bright and dark lesions. Lengths are in
# pixels.

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
# Find bright and dark blobs of 2 to 8 pixels, and compute generic features of each.

candidates = BlobFinder("both", smallest=2, largest=8)(field, limit=10)
features = extract_generic(field, candidates)
print(features.shape[1], "columns of features; the first candidates:")
print(candidates.head(3).round(1).to_string())

save_figure(picture_figure(field, candidates, unit="px"), "any_picture.png")
