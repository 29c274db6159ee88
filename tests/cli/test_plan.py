"""`overread plan`: every kind of plan, as people and as programs see it."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.coverage import SCENARIOS

import overread.study
from overread.apps.planning._reader_sizes import pilot_readers, read_reader_study
from overread.froc import (
    Matching,
    gts_for_half_width,
    gts_needed,
    operating_points,
    pilot_difference,
    pilot_sensitivity,
    reader_study,
)
from overread.study.stages.scores import MatchedScores
from study_chain import run_chain
from study_stand_in import LIGHT, make_study

CLUSTERED = SCENARIOS[2]
# VanDyke study, jackknife: documentation of the R package MRMCaov 0.3.0.
VAN_DYKE = {
    "pilot-cases": "114",
    "var": "0.0008022883",
    "cov1": "0.0003466137",
    "cov2": "0.0003440748",
    "cov3": "0.0002390284",
    "var-tr": "0.000200401702",
}
COMPONENTS = [word for name, value in VAN_DYKE.items() for word in (f"--{name}", value)]


def with_patients(matching: Matching) -> Matching:
    return replace(
        matching, patient_ids=np.array([f"p{i}" for i in range(matching.n_patients)], dtype=object)
    )


@pytest.fixture(scope="module")
def models():
    soft, b1 = map(with_patients, CLUSTERED.draw(3))
    return {"soft": soft, "b1": b1}


@pytest.fixture
def plan(run, models, monkeypatch, capsys):
    """Run the command on a run folder that holds two models; return what it prints."""

    def open_run(folder):
        assert str(folder) == "folder"
        sets = {name: MatchedScores(one, one, one) for name, one in models.items()}
        results = SimpleNamespace(models=[SimpleNamespace(name=name) for name in models])
        return SimpleNamespace(results=results, matched=sets.__getitem__)

    monkeypatch.setattr(overread.study, "open_run", open_run)

    def plan(*arguments: str, code: int = 0) -> str:
        assert run(["plan", *arguments]) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return plan


SIZES = (0.1, 0.075, 0.05, 0.03)


def as_row(share, size):
    return f"{100 * share:g} points {size.gts:,} {size.images:,} {size.patients:,}"


def spoken(size):
    return f"{size.gts:,} consensus objects in {size.images:,} images of {size.patients:,} patients"


def test_one_model_of_a_run_in_sentences(plan, models):
    pilot = pilot_sensitivity(models["soft"], fp_target=0.5)
    told = " ".join(plan("folder").split())
    rows = " ".join(as_row(width, pilot.size_for(width)) for width in SIZES)
    assert told.startswith(
        f"soft finds {100 * pilot.estimate:.1f} % of the consensus objects at 0.5 FP per image, 95 % interval "
        f"{100 * pilot.lower:.1f} to {100 * pilot.upper:.1f} %, half-width {100 * pilot.half_width():.3g} points. "
        f"This is based on {spoken(pilot.size)}, unseen by the models; the consensus objects are equivalent to "
        f"{pilot.worth:.0f} independent ones (design effect {pilot.design_effect:.2f}). half-width consensus objects"
    )
    assert rows in told
    assert told.endswith(
        f"interval, a half-width of 5 points needs {spoken(pilot.cautious_size_for(0.05))}. Assumed: the same mix of "
        "patients, images and consensus objects, and the same model. These are sizes of the test set alone, without "
        "training images."
    )
    assert "first guess" not in told


def test_json_has_the_same_numbers(plan, models):
    told = json.loads(plan("folder", "--model", "b1", "--half-width", "0.04", "--fp", "2", "--json"))
    pilot = pilot_sensitivity(models["b1"], fp_target=2.0)
    assert (told["plan"], told["model"]) == ("sensitivity", "b1")
    assert told["pilot"]["design_effect"] == pytest.approx(pilot.design_effect)
    assert [one["size"] for one in told["plans"]] == [asdict(pilot.size_for(0.04))]


def test_a_locked_threshold_for_images(plan, models):
    words = ("folder", "--locked", "--of", "image", "--half-width", "0.05", "--images", "900")
    told = json.loads(plan(*words, "--json"))
    (threshold,) = operating_points(models["soft"], fp_targets=[0.5])["threshold"]
    pilot = pilot_sensitivity(models["soft"], threshold=threshold, measure="image_sensitivity")
    assert told["threshold"] == threshold
    assert told["planned"]["half_width"] == pytest.approx(pilot.half_width(images=900))
    assert told["planned"]["size"]["images"] == 900
    assert "images with a consensus object at the threshold" in (said := plan(*words))
    assert "900 images" in said


def test_two_models(plan, models):
    pilot = pilot_difference(models["soft"], models["b1"], fp_target=0.5)
    both = ("folder", "--compare", "soft", "b1")
    told = " ".join(plan(*both, "--difference", "0.05", "--power", "0.9", "--images", "500").split())
    size = spoken(pilot.size_for_power(0.05, power=0.9))
    assert f"To detect a difference of 5 points with a power of 0.9, you need {size}." in told
    assert f"powers: {pilot.power(0.05, images=500):.2f} for 5 points" in told
    table = " ".join(plan(*both).split())
    assert " ".join(as_row(width, pilot.size_for(width)) for width in SIZES) in table
    assert "difference, power 0.8" in table
    width = json.loads(plan(*both, "--half-width", "0.02", "--json"))
    assert width["powers"] == []
    assert width["widths"][0]["size"]["gts"] == pilot.size_for(0.02).gts


def test_a_small_pilot_is_called_one(plan, models, monkeypatch):
    monkeypatch.setitem(models, "soft", replace(CLUSTERED, n_patients=8).draw(0)[0])
    told = plan("folder")
    assert "Take the sizes as a first guess" in told
    assert "patients  " not in told  # no patient ids: images stand for them


def test_without_a_run(plan):
    n = gts_for_half_width(0.7, 0.05, design_effect=1.3)
    options = "--sensitivity 0.7 --golden-per-image 0.3 --half-width 0.05 --design-effect 1.3"
    assert plan(*options.split()) == (
        "Expected: a sensitivity of 70.0 % and a design effect of 1.3.\n"
        f"A half-width of 5 points needs {n} consensus objects in {-(-n * 10 // 3):,} images.\n"
        "These are sizes of the test set alone. To use measured values, plan from a run: overread plan RUN\n"
    )
    told = json.loads(plan("--sensitivity", "0.7", "--difference", "0.05", "--disagree", "0.2", "--json"))
    found = gts_needed(0.7, 0.75, discordant=0.2)
    assert told["powers"] == [{"difference": 0.05, "gts": found, "images": None}]
    assert len(json.loads(plan("--sensitivity", "0.7", "--json"))["widths"]) == 4


def test_a_reader_study_from_components(plan):
    """RJafroc's answer for the VanDyke study: 6 readers need 251 cases."""
    assert plan("--readers", "6", *COMPONENTS, "--difference", "0.043800322", "--cases", "111") == (
        "6 readers, from a pilot of 114 cases; generalizing to other readers and other cases. Widths and differences "
        "are in units of the figure of merit.\n"
        "To detect a difference of 0.0438003 with power 0.8, you need 251 cases.\n"
        "111 cases give a half-width of 0.0415, and these powers: 0.55 for 0.0438.\n"
        "Assumed: cases with and without lesions in the pilot's proportion, and similar readers and modalities.\n"
    )
    table = plan("--readers", "5", *COMPONENTS)
    assert "a difference of 0.03 with power 0.8, you need more readers" in table


