from dataclasses import replace

import pandas as pd
import pytest

from overread.cli.explain import _find_shown, _tell_shown
from overread.features import CATALOGUE, say_in_words
from overread.images import read_image
from overread.study import Explanation, OperatingPoint


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    return str(trained.detector.write(tmp_path_factory.mktemp("model") / "detector.json"))


@pytest.fixture(scope="module")
def found(trained):
    """All candidates of the first image, the strongest first."""
    return trained.detector.detect(read_image(trained.dicom[0]))


def test_the_json_adds_up(answer, trained, model, found):
    told = answer(["explain", model, trained.dicom[0]])
    best = found.iloc[0]
    assert told["candidate_id"] == best["candidate_id"]
    assert sum(part["contribution"] for part in told["contributions"]) == pytest.approx(
        best["score"], abs=1e-6
    )
    assert told["score"] == pytest.approx(best["score"])
    assert (told["shown"], told["fp_target"]) == (True, 0.5)
    assert told["threshold"] == trained.detector.operating_point(0.5).threshold


def test_people_see_words_first_and_formulas_on_demand(run, trained, model, found, capsys):
    chosen = found["candidate_id"].iloc[2]
    name = trained.detector.explain(read_image(trained.dicom[0]), chosen).contributions["feature"].iloc[0]
    formula = " ".join(CATALOGUE[name].formula.split())
    command = ["explain", model, str(trained.dicom[0]), chosen, "--top", "1"]
    assert run(command) == 0
    plain = " ".join(capsys.readouterr().out.split())
    assert run([*command, "--formulas"]) == 0
    exact = " ".join(capsys.readouterr().out.split())
    assert plain.index(say_in_words(name)) < plain.index(name)
    assert formula not in plain
    assert formula in exact
    assert "more features" in plain
    assert "an average candidate in training" in plain


def test_it_says_whether_the_candidate_is_shown(run, trained, model, found, capsys):
    threshold = trained.detector.operating_point(0.5).threshold
    shown = trained.detector.shown(found, 0.5)
    cases = {
        "is shown: its score": found.loc[shown, "candidate_id"].iloc[0],
        "is not shown: its score": found.loc[found["score"] < threshold, "candidate_id"].iloc[0],
    }
    for words, name in cases.items():
        assert run(["explain", model, trained.dicom[0], name, "--fp", "0.5"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert told.startswith(f"Candidate {name} {words}")
        assert f"the threshold {threshold:.3f} for 0.5 false positives per image" in told


def test_a_repeat_names_the_stronger_one_that_it_lies_on(trained):
    """0002 lies on 0001, which is larger; 0003 is stronger than it too, but apart."""
    rows = [("0001", 50.0, 9.0, 3.0), ("0003", 80.0, 5.0, 2.0), ("0002", 58.0, 4.0, 1.0)]
    found = pd.DataFrame(rows, columns=["candidate_id", "x", "radius", "score"]).assign(y=50.0)
    point = OperatingPoint(1.0, 0.5)
    model = replace(trained.detector, operating_points=(point,))
    explained = Explanation(found.iloc[2], found, pd.DataFrame())
    shown = _find_shown(model, explained, point)
    assert shown["candidate_id"].tolist() == ["0001", "0003"]
    assert _tell_shown(explained, point, shown) == (
        "Candidate 0002 is not shown, though its score 1.000 reaches the threshold 0.500 for 1 false positive per "
        "image: it lies on a stronger one, 0001."
    )


def test_an_id_may_be_typed_without_its_zeros(answer, trained, model, found):
    wanted = found["candidate_id"].iloc[1]
    assert len(wanted) == 4
    assert answer(["explain", model, trained.dicom[0], wanted.lstrip("0")])["candidate_id"] == wanted


def test_an_unknown_candidate(refused, trained, model):
    assert "'c999'" in refused(["explain", model, trained.dicom[0], "c999"], 2)


def test_a_detector_without_a_threshold_shows_nothing(run, trained, tmp_path, capsys):
    path = replace(trained.detector, operating_points=()).write(tmp_path / "detector.json")
    assert run(["explain", path, trained.dicom[0]]) == 0
    assert "is not shown: no threshold is locked" in " ".join(capsys.readouterr().out.split())


def test_ranks_are_not_called_probabilities(run, trained, tmp_path, capsys):
    ranked = replace(trained.detector, score_map=replace(trained.detector.score_map, method="rank"))
    assert run(["explain", ranked.write(tmp_path / "detector.json"), trained.dicom[0]]) == 0
    told = capsys.readouterr().out
    assert "probability" not in told
    assert "Rank 1 of" in told


@pytest.mark.parametrize("columns", ["60", "200"])
def test_nothing_is_left_out_where_the_terminal_is_narrow(run, trained, model, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["explain", model, trained.dicom[0], "--top", "1000", "--formulas"]) == 0
    told = capsys.readouterr().out
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= max(int(columns), 80)
    parts = trained.detector.explain(read_image(trained.dicom[0])).contributions
    words = " ".join(told.split())
    for name, value, mean, adds in parts.iloc[:-1].itertuples(index=False, name=None):
        seen = (
            f"{adds:+.3f} {say_in_words(name)} {value:.4g} here, {mean:.4g} on average in training ({name})"
        )
        assert f"{seen} = {' '.join(CATALOGUE[name].formula.split())}" in words
