"""Marks become ground truth behind codes, and no patient is in two splits."""

import numpy as np
import pandas as pd
import pytest

from overread.errors import DataWarning, InvalidInputError, LeakageError, TableError
from overread.study import parse_settings
from overread.study.stages.truth import CHECK_PARTS, SPLIT, TRUTH, _sort_by_code
from overread.tables import named
from overread.truth import LabelOptions, MergeOptions, merge_marks
from study_chain import Chain, call_alone

NAMES = ("Smith", "Jones", "Meier", "Weber", "Rossi")


@pytest.fixture(scope="module")
def tables(chain: Chain) -> dict[str, pd.DataFrame]:
    return {name.split("/")[1].split(".")[0]: table for name, table in chain.call("truth").items()}


def test_objects_are_those_of_merging_alone(chain: Chain, tables: dict[str, pd.DataFrame]) -> None:
    options = MergeOptions(seed=chain.settings.seed)
    alone = merge_marks(
        chain.inputs.marks, chain.inputs.readings, options=options, labels=LabelOptions(), unit="mm"
    )
    pd.testing.assert_frame_equal(
        named(tables["truth"], "mm").drop(columns="mark_ids"), alone.drop(columns="mark_ids")
    )
    for coded, own in zip(tables["truth"]["mark_ids"], alone["mark_ids"], strict=True):
        assert len(coded) == len(own)


