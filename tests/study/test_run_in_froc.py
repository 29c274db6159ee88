"""`overread froc` on the tables of a finished run gives the numbers of its report."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from overread.cli import main
from overread.froc import MEASURES
from overread.study import Run, open_run
from study_chain import show_by_hand

MODELS = ("soft", "b1", "b2")


@pytest.fixture(scope="module")
def run(numbers_original: Path) -> Run:
    return open_run(numbers_original / "runs/main")


def froc(run: Run, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Report of the command on the test images, counted as it counts by default."""
    files = {
        name: str(run.root / f"tables/{name}.parquet") for name in ("scores", "truth", "images", "candidates")
    }
    results = run.results
    options = [
        *("--images", files["images"], "--candidates", files["candidates"], "--split", "test", "--json"),
        *(
            "--n-bootstrap",
            str(results.n_bootstrap),
            "--seed",
            str(results.seed),
            "--level",
            str(results.level),
        ),
        *("--n-shifts", str(results.settings["evaluation"]["chance_shifts"])),
        *(word for fp in results.fp_targets for word in ("--fp", str(fp))),
        *(word for name in MODELS for word in ("--score", name)),
    ]
    assert main(["froc", files["scores"], files["truth"], *options, *words]) == 0
    return json.loads(capsys.readouterr().out)


def points_of(model: dict[str, Any]) -> dict[tuple[float, str], dict[str, float]]:
    return {(one["fp_target"], measure): one[measure] for one in model["points"] for measure in MEASURES}


def told_by(run: Run, name: str, treatment: str) -> dict[tuple[float, str], dict[str, float]]:
    (counted,) = (one for one in run.results.model(name).counted if one.single_reader == treatment)
    band = counted.test.band
    return {
        (row["fp_target"], row["measure"]): {key: row[key] for key in ("estimate", "lower", "upper")}
        for row in band.to_dict("records")
        if row["fp_target"] in run.results.fp_targets and row["measure"] in MEASURES
    }


def test_default_counting_gives_the_report_s_numbers(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = froc(run, capsys)
    assert [one["name"] for one in found["models"]] == list(MODELS)
    for one in found["models"]:
        shown = run.results.model(one["name"]).counted[0]
        assert shown.single_reader == "ignore"
        assert (found["n_images"], found["n_gts"]) == (shown.test.n_images, shown.test.n_gts)
        assert points_of(one) == told_by(run, one["name"], "ignore")
        assert shown.chance is not None
        assert one["chance"]["chance_reached"] == shown.chance.chance_reached
        assert one["figures_of_merit"] == [
            json.loads(json.dumps(asdict(figure))) for figure in shown.test.figures
        ]


def test_the_other_treatment_is_one_option_away(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for one in froc(run, capsys, "--single-reader", "fp")["models"]:
        assert points_of(one) == told_by(run, one["name"], "fp")


def test_counted_repeats_are_another_count(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """In this run some candidates lie on stronger ones, so that the default is seen to suppress them."""
    test = run.table("images").query("split == 'test'")["image_id"]
    candidates = run.table("candidates").merge(run.table("scores"), on=["image_id", "candidate_id"])
    candidates = candidates[candidates["image_id"].isin(test)].reset_index(drop=True)
    assert not show_by_hand(candidates, candidates["soft"].tolist()).all()
    ours, paper = (froc(run, capsys, "--fp", "8", "--repeats", how) for how in ("suppress", "count"))
    assert ours["models"] == froc(run, capsys, "--fp", "8")["models"]
    for one, other in zip(ours["models"], paper["models"], strict=True):
        # The weak ones are many, and lie on stronger ones more often.
        assert one["points"][-1]["threshold"] < other["points"][-1]["threshold"]
