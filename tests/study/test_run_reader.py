"""A run is read back as its stages read it."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.errors import FormatError, InvalidInputError
from overread.study import KEYS, Run, open_run
from overread.tables import named
from study_chain import Chain


def test_a_folder_without_results_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"holds no results\.json"):
        open_run(tmp_path)


def test_tables_are_the_files(run: Run, chain: Chain) -> None:
    pd.testing.assert_frame_equal(run.table("truth"), named(chain.load("tables/truth.parquet"), "mm"))
    with pytest.raises(
        InvalidInputError, match="has no table 'nothing'; it has candidates, image_facts, images"
    ):
        run.table("nothing")


def test_features_stand_beside_their_candidates(run: Run, chain: Chain) -> None:
    features = run.features()
    assert features[KEYS].equals(run.table("candidates")[KEYS])
    assert np.array_equal(features.drop(columns=KEYS), np.load(chain.folder.path("features.npy")))


def test_settings_are_those_of_the_run(run: Run, chain: Chain) -> None:
    ours, theirs = run.settings.to_plain(), chain.settings.to_plain()
    for name in ours.keys() - {"execution", "limits"}:
        assert ours[name] == theirs[name]


def test_models_and_matched_scores(run: Run, chain: Chain) -> None:
    assert np.array_equal(run.model("soft").coef_, chain.load("models/soft.json").coef_)
    assert run.matched("b1").test.fingerprint() == chain.load("matched")["b1"].test.fingerprint()
    assert run.cohort is run.cohort


def test_thresholds_are_those_of_the_operating_points(run: Run, chain: Chain) -> None:
    for point in chain.load("operating_points.json"):
        if point["single_reader"] == "ignore":
            found = run.threshold(point["model"], point["fp_target"], source=point["source"])
            assert found == point["threshold"]
    with pytest.raises(InvalidInputError, match=r"no operating point of soft at 0\.7"):
        run.threshold("soft", 0.7)


def test_the_gallery_of_the_results_is_given_again(run: Run) -> None:
    told = run.results.gallery
    found = run.gallery(told.model, told.threshold)
    assert found.hits["truth_id"].tolist() == told.hits["truth_id"].tolist()
    assert found.false_positives["candidate_id"].tolist() == told.false_positives["candidate_id"].tolist()


def test_images_are_where_the_study_says(run: Run, chain: Chain) -> None:
    assert run.image_path("case 003") == chain.study.resolve() / "images/003.png"
    assert run.mm_per_px("case 003") == (2.0, 2.0)
    with pytest.raises(InvalidInputError, match="no file of image 'nobody'"):
        run.image_path("nobody")


FILES = {
    "results.json": lambda run: run.results,
    "operating_points.json": lambda run: run.threshold("soft", 0.5),
    "settings.json": lambda run: run.settings,
    "tables/objects.parquet": lambda run: run.table("objects"),
    "tables/scores.parquet": lambda run: run.matched("soft"),
    "models/soft.json": lambda run: run.model("soft"),
    "features.npy": lambda run: run.features(),
}


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_is_noticed_wherever_it_is(chain: Chain, tmp_path: Path, name: str) -> None:
    root = tmp_path / "runs" / "main"
    shutil.copytree(chain.folder.root, root)
    whole = (root / name).read_bytes()
    random = np.random.default_rng(0)
    for place, bit in zip(random.integers(0, len(whole), 12), random.integers(0, 8, 12), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        (root / name).write_bytes(damaged)
        with pytest.raises(FormatError, match=r"is not what the run wrote.*overread run .* --name main"):
            FILES[name](open_run(root))
