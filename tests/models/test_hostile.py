"""Every hostile input to a fit, by the number of its row in the design's list of them, with the outcome it must get.

E is a typed error that names the place, W an answer with a warning, OK the exact answer. Warnings are errors in
this test run, so that an answer without an expected warning is also one without any other.
"""

import math
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from overread.bags import Bags
from overread.errors import DataWarning, InvalidInputError
from overread.models import SoftMILLogisticRegression

N_BAGS = 60
N_FEATURES = 6


@dataclass(frozen=True)
class Setting:
    """One way to fit: precision, normalization, with or without sample weights."""

    dtype: type
    normalization: str
    weighted: bool

    def model(self, **parameters):
        return SoftMILLogisticRegression(normalization=self.normalization, **parameters)

    def weights(self, n_bags):
        return 1.0 + np.arange(n_bags) % 3 if self.weighted else None

    def fit(self, X, y, ids=None, **parameters):
        n_bags = len(X) if ids is None else len(pd.unique(ids))
        X = X if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=self.dtype)
        return self.model(**parameters).fit(X, y, bags=ids, sample_weight=self.weights(n_bags))

    @property
    def eps(self):
        return float(np.finfo(self.dtype).eps)


# Each precision, normalization and kind of weights once a day; every combination in `make test-all`.
DAILY = {(np.float32, "none", False), (np.float64, "bags", False), (np.float32, "class", True)}
SETTINGS = [
    pytest.param(Setting(*one), marks=[] if one in DAILY else pytest.mark.slow)
    for one in product((np.float32, np.float64), ("none", "bags", "class"), (False, True))
]


@pytest.fixture(
    params=SETTINGS,
    ids=lambda s: f"{s.dtype.__name__}-{s.normalization}-{'weighted' if s.weighted else 'unweighted'}",
)
def setting(request):
    return request.param


@pytest.fixture(scope="module")
def data(make_mil):
    return make_mil(N_BAGS, N_FEATURES, seed=1)


def probabilities(model, X, ids=None):
    return model.predict_proba(X, bags=ids)[:, 1]


def assert_good(model):
    """Finite, and certified to the tolerance asked for."""
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.fit_report_.converged
    assert model.fit_report_.kkt_residual <= model.tol
    assert not model.fit_report_.unbounded


def loss_by_definition(model, X, ids, y, weight):
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    q = -np.add.reduceat(np.logaddexp(0.0, X.astype(float) @ model.coef_[0] + model.intercept_[0]), starts)
    return -weight @ (y * np.log(-np.expm1(q)) + (1 - y) * q)


def weights_by_definition(setting, y):
    count = np.ones(len(y)) if setting.weights(len(y)) is None else setting.weights(len(y))
    if setting.normalization == "none":
        return count
    if setting.normalization == "bags":
        return count / count.sum()
    total = np.where(y > 0, count[y > 0].sum(), count[y == 0].sum())
    return count / total


@pytest.mark.parametrize("standardize", [True, False])
def test_row_4_one_huge_cell(setting, data, standardize):
    X = data.X.copy()
    X[7, 3] = 1e300 if setting.dtype == np.float64 else 1e38
    if not standardize:
        with pytest.raises(InvalidInputError, match=r"column 3.*standardize=True"):
            setting.fit(X, data.y, data.ids, standardize=False)
        return
    model = setting.fit(X, data.y, data.ids)
    assert_good(model)
    assert np.isfinite(model.predict_log_proba(X.astype(setting.dtype), bags=data.ids)).all()


@pytest.mark.parametrize(
    ("row", "exponents"), [pytest.param(5, (996, 100), id="row_5"), pytest.param(6, (531, 80), id="row_6")]
)
def test_rows_5_and_6_a_huge_column(setting, data, row, exponents):
    X = data.X.astype(setting.dtype)
    plain = setting.fit(X, data.y, data.ids)
    huge = X.copy()
    huge[:, 0] = np.ldexp(X[:, 0], exponents[0] if setting.dtype == np.float64 else exponents[1])
    model = setting.fit(huge, data.y, data.ids)
    assert_good(model)
    assert model.coef_[0, 0] != 0
    assert probabilities(model, huge, data.ids).tolist() == probabilities(plain, X, data.ids).tolist()


