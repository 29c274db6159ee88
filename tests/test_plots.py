"""Figures belong to no window, and the same figure is the same file."""

from pathlib import Path

import numpy as np
import pytest

import overread
from overread._plots import empty_figure, figure_kind, save_figure
from overread.errors import UsageError


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(tmp_path, kind):
    written = []
    for name in ("a", "b"):
        figure = empty_figure(2, 2)
        figure.add_subplot().plot([0, 1], [1, 0])
        written.append(save_figure(figure, tmp_path / f"{name}.{kind}").read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


def test_other_endings_are_refused():
    assert figure_kind(Path("a.PNG")) == "png"
    with pytest.raises(UsageError, match=r"ends in \.png, \.svg or \.pdf"):
        figure_kind(Path("a.gif"))


def test_a_path_is_drawn_with_the_features_it_uses():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5))
    path = overread.SoftMILPath().fit(X, (X[:, 0] > 0.5) * 0.75)
    axes = path.plot(chosen=9)
    # A line for each feature, the one at 0, and that of the chosen penalty.
    assert len(axes.lines) == (path.coef_path_ != 0).any(axis=0).sum() + 2
    (told,) = axes.get_legend().get_texts()
    assert told.get_text().endswith(f"{path.n_features_[9]} features")
