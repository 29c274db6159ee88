"""Bags from tables, against brute force from the definition (DESIGN: rules of section 3).

The table of features: found by candidate, whatever its order, and never copied without need.
From bags back to tables.
Weights and patients of bags, by image. Bags of each reader.
"""

import tracemalloc
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from tests.bags.small_tables import candidate, ground_truth

from overread.bags import (
    Bags,
    group_candidates,
    make_bags,
    read_features,
    reader_bags,
    score_table,
    truth_without_bag,
)
from overread.errors import InvalidInputError, TableError
from overread.simulate import candidate_cohort
from overread.truth import HIT, STRICT_HIT, candidate_hits


def test_soft_bags(tables):
    candidates, features, truth, readings = tables
    bags = make_bags(candidates, features, truth, readings=readings)
    assert bags.bag_ids.tolist() == [
        ("i", "truth", "A"),
        ("i", "candidate", "1"),
        ("j", "truth", "A"),
        ("i", "truth", "B"),
        ("k", "candidate", "0"),
    ]
    assert bags.sizes.tolist() == [2, 1, 1, 1, 1]
    assert bags.labels.tolist() == [0.5, 0, 0.1, 0.05, 0]
    assert bags.reader_weight.tolist() == [0.5, 0.5, 1.0, 0.5, 0.75]
    assert bags.groups.tolist() == ["i", "i", "j", "i", "k"]
    assert bags.instance_ids.tolist() == [
        ("i", "0"),
        ("i", "2"),
        ("i", "1"),
        ("j", "0"),
        ("i", "3"),
        ("k", "0"),
    ]
    assert bags.feature_names == ("f", "g")
    assert bags.dtype == np.float32
    np.testing.assert_array_equal(bags.instances, features[["f", "g"]].to_numpy()[bags.source_rows])
    assert bags.bag_table["golden"].tolist() == [True, False, False, False, False]
    assert bags.bag_table["truth_id"].isna().tolist() == [False, True, False, False, True]
    missed = truth_without_bag(bags, truth)
    assert missed[["image_id", "truth_id"]].to_numpy().tolist() == [["i", "C"]]


class RandomStudy(NamedTuple):
    candidates: pd.DataFrame
    features: pd.DataFrame
    truth: pd.DataFrame


def random_study(seed, *, n_features=1):
    """150 candidates and 40 round GTs without weights on 12 images, feature 0 the candidate's row."""
    rng = np.random.default_rng(seed)
    images = [f"{n:03d}" for n in range(12)]
    candidates = pd.DataFrame(
        [candidate(rng.choice(images), str(n), *rng.uniform(0, 80, 2)) for n in range(150)]
    )
    truth = pd.DataFrame(
        [
            ground_truth(
                rng.choice(images),
                f"t{n}",
                *rng.uniform(0, 80, 2),
                axes=rng.uniform(3, 20) * np.array([1, 1]),
                readers=int(rng.integers(1, 4)),
                probability=rng.uniform(),
            )
            for n in range(40)
        ]
    ).drop(columns="weight")
    rows = np.arange(150.0, dtype=np.float64)[:, None] + np.arange(n_features) / n_features
    features = pd.concat(
        [candidates[["image_id", "candidate_id"]], pd.DataFrame(rows).add_prefix("f")], axis=1
    )
    return RandomStudy(candidates, features, truth)


