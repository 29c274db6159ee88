"""An image goes by its id, the name of its file, or that without the digits of an upload."""

from __future__ import annotations

import pytest

from overread.marks.file_names import names_of


@pytest.mark.parametrize(
    ("image_id", "names"),
    [
        ("a.png", ("a.png",)),
        ("data/up/a.png", ("data/up/a.png", "a.png")),
        ("/data/0a1b2c3d-a.png", ("/data/0a1b2c3d-a.png", "0a1b2c3d-a.png", "a.png")),
        ("0A1B2C3D-a.png", ("0A1B2C3D-a.png",)),
        ("0a1b2c3-a.png", ("0a1b2c3-a.png",)),
    ],
)
def test_the_surest_name_comes_first(image_id, names):
    assert names_of(image_id) == names
