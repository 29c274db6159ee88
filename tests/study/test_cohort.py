"""A split takes its part of the cohort's tables, hits and features, and nothing is computed twice."""

import numpy as np
import pandas as pd
import pytest

from overread.bags import reader_bags
from overread.errors import InvalidInputError
from overread.froc import match_detections
from overread.study import KEYS, Cohort
from overread.truth import candidate_hits
from study_chain import Chain


@pytest.fixture(scope="module")
def cohort(chain: Chain) -> Cohort:
    return chain.load("cohort")


@pytest.mark.parametrize("names", [("test",), ("training", "validation")])
def test_hits_of_a_split_are_those_found_in_its_tables_alone(cohort: Cohort, names: tuple[str, ...]) -> None:
    split = cohort.split(*names)
    alone = candidate_hits(split.candidates, split.truth, split.rule)
    order = ["candidate_row", "truth_row"]
    pd.testing.assert_frame_equal(
        split.hits.sort_values(order, ignore_index=True), alone.sort_values(order, ignore_index=True)
    )


def test_splits_are_a_partition_and_share_no_patient(cohort: Cohort) -> None:
    splits = [cohort.split(name) for name in ("training", "validation", "test")]
    for name in ("images", "readings", "marks", "truth", "candidates"):
        assert sum(len(getattr(split, name)) for split in splits) == len(getattr(cohort, name))
    patients = [set(split.images["patient_id"]) for split in splits]
    assert sum(map(len, patients)) == len(set.union(*patients)) == cohort.images["patient_id"].nunique()


def test_a_split_is_made_once(cohort: Cohort) -> None:
    assert cohort.split("test") is cohort.split("test")
    split = cohort.split("test")
    assert split.matching is split.matching
    assert split.grouping is split.grouping
    assert split.reader_bags is split.reader_bags


def test_a_split_without_candidates_is_refused(cohort: Cohort) -> None:
    with pytest.raises(InvalidInputError, match="the holdout images have no candidates at all"):
        cohort.split("holdout")


def test_features_of_a_split_are_rows_of_the_matrix(cohort: Cohort, chain: Chain) -> None:
    matrix = np.load(chain.folder.path("features.npy"))
    keys = [tuple(row) for row in cohort.candidates[KEYS].to_numpy()]
    split = cohort.split("validation")
    read = split.features.read(["contrast", "peak"])
    names = list(split.features.names)
    for row, key in enumerate(map(tuple, split.candidates[KEYS].to_numpy())):
        expected = matrix[keys.index(key), [names.index("contrast"), names.index("peak")]]
        assert read.iloc[row].tolist() == expected.tolist()


def test_rows_are_found_by_image_and_candidate(cohort: Cohort) -> None:
    chosen = cohort.candidates.iloc[[30, 2, 17]]
    rows = cohort.features.find_rows(chosen["image_id"].to_numpy(), chosen["candidate_id"].to_numpy())
    assert rows.tolist() == [30, 2, 17]
    assert cohort.features.find_rows(np.array(["nobody"]), np.array(["c0"])).tolist() == [-1]


def test_bags_hold_the_features_of_their_candidates(cohort: Cohort) -> None:
    split = cohort.split("training")
    bags = split.bags("golden")
    assert bags.feature_names == split.features.names
    rows = {tuple(row) for row in split.features.read(split.features.names).to_numpy().tolist()}
    assert {tuple(row) for row in bags.instances.tolist()} <= rows


def test_matching_is_that_of_the_tables_alone(cohort: Cohort) -> None:
    split = cohort.split("test")
    scores = np.random.default_rng(0).normal(size=len(split.candidates))
    alone = match_detections(
        split.candidates, split.truth, split.images, scores=scores, counting=split.counting
    )
    found = split.matching.with_scores(scores)
    assert found.fingerprint() == alone.fingerprint()


def test_bags_of_readers_are_those_of_the_split_alone(cohort: Cohort) -> None:
    split = cohort.split("validation")
    alone = reader_bags(
        split.candidates, split.features, split.marks, split.readings, rule=split.rule, images=split.images
    )
    for one, two in zip(
        split.reader_bags.with_features(split.features).items(),
        alone.with_features(split.features).items(),
        strict=True,
    ):
        assert one[0] == two[0]
        assert np.array_equal(one[1].instances, two[1].instances)
        assert np.array_equal(one[1].labels, two[1].labels)
