"""Products with features in memory. Fits of features in a file: those of memory, with little or much room.

Numbers by which columns of a file are standardized, against numpy and against the whole matrix at once.
"""

import numpy as np
import pytest
from tests.models.solver.problems import draw

from overread.bags import Bags, StoredInstances
from overread.columns._columns import MemoryColumns
from overread.columns._file_columns import FileColumns, read_ahead
from overread.errors import InputTypeError, InvalidInputError
from overread.models import L1, SoftMILLogisticRegression, SoftMILPath, fits_in_memory
from overread.models import _problem as scaling
from overread.models._budget import ColumnBudget, room_for_columns
from overread.models.solver._newton import NewtonSolver


@pytest.fixture
def problem(tmp_path):
    """A table in which rows of a bag are not neighbours, one column is constant, and scales differ."""
    random = np.random.default_rng(0)
    X = (random.normal(size=(900, 40)) * random.gamma(2.0, size=40) + 10 * random.normal(size=40)).astype(
        np.float32
    )
    X[:, 7] = 3.0
    ids = random.integers(0, 500, 900)
    first = np.sort(np.unique(ids, return_index=True)[1])
    score = ((X - X.mean(0)) / (X.std(0) + 1e-9))[:, :4].sum(1)[first]
    labels = np.where(score > 1.0, random.choice([0.25, 0.5, 1.0], len(first)), 0.0)
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    return X, ids, labels, StoredInstances(tmp_path / "X.npy")


def give_room(monkeypatch, n_columns):
    monkeypatch.setattr(scaling, "room_for_columns", lambda *shape: ColumnBudget(n_columns * 900 * 4, 10**9))


