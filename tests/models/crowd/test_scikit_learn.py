"""scikit-learn's checks, as far as they apply to estimators that learn from votes.

Votes are 0, 1 or NaN in one row a bag, so checks that fit random numbers as X (`DawidSkene`) or one class a row as y
(`RaykarCrowd`) do not apply as they stand. What they ask of parameters does, and with one reader whose votes are the
classes, `RaykarCrowd` is a classifier as any other: then all of them apply.
"""

import os

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from tests.golden.crowd_problems import make_crowd

from overread.errors import InvalidInputError
from overread.models import DawidSkene, RaykarCrowd

OF_PARAMETERS = (
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_parameters_default_constructible,
    checks.check_mixin_order,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
)


@pytest.mark.parametrize("model", [DawidSkene(), RaykarCrowd()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("check", OF_PARAMETERS, ids=lambda check: check.__name__)
def test_checks_of_parameters(model, check):
    check(type(model).__name__, clone(model))


def test_fit_returns_itself_leaves_its_input_alone_and_repeats():
    problem = make_crowd(n_bags=60)
    votes, X = problem.votes.copy(), problem.X.copy()
    for model, arguments in ((DawidSkene(), (votes,)), (RaykarCrowd(alpha=0.01), (X, votes))):
        assert model.fit(*arguments) is model
        first = model.posterior_.copy()
        assert model.fit(*arguments).posterior_.tobytes() == first.tobytes()
    np.testing.assert_array_equal(votes, problem.votes)
    np.testing.assert_array_equal(X, problem.X)


class OneReader(RaykarCrowd, kind="one reader of the tests"):
    """One reader votes with the classes; all else is `RaykarCrowd`."""

    def fit(self, X, y, *, bags=None):
        if y is None:
            raise InvalidInputError("requires y to be passed, but the target y is None")
        classes = column_or_1d(y, warn=True)
        check_classification_targets(classes)
        if np.issubdtype(classes.dtype, np.number) and not np.isfinite(classes).all():
            raise InvalidInputError("y holds NaN or infinity")
        found, position = np.unique(classes, return_inverse=True)
        if len(found) > 2:
            raise InvalidInputError(
                "Only binary classification is supported. The type of the target is multiclass"
            )
        if len(found) == 1:
            raise InvalidInputError("one class only")
        super().fit(X, position[:, None].astype(float), bags=bags)
        self.classes_ = found
        return self


@pytest.mark.filterwarnings("ignore")
def test_with_one_reader_it_is_a_classifier(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", os.environ.get("SCIPY_ARRAY_API", "1"))
    results = checks.check_estimator(OneReader(), on_fail=None, on_skip=None)
    failed = [
        (result["check_name"], result["exception"]) for result in results if result["status"] == "failed"
    ]
    assert failed == []
    assert len(results) >= 50
