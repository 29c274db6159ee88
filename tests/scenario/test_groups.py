from __future__ import annotations

import numpy as np
import pytest
from test_results import make_point

from overread.apps.scenario._design import Condition
from overread.apps.scenario._points import Point
from overread.apps.scenario._results import (
    choose_pool,
    estimate_difference,
    estimate_mean_difference,
    get_found,
    group_points,
    stack_conditions,
    stack_found,
)


def test_points_without_figures_are_left_out():
    none = Point(0, Condition(10, 2), "soft", 0.0, None, "no")
    groups = group_points([none, make_point("soft", 10, 4, 0, 0.5), make_point("soft", 10, 4, 1, 0.5)])
    assert list(groups) == [("soft", Condition(10, 4))]
    assert len(groups["soft", Condition(10, 4)]) == 2


def test_sensitivities_are_stacked_by_seed():
    points = [make_point("soft", 10, 2, seed, 0.5) for seed in range(3)]
    values, draws = stack_found(points, "known", None)
    assert values == pytest.approx([np.mean(get_found(point, "known").sensitivity) for point in points])
    assert draws.shape == (3, 50)
    assert stack_found(points, "known", 2)[0] == pytest.approx(
        [get_found(point, "known").sensitivity[2] for point in points]
    )


def test_only_seeds_that_all_have_are_compared():
    first = [make_point("soft", 10, 2, seed, 0.6, noise=0) for seed in (0, 1, 2)]
    second = [make_point("any", 10, 2, seed, 0.5, noise=0) for seed in (1, 2, 3)]
    estimate = estimate_difference(first, second, "known")
    assert (estimate.value, estimate.n_seeds) == (pytest.approx(0.1), 2)
    assert stack_conditions([first, second], "known")[0].shape == (2, 2)


def test_groups_without_a_common_seed_cannot_be_compared():
    estimate = estimate_difference(
        [make_point("soft", 10, 2, 0, 0.6)], [make_point("any", 10, 2, 1, 0.5)], "known"
    )
    assert np.isnan(estimate.value)
    assert estimate.n_seeds == 0


def test_the_pool_that_reads_all_is_told_of_else_that_which_reads_most():
    assert choose_pool([10, 0, 50]) == 0
    assert choose_pool([10, 50]) == 50


def test_a_mean_difference_of_one_set_is_its_difference():
    first, second = ([make_point("soft", n, 2, seed, 0.5) for seed in range(3)] for n in (10, 20))
    assert estimate_mean_difference([first], [second], "known") == estimate_difference(first, second, "known")
