"""B1 is tuned over every prune bound with every start."""

from overread.models import RVMMIL
from overread.study import MODELS, parse_settings
from overread.study.models.b1 import B1
from study_chain import Chain

SETTINGS = parse_settings({"b1": {"prune_bounds": [1.0, 2.0], "alpha_inits": [0.3, 0.4, 0.5]}})


def test_the_grid_is_every_bound_with_every_start() -> None:
    grid = MODELS["b1"].grid(None, SETTINGS)
    assert len(grid) == 6
    assert {(one["prune_bound"], one["alpha_init"]) for one in grid} == {
        (b, a) for b in (1, 2) for a in (0.3, 0.4, 0.5)
    }


def test_bounds_of_a_start_are_fitted_together_and_come_back_in_the_order_of_the_grid(chain: Chain) -> None:
    calls = []

    class Counted(RVMMIL):
        def fit_each(self, X, y, *, prune_bounds):
            calls.append(list(prune_bounds))
            return [{"prune_bound": bound, "alpha_init": self.alpha_init} for bound in prune_bounds]

    class Counting(B1):
        def build(self, parameters, settings):
            return Counted(**parameters)

    grid = Counting().grid(None, SETTINGS)
    assert Counting().fit_grid(grid, chain.load("cohort").split("training"), SETTINGS) == grid
    assert calls == [[1.0, 2.0]] * 3


def test_what_is_built_and_learns_from_golden_objects(chain: Chain) -> None:
    settings = parse_settings({"b1": {"screen": 7, "max_iter": 12}})
    model = MODELS["b1"].build({"prune_bound": 5.0, "alpha_init": 0.5}, settings)
    assert isinstance(model, RVMMIL)
    assert (model.prune_bound, model.alpha_init, model.screen, model.max_iter) == (5.0, 0.5, 7, 12)
    training = chain.load("cohort").split("training")
    labels = training.bags(MODELS["b1"].labels).labels
    assert set(labels) == {0.0, 1.0}
    assert 0 < sum(labels) <= training.truth["golden"].sum()
