from __future__ import annotations

import numpy as np
import pandas as pd
from small_results import ramp

from overread.report import detections_figure


def test_shown_detections_have_their_probability_and_at_most_ten_others_are_dotted():
    n = 15
    table = pd.DataFrame(
        {
            "x_mm": range(10, 10 + n),
            "y_mm": 50.0,
            "radius_mm": 5.0,
            "probability": [0.9 - 0.05 * i for i in range(n)],
            "shown": [True, True] + [False] * (n - 2),
        }
    )
    (axes,) = detections_figure(ramp(), table).axes
    assert [text.get_text() for text in axes.texts] == ["0.90", "0.85"]
    assert sum(patch.get_linestyle() == ":" for patch in axes.patches) == 10
    assert sum(patch.get_linestyle() == "-" for patch in axes.patches) == 2


def test_without_probabilities_ranks_are_written():
    table = pd.DataFrame(
        {
            "x_mm": [10, 30],
            "y_mm": 50.0,
            "radius_mm": 5.0,
            "probability": np.nan,
            "rank": [1, 2],
            "shown": True,
        }
    )
    (axes,) = detections_figure(ramp(), table).axes
    assert [text.get_text() for text in axes.texts] == ["#1", "#2"]
    assert "with rank" in axes.get_title(loc="left")