def test_row_7_a_subnormal_column(setting, data):
    X = data.X.astype(setting.dtype)
    tiny = np.finfo(setting.dtype).tiny
    X[:, 5] = np.sign(X[:, 5]) * tiny / 4
    with pytest.warns(DataWarning, match="smaller than the smallest normal number: 5"):
        model = setting.fit(X, data.y, data.ids)
    assert_good(model)
    assert model.coef_[0, 5] == 0
    assert model.fit_report_.columns_left_out == 1
    without = setting.fit(X[:, :5], data.y, data.ids)
    assert model.coef_[0, :5].tolist() == without.coef_[0].tolist()


@pytest.mark.parametrize(
    "constant",
    [
        pytest.param(0.0, id="row_8"),
        *(pytest.param(value, id=f"row_9-{value}") for value in (1.0, -0.1, 1e8 / 3, 1e30, 1e-30)),
    ],
)
@pytest.mark.parametrize("standardize", [True, False])
def test_rows_8_and_9_a_constant_column(setting, data, constant, standardize):
    X = data.X.copy()
    X[:, 2] = constant
    model = setting.fit(X, data.y, data.ids, standardize=standardize)
    assert_good(model)
    assert model.coef_[0, 2] == 0
    without = setting.fit(np.delete(X, 2, axis=1), data.y, data.ids, standardize=standardize)
    assert np.delete(model.coef_[0], 2).tolist() == without.coef_[0].tolist()


def test_row_10_two_equal_columns(setting, data):
    doubled = np.column_stack([data.X, data.X[:, 0]])
    one, two = setting.fit(data.X, data.y, data.ids), setting.fit(doubled, data.y, data.ids)
    assert_good(two)
    assert two.fit_report_.objective == pytest.approx(one.fit_report_.objective, rel=1e-6)
    assert two.alpha_max_ == pytest.approx(one.alpha_max_, rel=1e-12)


