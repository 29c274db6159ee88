"""The three normalizations by their formulas, and weights that are none."""

import numpy as np
import pytest

from overread.bags import Bags
from overread.errors import InvalidInputError
from overread.models.loss._bag_loss import bag_weights, weigh_bags

LABELS = np.array([0.5, 0.0, 1.0, 0.0])
REPEATED, READERS = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.5, 0.25, 1.0])


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [
        ("none", [1.0, 1.0, 0.75, 4.0]),
        ("bags", [0.1, 0.1, 0.075, 0.4]),
        ("class", [0.25, 1 / 6, 0.1875, 4 / 6]),
    ],
)
def test_section_4_1(normalization, expected):
    np.testing.assert_allclose(bag_weights(LABELS, REPEATED, READERS, normalization), expected, rtol=1e-15)


def test_a_class_that_is_not_there_takes_nothing():
    weights = bag_weights(np.zeros(4), REPEATED, np.ones(4), "class")
    np.testing.assert_allclose(weights, REPEATED / 10, rtol=1e-15)


def test_readers_default_to_what_the_bags_carry():
    bags = Bags.from_ids(np.zeros((4, 1)), list("abcd"), labels=LABELS, reader_weight=READERS)
    weighed = weigh_bags(bags, LABELS, sample_weight=REPEATED, reader_weight=None, normalization="none")
    assert weighed.weight.tolist() == (REPEATED * READERS).tolist()
    given = weigh_bags(bags, LABELS, sample_weight=None, reader_weight=np.ones(4), normalization="none")
    assert given.weight.tolist() == [1, 1, 1, 1]
    with pytest.raises(InvalidInputError, match="normalization='other' is unknown"):
        weigh_bags(bags, LABELS, sample_weight=None, reader_weight=None, normalization="other")
