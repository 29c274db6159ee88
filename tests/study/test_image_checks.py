"""`overread check` opens the files and says what is strange, with row and cure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.images import write_png16
from overread.marks import MarkSet, scan_folder, write_folder
from overread.study import check_pictures
from overread.study.intake._issues import find_common_spacing

SHAPE = {"x_mm": 10.0, "y_mm": 500.0, "semi_major_mm": 3.0, "semi_minor_mm": 3.0, "angle_deg": 0.0}


def test_repeats_in_two_splits_leak_and_marks_are_held_against_the_file(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 60000, (60, 80)).astype(np.uint16)
    for name, values in (("a", pixels), ("b", pixels), ("c", pixels[::-1].copy())):
        write_png16(tmp_path / f"{name}.png", values)
    (tmp_path / "d.png").write_bytes(b"nothing")
    names = ["a", "b", "c", "d"]
    images = pd.DataFrame(
        {
            "image_id": names,
            "path": [f"{n}.png" for n in names],
            "split": ["training", "test", "test", "test"],
        }
    )
    readings = pd.DataFrame({"image_id": names, "reader_id": "R"})
    marks = pd.DataFrame({"image_id": ["a"], "reader_id": ["R"], "mark_id": ["1"], **SHAPE})
    write_folder(MarkSet(marks, readings, images), tmp_path)
    found = check_pictures(scan_folder(tmp_path), tmp_path)
    assert [(problem.row, problem.severity) for problem in found] == [(5, "warning"), (3, "leakage")]
    assert "--drop missing" in found[0].remedy
    assert "the same pixels as an image before it ('a')" in found[1].message
    sized = images.assign(mm_per_px_x=0.5, mm_per_px_y=0.5)
    write_folder(MarkSet(marks, readings, sized), tmp_path, overwrite=True)
    write_png16(tmp_path / "a.png", pixels)
    beyond = [one for one in check_pictures(scan_folder(tmp_path), tmp_path) if one.column == "y_mm"]
    assert [(one.row, one.severity) for one in beyond] == [(2, "error")]


@pytest.mark.parametrize(
    ("widths", "common"), [([0.2, 0.2], (0.2, 0.3)), ([0.2, 0.4], None), ([np.nan, np.nan], None)]
)
def test_the_size_of_a_pixel_that_init_was_told_is_that_of_the_table(widths, common):
    images = pd.DataFrame({"image_id": ["a", "b"], "mm_per_px_x": widths, "mm_per_px_y": 0.3})
    assert find_common_spacing(images) == common
    assert find_common_spacing(images[["image_id"]]) is None
