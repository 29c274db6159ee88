"""The rule that chooses settings: where it judges, what it prefers, what it fits last."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from overread.bags import make_bags
from overread.errors import InvalidInputError
from overread.models import RVMMIL, SoftMILLogisticRegression, tune
from overread.simulate import candidate_cohort
from overread.truth import merge_marks


class Stub(BaseEstimator):
    """Scores and features as given; remembers what it was fitted to."""

    def __init__(self, on_training=0.0, on_validation=0.0, size=1):
        self.on_training = on_training
        self.on_validation = on_validation
        self.size = size

    def fit(self, part):
        self.part_ = part
        self.n_features_ = self.size
        return self


def tune_stubs(settings, **options):
    def score(model, part):
        return model.on_validation if part == "validation" else model.on_training

    return tune(
        settings,
        training="training",
        validation="validation",
        merged="merged",
        fit=lambda model, part: model.fit(part),
        score=score,
        **options,
    )


def test_the_best_on_validation_is_fitted_to_both():
    result = tune_stubs([Stub(0.9, 0.1), Stub(0.2, 0.6), Stub(0.3, 0.5)])
    assert result.position == 1
    assert result.model.part_ == "merged"
    assert result.table["training_score"].tolist() == [0.9, 0.2, 0.3]
    assert result.table["validation_score"].tolist() == [0.1, 0.6, 0.5]
    assert result.table["chosen"].tolist() == [False, True, False]


def test_the_papers_way_judges_where_it_fitted():
    result = tune_stubs([Stub(0.9, 0.1), Stub(0.2, 0.6)], rule="in_sample")
    assert result.position == 0
    assert result.table["validation_score"].isna().all()


@pytest.mark.parametrize(("tolerance", "position"), [(0.0, 0), (0.05, 2), (0.2, 1)])
def test_the_sparsest_within_the_tolerance_is_taken(tolerance, position):
    settings = [Stub(0, 0.60, 30), Stub(0, 0.45, 2), Stub(0, 0.56, 9), Stub(0, 0.555, 9)]
    result = tune_stubs(settings, tolerance=tolerance)
    assert result.position == position


def test_settings_stay_unfitted_and_the_table_shows_what_differs():
    settings = [Stub(0.1, size=3), Stub(0.2, size=3)]
    result = tune_stubs(settings)
    assert not hasattr(settings[result.position], "part_")
    assert "on_training" in result.table
    assert "size" not in result.table


def test_what_is_refused():
    with pytest.raises(InvalidInputError, match="no setting"):
        tune_stubs([])
    with pytest.raises(InvalidInputError, match="rule='best'"):
        tune_stubs([Stub()], rule="best")
    with pytest.raises(InvalidInputError, match="setting 1 is NaN"):
        tune_stubs([Stub(), Stub(on_validation=np.nan)])


@pytest.mark.parametrize(
    "settings",
    [
        [RVMMIL(prune_bound=bound) for bound in (10.0, 1e6)],
        [SoftMILLogisticRegression(alpha) for alpha in (0.3, 0.01)],
    ],
    ids=["B1", "soft"],
)
def test_bags_are_judged_by_the_divergence(settings):
    cohort = candidate_cohort(80, n_features=10, n_informative=4, seed=1)
    truth = merge_marks(cohort.marks, cohort.readings)
    golden = make_bags(cohort.candidates, cohort.features, truth, labels="golden", images=cohort.images)
    half = len(golden) // 2
    parts = {"training": golden[:half], "validation": golden[half:], "merged": golden}
    result = tune(settings, **parts)
    scores = [
        model.fit(golden[:half], golden.labels[:half]).score(golden[half:], golden.labels[half:])
        for model in settings
    ]
    assert result.position == int(np.argmax(scores))
    np.testing.assert_allclose(result.table["validation_score"], scores, rtol=1e-12)