@pytest.mark.parametrize("n_columns", [40, 12])
def test_a_path_is_that_of_the_matrix_in_memory(problem, monkeypatch, n_columns):
    X, ids, labels, stored = problem
    give_room(monkeypatch, n_columns)
    inside = SoftMILPath(n_alphas=15).fit(X, labels, bags=ids)
    outside = SoftMILPath(n_alphas=15).fit(stored, labels, bags=ids)
    assert inside.n_features_.max() > 12
    assert inside.alpha_max_ == outside.alpha_max_
    if n_columns == 40:
        assert outside.coef_path_.tobytes() == inside.coef_path_.tobytes()
    np.testing.assert_allclose(outside.objectives_, inside.objectives_, rtol=1e-8)
    np.testing.assert_allclose(outside.coef_path_, inside.coef_path_, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(outside.scale_, inside.scale_)


def test_no_more_passes_than_penalties_where_there_is_room(problem):
    _, ids, labels, stored = problem
    path = SoftMILPath(n_alphas=15).fit(stored, labels, bags=ids)
    assert 1 < path.fit_reports_[-1].file_passes <= 15 + 5
    inside = SoftMILPath(n_alphas=15).fit(stored.read(), labels, bags=ids)
    assert inside.fit_reports_[-1].file_passes == 0


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_penalty_and_its_predictions(problem, standardize, fit_intercept):
    X, ids, labels, stored = problem
    X = X - X.mean(0)
    np.save(stored.path, np.asfortranarray(X))
    settings = {"alpha": 0.01, "standardize": standardize, "fit_intercept": fit_intercept, "n_init": 2}
    inside = SoftMILLogisticRegression(**settings).fit(X, labels, bags=ids)
    outside = SoftMILLogisticRegression(**settings).fit(stored, labels, bags=ids)
    np.testing.assert_allclose(outside.coef_, inside.coef_, rtol=0, atol=1e-10)
    for method in ("decision_function", "predict_proba"):
        expected = getattr(inside, method)(X, ids)
        np.testing.assert_allclose(getattr(outside, method)(stored, ids), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        outside.instance_decision_function(stored), inside.instance_decision_function(X), rtol=0, atol=1e-8
    )


def test_some_bags_of_a_file(problem):
    X, ids, labels, stored = problem
    bags = Bags.from_ids(stored, ids, labels=labels)
    some = bags[np.arange(0, len(bags), 2)]
    expected = Bags.from_ids(X, ids, labels=labels)[np.arange(0, len(bags), 2)]
    assert np.array_equal(some.matrix.read(), expected.instances)
    outside = SoftMILPath(n_alphas=5).fit(some, some.labels)
    inside = SoftMILPath(n_alphas=5).fit(expected, expected.labels)
    assert outside.coef_path_.tobytes() == inside.coef_path_.tobytes()


def test_what_needs_memory_says_so(problem):
    _, ids, _, stored = problem
    with pytest.raises(InputTypeError, match=r"stay in X\.npy"):
        Bags.from_ids(stored, ids).to_frame()


def test_groups_are_read_and_columns_held_as_they_are_in_memory(problem):
    X, ids, _, stored = problem
    bags = Bags.from_ids(X, ids)
    order, weight = np.random.default_rng(1).permutation(900), np.ones(900)
    inside = scaling.make_design(bags.instances, order, weight, center=True, standardize=True).columns
    np.save(stored.path, np.asfortranarray(bags.instances))
    outside = scaling.make_design(
        StoredInstances(stored.path), order, weight, center=True, standardize=True
    ).columns
    chosen = np.array([5, 7, 0, 31])
    for (group, block), (same, expected) in zip(
        outside.read_groups(chosen, 3), inside.read_groups(chosen, 3), strict=True
    ):
        assert len(chosen[group]) == len(chosen[same])
        assert block.tobytes() == expected.tobytes()
    held, rows = outside.load(chosen)
    assert held[rows].tobytes() == inside.Xt[chosen].tobytes()
    assert list(outside.read_groups(chosen[:0], 3)) == []


def test_columns_that_cannot_all_be_held_are_refused(problem):
    stored = problem[3]
    columns = FileColumns(stored, np.arange(900), np.ones((3, 40)), 5 * 900 * 4)
    assert columns.capacity == 5
    with pytest.raises(InvalidInputError, match="6 columns of 900 rows do not fit in memory; 5 do"):
        columns.load(np.arange(6))


def test_too_little_memory_is_refused_with_what_would_do(problem):
    _, ids, labels, stored = problem
    with pytest.raises(InvalidInputError, match=r"memory_mb=10 is too little for 900 rows: the least is \d+"):
        SoftMILPath(memory_mb=10).fit(stored, labels, bags=ids)


def test_reading_ahead_keeps_the_order_and_passes_on_faults():
    values = [np.full(2, number) for number in range(5)]
    assert [value[0] for value in read_ahead(values)] == [0, 1, 2, 3, 4]
    assert list(read_ahead([])) == []

    def fail():
        yield np.zeros(1)
        raise InvalidInputError("here")

    with pytest.raises(InvalidInputError, match="here"):
        list(read_ahead(fail()))


class NeverHeld(MemoryColumns):
    """Columns that say that they do not fit."""

    def held(self, columns):
        return None


@pytest.mark.parametrize("bag_size", [1, 4])
def test_a_step_by_parts_is_the_fused_pass(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    norms = np.linalg.norm(Xt, axis=1)
    found = []
    for kind in (MemoryColumns, NeverHeld):
        solver = NewtonSolver(kind(Xt), loss, L1(), fit_intercept=True, norms=norms, seed=0)
        solver.start(np.zeros(len(Xt)), -1.0)
        solution = solver.solve(0.3 * solver.alpha_max, tol=1e-10, max_iter=100)
        assert solution.converged
        assert np.count_nonzero(solution.w)
        found.append((solution.objective, solution.w, solution.b, solver.point.gradient))
    for fused, by_parts in zip(*found, strict=True):
        np.testing.assert_allclose(by_parts, fused, rtol=1e-8, atol=1e-10)


def test_groups_of_columns():
    Xt = np.random.default_rng(0).normal(size=(13, 50))
    columns, chosen = MemoryColumns(Xt), np.array([7, 0, 12, 3, 4])
    groups = list(columns.read_groups(chosen, 2))
    assert [len(block) for _, block in groups] == [2, 2, 1]
    for group, block in groups:
        np.testing.assert_array_equal(block, Xt[chosen[group]])
    held, rows = columns.load(chosen)
    np.testing.assert_array_equal(held[rows], Xt[chosen])


def test_more_memory_is_more_room_by_as_much():
    less, more = (room_for_columns(memory_mb, 100_000, 10_000) for memory_mb in (2000, 3000))
    assert more.columns - less.columns == pytest.approx(1e9, abs=5e7)
    assert 0 < less.columns < 2e9
    assert more.sample == less.sample


def test_what_all_columns_do_not_take_is_for_the_sampled_rows():
    less, more = (room_for_columns(memory_mb, 100_000, 50) for memory_mb in (2000, 3000))
    assert more.columns == less.columns == 100_000 * 50 * 4
    assert more.sample - less.sample == pytest.approx(1e9, abs=5e7)


def test_without_a_bound_it_is_of_the_machine():
    assert room_for_columns(None, 1000, 10).columns > 0


def test_the_least_that_is_named_does():
    with pytest.raises(InvalidInputError, match="the least is") as refused:
        room_for_columns(50, 5_000_000, 1000)
    least = float(str(refused.value).rsplit(" ", 1)[1])
    assert room_for_columns(least + 50, 5_000_000, 1000).columns >= 16 * 5_000_000 * 4


def test_a_table_fits_twice_or_not_at_all():
    assert fits_in_memory(100_000, 1_000_000, 1000)
    assert not fits_in_memory(8000, 1_000_000, 1000)
    assert not fits_in_memory(10, 1, 1), "the process itself is larger"
