from __future__ import annotations

import pytest

from overread.apps.reproduction._page import PAPER_MODELS

# The paper does not give its denominators; every percentage of Table 1 is a count out of these.
DENOMINATORS = {"training": (203, 140), "test": (104, 77)}


@pytest.mark.parametrize("name", PAPER_MODELS)
@pytest.mark.parametrize("part", DENOMINATORS)
def test_percentages_are_counts_of_the_same_objects(name, part):
    rows = getattr(PAPER_MODELS[name], part)
    for values, n in zip((rows.gt_sensitivity, rows.image_sensitivity), DENOMINATORS[part], strict=True):
        assert list(values) == [round(100 * round(value * n / 100) / n, 2) for value in values]
        assert list(values) == sorted(values)
    assert list(rows.fp_per_image) == sorted(rows.fp_per_image)
