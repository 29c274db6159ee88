from __future__ import annotations

import json

import pandas as pd
import pytest

from overread.errors import FormatError
from overread.files import to_json
from overread.report import read_results


@pytest.fixture
def stored(results, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(to_json(results), allow_nan=False))
    return path


def test_results_are_read_as_they_were_written(results, stored):
    found = read_results(stored)
    assert to_json(found) == to_json(results)
    first, again = results.models[0].counted[0].test.band, found.models[0].counted[0].test.band
    pd.testing.assert_frame_equal(
        again[["fp_target", "estimate", "lower"]], first[["fp_target", "estimate", "lower"]]
    )
    assert found.model("noisy").title == "Noisy"


def test_another_schema_and_another_type_are_refused_with_their_place(stored):
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps(content | {"schema": "overread.results/1"}))
    with pytest.raises(FormatError, match="run the study again"):
        read_results(stored)
    content["study"]["n_images"] = "many"
    stored.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"results\.json\.study\.n_images: 'many'"):
        read_results(stored)
