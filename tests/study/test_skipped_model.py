"""A model that cannot be fitted is skipped, said on the page, and the run ends well."""

from dataclasses import replace
from html import unescape

import pandas as pd
import pytest

from field_study import LIGHT, write_field_study
from overread.cli import main
from overread.report import read_results, render_study
from overread.study import open_run

REASON = "no reader has 500 marks near candidates"
SETTINGS = (
    LIGHT.replace('wanted = ["soft"]', 'wanted = ["b2", "soft"]')
    .replace("n_lambdas = 8", "n_lambdas = 4")
    .replace('headline = "test"', 'headline = "nested"\nouter_folds = 2')
    + "[b2]\nmin_positives = 500\n"
)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of pictures in which no reader has 500 marks, run once."""
    folder = tmp_path_factory.mktemp("skipped") / "study"
    write_field_study(folder, settings=SETTINGS, n_images=12)
    assert main(["run", str(folder)]) == 0
    return folder


def test_the_run_ends_well_with_the_other_models(study, capsys):
    root = study / "runs" / "main"
    warning = f"warning: b2 is skipped: {REASON}"
    assert warning in (root / "run.log").read_text()
    # A run whose stages are all valid still says so.
    assert main(["run", str(study)]) == 0
    assert warning in " ".join(capsys.readouterr().err.split())
    results = read_results(root / "results.json")
    assert [model.name for model in results.models] == ["soft"]
    assert list(results.skipped_models) == ["B2"]
    assert results.skipped_models["B2"].startswith(REASON)
    page = unescape((root / "report.html").read_text())
    assert f"B2 could not be fitted: {REASON}" in page
    # What reads a run back does without the model as well.
    run = open_run(root)
    assert len(run.matched("soft").test.candidate_scores) == len(run.table("scores"))
    assert not list(root.glob("models/b2*"))
    assert not list(root.glob("tuning/b2*"))


def test_readers_whom_the_mixture_leaves_out_are_named_beside_its_figure(study):
    run = open_run(study / "runs" / "main")
    weights = pd.DataFrame({"reader_id": ["R1"], "importance": [0.5], "low": [0.2], "high": [0.8]})
    reasons = {
        name: f"{name}: {n} positive bags, fewer than min_positives=10" for name, n in (("R2", 4), ("R3", 0))
    }
    model = replace(run.results.models[0], reader_importance=weights, left_out_readers=reasons)
    pages = [
        unescape(render_study(replace(run.results, models=[one]), run.figures, run.pictures, run.head))
        for one in (model, replace(model, left_out_readers={}))
    ]
    named, silent = (page[page.index(">Readers</h2>") :] for page in pages)
    assert all(why in named for why in reasons.values())
    assert "Readers with too few marks for a model are left out" in named
    assert "Readers with too few marks for a model are left out" not in silent


def test_without_any_other_model_the_run_ends_with_the_reason(study, capsys):
    (study / "study.toml").write_text(SETTINGS.replace('["b2", "soft"]', '["b2"]'))
    assert main(["run", str(study)]) == 4
    said = " ".join(capsys.readouterr().err.split())
    assert f"b2: {REASON}" in said
    assert "Traceback" not in said
