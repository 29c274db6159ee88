from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from small_scenario import small_design

from overread.errors import InvalidInputError
from overread.scenario.material import make_readers, prepare_material


def test_test_patients_are_not_trained_on(material, design):
    assert len(material.test_ids) == design.source.test
    assert not set(material.test_ids) & set(material.training_ids)
    assert len(material.test_ids) + len(material.training_ids) == design.source.cohort


def test_features_are_in_the_order_of_the_candidates(material):
    assert material.features.store.shape == (len(material.candidates), 6)
    rows = material.features.find_rows(*material.candidates[["image_id", "candidate_id"]].to_numpy().T)
    np.testing.assert_array_equal(rows, np.arange(len(material.candidates)))


def test_objects_are_lesions_and_look_alikes_with_a_level(material):
    levels = material.objects.groupby("is_lesion")["level"].mean()
    assert levels[True] > levels[False]


def test_no_look_alikes_are_none(tmp_path):
    drawn = prepare_material(small_design(readers={"lookalikes": 0.0}), tmp_path)
    assert drawn.objects["is_lesion"].all()


def test_readers_are_spread_as_the_design_says():
    model = make_readers(small_design(readers={"skill_spread": 0.7, "false_marks": 0.2}), 5)
    skills = [one.skill for one in model.readers]
    assert (min(skills), max(skills), model.false_marks) == (-0.7, 0.7, 0.2)


def test_a_study_that_nobody_simulated_is_refused(tmp_path):
    pd.DataFrame({"image_id": ["a"]}).to_csv(tmp_path / "images.csv")
    design = small_design(source={"kind": "study", "study": str(tmp_path)})
    with pytest.raises(InvalidInputError, match='for your own: kind = "run"'):
        prepare_material(design, tmp_path)