def test_row_13_more_features_than_instances(setting, make_mil):
    wide = make_mil(30, 1150, seed=2)
    X, ids = wide.X[:60].astype(setting.dtype), wide.ids[:60]
    y = wide.y[: len(np.unique(ids))]
    model = setting.fit(X, y, ids, standardize=False)
    assert_good(model)
    loss = loss_by_definition(model, X, ids, y, weights_by_definition(setting, y))
    penalty = model.alpha_ * np.abs(model.coef_).sum()
    assert model.fit_report_.objective == pytest.approx(loss + penalty, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_18_a_bag_of_100_000(dtype):
    random = np.random.default_rng(3)
    X = random.normal(size=(100_020, 3)).astype(dtype)
    ids = np.concatenate([np.zeros(100_000, dtype=int), np.arange(1, 21)])
    y = np.concatenate([[0.5], (X[100_000:, 0] > 0).astype(float)])
    model = SoftMILLogisticRegression(alpha=0.05).fit(X, y, bags=ids)
    assert_good(model)
    loss = loss_by_definition(model, X, ids, y, np.full(21, 1 / 21))
    assert model.fit_report_.loss == pytest.approx(loss, rel=1e-9 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("label", [0.25, 0.5, 0.999])
def test_row_19_one_bag_holds_everything(setting, data, label):
    model = setting.fit(data.X, [label], np.zeros(len(data.X), dtype=int))
    assert_good(model)
    assert probabilities(model, data.X, np.zeros(len(data.X)))[0] == pytest.approx(label, rel=1e-6)
    entropy = -(label * math.log(label) + (1 - label) * math.log1p(-label))
    assert model.fit_report_.objective == pytest.approx(entropy, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_20_100_000_singletons(dtype):
    random = np.random.default_rng(4)
    X = random.normal(size=(100_000, 4)).astype(dtype)
    y = (X[:, 0] + random.normal(size=100_000) > 1).astype(int)
    model = SoftMILLogisticRegression(alpha=0.01).fit(X, y, bags=np.arange(100_000))
    assert_good(model)
    assert model.fit_report_.rows_sampled
    again = SoftMILLogisticRegression(alpha=0.01).fit(X, y)
    assert again.coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize("label", [pytest.param(0, id="row_21"), pytest.param(1, id="row_22")])
@pytest.mark.parametrize("alpha", [None, 0.0, 0.1])
def test_rows_21_and_22_all_labels_equal(setting, data, label, alpha):
    with pytest.warns(DataWarning, match=f"every label is {label}"):
        model = setting.fit(data.X, np.full(N_BAGS, label), data.ids, alpha=alpha)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert not model.coef_.any()
    assert (model.predict(data.X, bags=data.ids) == label).all()


def test_row_23_hard_labels(setting, data):
    y = (data.y > 0).astype(float)
    model = setting.fit(data.X, y, data.ids)
    assert_good(model)
    X = data.X.astype(setting.dtype)
    loss = loss_by_definition(model, X, data.ids, y, weights_by_definition(setting, y))
    assert model.fit_report_.loss == pytest.approx(loss, rel=1e-6)
    for same in (y.astype(int), y.astype(bool), np.where(y > 0, "b", "a")):
        assert setting.fit(data.X, same, data.ids).coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize(
    ("near", "exact"), [pytest.param(1e-320, 0.0, id="row_24"), pytest.param(1 - 2**-53, 1.0, id="row_25")]
)
def test_rows_24_and_25_labels_next_to_hard(setting, data, near, exact):
    y = data.y.copy()
    y[:5] = near
    model = setting.fit(data.X, y, data.ids, tol=1e-9)
    assert_good(model)
    if setting.normalization != "class" or exact == 1.0:
        y[:5] = exact
        hard = setting.fit(data.X, y, data.ids, tol=1e-9)
        expected = probabilities(hard, data.X, data.ids)
        np.testing.assert_allclose(probabilities(model, data.X, data.ids), expected, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def separable(make_mil):
    easy = make_mil(N_BAGS, N_FEATURES, seed=5)
    starts = np.flatnonzero(np.diff(easy.ids, prepend=-1))
    y = (np.maximum.reduceat(easy.X[:, 0], starts) > 0.8).astype(int)
    X = easy.X.copy()
    X[:, 0] += np.where(X[:, 0] > 0.8, 1.0, -1.0)
    return X, y, easy.ids


@pytest.mark.parametrize("alpha", [pytest.param(0.0, id="row_28"), pytest.param(1e-12, id="row_29")])
def test_rows_28_and_29_separable_labels_and_hardly_a_penalty(setting, separable, alpha):
    X, y, ids = separable
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = setting.fit(X, y, ids, alpha=alpha)
    kinds = {warning.category for warning in caught}
    assert kinds
    assert kinds <= {DataWarning, ConvergenceWarning}
    messages = " ".join(str(warning.message) for warning in caught)
    assert "unbounded" in messages
    assert model.fit_report_.unbounded
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.fit_report_.kkt_residual)
    assert ("violated by" in messages) == (not model.fit_report_.converged)
    assert (model.predict(X.astype(setting.dtype), bags=ids) == y).all()


def test_row_30_a_huge_penalty(setting, data):
    model = setting.fit(data.X, data.y, data.ids, alpha=1e300)
    assert_good(model)
    assert not model.coef_.any()


@pytest.mark.parametrize("standardize", [True, False])
def test_row_31_the_largest_penalty_is_exact(setting, data, standardize):
    alpha = setting.fit(data.X, data.y, data.ids, standardize=standardize).alpha_max_
    at = setting.fit(data.X, data.y, data.ids, alpha=alpha, standardize=standardize)
    below = setting.fit(data.X, data.y, data.ids, alpha=0.999 * alpha, standardize=standardize)
    assert not at.coef_.any()
    assert below.coef_.any()
    assert_good(at)
    assert_good(below)


@pytest.mark.parametrize("alpha", [-1e-300, -1.0, np.nan, np.inf, "1", True, [1.0]])
def test_row_32_a_penalty_that_is_none(setting, data, alpha):
    with pytest.raises(InvalidInputError, match="alpha="):
        setting.fit(data.X, data.y, data.ids, alpha=alpha)


@pytest.mark.parametrize("name", ["sample_weight", "reader_weight"])
@pytest.mark.parametrize(
    ("value", "match"),
    [
        pytest.param(0.0, "zero for every bag", id="row_33"),
        pytest.param(-1e-300, r"\[3\] is -1e-300", id="row_34"),
        pytest.param(np.nan, r"\[3\] is nan", id="row_35-nan"),
        pytest.param(np.inf, r"\[3\] is inf", id="row_35-inf"),
    ],
)
def test_rows_33_to_35_bad_weights(setting, data, name, value, match):
    weights = np.zeros(N_BAGS) if value == 0 else np.ones(N_BAGS)
    weights[3] = value
    with pytest.raises(InvalidInputError, match=f"{name}.*{match}"):
        setting.model().fit(data.X.astype(setting.dtype), data.y, bags=data.ids, **{name: weights})


@pytest.mark.parametrize("name", ["sample_weight", "reader_weight"])
def test_row_36_weights_of_every_size(setting, data, name):
    weights = 10.0 ** np.linspace(-300, 300, N_BAGS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = setting.model().fit(data.X.astype(setting.dtype), data.y, bags=data.ids, **{name: weights})
    assert {warning.category for warning in caught} <= {DataWarning, ConvergenceWarning}
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert caught or model.fit_report_.converged


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_row_36_weights_all_tiny_or_all_huge(data, scale):
    """Where the normalization divides by their sum, a common factor changes nothing."""
    plain = SoftMILLogisticRegression(alpha=0.02).fit(data.X, data.y, bags=data.ids)
    scaled = SoftMILLogisticRegression(alpha=0.02)
    scaled.fit(data.X, data.y, bags=data.ids, sample_weight=np.full(N_BAGS, scale))
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=0, atol=1e-9)


def test_row_37_a_weight_of_k_is_a_bag_k_times(setting, data):
    counts = 1 + np.arange(N_BAGS) % 3
    X = data.X.astype(setting.dtype)
    weighted = setting.model(tol=1e-12).fit(X, data.y, bags=data.ids, sample_weight=counts)
    bags = Bags.from_ids(X, data.ids)
    order = np.repeat(np.arange(N_BAGS), counts)
    matrices = [bags[int(position)] for position in order]
    repeated = setting.model(tol=1e-12).fit(Bags.from_list(matrices), data.y[order])
    bound = 1e-10 if setting.dtype == np.float64 else 1e-6
    assert repeated.alpha_max_ == pytest.approx(weighted.alpha_max_, rel=bound)
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, rtol=0, atol=bound)
    np.testing.assert_allclose(
        probabilities(repeated, bags), probabilities(weighted, bags), rtol=0, atol=bound
    )


def test_row_39_shuffled_bags_and_rows(setting, data):
    X = data.X.astype(setting.dtype)
    weights = setting.weights(N_BAGS)
    plain = setting.model(tol=1e-12).fit(X, data.y, bags=data.ids, sample_weight=weights)
    rows = np.random.default_rng(0).permutation(len(X))
    seen = pd.unique(data.ids[rows])
    shuffled = setting.model(tol=1e-12).fit(
        X[rows], data.y[seen], bags=data.ids[rows], sample_weight=None if weights is None else weights[seen]
    )
    bound = 1e-10 if setting.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(shuffled.coef_, plain.coef_, rtol=0, atol=bound)
    np.testing.assert_allclose(shuffled.intercept_, plain.intercept_, rtol=0, atol=bound)


def test_row_40_permuted_columns(setting, data):
    columns = np.random.default_rng(0).permutation(N_FEATURES)
    plain = setting.fit(data.X, data.y, data.ids, tol=1e-12)
    permuted = setting.fit(data.X[:, columns], data.y, data.ids, tol=1e-12)
    np.testing.assert_allclose(permuted.coef_[0], plain.coef_[0, columns], rtol=0, atol=1e-10)


def test_row_41_float32_is_close_to_float64(setting, data):
    single = Setting(np.float32, setting.normalization, setting.weighted).fit(data.X, data.y, data.ids)
    double = Setting(np.float64, setting.normalization, setting.weighted).fit(data.X, data.y, data.ids)
    assert single.fit_report_.objective == pytest.approx(double.fit_report_.objective, rel=1e-5)
    assert single.alpha_max_ == pytest.approx(double.alpha_max_, rel=1e-5)
    expected = probabilities(double, data.X, data.ids)
    np.testing.assert_allclose(probabilities(single, data.X, data.ids), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "layout", ["fortran", "strided", "reversed", "read-only", "memory-mapped", "big-endian", "frame"]
)
def test_row_44_layouts_give_the_same_bits(setting, data, layout, tmp_path):
    X = data.X.astype(setting.dtype)
    weights = setting.weights(N_BAGS)
    expected = setting.model().fit(X, data.y, bags=data.ids, sample_weight=weights)
    laid_out = _laid_out(X, layout, tmp_path)
    model = setting.model().fit(laid_out, data.y, bags=data.ids, sample_weight=weights)
    assert model.coef_.tobytes() == expected.coef_.tobytes()
    assert model.intercept_.tobytes() == expected.intercept_.tobytes()
    after = model.predict_proba(laid_out, bags=data.ids)
    assert after.tobytes() == expected.predict_proba(X, bags=data.ids).tobytes()
    np.testing.assert_array_equal(np.asarray(laid_out), X)


def _laid_out(X, layout, folder):
    if layout == "fortran":
        return np.asfortranarray(X)
    if layout == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if layout == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if layout == "memory-mapped":
        np.save(folder / "X.npy", X)
        return np.load(folder / "X.npy", mmap_mode="r")
    if layout == "big-endian":
        return X.astype(X.dtype.newbyteorder(">"))
    return pd.DataFrame(X)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6])
