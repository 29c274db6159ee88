"""Weights and patients of bags, by image."""

import numpy as np
import pandas as pd
import pytest

from overread.bags import find_patients, weigh_readings
from overread.errors import InvalidInputError, TableError

IMAGES = pd.Series(["j", "i", "i"])
READINGS = pd.DataFrame({"image_id": list("iijjjj"), "reader_id": list("ABABCD")})
NO_TRUTH = pd.DataFrame({"image_id": []})


def test_a_weight_is_the_share_of_the_readings():
    np.testing.assert_array_equal(weigh_readings(IMAGES, READINGS, None, NO_TRUTH), [1.0, 0.5, 0.5])
    np.testing.assert_array_equal(weigh_readings(IMAGES, READINGS, 8, NO_TRUTH), [0.5, 0.25, 0.25])


def test_weights_that_cannot_be_are_refused():
    with pytest.raises(InvalidInputError, match="image 'j' has 4 readings, over n_max 3"):
        weigh_readings(IMAGES, READINGS, 3, NO_TRUTH)
    with pytest.raises(TableError, match="no reading of image 'k'"):
        weigh_readings(pd.Series(["k"]), READINGS, None, NO_TRUTH)
    other = pd.DataFrame({"image_id": ["i"], "weight": [0.25]})
    with pytest.raises(TableError, match=r"weight 0\.25, but the readings give 0\.5"):
        weigh_readings(IMAGES, READINGS, None, other)


def test_a_group_is_the_patient_or_the_image():
    patients = pd.DataFrame({"image_id": ["i", "j"], "patient_id": ["p", "q"]})
    assert find_patients(IMAGES, patients).tolist() == ["q", "p", "p"]
    assert find_patients(IMAGES, None).tolist() == ["j", "i", "i"]
    assert find_patients(IMAGES, patients[["image_id"]]).tolist() == ["j", "i", "i"]
    with pytest.raises(TableError, match="image 'j' has candidates but no patient_id"):
        find_patients(IMAGES, patients[:1])
