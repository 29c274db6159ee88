from __future__ import annotations

from pathlib import Path

import pytest

from overread._commands import ImageFile, find_image, list_images, parse_spacing
from overread.errors import TableError, UsageError


@pytest.mark.parametrize(
    ("text", "expected"), [(None, None), ("0.7", (0.7, 0.7)), ("0.143,0.168", (0.143, 0.168))]
)
def test_a_spacing_is_one_number_or_two(text, expected):
    assert parse_spacing(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1,2,3", "a,b", "0.7,"])
def test_other_spacings_are_refused(text):
    with pytest.raises(
        UsageError, match=r"--mm-per-px .*: give one positive number such as 0\.143, or two as 0\.14,0\.15"
    ):
        parse_spacing(text)


def test_files_of_a_folder_have_the_ids_that_init_gives(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("b.png", "deep/a.tif"):
        (tmp_path / name).write_bytes(b"")
    assert list_images(tmp_path, mm_per_px=0.5) == [
        ImageFile("b", tmp_path / "b.png", (0.5, 0.5)),
        ImageFile("a", tmp_path / "deep/a.tif", (0.5, 0.5)),
    ]


def test_a_table_of_images_names_them_and_wins_with_its_spacing(tmp_path):
    rows = "image_id,path,mm_per_px_x,mm_per_px_y\n007,x/a.png,0.1,0.2\n008,b.png,,\n"
    (tmp_path / "images.csv").write_text(rows)
    assert list_images(tmp_path, mm_per_px=(0.5, 0.6)) == [
        ImageFile("007", tmp_path / "x/a.png", (0.1, 0.2)),
        ImageFile("008", tmp_path / "b.png", (0.5, 0.6)),
    ]


def test_what_cannot_be_listed_is_said(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no image in this folder"):
        list_images(tmp_path)
    (tmp_path / "images.csv").write_text("image_id\n1\n")
    with pytest.raises(TableError, match="no column path"):
        list_images(tmp_path)
    (tmp_path / "images.csv").write_text("image_id,path\n1,\n")
    with pytest.raises(TableError, match="has no path"):
        list_images(tmp_path)


def test_an_image_of_a_runs_study_is_found_by_any_of_its_names(tmp_path):
    (tmp_path / "images.csv").write_text("image_id,path,mm_per_px_x,mm_per_px_y\n007,x/a.png,0.1,0.2\n")
    run = tmp_path / "runs" / "main"
    run.mkdir(parents=True)
    wanted = ImageFile("007", tmp_path / "x/a.png", (0.1, 0.2))
    for name in ("007", "a.png", "a"):
        assert find_image(Path(name), run) == wanted
    assert find_image(Path("b.png"), run, mm_per_px=(1.0, 1.0)) == ImageFile("b", Path("b.png"), (1.0, 1.0))
    (tmp_path / "c.png").touch()
    assert find_image(tmp_path / "c.png", run).path == tmp_path / "c.png"
