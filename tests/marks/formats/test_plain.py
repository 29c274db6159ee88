"""Our own tables: put in order, otherwise unchanged."""

import pytest

from overread.errors import FormatError
from overread.marks import read_marks

MARKS = "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg,label\n"


def test_plain_tables_are_put_in_order_and_nothing_else(tmp_path):
    (tmp_path / "marks.csv").write_text(MARKS + "i,r,m,1.5,2.5,3,4,170,n\n")
    (tmp_path / "readings.csv").write_text("image_id,reader_id,when\ni,r,2020\ni,s,2021\n")
    for path in (tmp_path, tmp_path / "marks.csv"):
        found = read_marks(path)
        assert found.marks.iloc[0].tolist() == ["i", "r", "m", 1.5, 2.5, 4.0, 3.0, 80.0, "n"]
        assert found.readings["when"].tolist() == ["2020", "2021"]
        assert found.images["image_id"].tolist() == ["i"]
    with pytest.raises(FormatError, match="give the folder"):
        read_marks(tmp_path / "readings.csv", "plain")
