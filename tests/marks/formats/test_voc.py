"""Pascal VOC boxes, a file or a folder for each reader."""

import pytest

from overread.errors import FormatError
from overread.marks import detect_format, read_marks

FILE = """<annotation><folder>x</folder><filename>{}.jpg</filename><size><width>100</width><height>50</height></size>
{}</annotation>"""
BOX = (
    "<object><name>nodule</name><bndbox>"
    "<xmin>10</xmin>"
    "<ymin>20</ymin><xmax>18</xmax><ymax>24</ymax></bndbox></object>"
)


def test_a_folder_is_one_readers(tmp_path):
    (tmp_path / "a.xml").write_text(FILE.format("a", BOX))
    (tmp_path / "b.xml").write_text(FILE.format("b", ""))
    assert detect_format(tmp_path) == detect_format(tmp_path / "a.xml") == "voc"
    found = read_marks(tmp_path, reader="R", mm_per_px=0.5)
    assert found.marks.iloc[0].tolist() == ["a.jpg", "R", "R/0", 7.0, 11.0, 2.0, 1.0, 0.0, "nodule"]
    assert found.readings["image_id"].tolist() == ["a.jpg", "b.jpg"]
    assert found.images[["width_px", "height_px"]].to_numpy().tolist() == [[100.0, 50.0]] * 2


@pytest.mark.parametrize(
    ("change", "words"),
    [(("bndbox", "box"), "object 1: <bndbox> is missing"), (("<xmin>10", "<xmin>wide"), "not a finite number"),
     (("annotation>", "other>"), "not a Pascal VOC file")],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, change, words):
    (tmp_path / "a.xml").write_text(FILE.format("a", BOX).replace(*change))
    with pytest.raises(FormatError, match=words):
        read_marks(tmp_path / "a.xml", "voc", reader="R", mm_per_px=1)
