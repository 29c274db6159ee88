import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import Bags, PerInstance, make_bags
from overread.errors import InvalidInputError
from overread.froc import Counting, FrocScorer, froc_curve, match_detections, matching_of_bags, sensitivity_at
from overread.models import SoftMILLogisticRegression


class FirstColumn:
    """A model that scores an instance by its first feature, a bag by its best instance."""

    def decision_function(self, X):
        return np.maximum.reduceat(X.instances[:, 0], X.offsets[:-1])


@pytest.fixture
def tables(make_tables):
    candidates, truth, images = make_tables(3, 30, 200, 40, 10**6)
    candidates = candidates.assign(candidate_id=[f"c{k}" for k in range(len(candidates))])
    truth = truth.assign(probability=truth["n_readers"] / 4)
    features = candidates[["image_id", "candidate_id"]].assign(f=candidates["score"], noise=0.0)
    return candidates, truth, images, features


@pytest.mark.parametrize("single_reader", ["fp", "ignore", "hit"])
def test_agrees_with_match(tables, single_reader):
    """Over the reached GTs and images with candidates, when each candidate belongs to its nearest GT."""
    candidates, truth, images, features = tables
    bags = make_bags(candidates, features, truth)
    with_candidates = images[images["image_id"].isin(candidates["image_id"])]
    full = match_detections(
        candidates,
        truth,
        with_candidates,
        counting=Counting(single_reader=single_reader, shared_candidates="nearest"),
    )
    for fp_target in (0.5, 1.0, 2.0):
        expected = sensitivity_at(froc_curve(full), fp_target).iloc[0]
        for level, name in (("gt", "gt_sensitivity_reached"), ("image", "image_sensitivity_reached")):
            scorer = FrocScorer(fp_target=fp_target, level=level, single_reader=single_reader)
            assert scorer(FirstColumn(), bags, bags.labels) == pytest.approx(expected[name])


def test_in_cross_validation_and_search(tables):
    candidates, truth, images, features = tables
    bags = make_bags(candidates, features, truth, images=images)
    model = make_pipeline(PerInstance(StandardScaler()), SoftMILLogisticRegression(alpha=0.01))
    scores = cross_val_score(model, bags, bags.labels, cv=3, scoring=FrocScorer(fp_target=1.0))
    assert ((scores >= 0) & (scores <= 1)).all()
    search = GridSearchCV(
        model, {"softmillogisticregression__alpha": [0.001, 0.1]}, cv=3, scoring=FrocScorer()
    )
    assert 0 <= search.fit(bags, bags.labels).best_score_ <= 1


def test_hard_labels_without_a_table():
    bags = Bags.from_ids([[3.0], [1.0], [2.0], [0.5]], list("abac"), labels=[1, 0, 0], groups=["i", "i", "j"])
    assert FrocScorer(fp_target=0.0)(FirstColumn(), bags) == 1.0
    worse = bags.with_labels([0, 1, 0])
    assert FrocScorer(fp_target=0.5)(FirstColumn(), worse) == 0.0
    assert FrocScorer(fp_target=1.0)(FirstColumn(), worse) == 1.0
    assert np.isnan(FrocScorer()(FirstColumn(), bags.with_labels([0, 0, 0])))


def test_probabilities_serve_where_there_is_no_decision():
    class Probabilities:
        def predict_proba(self, X):
            p = 1 / (1 + np.exp(-X.instances[:, 0]))
            return np.stack([1 - p, p], axis=1)

    bags = Bags.singletons([[3.0], [1.0]], labels=[0, 1], groups=["i", "j"])
    assert FrocScorer(fp_target=0.5)(Probabilities(), bags) == FrocScorer(fp_target=0.5)(FirstColumn(), bags)


def test_refusals():
    plain = Bags.singletons([[1.0], [2.0]])
    with pytest.raises(InvalidInputError, match="labels"):
        FrocScorer()(FirstColumn(), plain)
    with pytest.raises(InvalidInputError, match="image of each"):
        FrocScorer()(FirstColumn(), plain, [0, 1])
    with pytest.raises(InvalidInputError, match="golden"):
        matching_of_bags(plain, np.zeros(2), [0.25, 0])
    with pytest.raises(InvalidInputError, match="level"):
        FrocScorer(level="patient")
    with pytest.raises(InvalidInputError, match="fp_target"):
        FrocScorer(fp_target=-1)
    with pytest.raises(InvalidInputError, match="single_reader='foo'"):
        FrocScorer(single_reader="foo")
    with pytest.raises(InvalidInputError, match="single_reader='foo'"):
        matching_of_bags(plain, np.zeros(2), [1, 0], single_reader="foo")


def test_the_table_gives_images_and_golden():
    table = pd.DataFrame({"image_id": ["i", "i", "j"], "golden": [True, False, False]})
    bags = Bags.singletons([[3.0], [2.0], [1.0]], labels=[0.5, 0.1, 0.0], bag_table=table)
    scores = np.array([3.0, 2.0, 1.0])
    assert matching_of_bags(bags, scores).fp_scores.tolist() == [1]
    assert sorted(matching_of_bags(bags, scores, single_reader="fp").fp_scores) == [1, 2]
    assert matching_of_bags(bags, scores, single_reader="hit").gt_scores.tolist() == [3, 2]
