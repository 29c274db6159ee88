"""The picture of a field."""

from overread.domains import BlobFinder, picture_figure
from planted_field import BLOBS, make_field


def test_every_candidate_is_a_circle_in_the_unit_of_the_axes():
    field = make_field()
    found = BlobFinder("bright", 0.3, 1.0)(field, limit=len(BLOBS))
    (axes,) = picture_figure(field, found, unit="px", title="one").axes
    assert [patch.radius for patch in axes.patches] == found["radius"].tolist()
    assert axes.get_xlabel() == "x [px]"
    assert axes.get_xlim() == (0, field.size_mm[0])
