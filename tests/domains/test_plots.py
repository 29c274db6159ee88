"""Figures of radiographs and pictures with their candidates."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle

from overread.domains import BlobFinder, overlay_figure, picture_figure
from overread.domains._plots import tint_ribs
from planted_field import BLOBS, make_field
from radiograph_pictures import MM, SHAPE, all_lung, radiograph, ramp

FOUND = pd.DataFrame(
    {"x_mm": [50.0, 90.0], "y_mm": [60.0, 30.0], "radius_mm": [5.0, 9.0], "response": [2.25, -1.0]}
)


def test_candidates_are_drawn_in_mm_with_rank_and_response():
    axes = overlay_figure(radiograph(ramp()), all_lung(), FOUND, title="one").axes[0]
    circles = [(*patch.center, patch.radius) for patch in axes.patches if isinstance(patch, Circle)]
    assert circles == [(50.0, 60.0, 5.0), (90.0, 30.0, 9.0)]
    assert [text.get_text() for text in axes.texts] == ["1 (2.2)", "2 (-1.0)"]
    assert axes.get_title() == "one"


def test_the_image_has_its_upper_left_corner_at_0_and_its_size_in_mm():
    axes = overlay_figure(radiograph(ramp()), all_lung(), FOUND.head(0)).axes[0]
    width, height = SHAPE[1] * MM, SHAPE[0] * MM
    assert axes.get_xlim() == pytest.approx((0, width))
    assert axes.get_ylim() == pytest.approx((height, 0))
    assert {tuple(image.get_extent()) for image in axes.images} == {(0.0, width, height, 0.0)}


def test_ribs_are_as_opaque_as_they_are_likely():
    ribs = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    layer = tint_ribs(ribs, "orange")
    np.testing.assert_allclose(layer[..., 3], 0.4 * ribs)
    np.testing.assert_allclose(layer[1, 2, :3], to_rgb("orange"), atol=1e-6)


def test_every_candidate_is_a_circle_in_the_unit_of_the_axes():
    field = make_field()
    found = BlobFinder("bright", 0.3, 1.0)(field, limit=len(BLOBS))
    (axes,) = picture_figure(field, found, unit="px", title="one").axes
    assert [patch.radius for patch in axes.patches] == found["radius"].tolist()
    assert axes.get_xlabel() == "x [px]"
    assert axes.get_xlim() == (0, field.size_mm[0])
