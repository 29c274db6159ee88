"""What was left out is kept with its reason."""

from __future__ import annotations

from overread.marks.left_out import read_left_out, write_left_out


def test_the_table_comes_back_and_may_be_empty(tmp_path):
    assert read_left_out(tmp_path) == {}
    path = write_left_out(tmp_path, {"b.dcm": "broken", "a.dcm": "lateral, twice"}, "init")
    assert path.read_text().splitlines() == [
        "path,step,reason",
        'a.dcm,init,"lateral, twice"',
        "b.dcm,init,broken",
    ]
    assert read_left_out(tmp_path) == {"a.dcm": "lateral, twice", "b.dcm": "broken"}
    write_left_out(tmp_path, {}, "init")
    assert read_left_out(tmp_path) == {}
