"""Figure 5 draws what the table says."""

import io

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.models import reader_importance_figure


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


def test_it_can_be_written(importance):
    content = io.BytesIO()
    reader_importance_figure(importance).savefig(content, format="png")
    assert content.getvalue().startswith(b"\x89PNG")


def test_no_reader_is_an_error(importance):
    with pytest.raises(InvalidInputError, match="no reader"):
        reader_importance_figure(importance.iloc[:0])