def test_row_46_scores_of_10_000_in_the_line_search(setting, data, scale):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        model = setting.fit(scale * data.X, data.y, data.ids, standardize=False, warm_start=True)
        assert_good(model)
        model.coef_ = np.where(data.X[0] > 0, 1.0, -1.0)[None, :]
        model.alpha = model.alpha_
        again = model.fit(
            scale * data.X.astype(setting.dtype), data.y, bags=data.ids, sample_weight=setting.weights(N_BAGS)
        )
    assert_good(again)


@pytest.mark.parametrize("where", ["coef_", "intercept_"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_row_47_a_start_that_is_no_number(setting, data, where, value):
    model = setting.fit(data.X, data.y, data.ids, warm_start=True)
    getattr(model, where)[...] = value
    with pytest.raises(InvalidInputError, match="warm_start"):
        model.fit(data.X, data.y, bags=data.ids)


def test_row_47_a_start_far_away(setting, data):
    X = data.X.astype(setting.dtype)
    weights = setting.weights(N_BAGS)
    model = setting.model(warm_start=True).fit(X, data.y, bags=data.ids, sample_weight=weights)
    objective = model.fit_report_.objective
    model.coef_ = np.full((1, N_FEATURES), 1e8)
    model.fit(X, data.y, bags=data.ids, sample_weight=weights)
    assert_good(model)
    assert model.fit_report_.objective == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize("max_iter", [0, 1])
def test_row_48_too_few_steps(setting, data, max_iter):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = setting.fit(data.X, data.y, data.ids, max_iter=max_iter, tol=1e-10)
    assert not model.fit_report_.converged
    assert model.fit_report_.kkt_residual > model.tol
    assert np.isfinite(model.coef_).all()


def test_row_53_rows_and_ids_differ(setting, data):
    with pytest.raises(InvalidInputError, match=f"bags has {len(data.X) - 1} ids for {len(data.X)} rows"):
        setting.model().fit(data.X, data.y, bags=data.ids[:-1])
    with pytest.raises(InvalidInputError, match=f"y has {N_BAGS - 1} labels for {N_BAGS} bags"):
        setting.model().fit(data.X, data.y[:-1], bags=data.ids)
    with pytest.raises(InvalidInputError, match="sample_weight has shape"):
        setting.model().fit(data.X, data.y, bags=data.ids, sample_weight=np.ones(N_BAGS - 1))


def test_row_54_features_reordered_at_predict(setting, data):
    names = list("abcdef")
    bags = Bags.from_ids(pd.DataFrame(data.X.astype(setting.dtype), columns=names), data.ids)
    model = setting.model().fit(bags, data.y)
    reordered = Bags.from_ids(bags.to_frame()[names[::-1]], data.ids)
    assert model.predict_proba(reordered).tolist() == model.predict_proba(bags).tolist()
    more = Bags.from_ids(bags.to_frame()[names[::-1]].assign(extra=1.0), data.ids)
    assert model.predict_proba(more).tolist() == model.predict_proba(bags).tolist()
    with pytest.raises(InvalidInputError, match=r"lack the features \['c'\]"):
        model.predict_proba(Bags.from_ids(bags.to_frame().drop(columns="c"), data.ids))


def test_row_54_features_of_a_frame_reordered_at_predict(data):
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    model = SoftMILLogisticRegression().fit(frame, data.y, bags=data.ids)
    for other in (frame[list("fedcba")], frame.drop(columns="c"), frame.rename(columns={"c": "x"})):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict_proba(other, bags=data.ids)
