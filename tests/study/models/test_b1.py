"""B1 is tuned over every prune bound with every start."""

from overread.models import RVMMIL
from overread.study import MODELS, parse_settings
from overread.study.models.b1 import BaselineSettings, fit_bounds_together, rvm_grid
from study_chain import Chain


def test_the_grid_is_every_bound_with_every_start() -> None:
    grid = rvm_grid(BaselineSettings(prune_bounds=[1.0, 2.0], alpha_inits=[3.0, 4.0, 5.0]))
    assert len(grid) == 6
    assert {(one["prune_bound"], one["alpha_init"]) for one in grid} == {
        (b, a) for b in (1, 2) for a in (3, 4, 5)
    }


def test_bounds_of_a_start_are_fitted_together_and_come_back_in_the_order_of_the_grid() -> None:
    grid = rvm_grid(BaselineSettings(prune_bounds=[1.0, 2.0], alpha_inits=[0.3, 0.4, 0.5]))
    calls = []

    def fit_bounds(parameters, bounds):
        calls.append(list(bounds))
        return [{"prune_bound": bound, "alpha_init": parameters["alpha_init"]} for bound in bounds]

    assert fit_bounds_together(grid, fit_bounds) == grid
    assert calls == [[1.0, 2.0]] * 3


def test_what_is_built(chain: Chain) -> None:
    settings = parse_settings({"b1": {"screen": 7, "max_iter": 12}})
    model = MODELS["b1"].build({"prune_bound": 5.0, "alpha_init": 0.5}, settings)
    assert isinstance(model, RVMMIL)
    assert (model.prune_bound, model.alpha_init, model.screen, model.max_iter) == (5.0, 0.5, 7, 12)


def test_it_learns_from_golden_objects(chain: Chain) -> None:
    bags = chain.load("cohort").split("training").bags(MODELS["b1"].labels)
    assert set(bags.labels) == {0.0, 1.0}
    golden = chain.load("cohort").split("training").truth["golden"]
    assert 0 < sum(bags.labels) <= golden.sum()
