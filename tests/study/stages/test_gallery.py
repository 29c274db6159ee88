"""Hits, misses and false positives add up, whatever the threshold."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.report import N_TOLD, Description, Gallery, Spread
from overread.study.stages.gallery import (
    choose_examples,
    describe_images,
    evaluate_subgroups,
    find_examples,
    sort_gallery,
)
from overread.tables import plain
from overread.truth import merge_marks
from study_chain import Chain, show_by_hand


def gallery_at(chain: Chain, threshold: float, model: str = "b1") -> Gallery:
    tables = chain.load("tables/scores.parquet"), chain.load("tables/objects.parquet")
    return sort_gallery(model, chain.load("cohort"), *tables, point=(0.5, threshold))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_everything_is_somewhere(chain: Chain, share: float) -> None:
    test = chain.load("cohort").split("test")
    scores = chain.load("tables/scores.parquet").merge(test.candidates[["image_id", "candidate_id"]])["b1"]
    threshold = float(np.quantile(scores, share))
    gallery = gallery_at(chain, threshold)
    golden = test.truth["golden"]
    assert len(gallery.hits) + len(gallery.misses) == golden.sum()
    on_any = np.isin(np.arange(len(scores)), test.hits["candidate_row"])
    shown = show_by_hand(test.candidates, scores.tolist())
    assert not shown.all()
    assert len(gallery.false_positives) == ((scores >= threshold) & ~on_any & shown).sum()
    best = dict.fromkeys(np.flatnonzero(golden), -math.inf)
    for candidate, gt in zip(test.hits["candidate_row"], test.hits["truth_row"], strict=True):
        if gt in best and shown[candidate]:
            best[gt] = max(best[gt], scores[candidate])
    assert len(gallery.hits) == sum(value >= threshold for value in best.values())


def test_the_best_and_the_largest_come_first(chain: Chain) -> None:
    gallery = gallery_at(chain, -100.0)
    assert gallery.hits["score"].is_monotonic_decreasing
    assert gallery.false_positives["score"].is_monotonic_decreasing
    assert gallery_at(chain, 100.0).misses["semi_major"].is_monotonic_decreasing


def test_a_hit_lies_in_its_object(chain: Chain) -> None:
    hits = gallery_at(chain, -100.0).hits
    assert len(hits)
    away = np.hypot(hits["candidate_x"] - hits["x"], hits["candidate_y"] - hits["y"])
    assert (away <= hits["semi_major"].clip(lower=5.0)).all()
    assert (hits["n_readers"] >= 2).all()


def test_without_a_threshold_nothing_is_shown(chain: Chain) -> None:
    gallery = gallery_at(chain, math.nan)
    assert (len(gallery.hits), len(gallery.false_positives)) == (0, 0)
    assert len(gallery.misses) == chain.load("cohort").split("test").truth["golden"].sum()


def test_a_miss_that_no_candidate_reaches_has_no_score(chain: Chain) -> None:
    misses = gallery_at(chain, 100.0).misses
    assert misses.loc[~misses["reached"].astype(bool), "score"].isna().all()
    assert misses["score"].notna().any()


def draw(image, reader, x, y, size, ratio=1.0):
    return (image, reader, x, y, size, size * ratio, 0.0)


def choose(rows):
    columns = ["image_id", "reader_id", "x", "y", "semi_major", "semi_minor", "angle_deg"]
    marks = pd.DataFrame(rows, columns=columns).assign(mark_id=[f"m{i}" for i in range(len(rows))])
    readings = marks[["image_id", "reader_id"]].drop_duplicates()
    return choose_examples(marks, plain(merge_marks(marks, readings, unit="mm"))[0])


HARD = [draw("hard", "R1", 50, 50, 12), *(draw("hard", "R2", x, y, 4) for x, y in ((45, 45), (55, 55)))]
EASY = [draw("easy", reader, 80 + i, 70, 6 + 0.2 * i) for i, reader in enumerate(("R1", "R2", "R3"))]
# Two marks of one reader, others of another size, or fewer readers.
LESS_EASY = [
    *(draw("less", reader, 20, 20, 5) for reader in ("R1", "R2")),
    *(draw("less", f"R{i}", 150, 150, 6 + 2 * i) for i in (1, 2, 3, 4)),
]


def test_examples_are_a_region_of_several_scales_and_an_easy_one():
    for rows in (HARD + EASY + LESS_EASY, LESS_EASY + EASY[::-1] + HARD[::-1]):
        hard, easy = choose(rows)
        assert (hard.image_id, easy.image_id) == ("hard", "easy")
        assert sorted(hard.marks["reader_id"]) == ["R1", "R2", "R2"]
        assert (len(hard.objects), len(easy.objects)) == (3, 1)
        assert sorted(easy.marks["reader_id"]) == ["R1", "R2", "R3"]


def test_a_region_shows_its_marks_whole_and_what_else_reaches_into_it():
    near, far = draw("hard", "R3", 70, 50, 4), draw("hard", "R3", 150, 50, 4)
    hard, easy = choose([*HARD, near, far, *EASY])
    # 24 mm across, seen 1.6 times as wide.
    assert (hard.left, hard.top, hard.side) == pytest.approx((30.8, 30.8, 38.4))
    assert sorted(hard.marks["x"]) == [45, 50, 55, 70]
    for one in (hard, easy):
        drawn = one.marks[one.marks["x"] != 70]
        for name, start in (("x", one.left), ("y", one.top)):
            assert (drawn[name] - drawn["semi_major"] > start).all()
            assert (drawn[name] + drawn["semi_major"] < start + one.side).all()


def test_marks_of_one_image_give_one_example_and_no_marks_none(chain: Chain):
    assert [one.image_id for one in choose(HARD)] == ["hard"]
    marks, truth = chain.load("tables/marks.parquet"), chain.load("tables/truth.parquet")
    assert choose_examples(marks[:0], truth[:0]) == []
    assert len({one.image_id for one in choose_examples(marks, truth)}) == 2


@given(st.permutations([*HARD, *EASY, *LESS_EASY]))
@settings(max_examples=20)
def test_the_order_of_marks_does_not_matter(rows):
    told = [(one.image_id, one.left, one.top, one.side) for one in choose(rows)]
    assert told == [(one.image_id, one.left, one.top, one.side) for one in choose([*HARD, *EASY, *LESS_EASY])]


def test_a_low_and_a_high_example_of_each_feature_that_is_told(chain: Chain) -> None:
    models = chain.load("results.json").models
    test = chain.load("cohort").split("test")
    examples = find_examples(models, test)
    told = {one.name for model in models for one in model.features[:N_TOLD]}
    assert set(examples["feature"]) == told
    assert all(list(rows["end"]) == ["low", "high"] for _, rows in examples.groupby("feature"))
    for name, rows in examples.groupby("feature"):
        values = test.features.read([name])[name]
        low, high = rows["value"]
        assert (values < low).mean() <= 0.1
        assert (values > high).mean() <= 0.1
        assert low < high or values.nunique() < 10
    places = test.candidates.set_index(["image_id", "x", "y"]).index
    assert set(zip(examples["image_id"], examples["x"], examples["y"], strict=True)) <= set(places)


def test_models_without_features_have_no_examples(chain: Chain) -> None:
    models = chain.load("results.json").models
    bare = [replace(model, features=[]) for model in models]
    assert find_examples(bare, chain.load("cohort").split("test")).empty


def test_files_and_columns_together() -> None:
    facts = pd.DataFrame(
        {
            "source_mm_per_px": [[0.1, 0.1], [0.2, 0.2], [0.2, 0.4]],
            "width_mm": [300.0, 350.0, 400.0],
            "spacing_source": ["PixelSpacing", "given", "given"],
        }
    )
    told = describe_images(facts, Description({"age, years": Spread(1, 2, 3)}, {"sex": {"F": 3}}))
    assert told.numbers["pixel size, mm"] == Spread(0.1, 0.2, 0.4)
    assert told.numbers["width, mm"] == Spread(300.0, 350.0, 400.0)
    assert list(told.numbers)[-1] == "age, years"
    assert told.counts == {"pixel size from": {"the images table": 2, "PixelSpacing": 1}, "sex": {"F": 3}}


def test_a_study_without_images_is_described_by_its_table_alone() -> None:
    own = Description({}, {"sex": {"F": 3}})
    assert describe_images(pd.DataFrame({"image_id": ["a"]}), own) == own


def test_groups_are_counted_as_by_hand(chain: Chain) -> None:
    """Against a count from the run's tables without any function of FROC."""
    test = chain.load("cohort").split("test")
    matching = chain.load("matched")["soft"].test
    ids = test.images["image_id"]
    group = dict(zip(ids, np.where(np.arange(len(ids)) % 3 == 0, "A", "B"), strict=True))
    scores = test.candidates.merge(chain.load("tables/scores.parquet"), on=["image_id", "candidate_id"])[
        "soft"
    ]
    threshold = float(np.quantile(scores, 0.8))
    (found,) = evaluate_subgroups(matching, {"site": group}, threshold, chain.settings)
    shown = show_by_hand(test.candidates, scores.tolist()) & (scores >= threshold).to_numpy()
    on_any = np.isin(np.arange(len(scores)), test.hits["candidate_row"])
    hit = set(test.hits.loc[shown[test.hits["candidate_row"]], "truth_row"])
    for row in found.table.itertuples():
        inside = ids.map(group) == row.stratum
        golden = test.truth.index[test.truth["golden"] & test.truth["image_id"].map(group).eq(row.stratum)]
        wrong = shown & ~on_any & test.candidates["image_id"].map(group).eq(row.stratum).to_numpy()
        assert row.n_images == inside.sum()
        assert row.n_patients == test.images.loc[inside, "patient_id"].nunique()
        assert row.n_gts == len(golden)
        assert row.gt_sensitivity == pytest.approx(np.mean([gt in hit for gt in golden]))
        assert row.fp_per_image == pytest.approx(wrong.sum() / inside.sum())


def test_without_a_threshold_there_is_nothing_to_judge(chain: Chain) -> None:
    matching = chain.load("matched")["soft"].test
    assert evaluate_subgroups(matching, {"a": {}}, float("nan"), chain.settings) == []
