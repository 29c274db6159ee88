"""The demo of fields: colour pictures without scale, two labels, from simulation to report."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from overread.cli import main


# Half a minute of two processors; tests/cli/test_pictures.py runs a study of pictures in `make test`.
@pytest.mark.slow
def test_the_demo_of_fields_runs_whole(tmp_path, capsys):
    folder = tmp_path / "study"
    assert main(["demo", "--kind", "field", "--output", str(folder), "--n-images", "16"]) == 0
    told = capsys.readouterr().out
    page = (folder / "runs" / "main" / "report.html").read_text(encoding="utf-8")
    assert "bright" in page
    assert "dark" in page
    # Encoded pictures hold every short word by chance.
    words = re.sub(r'"data:[^"]*"', "", page).lower()
    for word in ("lung", "radiograph", "nodule"):
        assert word not in words
    assert "report.html" in told
    images = pd.read_csv(folder / "images.csv")
    assert len(images) == 16
