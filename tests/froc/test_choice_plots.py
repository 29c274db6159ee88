"""The picture of a choice: every setting in its place, the chosen one marked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread._plots import empty_figure
from overread.froc import SettingChoice


@pytest.fixture
def choice() -> SettingChoice:
    table = pd.DataFrame(
        {
            "n_features": [2.0, 5.0, 9.0],
            "sensitivity": [0.5, 0.7, 0.72],
            "standard_error": [0.03, 0.04, np.nan],
            "accepted": [False, True, True],
        }
    )
    return SettingChoice(position=1, best=2, fp_targets=(1.0,), n_standard_errors=1.0, table=table)


def test_settings_are_drawn_where_they_are(choice: SettingChoice) -> None:
    axes = choice.plot()
    drawn = {tuple(point) for line in axes.get_lines() for point in line.get_xydata()}
    assert drawn == {(2.0, 50.0), (5.0, 70.0), (9.0, 72.0)}
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "chosen (5 features, 70.0 %)" in labels
    assert "best (9 features, 72.0 %)" in labels


def test_it_draws_into_axes_of_the_caller(choice: SettingChoice) -> None:
    axes = empty_figure(3, 3).subplots()
    assert choice.plot(axes) is axes
