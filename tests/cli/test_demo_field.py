"""The demo of fields: colour pictures without scale, two labels, from simulation to report."""

from __future__ import annotations

import pandas as pd
import pytest

from overread.cli import main
from overread.study.settings import Settings

# Remove this mark once `overread run` knows [region], [labels] and [units].
needs_regions = pytest.mark.skipif(
    "region" not in Settings.model_fields,
    reason="study.toml has no [region] yet: `overread run` reads chests only",
)


@needs_regions
def test_the_demo_of_fields_runs_whole(tmp_path, capsys):
    folder = tmp_path / "study"
    assert main(["demo", "--kind", "field", "--output", str(folder), "--n-images", "24"]) == 0
    told = capsys.readouterr().out
    page = (folder / "runs" / "main" / "report.html").read_text(encoding="utf-8")
    assert "bright" in page
    assert "dark" in page
    for word in ("lung", "radiograph", "nodule"):
        assert word not in page.lower()
    assert "report.html" in told
    images = pd.read_csv(folder / "images.csv")
    assert len(images) == 24
