"""RVMMIL as an estimator: scikit-learn's checks, weights, labels, files, hostile input."""

import os

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import check_estimator

from overread.bags import Bags, StoredInstances
from overread.errors import DataWarning, InvalidInputError
from overread.models import RVMMIL
from overread.models import _problem as scaling
from overread.models._budget import ColumnBudget


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", os.environ.get("SCIPY_ARRAY_API", "1"))
    failed = [r for r in check_estimator(RVMMIL(), on_fail=None, on_skip=None) if r["status"] == "failed"]
    assert failed == []


def test_repetition_is_weight(make_mil):
    mil = make_mil(hard=True)
    count = np.random.default_rng(0).integers(0, 3, len(mil.y))
    rows = np.repeat(np.arange(len(mil.y)), count)
    weighted = RVMMIL(tol=1e-8).fit(mil.bags, mil.y, sample_weight=count)
    repeated = RVMMIL(tol=1e-8).fit(Bags.from_list([mil.bags[int(i)] for i in rows]), mil.y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    np.testing.assert_allclose(weighted.alpha_, repeated.alpha_, rtol=1e-5)


def test_soft_labels_are_refused_or_cut(mil):
    with pytest.raises(InvalidInputError, match="soft labels: use"):
        RVMMIL().fit(mil.bags, mil.y)
    cut = RVMMIL(threshold=0.5).fit(mil.bags.with_labels(mil.y), mil.y)
    hard = RVMMIL().fit(mil.bags, (mil.y >= 0.5).astype(int))
    np.testing.assert_array_equal(cut.coef_, hard.coef_)


def test_labels_of_the_bags_are_compared(make_mil):
    mil = make_mil(hard=True)
    with pytest.raises(InvalidInputError, match="differs from the labels"):
        RVMMIL().fit(mil.bags.with_labels(mil.y), 1 - mil.y)


def test_float32_is_close_to_float64(make_mil):
    wide = make_mil(n_bags=300, hard=True)
    narrow = make_mil(n_bags=300, hard=True, dtype=np.float32)
    a, b = RVMMIL().fit(wide.bags, wide.y), RVMMIL().fit(narrow.bags, narrow.y)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-3)
    assert a.fit_report_.log_evidence[-1] == pytest.approx(b.fit_report_.log_evidence[-1], abs=1e-2)


def test_saved_and_loaded(make_mil, tmp_path):
    mil = make_mil(hard=True)
    model = RVMMIL().fit(mil.bags, mil.y)
    again = RVMMIL.load(model.save(tmp_path / "b1.json"))
    np.testing.assert_array_equal(again.decision_function(mil.bags), model.decision_function(mil.bags))
    assert again.fit_report_ == model.fit_report_
    assert again.get_params() == model.get_params()


def test_constant_and_equal_columns(make_mil):
    mil = make_mil(hard=True)
    X = np.column_stack([mil.X, np.ones(len(mil.X)), np.zeros(len(mil.X)), mil.X])
    model = RVMMIL().fit(X, mil.y, bags=mil.ids)
    assert model.fit_report_.n_constant == 2
    assert not model.coef_[0][6:8].any()
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_gives_the_null_model_and_a_warning(label, make_mil):
    mil = make_mil()
    with pytest.warns(DataWarning, match="every label is"):
        model = RVMMIL().fit(mil.bags, np.full(len(mil.y), label))
    assert not model.coef_.any()
    assert np.isfinite(model.intercept_).all()
    assert (model.predict(mil.bags) == label).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("update", "newton"),
        ("prune_bound", -1.0),
        ("alpha_init", 0.0),
        ("alpha_init", 1e9),
        ("screen", 0),
        ("threshold", 1.5),
        ("tol", np.nan),
        ("max_iter", -1),
        ("pooling", "max"),
    ],
)
def test_parameters_are_checked(name, value, make_mil):
    mil = make_mil(hard=True)
    with pytest.raises(InvalidInputError, match=name):
        RVMMIL(**{name: value}).fit(mil.bags, mil.y)


def test_more_features_than_rows(make_mil):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 1150))
    y = (X[:, 5] > 0.3).astype(int)
    model = RVMMIL().fit(X, y)
    assert model.fit_report_.n_screened == (0 if model.screen is None else 1150 - model.screen)
    assert np.isfinite(model.coef_).all()
    assert model.fit_report_.n_features < 60


