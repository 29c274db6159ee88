"""Folds and parts: groups whole, labels shared evenly, leaks refused."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, cross_val_score

from overread.bags import SoftStratifiedGroupKFold, refuse_leakage, split_by_patient
from overread.errors import DataWarning, InvalidInputError, LeakageError, TableError


def cohort(seed, n_patients=300):
    """Draw a study in the paper's proportions: few bags positive, most of them faintly."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, n_patients)
    groups = np.repeat(np.arange(n_patients), sizes)
    positive = rng.random(len(groups)) < 0.02
    y = np.where(positive, rng.choice([0.03, 0.06, 0.4, 0.75, 1.0], len(groups)), 0.0)
    return y, groups


def spread(y, folds):
    """Return the largest relative deviation, over folds, of rows, positives and label mass."""
    columns = np.stack([np.ones_like(y), y > 0, y], axis=1)
    sums = np.array([columns[test].sum(axis=0) for _, test in folds])
    return np.abs(sums / sums.mean(axis=0) - 1).max(axis=0)


@given(st.integers(0, 10**6), st.integers(2, 7), st.booleans())
@settings(deadline=None, max_examples=40, derandomize=True)
def test_folds_are_a_partition_of_whole_groups(seed, n_splits, shuffle):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 90))
    groups = np.concatenate([np.arange(20), rng.integers(0, 20, n - 20)])
    y = rng.choice([0, 0.25, 1], n)
    y[:20] = 0.5
    splitter = SoftStratifiedGroupKFold(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    tested = []
    for train, test in splitter.split(np.zeros((n, 1)), y, groups):
        assert not set(groups[train]) & set(groups[test])
        assert sorted(np.concatenate([train, test])) == list(range(n))
        assert len(test)
        tested.extend(test)
    assert sorted(tested) == list(range(n))
    assert splitter.get_n_splits() == n_splits


@pytest.mark.parametrize("seed", range(5))
def test_balance_is_far_better_than_grouping_alone(seed):
    y, groups = cohort(seed)
    ours = spread(y, SoftStratifiedGroupKFold(5).split(y, y, groups))
    blind = spread(y, GroupKFold(5).split(y, y, groups))
    rng = np.random.default_rng(seed)
    fold_of_group = rng.permutation(300) % 5
    random = spread(y, [(None, np.flatnonzero(fold_of_group[groups] == fold)) for fold in range(5)])
    assert ours.max() < 0.1
    assert ours[1:].max() < blind[1:].max() / 2
    assert ours[1:].max() < random[1:].max() / 2


def test_hard_labels_are_balanced_as_scikit_learn_balances_them():
    y, groups = cohort(1)
    y = (y > 0.2).astype(int)
    ours = spread(y, SoftStratifiedGroupKFold(5).split(y, y, groups))
    theirs = spread(y, StratifiedGroupKFold(5).split(y, y, groups))
    assert ours.max() <= theirs.max()


def test_rows_without_groups_are_shared_evenly():
    y = np.repeat([0.0, 0.25, 1.0], [100, 10, 5])
    assert spread(y, SoftStratifiedGroupKFold(5).split(y, y)).max() < 1e-12


def test_same_seed_same_folds():
    y, groups = cohort(0)

    def folds(seed):
        splitter = SoftStratifiedGroupKFold(3, shuffle=True, random_state=seed)
        return [test.tolist() for _, test in splitter.split(y, y, groups)]

    assert folds(1) == folds(1)
    assert folds(1) != folds(2)


def test_bags_bring_their_own_groups_and_labels(soft_problem, bag_mean_logistic):
    groups = soft_problem.groups
    for train, test in SoftStratifiedGroupKFold(4).split(soft_problem):
        assert not set(groups[train]) & set(groups[test])
    ours = list(SoftStratifiedGroupKFold(4).split(soft_problem, soft_problem.labels))
    given = SoftStratifiedGroupKFold(4).split(np.zeros(120), soft_problem.labels, groups)
    for mine, theirs in zip(ours, given, strict=True):
        np.testing.assert_array_equal(mine[1], theirs[1])
    scores = cross_val_score(
        bag_mean_logistic(), soft_problem, soft_problem.labels, cv=SoftStratifiedGroupKFold(4)
    )
    assert np.isfinite(scores).all()


def test_groups_are_routed_without_asking(soft_problem, bag_mean_logistic):
    bare = soft_problem.with_groups(None)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            bag_mean_logistic(),
            bare,
            bare.labels,
            cv=SoftStratifiedGroupKFold(4),
            params={"groups": soft_problem.groups},
        )
    carried = cross_val_score(
        bag_mean_logistic(), soft_problem, soft_problem.labels, cv=SoftStratifiedGroupKFold(4)
    )
    np.testing.assert_array_equal(routed, carried)


