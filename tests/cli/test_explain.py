from __future__ import annotations

import json

import pytest

from overread.features import CATALOGUE
from overread.images import read_image


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    return str(trained.detector.write(tmp_path_factory.mktemp("model") / "detector.json"))


def test_the_json_adds_up(run, trained, model, capsys):
    assert run(["explain", model, str(trained.dicom[0]), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    best = trained.detector.detect(read_image(trained.dicom[0])).iloc[0]
    assert told["candidate_id"] == best["candidate_id"]
    assert sum(part["contribution"] for part in told["contributions"]) == pytest.approx(
        best["score"], abs=1e-6
    )
    assert told["score"] == pytest.approx(best["score"])


def test_people_see_names_formulas_and_what_is_left(run, trained, model, capsys):
    found = trained.detector.detect(read_image(trained.dicom[0]))
    chosen = found["candidate_id"].iloc[2]
    assert run(["explain", model, str(trained.dicom[0]), chosen, "--top", "1"]) == 0
    told = capsys.readouterr().out
    first = trained.detector.explain(read_image(trained.dicom[0]), chosen).contributions["feature"].iloc[0]
    assert first in " ".join(told.split())
    assert CATALOGUE[first].formula.split()[0] in told
    assert "more features" in told
    assert "mean candidate" in told


def test_an_unknown_candidate(run, trained, model, capsys):
    assert run(["explain", model, str(trained.dicom[0]), "c999"]) == 2
    assert "'c999'" in capsys.readouterr().err


@pytest.mark.parametrize("columns", ["80", "60", "200"])
def test_nothing_is_left_out_where_the_terminal_is_narrow(run, trained, model, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["explain", model, str(trained.dicom[0]), "--top", "1000"]) == 0
    told = capsys.readouterr().out
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= max(int(columns), 80)
    parts = trained.detector.explain(read_image(trained.dicom[0])).contributions
    words = " ".join(told.split())
    for name, value, mean, adds in parts.iloc[:-1].itertuples(index=False, name=None):
        assert (
            f"{adds:+.3f} {value:.4g} {mean:.4g} {name} {' '.join(CATALOGUE[name].formula.split())}" in words
        )
