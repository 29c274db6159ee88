"""`overread show` on one image."""

import json

import numpy as np
import pytest

from overread.domains import DEFAULT_LIMIT
from overread.images import write_png16


@pytest.fixture
def folder(tmp_path):
    """An image with a bright spot."""
    y, x = np.mgrid[:240, :200]
    spot = 9000 * np.exp(-((x - 60) ** 2 + (y - 110) ** 2) / 50)
    noise = np.random.default_rng(5).normal(20000, 300, spot.shape)
    write_png16(tmp_path / "a.png", (noise + spot).astype(np.uint16))
    return tmp_path


def test_show_draws_a_picture(run, folder, capsys):
    output = folder / "overlay.png"
    assert run(["show", folder / "a.png", "-o", output, "--mm-per-px", "0.8,0.8", "--limit", "5"]) == 0
    assert output.read_bytes().startswith(b"\x89PNG")
    assert "5 candidates" in capsys.readouterr().out


def test_show_draws_the_candidates_of_a_table(answer, refused, folder):
    table = folder / "mine.csv"
    table.write_text("image_id,candidate_id,x_mm,y_mm,radius_mm,response\nz,1,50,60,5,2\n")
    words = ["show", folder / "a.png", "-o", folder / "o.png", "--mm-per-px", "0.8", "--candidates", table]
    assert answer([*words, "--image-id", "z"])["candidates"][0]["x_mm"] == 50.0
    assert "a.png" in refused(words, 2)


def test_show_takes_a_table_without_responses_and_never_overwrites_its_image(run, folder, capsys):
    image, table = folder / "a.png", folder / "mine.csv"
    table.write_text("image_id,candidate_id,x_mm,y_mm,radius_mm\na.png,1,50,60,5\n")
    words = ["show", str(image), "--mm-per-px", "0.8", "--candidates", str(table), "--json", "-o"]
    assert run([*words, folder / "o.png"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][0]["response"] == 0
    before = image.read_bytes()
    assert run([*words, image]) == 2
    assert image.read_bytes() == before


def test_show_draws_the_candidates_of_the_named_finder_up_to_the_shared_limit(refused, run, folder, capsys):
    words = ["show", str(folder / "a.png"), "-o", str(folder / "o.png"), "--mm-per-px", "0.8", "--json"]
    assert run(words) == 0
    curvature = json.loads(capsys.readouterr().out)["candidates"]
    assert len(curvature) == DEFAULT_LIMIT
    assert run([*words, "--finder", "log"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"] != curvature
    assert "there are curvature, log" in refused([*words, "--finder", "none"], 2)
