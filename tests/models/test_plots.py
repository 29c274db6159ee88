"""Figure 5 draws what the table says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from overread._plots import empty_figure
from overread.errors import InvalidInputError
from overread.models import SoftMILPath, reader_importance_figure


@pytest.fixture
def importance():
    return pd.DataFrame(
        {
            "reader_id": ["R1", "R2", "=1+1"],
            "importance": [0.8, -0.3, 0.1],
            "low": [0.2, -0.6, np.nan],
            "high": [1.1, 0.1, np.nan],
        }
    )


def test_a_bar_a_name_and_an_interval_each(importance):
    axis = reader_importance_figure(importance).axes[0]
    np.testing.assert_allclose([bar.get_height() for bar in axis.patches], importance["importance"])
    assert [text.get_text() for text in axis.texts] == ["R1", "R2", "=1+1"]
    segments = axis.collections[0].get_segments()
    np.testing.assert_allclose([segment[:, 1] for segment in segments], [[0.2, 1.1], [-0.6, 0.1]])
    for text, top in zip(axis.texts, [1.1, 0.1, 0.1], strict=True):
        assert text.xy[1] == pytest.approx(top)


def test_the_level_of_the_intervals_is_written(importance):
    axis = reader_importance_figure(importance, confidence=0.9).axes[0]
    assert "90 % intervals" in axis.get_title(loc="left")
    without = importance.assign(low=np.nan, high=np.nan)
    assert reader_importance_figure(without).axes[0].get_title(loc="left") == ""


def test_no_reader_is_an_error(importance):
    with pytest.raises(InvalidInputError, match="no reader"):
        reader_importance_figure(importance.iloc[:0])


@pytest.fixture(scope="module")
def path():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(120, 6)), columns=[f"f{i}" for i in range(6)])
    y = 1 / (1 + np.exp(-(2 * X["f0"] - X["f3"]) * 4))
    return SoftMILPath(n_alphas=8).fit(X * [1, 1, 1, 100, 1, 1], y.to_numpy())


def test_a_path_draws_its_coefficients_per_standard_deviation(path):
    axes = path.plot(chosen=5, n_named=2)
    curves = {tuple(line.get_ydata()) for line in axes.get_lines() if len(line.get_xdata()) == 8}
    expected = path.coef_path_ * path.scale_
    assert curves == {tuple(column) for column in expected.T if column.any()}
    left, right = axes.get_xlim()
    assert left > path.alphas_[0] > path.alphas_[-1] > right
    named = {text.get_text() for text in axes.texts}
    assert {"f0", "f3"} <= named
    (told,) = (text.get_text() for text in axes.get_legend().get_texts())
    assert told == f"chosen: {path.alphas_[5]:.3g}, {path.n_features_[5]} features"
    marked = [line for line in axes.get_lines() if line.get_label() == told]
    assert marked[0].get_xdata()[0] == path.alphas_[5]


def test_a_path_with_no_penalty_at_all_and_axes_of_the_caller(path):
    axes = empty_figure(3, 3).subplots()
    again = SoftMILPath([0.5, 0.1, 0.0]).fit([[0.0], [3.0], [0.1], [-0.2]], [0.25, 0.9, 0.1, 0.2])
    assert again.plot(axes) is axes
    assert np.isfinite(axes.get_xlim()).all()
    with pytest.raises(NotFittedError):
        SoftMILPath().plot()


def test_a_fitted_path_tells_what_it_is_in_a_line(path):
    assert repr(SoftMILPath(n_alphas=4)) == "SoftMILPath(n_alphas=4)"
    assert repr(path).startswith("SoftMILPath(8 penalties ")
    assert f"to {path.n_features_.max()} of 6 features)" in repr(path)


def test_weights_stand_below_sensitivities_and_who_is_left_out_is_named(importance):
    names = [*importance["reader_id"], "late"]
    readers = pd.DataFrame({"reader_id": names[::-1], "sensitivity": np.linspace(0.2, 0.8, len(names))})
    above, below = reader_importance_figure(importance, readers).axes
    assert [bar.get_height() for bar in above.patches] == pytest.approx(readers["sensitivity"].tolist())
    told = [text.get_text() for text in below.texts]
    assert told == ["late\nleft out", *map(str, importance["reader_id"][::-1])]
    weights = [bar.get_height() for bar in below.patches][1:]
    assert weights == pytest.approx(importance["importance"][::-1].tolist())