def test_refusals():
    y = np.array([0.0, 0.5, 1.0])
    with pytest.raises(InvalidInputError, match="at least 2"):
        SoftStratifiedGroupKFold(1)
    with pytest.raises(InvalidInputError, match="shuffle=True"):
        SoftStratifiedGroupKFold(2, random_state=0)
    with pytest.raises(InvalidInputError, match="there are 3"):
        list(SoftStratifiedGroupKFold(5).split(y, y))
    with pytest.raises(InvalidInputError, match="needs the labels"):
        list(SoftStratifiedGroupKFold(2).split(y))
    with pytest.raises(InvalidInputError, match="groups has 2 ids for 3 rows"):
        list(SoftStratifiedGroupKFold(2).split(y, y, ["a", "b"]))
    with pytest.warns(DataWarning, match="only 1 groups have a positive label"):
        list(SoftStratifiedGroupKFold(3).split(np.zeros(5), [0, 0, 0, 0, 0.5]))


def study(seed=0, n_patients=60):
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), rng.integers(1, 5, n_patients))
    images = pd.DataFrame(
        {"image_id": [f"{i:05d}" for i in range(len(patient))], "patient_id": [f"p{i}" for i in patient]}
    )
    marked = rng.choice(images["image_id"], 70)
    truth = pd.DataFrame({"image_id": marked, "golden": rng.random(70) < 0.4})
    return images, truth


def test_parts_do_not_depend_on_the_order_of_rows():
    images, truth = study()
    parts = split_by_patient(images, truth, random_state=3)
    shuffled = images.sample(frac=1, random_state=1)
    pd.testing.assert_series_equal(split_by_patient(shuffled, truth, random_state=3).sort_index(), parts)
    assert (split_by_patient(images, truth, random_state=4) != parts).any()


def test_an_image_without_patient_stands_for_itself():
    images, truth = study()
    images.loc[::2, "patient_id"] = None
    images["split"] = split_by_patient(images, truth)
    refuse_leakage(images)
    assert images.loc[images["patient_id"].isna(), "split"].nunique() == 3
    assert split_by_patient(images[["image_id"]], truth).nunique() == 3


def test_leaks_are_refused():
    images = pd.DataFrame(
        {
            "image_id": ["i", "j", "k"],
            "patient_id": ["p", "p", "q"],
            "split": ["training", "test", "test"],
            "pixel_hash": ["x", "y", "x"],
        }
    )
    with pytest.raises(
        LeakageError, match="patient in two parts: image 'i' is in 'training', image 'j' in 'test'"
    ):
        refuse_leakage(images)
    images["patient_id"] = ["p", "q", "r"]
    with pytest.raises(LeakageError, match=r"identical pixels in two parts: image 'i'.*image 'k'"):
        refuse_leakage(images)
    images["pixel_hash"] = ["x", "y", None]
    refuse_leakage(images)


def test_tables_that_do_not_fit():
    images, truth = study()
    with pytest.raises(TableError, match="'nowhere' is not in the images table"):
        split_by_patient(images, pd.DataFrame({"image_id": ["nowhere"], "golden": [True]}))
    with pytest.raises(InvalidInputError, match="there are 1"):
        split_by_patient(images[:1], truth[:0])


@given(st.integers(0, 1000), st.sampled_from([(0.5, 0.3, 0.2), (0.6, 0.2, 0.2), (0.1, 0.1, 0.8)]))
def test_shares_of_the_parts_are_kept(seed: int, fractions: tuple[float, ...]) -> None:
    random = np.random.default_rng(seed)
    images = pd.DataFrame(
        {"image_id": [f"i{k}" for k in range(200)], "patient_id": random.integers(0, 100, 200)}
    )
    truth = pd.DataFrame({"image_id": random.choice(images["image_id"], 150), "golden": True})
    parts = split_by_patient(images, truth, fractions=fractions, random_state=seed)
    assert (images.assign(part=parts).groupby("patient_id")["part"].nunique() == 1).all()
    golden = truth["image_id"].map(dict(zip(images["image_id"], parts, strict=True)))
    for name, share in zip(("training", "validation", "test"), fractions, strict=True):
        assert (parts == name).mean() == pytest.approx(share, abs=0.05)
        assert (golden == name).mean() == pytest.approx(share, abs=0.05)


def test_equal_shares_are_the_default() -> None:
    images = pd.DataFrame({"image_id": [f"i{k}" for k in range(31)]})
    truth = pd.DataFrame({"image_id": images["image_id"][::3], "golden": True})
    thirds = split_by_patient(images, truth, fractions=(1 / 3, 1 / 3, 1 / 3), random_state=4)
    assert thirds.equals(split_by_patient(images, truth, random_state=4))


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.5, 0.3, 0.3), (1.0, 0.5, -0.5), (0.6, 0.4, 0.0)])
def test_shares_that_are_none_are_refused(fractions: tuple[float, ...]) -> None:
    images = pd.DataFrame({"image_id": ["a", "b", "c", "d"]})
    with pytest.raises(InvalidInputError, match="together 1"):
        split_by_patient(images, pd.DataFrame({"image_id": ["a"], "golden": True}), fractions=fractions)
