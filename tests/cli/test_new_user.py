"""What somebody meets who follows the README with his own export: each answer names what to do next."""

import json

import numpy as np
import pandas as pd
import pytest

from overread.images import write_png16
from overread.tables import read_table, write_table

NAMES = ("a_1.png", "b_2.png")


def region(x, y, kind="ellipse"):
    size = {"radiusX": 5, "radiusY": 4} if kind == "ellipse" else {"width": 10, "height": 8}
    return {
        "id": f"{kind}{x}",
        "original_width": 100,
        "original_height": 200,
        "image_rotation": 0,
        "value": {"x": x, "y": y, **size, "rotation": 0, f"{kind}labels": ["Nodule"]},
    }


def annotation(number, reader, regions, *, cancelled=False):
    return {"id": number, "completed_by": reader, "result": regions, "was_cancelled": cancelled}


@pytest.fixture
def folder(tmp_path):
    """Write an export as Label Studio uploads make it, a table of spacings by file name, and the files."""
    found = [
        [annotation(1, 3, [region(30, 40)]), annotation(2, 5, [region(31, 40), region(70, 70, "rectangle")])],
        [annotation(3, 3, []), annotation(4, 5, [region(50, 50)], cancelled=True)],
        [],
    ]
    tasks = [
        {
            "id": number,
            "data": {"image": f"/data/upload/7/8b0e715{number}-{name}"},
            "annotations": annotations,
        }
        for number, (name, annotations) in enumerate(zip((*NAMES, "c_3.png"), found, strict=True))
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    table = pd.DataFrame({"image_id": NAMES, "mm_per_px_x": [1.0, 2.0], "mm_per_px_y": [2.0, 1.0]})
    write_table(table.astype({"image_id": "str"}), tmp_path / "spacings.csv")
    random = np.random.default_rng(0)
    for name in NAMES:
        (tmp_path / "study" / "images").mkdir(parents=True, exist_ok=True)
        pixels = random.integers(0, 60000, (200, 100)).astype(np.uint16)
        write_png16(tmp_path / "study" / "images" / name, pixels)
    return tmp_path


@pytest.fixture
def study(run, folder):
    """Import the export into the folder of the files."""
    options = ["--images", str(folder / "spacings.csv"), "-o", str(folder / "study")]
    assert run(["import", folder / "export.json", *options]) == 0
    return folder / "study"


def test_spacings_by_file_name_reach_uploaded_images(study):
    images = read_table(study / "images.csv", "images")
    assert images["image_id"].tolist() == list(NAMES)
    assert images[["mm_per_px_x", "mm_per_px_y"]].to_numpy().tolist() == [[1.0, 2.0], [2.0, 1.0]]
    marks = read_table(study / "marks.csv", "marks")
    assert marks[["x_mm", "y_mm"]].to_numpy().tolist() == [[30.0, 160.0], [31.0, 160.0]]


def test_what_an_import_leaves_out_is_said(capsys, study):
    told = capsys.readouterr().err
    for part in ("1 tasks without annotations", "1 cancelled annotations", "1 box (import with --boxes)"):
        assert part in told
    assert "--boxes" in told


def test_init_says_what_it_kept_and_what_no_row_lists(run, study, capsys):
    write_png16(study / "images" / "c_3.png", np.arange(20000, dtype=np.uint16).reshape(200, 100))
    assert run(["init", study]) == 0
    assert "skipped: 1 image files that images.csv does not list: images/c_3.png" in capsys.readouterr().out
    assert run(["init", study]) == 0
    assert f"kept {study / 'study.toml'} (--overwrite replaces it)" in capsys.readouterr().out


def test_init_counts_all_rows_without_a_file(run, study, capsys):
    for name in NAMES:
        (study / "images" / name).rename(study / "images" / f"other_{name}")
    assert run(["init", study]) == 4
    told = capsys.readouterr().err
    assert "row 2" in told
    assert "and 1 more rows" in told


def test_init_takes_pixels_that_are_not_square(run, folder):
    assert run(["init", folder / "study" / "images", "--mm-per-px", "0.5,0.7"]) == 0
    images = read_table(folder / "study" / "images" / "images.csv", "images")
    assert images[["mm_per_px_x", "mm_per_px_y"]].to_numpy().tolist() == [[0.5, 0.7]] * 2


def test_check_says_once_that_the_files_are_elsewhere(answer, study):
    problems = answer(["check", study])["problems"]
    assert len(problems) == 1
    assert "none of 2 files exists" in problems[0]["message"]
    assert "overread init" in problems[0]["remedy"]


def test_a_spacing_that_no_radiograph_has_is_a_warning(run, folder, capsys):
    out = str(folder / "wrong")
    assert run(["import", folder / "export.json", "--mm-per-px", "11", "-o", out]) == 0
    assert "11 mm per pixel (2 rows) is outside 0.01 to 10" in capsys.readouterr().err


def test_a_spacing_that_makes_marks_larger_than_any_radiograph_is_refused(run, folder, capsys):
    out = folder / "wrong"
    assert run(["import", folder / "export.json", "--mm-per-px", "143", "-o", out]) == 4
    told = capsys.readouterr().err
    assert "is more than 500 mm" in told
    assert "(check the units" in told
    assert not out.exists()


def test_merged_marks_are_drawn_over_the_studys_own_pixels(run, study, capsys):
    assert run(["init", study]) == 0
    sizes = []
    for name in ("with", "without"):
        assert run(["merge", study, "--figure", study / f"{name}.png"]) == 0
        sizes.append((study / f"{name}.png").stat().st_size)
        told = capsys.readouterr()
        assert f"Wrote {study / name}.png" in told.out
        assert ("drawn without pixels" in told.err) == (name == "without")
        (study / "images" / NAMES[0]).write_bytes(b"nothing")
    assert sizes[0] > 2 * sizes[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "FILE"], "is a file, not a folder"),
        (["init", "FILE"], "is a file, not a folder"),
        (["candidates", "FILE", "-o", "c.csv"], "is a file, not a folder"),
        (["candidates", "EMPTY", "-o", "c.csv"], "this folder contains no image"),
        (["show", "EMPTY", "-o", "x.png"], "is a folder; give one image file"),
        (["import", "EMPTY", "--mm-per-px", "0.7", "-o", "OUT"], "a folder without marks.csv"),
        (["import", "FILE", "-o", "OUT"], "--mm-per-px"),
        (["import", "FILE"], "import needs --output or -o"),
        (["show", "-o", "x.png"], "show needs IMAGE"),
        (["features", "exlain"], "unexpected argument 'exlain'"),
        (["froc", "SPACINGS", "SPACINGS"], "ground truth needs a place"),
    ],
)
def test_mistakes_are_answered_with_the_remedy(run, folder, capsys, arguments, told):
    (folder / "empty").mkdir()
    places = {"FILE": "export.json", "EMPTY": "empty", "OUT": "out", "SPACINGS": "spacings.csv"}
    given = [str(folder / places[word]) if word in places else word for word in arguments]
    assert run(given) in (2, 4)
    assert told in capsys.readouterr().err
