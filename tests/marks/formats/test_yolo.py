"""YOLO boxes, fractions of the images' sizes."""

import pandas as pd
import pytest

from overread.errors import FormatError
from overread.marks import read_marks

IMAGES = pd.DataFrame(
    {"image_id": ["a", "b"], "mm_per_px_x": 0.5, "mm_per_px_y": 0.5, "width_px": 200.0, "height_px": 100.0}
)


def test_a_folder_is_one_readers(tmp_path):
    (tmp_path / "a.txt").write_text("1 0.1 0.2 0.04 0.16\n\n")
    (tmp_path / "b.txt").write_text("")
    (tmp_path / "classes.txt").write_text("mass\nnodule\n")
    found = read_marks(tmp_path, "yolo", reader="R", images=IMAGES)
    assert found.marks.iloc[0].tolist() == ["a", "R", "R/1", 10.0, 10.0, 4.0, 2.0, 90.0, "nodule"]
    assert found.readings["image_id"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "images", "words"),
    [
        ("0 0.1 0.2 0.3\n", IMAGES, "row 1: 4 cells"),
        ("0 0.1 0.2 0.3 wide\n", IMAGES, "wide is not a number"),
        ("0 0.1 0.2 0.3 0.4\n", None, "width_px and height_px of image 'a'"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(tmp_path, text, images, words):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(FormatError, match=words):
        read_marks(
            tmp_path / "a.txt",
            "yolo",
            reader="R",
            images=images,
            **({"mm_per_px": 1} if images is None else {}),
        )
