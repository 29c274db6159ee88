import numpy as np
import pandas as pd
import pytest
from small_scenario import small_design

from overread.apps.scenario._contenders import CONTENDERS, HARD_RULES, estimate_skills, find_labels
from overread.apps.scenario._design import Condition
from overread.apps.scenario._draw import draw_seed, make_training_set
from overread.apps.scenario._points import tune_and_fit
from overread.errors import InvalidInputError
from overread.models import DawidSkene, votes_on_bags


@pytest.fixture(scope="module")
def split(material, design):
    return make_training_set(material, draw_seed(material, design, 0), Condition(80, 4), design)


@pytest.fixture(scope="module")
def single(material, design):
    return make_training_set(material, draw_seed(material, design, 0), Condition(80, 1), design)


def test_hard_rules_count_readers(split):
    counts = split.truth["n_readers"].to_numpy()
    np.testing.assert_array_equal(CONTENDERS["any"].label(split), np.ones(len(counts)))
    np.testing.assert_array_equal(CONTENDERS["golden"].label(split), counts >= 2)
    np.testing.assert_array_equal(CONTENDERS["majority"].label(split), counts >= 3)
    np.testing.assert_array_equal(CONTENDERS["share"].label(split), counts / 4)


def test_one_reader_is_the_first_of_each_image(split):
    label = CONTENDERS["one_reader"].label(split)
    first = set(split.readings.drop_duplicates("image_id").itertuples(index=False, name=None))
    owner = split.marks.set_index("mark_id")["reader_id"]
    by_hand = [
        float(any((row.image_id, owner[mark]) in first for mark in row.mark_ids))
        for row in split.truth.itertuples()
    ]
    np.testing.assert_array_equal(label, by_hand)
    assert 0 < label.mean() < 1


def test_with_one_reading_all_labels_are_the_same(single):
    for name in ("soft", "share", *HARD_RULES):
        np.testing.assert_array_equal(find_labels(CONTENDERS[name], single), np.ones(len(single.truth)))


def test_crowd_labels_are_posteriors(split):
    label = CONTENDERS["dawid_skene"].label(split)
    bags = split.bags("soft")
    votes = votes_on_bags(bags, split.truth, split.marks, split.readings)
    posterior = DawidSkene().fit(votes).posterior_
    keys = zip(bags.bag_table["image_id"], bags.bag_table["truth_id"], strict=True)
    rows = dict(zip(keys, posterior, strict=True))
    own = [rows.get((row.image_id, row.truth_id), row.probability) for row in split.truth.itertuples()]
    np.testing.assert_allclose(label, own)
    assert np.corrcoef(label, split.truth["n_readers"])[0, 1] > 0.5


def test_labels_that_cost_a_fit_are_not_looked_for(split):
    assert find_labels(CONTENDERS["raykar"], split) is None
    assert find_labels(CONTENDERS["b1"], split) is None


def test_votes_of_single_readings_tell_dawid_and_skene_nothing(single):
    with pytest.raises(InvalidInputError, match="at least two readings"):
        CONTENDERS["dawid_skene"].label(single)


@pytest.mark.parametrize("name", ["golden", "raykar_crowd"])
def test_every_contender_is_tuned_and_fitted_by_the_rule_of_a_study(split, name):
    fitted = tune_and_fit(CONTENDERS[name], split, small_design().settings(), 0)
    assert fitted.coef_.shape == (1, 6)
    assert np.isfinite(fitted.coef_).all()


def test_crowd_models_tell_of_readers(split):
    skills = pd.DataFrame(estimate_skills(CONTENDERS["dawid_skene"], None, split))
    assert sorted(skills["reader_id"]) == ["R1", "R2", "R3", "R4"]
    assert skills["sensitivity"].between(0, 1).all()
    assert estimate_skills(CONTENDERS["soft"], None, split) == []


def test_relabelled_splits_keep_all_but_the_labels(split):
    again = CONTENDERS["any"].relabel(split)
    assert (again.truth["probability"] == 1).all()
    assert again.truth.drop(columns="probability").equals(split.truth.drop(columns="probability"))
    assert not (split.truth["probability"] == 1).all()
