"""The learned family: as many columns as the network has, and nodules before lines."""

import numpy as np
import pandas as pd

from overread.features import Catalogue, extract_features
from overread.features._learned import load_network
from overread.features.families.learned import FAMILY as LEARNED
from overread.features.families.learned import FEATURES
from overread.images import from_array

CATALOGUE = Catalogue([LEARNED])


def test_there_is_a_column_for_every_unit_and_the_score():
    assert len(FEATURES) == load_network().n_units + 1
    assert FEATURES[-1].name == "learned.score"


def test_a_nodule_scores_above_a_line_and_above_nothing():
    y, x = np.mgrid[:400, :400] * 0.7
    noise = np.random.default_rng(0).normal(0, 0.02, x.shape)
    nodule = 0.15 * np.maximum(1 - ((x - 70) ** 2 + (y - 140) ** 2) / 49, 0)
    line = 0.15 * np.exp(-((x - 200) ** 2) / (2 * 3.0**2))
    image = from_array((0.5 + noise + nodule + line).astype(np.float32), 0.7)
    places = pd.DataFrame({"x_mm": [70.0, 200.0, 130.0], "y_mm": [140.0, 140.0, 60.0], "radius_mm": 7.0})
    score = extract_features(image, places, catalogue=CATALOGUE)["learned.score"]
    assert score[0] > score[1]
    assert score[0] > score[2]


def test_candidates_do_not_depend_on_each_other():
    image = from_array(np.random.default_rng(1).normal(size=(120, 110)).astype(np.float32), 0.7)
    places = pd.DataFrame({"x_mm": [20.0, 40.0, 1.0], "y_mm": [30.0, 60.0, 83.0], "radius_mm": 5.0})
    together = extract_features(image, places, catalogue=CATALOGUE).drop(columns="candidate_id")
    alone = extract_features(image, places[1:2], catalogue=CATALOGUE).drop(columns="candidate_id")
    np.testing.assert_array_equal(together[1:2].to_numpy(), alone.to_numpy())
    assert np.isfinite(together.to_numpy()).all()