@pytest.mark.parametrize("labels", ["soft", "golden"])
@pytest.mark.parametrize("rule", [HIT, STRICT_HIT])
def test_against_the_definition_on_random_studies(labels, rule):
    candidates, features, truth = random_study(5)
    bags = make_bags(candidates, features.sample(frac=1, random_state=0), truth, rule=rule, labels=labels)
    members: dict[tuple[str, str], list[float]] = {}
    lonely = []
    for row, found in enumerate(candidates.itertuples()):
        near = []
        for number, gt in enumerate(truth.itertuples()):
            if gt.image_id != found.image_id or (labels == "golden" and not gt.golden):
                continue
            distance = np.hypot(gt.x_mm - found.x_mm, gt.y_mm - found.y_mm)
            # circles: the rule reduces to a radius
            if distance <= max(rule.scale * gt.semi_major_mm, rule.in_unit("mm").min_semi_axis):
                rank = -gt.probability if labels == "soft" else 0.0
                near.append((rank, distance / (2 * gt.semi_major_mm), number))
        if near:
            gt = truth.loc[min(near)[2]]
            members.setdefault((gt.image_id, gt.truth_id), []).append(float(row))
        else:
            lonely.append(float(row))
    found_members = {}
    found_lonely = []
    for bag_id, instances, label in zip(bags.bag_ids, bags, bags.labels, strict=True):
        if bag_id[1] == "truth":
            found_members[bag_id[0], bag_id[2]] = instances.ravel().tolist()
            gt = truth[truth["truth_id"] == bag_id[2]].iloc[0]
            assert label == (1.0 if labels == "golden" else gt.probability)
        else:
            found_lonely.extend(instances.ravel())
            assert label == 0
            assert len(instances) == 1
    assert found_members == members
    assert found_lonely == lonely
    assert sum(bags.sizes) == 150
    assert len(members) > 5


@pytest.mark.parametrize("labels", ["soft", "golden"])
@pytest.mark.parametrize("seed", range(5))
def test_bags_of_some_images_need_no_second_search(labels, seed, monkeypatch):
    """The bags of a part of the study are those of the part's own tables, to the last bit."""
    study = random_study(seed)
    readings = pd.DataFrame({"image_id": sorted({*study.candidates["image_id"]}), "reader_id": "R1"})
    grouping, features = group_candidates(study.candidates, study.truth), read_features(study.features)
    chosen = set(np.random.default_rng(seed).choice(readings["image_id"], 6, replace=False))
    inside = [
        table[table["image_id"].isin(chosen)] for table in (study.candidates, study.features, study.truth)
    ]
    expected = make_bags(*inside, labels=labels, readings=readings)
    monkeypatch.setattr("overread.bags._grouping.candidate_hits", None)
    found = grouping.of_images(chosen).make_bags(features, labels=labels, readings=readings, n_max=1)
    assert found == expected
    np.testing.assert_array_equal(found.source_rows, expected.source_rows)
    assert found.bag_ids.tolist() == expected.bag_ids.tolist()
    assert grouping.locate(features).of_images(chosen).make_bags(NoKeys(features), labels=labels) == (
        expected.with_reader_weight(None)
    )


class NoKeys:
    """Features that cannot look up a candidate."""

    def __init__(self, features):
        self.take = features.take


def test_hits_that_were_found_before_are_taken(monkeypatch):
    study = random_study(3)
    tables = study.candidates, study.truth
    hits = candidate_hits(*tables, STRICT_HIT).sample(frac=1, random_state=0)
    expected = make_bags(study.candidates, study.features, study.truth, rule=STRICT_HIT)
    monkeypatch.setattr("overread.bags._grouping.candidate_hits", None)
    assert group_candidates(*tables, hits=hits).make_bags(read_features(study.features)) == expected


def test_rows_in_the_order_of_the_bags_are_not_copied(tables):
    candidates, _, truth, _ = tables
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    features = pd.concat([candidates[["image_id", "candidate_id"]], pd.DataFrame(values, copy=False)], axis=1)
    assert np.shares_memory(make_bags(candidates, features, truth[:0]).instances, values)
    moved = make_bags(candidates, features, truth)
    assert not np.shares_memory(moved.instances, values)
    np.testing.assert_array_equal(moved.instances, values[moved.source_rows])


def test_one_copy_of_the_features_is_made():
    study = random_study(0, n_features=2000)
    size = study.features.drop(columns=["image_id", "candidate_id"]).to_numpy().nbytes
    make_bags(study.candidates, study.features, study.truth)
    tracemalloc.start()
    make_bags(study.candidates, study.features, study.truth)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Beside the copy: ids, and the buffer of one block of the check for finite cells.
    assert peak < 1.25 * size


def test_without_ids_the_bags_are_numbered_and_otherwise_the_same(tables):
    candidates, features, truth, _ = tables
    grouping, matrix = group_candidates(candidates, truth), read_features(features)
    named, numbered = (grouping.make_bags(matrix, with_ids=with_ids) for with_ids in (True, False))
    assert numbered.bag_ids.tolist() == list(range(len(named)))
    assert numbered.instance_ids is None
    for name in ("instances", "offsets", "labels", "groups", "source_rows"):
        assert np.array_equal(getattr(numbered, name), getattr(named, name))
    assert numbered.bag_table.equals(named.bag_table)