def test_a_coded_mark_is_where_its_reader_put_it(chain: Chain, tables: dict[str, pd.DataFrame]) -> None:
    place = ["image_id", "reader_id", "x", "y", "semi_major"]
    own = chain.inputs.marks.assign(reader_id=chain.inputs.marks["reader_id"].map(chain.inputs.reader_codes))
    expected = own[place].sort_values(place, ignore_index=True)
    found = tables["marks"][place].sort_values(place, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    for row in tables["marks"].itertuples():
        assert row.mark_id.startswith(f"{row.reader_id}.")


def test_members_of_an_object_lie_at_it(tables: dict[str, pd.DataFrame]) -> None:
    place = tables["marks"].set_index(["image_id", "mark_id"])[["x", "y"]]
    for row in tables["truth"].itertuples():
        centre = np.mean([place.loc[(row.image_id, mark)] for mark in row.mark_ids], axis=0)
        assert np.hypot(*(centre - [row.x, row.y])) < row.semi_major


def test_no_name_of_a_reader_is_in_any_table(tables: dict[str, pd.DataFrame]) -> None:
    for name, table in tables.items():
        text = table.to_csv()
        assert not any(reader in text for reader in NAMES), name


def test_the_seed_is_the_study_s(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def spy(marks, readings, *, options, **more):
        seen.append(options.seed)
        return merge_marks(marks, readings, options=options, **more)

    monkeypatch.setattr("overread.study.stages.truth.merge_marks", spy)
    call_alone(TRUTH, chain.values(TRUTH), parse_settings({"seed": 77}))
    assert seen == [77]


def test_without_two_readers_of_one_mind_there_is_nothing_to_learn(chain: Chain) -> None:
    marks = chain.inputs.marks
    with pytest.raises(TableError, match="no two readers marked the same object"):
        chain.call("truth", **{"input/marks": marks[marks["reader_id"] == "Smith"]})


def test_codes_are_sorted_by_number() -> None:
    table = pd.DataFrame({"reader_id": ["R10", "R2", "R1"], "n": [1, 2, 3]})
    assert _sort_by_code(table, "reader_id")["n"].tolist() == [3, 2, 1]


def test_the_study_s_own_split_is_kept_and_the_truth_not_looked_at(chain: Chain) -> None:
    parts = [("training", "validation", "test")[number // 2 % 3] for number in range(36)]
    given = {"input/images": chain.inputs.images.assign(split=parts)}
    (images,) = call_alone(SPLIT, given, chain.settings).values()
    assert images["split"].tolist() == parts


def test_a_patient_in_two_splits_is_refused(chain: Chain) -> None:
    parts = [("training", "validation", "test")[number % 3] for number in range(36)]
    with pytest.raises(LeakageError):
        chain.call("split", **{"input/images": chain.inputs.images.assign(split=parts)})


def test_another_seed_gives_another_split(chain: Chain) -> None:
    first, second = (
        call_alone(SPLIT, chain.values(SPLIT), parse_settings({"seed": seed}))["tables/split.parquet"]
        for seed in (1, 2)
    )
    assert first["split"].tolist() != second["split"].tolist()


def split_with(chain: Chain, headline: str, images: pd.DataFrame | None = None, **shares: float) -> pd.Series:
    settings = parse_settings({"evaluation": {"headline": headline}, "split": shares})
    values = chain.values(SPLIT) | ({} if images is None else {"input/images": images})
    return call_alone(SPLIT, values, settings)["tables/split.parquet"]["split"]


def test_a_study_whose_test_set_would_be_too_small_has_none(chain: Chain) -> None:
    thirds = split_with(chain, "test")
    assert set(thirds) == {"training", "validation", "test"}
    assert split_with(chain, "nested").value_counts().to_dict() == {"training": 18, "validation": 18}
    assert split_with(chain, "auto").equals(split_with(chain, "nested"))
    # With 39 golden objects a share of one half is known to 15 points: Wilson's interval, by hand.
    n, z2 = 39, 1.959964**2
    half_width = z2**0.5 * (n / 4 + z2 / 4) ** 0.5 / (n + z2)
    assert half_width <= 0.15 < z2**0.5 * ((n - 1) / 4 + z2 / 4) ** 0.5 / (n - 1 + z2)
    truth = chain.load("tables/truth.parquet")
    tested = thirds.index[thirds == "test"]
    golden = truth["golden"] & truth["image_id"].isin(chain.load("tables/split.parquet")["image_id"][tested])
    assert 0 < golden.sum() < n


def test_a_large_study_keeps_its_test_set(chain: Chain) -> None:
    values = chain.values(SPLIT)
    truth = values["tables/truth.parquet"]
    many = pd.concat([truth[truth["golden"]]] * 3, ignore_index=True)
    parts = call_alone(SPLIT, values | {"tables/truth.parquet": many}, parse_settings({}))[
        "tables/split.parquet"
    ]
    assert set(parts["split"]) == {"training", "validation", "test"}


def test_shares_of_the_settings(chain: Chain) -> None:
    parts = split_with(chain, "test", training=0.5, validation=0.25, test=0.25)
    assert parts.value_counts().to_dict() == pytest.approx(
        {"training": 18, "validation": 9, "test": 9}, abs=2
    )
    nested = split_with(chain, "nested", training=0.5, validation=0.25, test=0.25)
    assert nested.value_counts()["training"] == pytest.approx(24, abs=2)


def test_an_own_split_is_kept_unless_all_patients_are_wanted(chain: Chain) -> None:
    images = chain.inputs.images
    own = images.assign(split=[("training", "validation", "test")[number // 2 % 3] for number in range(36)])
    assert split_with(chain, "auto", own).tolist() == own["split"].tolist()
    assert "test" not in set(split_with(chain, "nested", own))
    without = images.assign(split=[("training", "validation")[number // 2 % 2] for number in range(36)])
    assert split_with(chain, "auto", without).tolist() == without["split"].tolist()
    with pytest.raises(InvalidInputError, match='no image is "test"'):
        split_with(chain, "test", without)


def test_a_test_part_without_golden_objects_is_said_at_the_start(chain: Chain) -> None:
    values = chain.values(CHECK_PARTS)
    assert call_alone(CHECK_PARTS, values, chain.settings) == {}
    golden = values["tables/truth.parquet"].query("golden")["image_id"]
    parts = np.where(values["tables/split.parquet"]["image_id"].isin(golden), "training", "test")
    empty = {"tables/split.parquet": values["tables/split.parquet"].assign(split=parts)}
    with pytest.warns(DataWarning, match="has no consensus object"):
        call_alone(CHECK_PARTS, values | empty, chain.settings)


def test_a_chair_s_decisions_change_the_truth_and_not_the_readers(
    chain: Chain, tables: dict[str, pd.DataFrame]
) -> None:
    before = tables["truth"]
    single = before.loc[~before["golden"]].iloc[0]
    golden = before.loc[before["golden"]].iloc[0]
    said = pd.DataFrame(
        {
            "image_id": [single["image_id"], golden["image_id"]],
            "truth_id": [single["truth_id"], golden["truth_id"]],
            "decision": ["lesion", "not"],
        }
    )
    made = chain.call("truth", **{"input/adjudication": said})
    after = made["tables/truth.parquet"].set_index("truth_id")
    assert set(before["truth_id"]) - set(after.index) == {golden["truth_id"]}
    assert after.loc[single["truth_id"], "golden"]
    assert after.loc[single["truth_id"], "probability"] == 1.0
    for name in ("readers", "reader_pairs", "marks"):
        pd.testing.assert_frame_equal(made[f"tables/{name}.parquet"], tables[name])
