"""`overread candidates` on folders."""

import json

import numpy as np
import pandas as pd
import pytest

from overread.domains import DEFAULT_LIMIT
from overread.images import write_png16
from overread.tables import read_table


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
    assert run(["candidates", folder, "-o", output, "--mm-per-px", "0.8", "--limit", "30", "--json"]) == 3
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert (summary["images"], list(summary["skipped"])) == (2, ["c"])
    assert "c.png" in said.err
    table = read_table(output, "candidates")
    assert table.columns.tolist() == ["image_id", "candidate_id", "x_mm", "y_mm", "radius_mm", "response"]
    assert set(table["image_id"]) == {"a", "b"}
    assert table.groupby("image_id").size().max() <= 30


def test_a_study_names_its_images(run, folder):
    pd.DataFrame({"image_id": ["007"], "path": ["a.png"], "mm_per_px_x": [0.8], "mm_per_px_y": [0.8]}).to_csv(
        folder / "images.csv", index=False
    )
    output = folder / "candidates.parquet"
    assert run(["candidates", folder, "-o", output]) == 0
    assert set(read_table(output, "candidates")["image_id"]) == {"007"}


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (["--mm-per-px", "-1", "-o", "x.csv"], 2, "--mm-per-px"),
        (["--limit", "0", "-o", "x.csv"], 2, "--limit"),
        (["-o", "x.txt"], 2, ".csv or .parquet"),
        (["-o", "{folder}/images.csv"], 2, "is an input file"),
        ([], 2, "needs --output or -o"),
    ],
)
def test_mistakes_get_one_line(run, folder, capsys, arguments, exit_code, words):
    assert run(["candidates", folder, *(word.format(folder=folder) for word in arguments)]) == exit_code
    assert words in capsys.readouterr().err


def test_the_default_limit_is_that_of_the_package_and_finders_are_named(refused, run, folder):
    (folder / "c.png").unlink()
    output = folder.parent / "found.csv"
    words = ["candidates", str(folder), "-o", str(output), "--mm-per-px", "0.8"]
    assert run(words) == 0
    by_curvature = read_table(output, "candidates")
    assert by_curvature.groupby("image_id").size().tolist() == [DEFAULT_LIMIT] * 2
    assert run([*words, "--finder", "log"]) == 0
    assert not read_table(output, "candidates").equals(by_curvature)
    assert "no candidate finder 'none'; there are curvature, log" in refused([*words, "--finder", "none"], 2)