def test_patients_are_groups(tables):
    candidates, features, truth, _ = tables
    images = pd.DataFrame({"image_id": ["i", "j", "k"], "patient_id": ["p", "q", "p"]})
    bags = make_bags(candidates, features, truth, images=images)
    assert bags.groups.tolist() == ["p", "p", "q", "p", "p"]
    with pytest.raises(TableError, match="image 'k' has candidates but no patient_id"):
        make_bags(candidates, features, truth, images=images[:2])


def test_no_truth_at_all(tables):
    candidates, features, truth, _ = tables
    bags = make_bags(candidates, features, truth[:0])
    assert bags.labels.tolist() == [0] * 6
    assert len(truth_without_bag(bags, truth)) == 4


def test_weights(tables):
    candidates, features, truth, readings = tables
    assert make_bags(candidates, features, truth).reader_weight is None
    with pytest.raises(
        TableError, match=r"truth row 0: weight 0.5, but the readings give 0.25; pass the n_max"
    ):
        make_bags(candidates, features, truth, readings=readings, n_max=8)
    bags = make_bags(candidates, features, truth.drop(columns="weight"), readings=readings, n_max=8)
    assert bags.reader_weight.tolist() == [0.25, 0.25, 0.5, 0.25, 0.375]
    with pytest.raises(InvalidInputError, match="image 'j' has 4 readings, over n_max 3"):
        make_bags(candidates, features, truth, readings=readings, n_max=3)
    with pytest.raises(TableError, match="no reading of image 'k'"):
        make_bags(candidates, features, truth, readings=readings[readings["image_id"] != "k"])
    with pytest.raises(TableError, match=r"readings row 9.* twice"):
        make_bags(candidates, features, truth, readings=pd.concat([readings, readings[:1]]))


def test_tables_that_do_not_fit(tables):
    candidates, features, truth, _ = tables
    with pytest.raises(TableError, match="features: no row for candidate '0' of image 'k'"):
        make_bags(candidates, features[:5], truth)
    with pytest.raises(TableError, match="6 rows for 5 candidates"):
        make_bags(candidates[:5], features, truth)
    with pytest.raises(TableError, match="candidates row 6: image_id 'i', candidate_id '0' is there twice"):
        make_bags(pd.concat([candidates, candidates[:1]]), features, truth)
    with pytest.raises(TableError, match="features row 6"):
        make_bags(candidates, pd.concat([features, features[:1]]), truth)
    with pytest.raises(TableError, match="truth row 4"):
        make_bags(candidates, features, pd.concat([truth, truth[:1]]))
    with pytest.raises(TableError, match="truth: no column probability"):
        make_bags(candidates, features, truth.drop(columns="probability"))
    with pytest.raises(TableError, match="candidates: no column candidate_id"):
        make_bags(candidates.drop(columns="candidate_id"), features, truth)
    with pytest.raises(InvalidInputError, match='labels must be "soft" or "golden"'):
        make_bags(candidates, features, truth, labels="hard")
    features.loc[4, "g"] = np.nan
    with pytest.raises(TableError, match="features: Input X contains NaN at row 4, column 'g'"):
        make_bags(candidates, features, truth)


def test_score_table_leads_back_to_candidates(tables):
    candidates, features, truth, _ = tables
    bags = make_bags(candidates, features, truth)
    scores = score_table(bags, soft=bags.instances[:, 0], B1=np.zeros(6))
    assert scores.columns.tolist() == ["image_id", "candidate_id", "soft", "B1"]
    merged = candidates.merge(features).merge(scores)
    np.testing.assert_array_equal(merged["soft"], merged["f"])
    with pytest.raises(InvalidInputError, match="scores soft"):
        score_table(bags, soft=[1.0])


def test_bags_from_elsewhere_are_refused(tables):
    bare = Bags.singletons([[1.0], [2.0]])
    with pytest.raises(InvalidInputError, match="make_bags"):
        score_table(bare)
    with pytest.raises(InvalidInputError, match="make_bags"):
        truth_without_bag(bare, tables[2])