def test_a_reader_study_from_tables(plan, tmp_path):
    rng = np.random.default_rng(2)
    lines = ["modality,reader,case_id,lesion_id,rating"]
    effect = rng.normal(size=60)
    for modality, gain in (("without", 1.0), ("with", 1.5)):
        for reader in range(4):
            for case in range(60):
                rating = effect[case] + rng.normal() + gain * (case >= 30)
                if rating > 0:
                    lines.append(f"{modality},r{reader},c{case},{'a' if case >= 30 else ''},{rating:.3f}")
    cases = ["case_id,lesion_id", *(f"c{case},{'a' if case >= 30 else ''}" for case in range(60))]
    ratings, lesions = tmp_path / "ratings.csv", tmp_path / "cases.csv"
    ratings.write_text("\n".join(lines) + "\n")
    lesions.write_text("\n".join(cases) + "\n")
    tables = ["--ratings", str(ratings), "--lesions", str(lesions)]
    told = json.loads(plan("--readers", "8", *tables, "--difference", "0.06", "--random", "cases", "--json"))
    pilot = pilot_readers(reader_study(read_reader_study(ratings, lesions), "wAFROC"))
    assert told["pilot"]["n_cases"] == 60
    assert told["modalities"] == ["without", "with"]
    assert told["powers"][0]["cases"] == pilot.cases_for_power(8, 0.06, random="cases")


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ([], "given: none", 2),
        (["folder", "--sensitivity", "0.7"], "given: RUN, --sensitivity", 2),
        (["folder", "--design-effect", "2"], "--design-effect needs --sensitivity", 2),
        (["folder", "--cases", "20"], "--cases needs --readers", 2),
        (["folder", "--model", "x"], "no model 'x'; it has soft, b1", 2),
        (["folder", "--difference", "0.05"], "--difference cannot be combined with one model", 2),
        (["folder", "--compare", "soft", "soft"], "both models are 'soft'", 2),
        (["folder", "--compare", "soft", "b1", "--locked"], "--locked cannot be combined with --compare", 2),
        (["folder", "--half-width", "5"], "half_width=5.0", 4),
        (["folder", "--images", "-3"], "images=-3", 4),
        (["--sensitivity", "0.7", "--images", "30"], "--images needs RUN", 2),
        (["--sensitivity", "0.7", "--fp", "2"], "--fp needs RUN", 2),
        (["--sensitivity", "0.7", "--golden-per-image", "0"], "golden_per_image=0.0", 4),
        (["--sensitivity", "1.7"], "sensitivity=1.7", 4),
        (["--readers", "5"], "--readers needs the pilot", 2),
        (["--readers", "5", *COMPONENTS[:4]], "--readers needs the pilot", 2),
        (["--readers", "5", *COMPONENTS, "--compare", "soft", "b1"], "--compare needs RUN", 2),
        (
            ["folder", "--compare", "soft", "b1", "--model", "b1"],
            "--model cannot be combined with --compare",
            2,
        ),
        (["--readers", "1", *COMPONENTS], "Plan at least two", 4),
        (["folder", "--seed", "-1"], "--seed -1", 2),
    ],
)
def test_mistakes_get_one_line(plan, arguments, said, code):
    assert said in plan(*arguments, code=code)


@pytest.mark.slow
def test_a_run_of_a_study(run, tmp_path, capsys):
    """A real folder, read back: the command sees the test set that the run's own results count."""
    folder = run_chain(make_study(tmp_path / "study", settings=LIGHT)).folder.root
    assert run(["plan", folder, "--half-width", "0.1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    test = overread.study.open_run(folder).matched("soft").test
    assert told["model"] == "soft"
    assert told["pilot"]["size"] == {"patients": test.n_patients, "images": test.n_images, "gts": test.n_gts}
    assert told["has_patients"]


def test_the_page_shows_what_is_printed(plan):
    """Commands of docs/how-to/plan.md that need no run."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "plan.md").read_text(encoding="utf-8")
    shown = re.findall(r"```\noverread plan (--[^\n]*)\n```\n\n```text\n(.*?)```", page, flags=re.DOTALL)
    assert len(shown) == 3
    for arguments, output in shown:
        assert plan(*arguments.split()) == output


def test_no_run_there(run, tmp_path, capsys):
    assert run(["plan", tmp_path]) == 4
    assert "holds no results.json" in capsys.readouterr().err
