"""The certificate, and what is said aloud of it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from overread.models import SoftMILLogisticRegression


@pytest.fixture(scope="module")
def model(mil):
    return SoftMILLogisticRegression(alpha=0.01, n_init=2).fit(mil.X, mil.y, bags=mil.ids)


def test_the_objective_by_the_definition(model, mil):
    starts = np.flatnonzero(np.diff(mil.ids, prepend=-1))
    q = -np.add.reduceat(np.logaddexp(0, mil.X @ model.coef_[0] + model.intercept_[0]), starts)
    loss = -(mil.y * np.log(-np.expm1(q)) + (1 - mil.y) * q).mean()
    penalty = model.alpha_ * np.abs(model.coef_[0] * model.scale_).sum()
    report = model.fit_report_
    assert report.loss == pytest.approx(loss, rel=1e-12)
    assert report.objective == pytest.approx(loss + penalty, rel=1e-12)
    assert (report.alpha, report.alpha_max) == (model.alpha_, model.alpha_max_)


def test_the_residual_by_the_definition(model, mil):
    """Largest violation of the optimality conditions relative to alpha, by central differences."""
    Z = (mil.X - model.mean_) / model.scale_
    w = model.coef_[0] * model.scale_
    b = model.intercept_[0] + model.coef_[0] @ model.mean_
    starts = np.flatnonzero(np.diff(mil.ids, prepend=-1))

    def loss(theta):
        q = -np.add.reduceat(np.logaddexp(0, Z @ theta[:-1] + theta[-1]), starts)
        return -(mil.y * np.log(-np.expm1(q)) + (1 - mil.y) * q).mean()

    theta = np.append(w, b)
    g = np.array([(loss(theta + e) - loss(theta - e)) / 2e-5 for e in 1e-5 * np.eye(len(theta))])
    alpha = model.alpha_
    violation = np.where(w != 0, np.abs(g[:-1] + alpha * np.sign(w)), np.maximum(np.abs(g[:-1]) - alpha, 0))
    largest = max(violation.max(), abs(g[-1])) / alpha
    assert model.fit_report_.kkt_residual <= 1e-6
    assert largest == pytest.approx(model.fit_report_.kkt_residual, abs=2e-6)


def test_the_criterion_and_the_gap(model, mil):
    """Bags of several instances have no certified gap; rows that stand alone have, and the default meets it."""
    assert (model.fit_report_.criterion, model.fit_report_.gap) == ("conditions", 1.0)
    rows = np.unique(mil.ids, return_index=True)[1]
    single = SoftMILLogisticRegression().fit(mil.X[rows], mil.y).fit_report_
    assert single.criterion == "conditions"
    assert 0.0 <= single.gap <= single.tol == 1e-6
    with pytest.warns(ConvergenceWarning):
        stopped = SoftMILLogisticRegression(max_iter=1).fit(mil.X[rows], mil.y).fit_report_
    assert (stopped.criterion, stopped.converged) == ("none", False)
    assert stopped.gap > 1e-6