@pytest.fixture(scope="module")
def cohort():
    return candidate_cohort(60, n_readers=4, n_features=5, n_informative=2, seed=1)


def bags_of(cohort, *, marks=None, candidates=None):
    marks = cohort.marks if marks is None else marks
    candidates = cohort.candidates if candidates is None else candidates
    return reader_bags(candidates, cohort.features, marks, cohort.readings, images=cohort.images)


@pytest.mark.parametrize("reader", ["R1", "R2", "R3", "R4"])
def test_they_hold_the_images_read_and_the_marks_hit(cohort, reader):
    bags = bags_of(cohort)[reader]
    read = cohort.readings.loc[cohort.readings["reader_id"] == reader, "image_id"]
    assert set(bags.bag_table["image_id"]) <= set(read)
    own = cohort.marks[cohort.marks["reader_id"] == reader]
    near = cohort.candidates.iloc[candidate_hits(cohort.candidates, own, HIT)["candidate_row"].unique()]
    positive = bags.labels[bags.bag_of_instance] == 1
    assert {key[1] for key in bags.instance_ids[positive]} == set(near["candidate_id"])
    assert set(bags.groups) <= set(cohort.images["patient_id"])


def test_it_is_a_mapping_of_readers_in_order(cohort):
    readers = bags_of(cohort)
    assert list(readers) == ["R1", "R2", "R3", "R4"]
    assert len(readers) == 4
    assert readers.without_candidates == ()
    with pytest.raises(KeyError):
        readers["R9"]


def test_a_reader_who_marked_nothing_has_negative_bags_only(cohort):
    silent = cohort.marks[cohort.marks["reader_id"] != "R2"]
    bags = bags_of(cohort, marks=silent)["R2"]
    assert len(bags)
    np.testing.assert_array_equal(bags.labels, 0)


def test_a_reader_whose_images_have_no_candidate_is_named():
    cohort = candidate_cohort(60, n_features=2, n_informative=1, seed=1)
    read = set(cohort.readings.loc[cohort.readings["reader_id"] == "R1", "image_id"])
    left = cohort.candidates[~cohort.candidates["image_id"].isin(read)]
    readers = bags_of(cohort, candidates=left)
    assert readers.without_candidates == ("R1",)
    assert "R1" not in list(readers)
    with pytest.raises(KeyError):
        readers["R1"]


def test_a_mark_without_a_reading_is_refused(cohort):
    marks = cohort.marks.copy()
    marks.loc[0, "reader_id"] = "R9"
    with pytest.raises(TableError, match="R9"):
        bags_of(cohort, marks=marks)


def test_bags_of_some_images_are_those_of_their_tables(cohort):
    chosen = set(cohort.images["image_id"][::2])

    def inside(table):
        return table[table["image_id"].isin(chosen)]

    parts = (cohort.candidates, cohort.features, cohort.marks, cohort.readings)
    expected = reader_bags(*map(inside, parts), images=cohort.images)
    found = bags_of(cohort).of_images(chosen)
    assert list(found) == list(expected)
    for reader, bags in found.items():
        assert bags == expected[reader]
        np.testing.assert_array_equal(bags.source_rows, expected[reader].source_rows)


def test_features_of_strangers_are_refused(cohort):
    with pytest.raises(TableError, match="drop the others"):
        reader_bags(cohort.candidates[1:], cohort.features, cohort.marks[:0], cohort.readings)


def test_rows_that_are_known_are_not_looked_up(cohort):
    class Matrix:
        """Features without keys."""

        def find_rows(self, image_ids, candidate_ids):
            raise AssertionError

        def take(self, rows):
            return np.asarray(rows, dtype=float)[:, None]

    rows = np.arange(len(cohort.candidates))
    made = reader_bags(
        cohort.candidates, Matrix(), cohort.marks, cohort.readings, feature_rows=rows, with_ids=False
    )
    expected = bags_of(cohort)["R2"]
    found = made.of_images(cohort.images["image_id"])["R2"]
    keys = cohort.candidates[["image_id", "candidate_id"]].apply(tuple, axis=1)
    assert keys.iloc[found.instances[:, 0].astype(int)].tolist() == expected.instance_ids.tolist()
    assert found.instance_ids is None
