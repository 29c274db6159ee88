"""Nodules and marks survive their tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from overread.errors import TableError
from overread.simulate import CaseDistribution, NoduleDistribution
from overread.simulate._cases import draw_case
from overread.simulate._tables import distractor_rows, mark_rows, nodule_rows, nodules_by_image


def test_nodules_survive_their_table(background, tmp_path):
    law = CaseDistribution(nodules=NoduleDistribution(spiculated=0.5, with_spicules=0.5))
    cases = {
        f"i{s}": draw_case(background, ["R1"], law, np.random.default_rng(s), n_nodules=2) for s in range(8)
    }
    table = pd.DataFrame([row for name, case in cases.items() for row in nodule_rows(name, case.nodules)])
    table.to_csv(tmp_path / "nodules.csv", index=False)
    again = nodules_by_image(pd.read_csv(tmp_path / "nodules.csv", dtype={"image_id": str}))
    assert {name: tuple(nodules) for name, nodules in again.items()} == {
        n: c.nodules for n, c in cases.items()
    }


def test_a_damaged_row_is_named(background):
    case = draw_case(background, ["R1"], CaseDistribution(), np.random.default_rng(0), n_nodules=1)
    table = pd.DataFrame(nodule_rows("i7", case.nodules)).assign(harmonics="2:x:1")
    with pytest.raises(TableError, match="N1 of image i7"):
        nodules_by_image(table)


def test_mark_ids_are_unique(background):
    case = draw_case(
        background, [f"R{i}" for i in range(1, 9)], CaseDistribution(), np.random.default_rng(2), n_nodules=3
    )
    ids = [row["mark_id"] for row in mark_rows("a", case)]
    assert len(ids) == len(set(ids)) > 3


def test_rows_name_their_image_and_count_their_nodules(background):
    case = draw_case(background, ["R1", "R2"], CaseDistribution(), np.random.default_rng(1), n_nodules=3)
    assert [row["nodule_id"] for row in nodule_rows("a", case.nodules)] == ["N1", "N2", "N3"]
    for row in (*nodule_rows("a", case.nodules), *distractor_rows("a", case), *mark_rows("a", case)):
        assert row["image_id"] == "a"
