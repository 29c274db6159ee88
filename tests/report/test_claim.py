from __future__ import annotations

import pytest

from overread.report.claim import CLAIM_ITEMS, claim_rows


def test_every_item_has_a_row_and_what_is_not_filled_is_left_to_the_authors():
    rows = claim_rows({28: "FROC"})
    assert [int(row[0]) for row in rows] == sorted(CLAIM_ITEMS)
    assert {int(row[0]): row[2] for row in rows}[28] == "FROC"
    assert {row[2] for row in rows} == {"FROC", "for the authors to say"}


def test_an_item_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="99"):
        claim_rows({99: "x"})
