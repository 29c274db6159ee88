"""What was found is kept, and what was left out with its reason."""

from overread.marks import FOUND_FILE, list_found_files, read_found, read_left_out
from overread.tables import write_table


def test_the_table_comes_back_and_may_be_empty(tmp_path):
    assert read_found(tmp_path) is None
    assert read_left_out(tmp_path) == {}
    path = write_table(
        list_found_files(["c.dcm"], {"b.dcm": "broken", "a.dcm": "lateral, twice"}), tmp_path / FOUND_FILE
    )
    assert path.read_text().splitlines() == [
        "path,step,reason",
        'a.dcm,init,"lateral, twice"',
        "b.dcm,init,broken",
        "c.dcm,,",
    ]
    assert read_left_out(tmp_path) == {"a.dcm": "lateral, twice", "b.dcm": "broken"}
    assert read_found(tmp_path) == {"a.dcm": "lateral, twice", "b.dcm": "broken", "c.dcm": ""}
    write_table(list_found_files([], {}), tmp_path / FOUND_FILE)
    assert read_left_out(tmp_path) == {}
