"""`overread froc` on the tables of a run gives what the run's report says of its test images."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.froc import (
    CHANCE_SHIFTS,
    FP_TARGETS,
    LEVEL,
    N_BOOTSTRAP,
    Counting,
    bootstrap,
    chance_level,
    estimate_figures,
    match_detections,
)
from overread.tables import parquet_bytes
from overread.truth import merge_marks

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
SPLITS = ("training", "validation", "test")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Tables as a run writes them: scores of two models, the out-of-fold ones missing on the test images."""
    rng = np.random.default_rng(7)
    images = pd.DataFrame({"image_id": [f"i{k:02d}" for k in range(60)]})
    images["patient_id"] = [f"p{k // 2}" for k in range(60)]
    images["split"] = [SPLITS[k // 2 % 3] for k in range(60)]
    lesions = images["image_id"][::2]
    marks = pd.DataFrame(
        [
            (image, f"r{reader}", f"{image}-{reader}", 100.0 + reader, 100.0, 9.0, 7.0, 30.0)
            for k, image in enumerate(lesions)
            for reader in range(3)
            if reader <= k // 3 % 3
        ],
        columns=COLUMNS,
    )
    readings = pd.DataFrame(
        [(image, f"r{reader}") for image in images["image_id"] for reader in range(3)],
        columns=["image_id", "reader_id"],
    )
    places = [(image, 101.0, 99.0) for image in lesions]
    places += [(image, 30.0 * k, 50.0) for image in images["image_id"] for k in range(1, 6)]
    candidates = pd.DataFrame(places, columns=["image_id", "x_mm", "y_mm"]).sort_values(
        "image_id", ignore_index=True
    )
    candidates.insert(1, "candidate_id", [f"c{k}" for k in range(len(candidates))])
    candidates = candidates.assign(radius_mm=6.0, response=1.0)
    scores = candidates[["image_id", "candidate_id"]].assign(
        soft=rng.normal(size=len(candidates)) + (candidates["x_mm"] == 101.0),
        b1=rng.normal(size=len(candidates)),
    )
    of_test = scores["image_id"].map(images.set_index("image_id")["split"]) == "test"
    scores.insert(3, "soft_out_of_fold", scores["soft"].mask(of_test))
    tables = tmp_path_factory.mktemp("run") / "tables"
    tables.mkdir()
    written = {"images": images, "candidates": candidates, "scores": scores}
    written["truth"] = merge_marks(marks, readings)
    for name, table in written.items():
        (tables / f"{name}.parquet").write_bytes(parquet_bytes(table))
    return tables


def report_of(run, capsys, *options):
    scores, truth, images, candidates = (
        str(run / f"{name}.parquet") for name in ("scores", "truth", "images", "candidates")
    )
    files = [scores, truth, "--images", images, "--candidates", candidates]
    assert main(["froc", *files, "--score", "soft", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def part_of(run, *splits):
    tables = {
        name: pd.read_parquet(run / f"{name}.parquet") for name in ("images", "truth", "candidates", "scores")
    }
    inside = set(tables["images"].loc[tables["images"]["split"].isin(splits), "image_id"])
    return {
        name: table[table["image_id"].isin(inside)].reset_index(drop=True) for name, table in tables.items()
    }


@pytest.mark.parametrize("splits", [("test",), ("training", "validation")])
def test_default_settings_give_the_numbers_of_the_report(run, capsys, splits):
    part = part_of(run, *splits)
    tables = part["candidates"], part["truth"], part["images"]
    matching = match_detections(*tables, scores=part["scores"]["soft"], counting=Counting())
    report = report_of(run, capsys, *(word for split in splits for word in ("--split", split)))
    assert (report["n_images"], report["n_gts"]) == (matching.n_images, matching.n_gts)
    assert report["n_single_reader_gts"] > 0
    (model,) = report["models"]
    assert model["name"] == "soft"
    replicates = bootstrap(matching, fp_targets=FP_TARGETS, n_bootstrap=N_BOOTSTRAP, seed=0)
    for row in replicates.intervals(LEVEL).itertuples():
        (point,) = (one for one in model["points"] if one["fp_target"] == row.fp_target)
        assert point[row.measure] == {"estimate": row.estimate, "lower": row.lower, "upper": row.upper}
    chance = chance_level(*tables, scores=part["scores"]["soft"], n_shifts=CHANCE_SHIFTS, seed=0)
    assert model["chance"]["chance_reached"] == chance.chance_reached
    assert pd.DataFrame(model["chance"]["points"]).equals(chance.points)
    assert model["figures_of_merit"] == [asdict(one) for one in estimate_figures(matching)]


def test_the_papers_counting_is_one_option_away(run, capsys):
    quick = ("--split", "test", "--n-bootstrap", "100", "--n-shifts", "0")
    ours, paper = report_of(run, capsys, *quick), report_of(run, capsys, *quick, "--single-reader", "fp")
    assert paper["models"][0]["points"] == ours["models"][0]["other_treatment"]["points"]
    assert paper["models"][0]["points"] != ours["models"][0]["points"]


def test_a_split_that_nobody_has_is_refused(run, capsys):
    files = [str(run / f"{name}.parquet") for name in ("scores", "truth")]
    assert main(["froc", *files, "--images", str(run / "images.parquet"), "--split", "tset"]) == 4
    assert (
        "no image has split 'tset'; there are ['test', 'training', 'validation']" in capsys.readouterr().err
    )
