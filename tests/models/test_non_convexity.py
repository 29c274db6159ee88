"""The default fit beside many other starts, on real multiple-instance data."""

import numpy as np
import pytest

from overread.bags import Bags
from overread.models import SoftMILLogisticRegression
from overread.models._problem import prepare

WITHIN = 1e-3
N_INIT = 12


def read(folder, name):
    stored = np.load(folder / "mil" / f"{name}.npz", allow_pickle=False)
    return Bags.from_ids(stored["X"], stored["bag"]), stored["y"].astype(float)


def from_random_coefficients(bags, y, alpha, scales):
    """Objectives reached from dense random starts, which the estimator itself would refuse as worse than w = 0."""
    problem = prepare(SoftMILLogisticRegression(), bags, y, None, None)
    random = np.random.default_rng(0)
    objectives = []
    for scale in scales:
        solver = problem.solver(seed=0)
        solver.start(scale * random.normal(size=bags.n_features), problem.null)
        solution = solver.solve(alpha * problem.alpha_unit, tol=1e-6, max_iter=500)
        objectives.append(problem.unit * solution.objective)
    return objectives


@pytest.mark.parametrize(
    "fraction", [pytest.param(0.3, marks=pytest.mark.slow), 0.1, pytest.param(0.03, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", ["musk1", pytest.param("elephant", marks=pytest.mark.slow)])
def test_default_is_within_a_thousandth_of_the_best_of_many_starts(shared_data, name, fraction):
    bags, y = read(shared_data, name)
    model = SoftMILLogisticRegression(max_iter=500).fit(bags, y)
    alpha = fraction * model.alpha_max_
    default = SoftMILLogisticRegression(alpha, max_iter=500).fit(bags, y).fit_report_
    many = model.set_params(alpha=alpha, n_init=N_INIT).fit(bags, y).fit_report_
    assert many.start_objectives[0] == default.start_objectives[0]
    assert len(many.start_objectives) == N_INIT + 1
    random_starts = from_random_coefficients(
        bags, y, alpha, scales=(0.03, 0.1) if name == "musk1" else (0.03,)
    )
    best = min(*many.start_objectives, *random_starts)
    assert default.objective <= (1 + WITHIN) * best
    assert default.objective == min(default.start_objectives)
    assert default.converged
