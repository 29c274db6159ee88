"""The page on adding a penalty runs, block after block, and a penalty of another shape goes the same way."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models import PENALTIES, Penalty, SoftMILLogisticRegression, SoftMILObjective, SoftMILPath
from page_code import run_page


@pytest.fixture
def page(monkeypatch):
    """Names that the page's blocks leave; the registry is as before afterwards."""
    before = dict(PENALTIES)
    # A dataclass looks its module up by name.
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    try:
        yield run_page("how-to/add_a_penalty.md", vars(module))
    finally:
        PENALTIES.clear()
        PENALTIES.update(before)


def test_the_page_runs_and_its_penalty_is_refused_where_it_does_not_fit(page):
    assert {0, 1} <= set(page["chosen"].tolist())
    with pytest.raises(InvalidInputError, match="2 weights for 30 features"):
        SoftMILLogisticRegression(penalty=page["WeightedL1"]((1.0, 2.0))).fit(page["X"], page["y"])
    with pytest.raises(InvalidInputError, match="above 0"):
        page["WeightedL1"]((1.0, 0.0))


def test_the_weights_keep_to_their_columns_on_bags(page, make_mil):
    """Working sets and skipped columns are asked for by number: the certificate holds in the objective itself."""
    data = make_mil(n_bags=120, n_features=40, seed=2)
    penalty = page["WeightedL1"](np.random.default_rng(1).uniform(0.3, 3.0, 40))
    path = SoftMILPath(penalty=penalty, n_alphas=6, standardize=False, tol=1e-8)
    path.fit(data.X, data.y, bags=data.ids)
    assert path.n_features_[0] == 0 < path.n_features_[-1]
    for alpha, w, b in zip(path.alphas_, path.coef_path_, path.intercept_path_, strict=True):
        objective = SoftMILObjective(data.bags, data.y, alpha=alpha, penalty=penalty)
        assert np.abs(objective.minimum_norm_subgradient(w, b)).max() <= 2e-8 * alpha * min(penalty.weights)


@dataclass(frozen=True)
class L1WithCosh(Penalty):
    """R(w) = sum_j |w_j| + log cosh w_j, whose smooth part is not quadratic."""

    name: ClassVar[str] = "l1_with_cosh"
    kink: ClassVar[float] = 1.0

    def value(self, w):
        return float(np.abs(w).sum() + (np.logaddexp(w, -w) - np.log(2)).sum())

    def slope(self, w):
        return np.tanh(w)

    def curvature(self, w):
        return 1 - np.tanh(w) ** 2


@pytest.mark.parametrize("pooling", ["noisy_or", "mean"])
def test_a_smooth_part_that_is_not_quadratic(make_mil, pooling):
    data = make_mil(n_bags=150, n_features=10, seed=7)
    path = SoftMILPath(
        penalty=L1WithCosh(), n_alphas=8, min_ratio=0.001, pooling=pooling, standardize=False, tol=1e-8
    ).fit(data.X, data.y, bags=data.ids)
    assert np.abs(path.coef_path_).max() > 0.7
    for alpha, w, b in zip(path.alphas_, path.coef_path_, path.intercept_path_, strict=True):
        objective = SoftMILObjective(data.bags, data.y, alpha=alpha, penalty=L1WithCosh(), pooling=pooling)
        assert np.abs(objective.minimum_norm_subgradient(w, b)).max() <= 2e-8 * alpha