@pytest.mark.slow
@pytest.mark.parametrize(("name", "accuracy", "area"), [("musk1", 0.757, 0.765), ("elephant", 0.800, 0.877)])
def test_public_problems_on_the_given_folds(name, accuracy, area, shared_data):
    """Within 3 points of a prototype written independently (MacKay's update, bound 1e6)."""
    data = np.load(shared_data / "mil" / f"{name}.npz")
    bags, y = Bags.from_ids(data["X"].astype(float), data["bag"]), data["y"]
    accuracies, areas = [], []
    for folds in data["folds"]:
        z = np.empty(len(y))
        for fold in np.unique(folds):
            test = folds == fold
            z[test] = RVMMIL(screen=None).fit(bags[~test], y[~test]).decision_function(bags[test])
        accuracies.append(np.mean((z > 0) == (y == 1)))
        areas.append(roc_auc_score(y, z))
    assert np.mean(accuracies) == pytest.approx(accuracy, abs=0.03)
    assert np.mean(areas) == pytest.approx(area, abs=0.03)


def test_bounds_fitted_together_are_those_fitted_alone(make_mil):
    data = make_mil(hard=True)
    bounds = (1e1, 1e3, 1e6)
    together = RVMMIL(alpha_init=2.0).fit_each(data.bags, data.y, prune_bounds=bounds)
    for bound, model in zip(bounds, together, strict=True):
        alone = RVMMIL(alpha_init=2.0, prune_bound=bound).fit(data.bags, data.y)
        assert model.get_params() == alone.get_params()
        for name in ("coef_", "intercept_", "alpha_", "deviation_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(alone, name))
        assert model.fit_report_ == alone.fit_report_


def test_bounds_together_are_checked_one_by_one(make_mil):
    data = make_mil(hard=True)
    assert RVMMIL().fit_each(data.bags, data.y, prune_bounds=()) == []
    with pytest.raises(InvalidInputError, match="alpha_init"):
        RVMMIL(alpha_init=10.0).fit_each(data.bags, data.y, prune_bounds=(1e6, 1.0))


class TestFeaturesInAFile:
    @pytest.fixture
    def problem(self, tmp_path):
        random = np.random.default_rng(4)
        X = (random.normal(size=(700, 30)) * random.gamma(2.0, size=30)).astype(np.float32)
        ids = random.integers(0, 450, 700)
        first = np.sort(np.unique(ids, return_index=True)[1])
        y = ((X / X.std(0))[first, :3].sum(1) + random.logistic(size=len(first)) > 2.0).astype(int)
        np.save(tmp_path / "X.npy", np.asfortranarray(X))
        return X, ids, y, StoredInstances(tmp_path / "X.npy")

    @staticmethod
    def give_room(monkeypatch, n_columns):
        monkeypatch.setattr(
            scaling, "room_for_columns", lambda *shape: ColumnBudget(n_columns * 700 * 4, 10**9)
        )

    @pytest.mark.parametrize("screen", [None, 12])
    def test_the_model_is_that_of_the_matrix_in_memory(self, problem, screen):
        X, ids, y, stored = problem
        inside = RVMMIL(screen=screen).fit_each(X, y, bags=ids, prune_bounds=[1e2, 1e6])
        outside = RVMMIL(screen=screen, memory_mb=100_000).fit_each(
            stored, y, bags=ids, prune_bounds=[1e2, 1e6]
        )
        for one, other in zip(outside, inside, strict=True):
            assert 0 < np.count_nonzero(other.coef_) < 30
            np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=1e-10)
            np.testing.assert_allclose(one.alpha_, other.alpha_, rtol=1e-8)
            assert one.fit_report_.left_out_gain == pytest.approx(other.fit_report_.left_out_gain)
            assert one.fit_report_.n_screened == other.fit_report_.n_screened

    def test_as_many_enter_as_memory_holds(self, problem, monkeypatch):
        X, ids, y, stored = problem
        self.give_room(monkeypatch, 12)
        with pytest.warns(DataWarning, match=r"memory_mb holds 12 features of 700 rows: of 30 features"):
            outside = RVMMIL().fit(stored, y, bags=ids)
        inside = RVMMIL(screen=12).fit(X, y, bags=ids)
        np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=0, atol=1e-10)
        assert outside.fit_report_.n_screened == 18
        assert outside.fit_report_.left_out_gain == pytest.approx(inside.fit_report_.left_out_gain)

    def test_what_does_not_fit_even_when_screened_is_refused(self, problem, monkeypatch):
        _, ids, y, stored = problem
        self.give_room(monkeypatch, 12)
        with pytest.raises(InvalidInputError, match="and screen=20: lower screen, or raise memory_mb"):
            RVMMIL(screen=20).fit(stored, y, bags=ids)
