"""`overread features`: the catalogue on the screen, and features of candidates on a folder."""

import json

import numpy as np
import pandas as pd
import pytest

from overread.features import CATALOGUE
from overread.images import write_png16


@pytest.fixture
def study(tmp_path):
    """Two images and a broken one, with candidates on each."""
    random = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        write_png16(tmp_path / "images" / f"{name}.png", random.integers(0, 65536, (90, 80), dtype=np.uint16))
    (tmp_path / "images" / "c.png").write_bytes(b"no image")
    pd.DataFrame(
        {
            "image_id": ["01", "02", "03"],
            "path": [f"images/{n}.png" for n in "abc"],
            "mm_per_px_x": 0.9,
            "mm_per_px_y": 0.9,
        }
    ).to_csv(tmp_path / "images.csv", index=False)
    pd.DataFrame(
        {
            "image_id": ["02", "01", "02"],
            "candidate_id": ["001", "001", "002"],
            "x_mm": [30.0, 40.0, 50.0],
            "y_mm": 35.0,
            "radius_mm": 6.0,
        }
    ).to_csv(tmp_path / "candidates.csv", index=False)
    return tmp_path


def command(study, *more, candidates="candidates.csv", output="features.parquet"):
    return [
        "features", "extract", str(study), "--candidates", str(study / candidates), "-o", str(study / output), *more
    ]  # fmt: skip


FEW = ["--feature", "shape.area", "--feature", "lung.side"]


def test_lists_families_features_and_one_of_them(run, capsys):
    assert run(["features"]) == 0
    out = capsys.readouterr().out
    assert all(family in out for family in CATALOGUE.families)
    assert str(len(CATALOGUE)) in out
    assert run(["features", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(CATALOGUE)
    assert run(["features", "--family", "vessel", "--search", "opposite", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["vessel.through"]
    assert run(["features", "--family", "template"]) == 0
    assert "template.afum_mean" in capsys.readouterr().out
    assert run(["features", "explain", "shape.compactness"]) == 0
    assert "4 pi area / perimeter^2" in capsys.readouterr().out


def test_unknown_names_are_usage_of_the_wrong_input(refused, run):
    assert "shape.compactness" in refused(["features", "explain", "shape.compctness"], 4)
    assert run(["features", "--family", "vessels"]) == 4


def test_extracts(run, study, capsys):
    assert run(command(study, *FEW)) == 0
    table = pd.read_parquet(study / "features.parquet")
    assert list(table) == ["image_id", "candidate_id", "shape.area", "lung.side"]
    assert table[["image_id", "candidate_id"]].to_numpy().tolist() == [
        ["01", "001"],
        ["02", "001"],
        ["02", "002"],
    ]
    assert table["shape.area"].dtype == np.float32
    assert "3 candidates in 2 images" in capsys.readouterr().out


def test_bad_images_are_named_and_skipped(run, study, capsys):
    table = pd.read_csv(study / "candidates.csv", dtype=str)
    table.loc[2, "image_id"] = "03"
    table.loc[0, "x_mm"] = "4000"
    table.to_csv(study / "bad.csv", index=False)
    assert run(command(study, *FEW, "--json", candidates="bad.csv", output="f.csv")) == 3
    done = capsys.readouterr()
    assert set(json.loads(done.out)["skipped"]) == {"02", "03"}
    assert "skipped 03" in done.err
    assert len(pd.read_csv(study / "f.csv")) == 1


def test_all_images_bad_gives_an_empty_table(run, study):
    table = pd.read_csv(study / "candidates.csv", dtype=str)
    table["image_id"] = "03"
    table["candidate_id"] = ["1", "2", "3"]
    table.to_csv(study / "bad.csv", index=False)
    assert run(command(study, *FEW, candidates="bad.csv")) == 3
    assert pd.read_parquet(study / "features.parquet").shape == (0, 4)


def test_images_go_by_their_file_names_and_paths_too(run, study):
    assert run(command(study, *FEW)) == 0
    expected = pd.read_parquet(study / "features.parquet")
    table = pd.read_csv(study / "candidates.csv", dtype=str)
    table["image_id"] = table["image_id"].map({"01": "a.png", "02": "images/b.png"})
    table.to_csv(study / "named.csv", index=False)
    assert run(command(study, *FEW, candidates="named.csv", output="named.parquet")) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(study / "named.parquet"), expected)


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [({"output": "features.txt"}, 2, "csv or .parquet"), ({"candidates": "nowhere.csv"}, 4, "nowhere.csv")],
)
def test_mistakes(run, study, capsys, change, code, message):
    assert run(command(study, *FEW, **change)) == code
    assert message in capsys.readouterr().err


def test_unknown_image_and_folder(refused, run, study):
    table = pd.read_csv(study / "candidates.csv", dtype=str)
    table.loc[0, "image_id"] = "99"
    table.to_csv(study / "bad.csv", index=False)
    assert "'99'" in refused(command(study, *FEW, candidates="bad.csv"), 4)
    arguments = command(study, *FEW)
    arguments[2] = str(study / "nowhere")
    assert run(arguments) == 2
