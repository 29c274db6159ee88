"""Image files that are missing."""

import pandas as pd

from overread.marks import check_image_files


def test_missing_files(tmp_path):
    for name, content in (("a", b"xx"), ("b", b"xx"), ("c", b"yy"), ("d", b"xx")):
        (tmp_path / name).write_bytes(content)
    images = pd.DataFrame(
        {
            "image_id": ["1", "2", "3", "4", "5", "6"],
            "path": ["a", "b", "c", "d", "gone", ""],
            "split": ["train", "test", "test", "train", "train", "train"],
        }
    )
    found = check_image_files(images, tmp_path)
    assert [(problem.row, problem.severity) for problem in found] == [(7, "warning"), (6, "warning")]
    assert "1 of 6 images have no path" in found[0].message


def test_no_paths_is_a_warning(tmp_path):
    (problem,) = check_image_files(pd.DataFrame({"image_id": ["1"]}), tmp_path)
    assert (problem.column, problem.severity) == ("path", "warning")
