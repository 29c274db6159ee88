"""A shard gives back what went in, and refuses what does not belong together."""

import numpy as np
import pandas as pd
import pytest

from overread.domains import ImageWork
from overread.errors import FormatError, InvalidInputError
from overread.study._store import decode_shard, encode_shard


def make_work(n_rows=5, n_features=300, **changes):
    random = np.random.default_rng(n_rows)
    ids = [f"c{number}" for number in range(n_rows)]
    candidates = pd.DataFrame({"candidate_id": pd.Series(ids, dtype="str")}).assign(
        x=random.normal(size=n_rows), y=1.0, radius=2.0, response=random.normal(size=n_rows), more="left out"
    )
    values = random.normal(size=(n_rows, n_features)).astype(np.float32)
    features = pd.DataFrame(values, columns=[f"f{j}" for j in range(n_features)])
    features.insert(0, "candidate_id", ids)
    work = {"candidates": candidates, "features": features, "facts": {"pixel_hash": "h", "side": [1, 2.5]}}
    return ImageWork(**(work | changes))


@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_everything_comes_back(n_rows):
    work = make_work(n_rows)
    shard = decode_shard(encode_shard(work))
    pd.testing.assert_frame_equal(shard.candidates, work.candidates.drop(columns="more"))
    pd.testing.assert_frame_equal(shard.features, work.features.astype({"candidate_id": "str"}))
    assert shard.facts == work.facts


def test_the_same_work_gives_the_same_bytes():
    assert encode_shard(make_work()) == encode_shard(make_work())


def spoil(part, column, row, value):
    table = getattr(make_work(), part).copy()
    table.loc[row, column] = value
    return {part: table}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (spoil("candidates", "candidate_id", 1, "c0"), "must be texts that differ"),
        (spoil("candidates", "candidate_id", 1, ""), "must be texts that differ"),
        (spoil("candidates", "x", 1, np.nan), "x: a value is not finite"),
        (spoil("features", "f7", 1, np.inf), "features: a value is not finite"),
        (spoil("features", "candidate_id", 1, "x"), "rows are not those of the candidates"),
        ({"features": make_work().features.iloc[::-1]}, "rows are not those of the candidates"),
        ({"features": make_work().features[["candidate_id"]]}, "features: there are none"),
    ],
)
def test_what_does_not_belong_together(changes, told):
    with pytest.raises(InvalidInputError, match=told):
        encode_shard(make_work(**changes))


def test_bytes_that_were_cut_are_refused():
    content = encode_shard(make_work(2, 3))
    for cut in range(0, len(content), 37):
        with pytest.raises(FormatError, match="not a shard"):
            decode_shard(content[:cut])


def test_another_parquet_file_is_no_shard(tmp_path):
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(FormatError, match="not a shard"):
        decode_shard((tmp_path / "t.parquet").read_bytes())
