"""The table of skills, and both models saved and loaded."""

import numpy as np
import pytest
from tests.golden.crowd_problems import make_bag_crowd

from overread.models import DawidSkene, RaykarCrowd


@pytest.fixture(scope="module")
def problem():
    return make_bag_crowd(n_bags=120)


@pytest.fixture(scope="module")
def models(problem):
    return {
        "DawidSkene": DawidSkene(sensitivity_prior=(2, 1.5)).fit(problem.votes),
        "RaykarCrowd": RaykarCrowd(alpha=0.01).fit(problem.X, problem.votes, bags=problem.bag_of_row),
    }


@pytest.mark.parametrize("kind", ["DawidSkene", "RaykarCrowd"])
def test_everything_comes_back_bit_by_bit(kind, models, problem, tmp_path):
    model = models[kind]
    file = model.save(tmp_path / "a.json")
    again = type(model).load(file)
    assert again.save(tmp_path / "b.json").read_bytes() == file.read_bytes()
    assert set(vars(again)) == set(vars(model))
    assert again.reader_skills_.equals(model.reader_skills_)
    assert again.posterior_.tobytes() == model.posterior_.tobytes()
    if kind == "RaykarCrowd":
        one, two = (m.predict_proba(problem.X, bags=problem.bag_of_row) for m in (model, again))
        assert one.tobytes() == two.tobytes()


def test_the_table_names_readers_and_counts(models, problem):
    for model in models.values():
        table = model.reader_skills_
        assert table["reader_id"].tolist() == [str(r) for r in range(6)]
        np.testing.assert_array_equal(table["n_votes"], (~np.isnan(problem.votes)).sum(axis=0))
        np.testing.assert_array_equal(table["n_marked"], np.nansum(problem.votes, axis=0))
        for skill in ("sensitivity", "specificity"):
            assert (table[f"{skill}_low"] < table[skill]).all()
            assert (table[skill] <= table[f"{skill}_high"]).all()
