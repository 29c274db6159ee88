"""A code in a report is never the id of another reader."""

import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import DataWarning
from overread.study._inputs import CODES_FILE, _assign_codes


def write_codes(folder: Path, codes: dict[str, str]) -> None:
    table = pd.DataFrame({"reader_id": list(codes), "code": list(codes.values())})
    table.to_csv(folder / CODES_FILE, index=False)


def read_codes(folder: Path) -> dict[str, str]:
    table = pd.read_csv(folder / CODES_FILE, dtype=str)
    return dict(zip(table["reader_id"], table["code"], strict=True))


def test_readers_who_are_called_by_codes_keep_them(tmp_path):
    """The review's readers: the report called R5 "R3" and R7 "R4"."""
    given_ids = pd.Series(["R7", "R3", "R4", "R5", "R3"], dtype="str")
    assert _assign_codes(tmp_path, given_ids) == {name: name for name in ("R3", "R4", "R5", "R7")}
    assert read_codes(tmp_path) == {name: name for name in ("R3", "R4", "R5", "R7")}


def test_ten_simulated_readers_keep_their_ids(tmp_path):
    ids = [f"R{number}" for number in range(1, 13)]
    assert _assign_codes(tmp_path, pd.Series(ids, dtype="str")) == {name: name for name in ids}


def test_others_get_what_is_nobodys_id(tmp_path):
    codes = _assign_codes(tmp_path, pd.Series(["Anna", "R1", "Ben", "r3"], dtype="str"))
    assert codes == {"R1": "R1", "Anna": "R2", "Ben": "R4", "r3": "R5"}


IDS = st.from_regex(r"[Rr]?[0-9]{1,2}|[a-c]", fullmatch=True)


@settings(max_examples=12)
@given(first=st.sets(IDS, min_size=1, max_size=12), second=st.sets(IDS, max_size=6))
@pytest.mark.filterwarnings("ignore::overread.errors.DataWarning")
def test_no_code_is_the_id_of_another_reader(
    tmp_path_factory: pytest.TempPathFactory, first: set[str], second: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("study")
    for ids in (first, first | second, first | second):
        codes = _assign_codes(folder, pd.Series(sorted(ids), dtype="str"))
        assert codes.keys() >= ids
        assert len(set(codes.values())) == len(codes)
        assert all(re.fullmatch("R[0-9]+", code) for code in codes.values())
        for reader, code in codes.items():
            assert code == reader or code not in codes
    assert read_codes(folder) == codes


def test_codes_of_an_older_version_that_are_ids_of_others_are_given_again_with_a_word(tmp_path):
    write_codes(tmp_path, {"Anna": "R2", "R3": "R1", "R4": "R3"})
    with pytest.warns(DataWarning, match=r"reader_codes\.csv: new codes for R3, R4 \(.*are ids of readers"):
        codes = _assign_codes(tmp_path, pd.Series(["Anna", "R3", "R4"], dtype="str"))
    assert codes == {"Anna": "R2", "R3": "R3", "R4": "R4"}


def test_a_reader_whose_id_is_the_code_of_another_keeps_it(tmp_path):
    assert _assign_codes(tmp_path, pd.Series(["Anna", "Ben"], dtype="str")) == {"Anna": "R1", "Ben": "R2"}
    with pytest.warns(DataWarning, match="new codes for Ben "):
        codes = _assign_codes(tmp_path, pd.Series(["Anna", "Ben", "R2"], dtype="str"))
    assert codes == {"Anna": "R1", "Ben": "R3", "R2": "R2"}
    assert read_codes(tmp_path) == codes


def test_a_long_number_may_be_that_of_staff_and_is_not_shown(tmp_path):
    assert _assign_codes(tmp_path, pd.Series(["R104233"], dtype="str")) == {"R104233": "R1"}
