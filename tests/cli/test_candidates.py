"""`overread candidates` and `overread show` on folders."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from overread.images import write_png16
from overread.tables.table_files import read_table


@pytest.fixture
def folder(tmp_path):
    """Two images with a bright spot and a broken one."""
    y, x = np.mgrid[:240, :200]
    spot = 9000 * np.exp(-((x - 60) ** 2 + (y - 110) ** 2) / 50)
    for name in ("a.png", "b.png"):
        noise = np.random.default_rng(len(name)).normal(20000, 300, spot.shape)
        write_png16(tmp_path / name, (noise + spot).astype(np.uint16))
    (tmp_path / "c.png").write_bytes(b"no image")
    return tmp_path


def test_a_bad_image_does_not_stop_the_others(run, folder, capsys):
    output = folder.parent / "found.csv"
    assert (
        run(["candidates", str(folder), "-o", str(output), "--mm-per-px", "0.8", "--limit", "30", "--json"])
        == 3
    )
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert (summary["images"], list(summary["skipped"])) == (2, ["c.png"])
    assert "c.png" in said.err
    table = read_table(output, "candidates")
    assert table.columns.tolist() == ["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm", "response"]
    assert set(table["image_id"]) == {"a.png", "b.png"}
    assert table.groupby("image_id").size().max() <= 30


def test_a_study_names_its_images(run, folder):
    pd.DataFrame({"image_id": ["007"], "path": ["a.png"], "mm_per_px_x": [0.8], "mm_per_px_y": [0.8]}).to_csv(
        folder / "images.csv", index=False
    )
    output = folder / "candidates.parquet"
    assert run(["candidates", str(folder), "-o", str(output)]) == 0
    assert set(read_table(output, "candidates")["image_id"]) == {"007"}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (["--mm-per-px", "0.8,zero", "-o", "x.csv"], 2, "--mm-per-px"),
        (["--mm-per-px", "-1", "-o", "x.csv"], 2, "--mm-per-px"),
        (["--limit", "0", "-o", "x.csv"], 2, "--limit"),
        (["-o", "x.txt"], 2, ".csv or .parquet"),
    ],
)
def test_mistakes_get_one_line(run, folder, capsys, arguments, exit_code, words):
    assert run(["candidates", str(folder), *arguments]) == exit_code
    assert words in capsys.readouterr().err


def test_show_draws_a_picture(run, folder, capsys):
    output = folder / "overlay.png"
    assert (
        run(["show", str(folder / "a.png"), "-o", str(output), "--mm-per-px", "0.8,0.8", "--limit", "5"]) == 0
    )
    assert output.read_bytes().startswith(b"\x89PNG")
    assert "5 candidates" in capsys.readouterr().out


def test_show_draws_the_candidates_of_a_table(run, folder, capsys):
    table = folder / "mine.csv"
    pd.DataFrame(
        {
            "image_id": ["z"],
            "candidate_id": ["1"],
            "x_mm": [50.0],
            "y_mm": [60.0],
            "radius_mm": [5.0],
            "response": [2.0],
        }
    ).to_csv(table, index=False)
    words = [
        "show",
        str(folder / "a.png"),
        "-o",
        str(folder / "o.png"),
        "--mm-per-px",
        "0.8",
        "--candidates",
        str(table),
    ]
    assert run([*words, "--image-id", "z", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["x_mm"] == 50.0
    assert run(words) == 2
    assert "a.png" in capsys.readouterr().err


def test_show_takes_a_table_without_responses_and_never_overwrites_its_image(run, folder, capsys):
    image, table = folder / "a.png", folder / "mine.csv"
    table.write_text("image_id,candidate_id,x_mm,y_mm,radius_mm\na.png,1,50,60,5\n")
    words = ["show", str(image), "--mm-per-px", "0.8", "--candidates", str(table), "--json", "-o"]
    assert run([*words, str(folder / "o.png")]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["response"] == 0
    before = image.read_bytes()
    assert run([*words, str(image)]) == 2
    assert image.read_bytes() == before
