"""Pictures, figures, page and detector of a run, each made alone of what the stages before them wrote."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.files import from_json, to_json
from overread.images import read_image
from overread.report import Pictures, read_results, write_latex
from overread.study import Settings
from overread.study.stages.pages import (
    FIGURES,
    HEAD,
    MODEL_CARD,
    REPORT,
    _open_image,
)
from overread.study.stages.stage import RECORDS


@pytest.fixture(scope="module")
def folder(light_original: Path) -> Path:
    return light_original / "runs/main"


def plain(folder: Path, *names: str) -> dict[str, object]:
    read = {name: json.loads((folder / name).read_text()) for name in names}
    return {
        name: from_json(RECORDS[name], value) if name in RECORDS else value for name, value in read.items()
    }


def test_the_page_is_made_of_results_pictures_and_figures_alone(folder: Path) -> None:
    inputs = plain(folder, "results.json", "pictures.json", "figures.json", "head.json")
    assert REPORT.make(inputs)["report.html"] == (folder / "report.html").read_text()  # type: ignore[arg-type]
    assert set(REPORT.reads) == set(inputs)


def test_the_model_card_is_made_of_results_and_head_alone(folder: Path) -> None:
    inputs = plain(folder, "results.json", "head.json")
    card = MODEL_CARD.make(inputs)["model_card.md"]  # type: ignore[arg-type]
    assert card == (folder / "model_card.md").read_text()
    assert "# Model card: stand-in" in card
    assert set(MODEL_CARD.reads) == set(inputs)


def test_the_command_writes_page_and_card_again(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder.parents[1], tmp_path / "study")
    again = tmp_path / "study" / "runs" / "main"
    before = {name: (again / name).read_bytes() for name in ("report.html", "model_card.md")}
    for name in before:
        (again / name).unlink()
    assert main(["report", str(again)]) == 0
    assert {name: (again / name).read_bytes() for name in before} == before
    (again / "model_card.md").write_text("mine")
    assert main(["report", str(again), "-o", str(tmp_path / "page.html"), "--latex"]) == 0
    assert (tmp_path / "table_1.tex").read_text() == write_latex(read_results(again / "results.json"))
    assert (again / "model_card.md").read_text() == "mine"


def test_the_head_names_the_run_by_its_results(folder: Path) -> None:
    results = plain(folder, "results.json")
    made = HEAD.make({**results, "names": {"study": "stand-in", "run": "main"}})["head.json"]  # type: ignore[arg-type]
    assert to_json(made) == json.loads((folder / "head.json").read_text())
    assert made.study == "stand-in"
    assert made.id in (folder / "report.html").read_text()


def test_figures_are_the_same_bytes_again(folder: Path) -> None:
    drawn = FIGURES.make(plain(folder, "results.json", "pictures.json"))["figures.json"]  # type: ignore[arg-type]
    assert drawn == json.loads((folder / "figures.json").read_text())


def test_crops_are_cut_from_the_study_s_images(folder: Path) -> None:
    pictures = from_json(Pictures, json.loads((folder / "pictures.json").read_text()))
    results = read_results(folder / "results.json")
    # Fewer than eight where places lie on each other, or an image has many.
    assert 0 < len(pictures.hits) <= min(len(results.gallery.hits), 8)
    assert set(pictures.examples) == {example.image_id for example in results.examples}


def test_an_image_that_cannot_be_opened_gives_no_picture(light_original: Path, tmp_path: Path) -> None:
    images = pd.DataFrame(
        {
            "image_id": ["good", "gone", "none"],
            "path": ["images/003.png", "images/none.png", ""],
            "mm_per_px_x": [2.0, 2.0, np.nan],
            "mm_per_px_y": [2.0, 2.0, np.nan],
        }
    ).set_index("image_id")
    found = _open_image(images, light_original, Settings(), "good")
    assert found is not None
    wanted = read_image(light_original / "images/003.png", mm_per_px=(2.0, 2.0))
    assert np.array_equal(found.pixels, wanted.pixels)
    assert _open_image(images, light_original, Settings(), "gone") is None
    assert _open_image(images, light_original, Settings(), "none") is None


def test_a_foreign_pipeline_makes_no_detector(folder: Path) -> None:
    """The stand-in finds other candidates than the package does: a detector of it would score something else."""
    assert not (folder / "detector.json").exists()
