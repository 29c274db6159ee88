"""The container: constructors, indexing as numpy does it, and HOSTILE rows 15, 16, 49-53."""

import copy
import pickle

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from overread.bags import Bags
from overread.errors import InputTypeError, InvalidInputError

X = np.arange(12.0).reshape(6, 2)
IDS = ["a", "b", "a", "c", "c", "a"]


@pytest.fixture
def bags():
    return Bags.from_ids(
        X,
        IDS,
        labels=[0.0, 0.25, 1.0],
        reader_weight=[0.5, 1.0, 1.0],
        groups=["p", "q", "p"],
        instance_ids=list("uvwxyz"),
        bag_table=pd.DataFrame({"image_id": ["i", "j", "k"]}),
        feature_names=["f", "g"],
    )


def test_ids_need_not_be_contiguous(bags):
    assert bags.bag_ids.tolist() == ["a", "b", "c"]
    assert bags.offsets.tolist() == [0, 3, 4, 6]
    assert bags.offsets.dtype == np.int64
    assert bags.sizes.tolist() == [3, 1, 2]
    assert bags.source_rows.tolist() == [0, 2, 5, 1, 3, 4]
    assert bags.instances.tolist() == X[bags.source_rows].tolist()
    assert bags.instance_ids.tolist() == list("uwzvxy")
    assert bags.bag_of_instance.tolist() == [0, 0, 0, 1, 2, 2]
    assert (bags.shape, bags.ndim, len(bags), bags.n_instances, bags.n_features) == ((3,), 1, 3, 6, 2)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_grouping_agrees_with_a_dictionary(ids):
    rows = np.arange(len(ids), dtype=float)[:, None]
    expected: dict[int, list[float]] = {}
    for row, bag in enumerate(ids):
        expected.setdefault(bag, []).append(float(row))
    made = Bags.from_ids(rows, ids)
    assert made.bag_ids.tolist() == list(expected)
    assert [bag.ravel().tolist() for bag in made] == list(expected.values())


@given(st.data())
@settings(deadline=None, max_examples=60, derandomize=True)
def test_indexing_agrees_with_a_list_of_matrices(data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=8))
    matrices = np.split(np.random.default_rng(0).normal(size=(sum(sizes), 2)), np.cumsum(sizes)[:-1])
    made = Bags.from_list(matrices, labels=np.linspace(0, 1, len(sizes)))
    n = len(sizes)
    key = data.draw(
        st.one_of(
            st.slices(n),
            st.lists(st.integers(-n, n - 1)),
            st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
        )
    )
    positions = np.arange(n)[np.array(key, dtype=int) if isinstance(key, list) else key]
    chosen = made[key]
    assert isinstance(chosen, Bags)
    assert len(chosen) == len(positions)
    assert chosen.labels.tolist() == np.linspace(0, 1, n)[positions].tolist()
    for bag, position in zip(chosen, positions, strict=True):
        np.testing.assert_array_equal(bag, matrices[position])
    np.testing.assert_array_equal(chosen.instances, made.instances[chosen.source_rows])


def test_everything_carried_is_indexed_together(bags):
    chosen = bags[[2, 0, 2]]
    assert chosen.bag_ids.tolist() == ["c", "a", "c"]
    assert chosen.labels.tolist() == [1.0, 0.0, 1.0]
    assert chosen.reader_weight.tolist() == [1.0, 0.5, 1.0]
    assert chosen.groups.tolist() == ["p", "p", "p"]
    assert chosen.instance_ids.tolist() == list("xyuwzxy")
    assert chosen.bag_table["image_id"].tolist() == ["k", "i", "k"]
    assert chosen.bag_table.index.tolist() == [0, 1, 2]
    assert chosen.source_rows.tolist() == [3, 4, 0, 2, 5, 3, 4]
    assert chosen.feature_names == ("f", "g")


def test_a_column_major_matrix_stays_column_major():
    ids = np.array([2, 0, 1, 0, 2, 1])
    made = Bags.from_ids(np.asfortranarray(X), ids)
    assert made == Bags.from_ids(X, ids)
    for some in (made, made[[2, 0]], made[np.array([True, False, True])]):
        assert some.instances.flags.f_contiguous
    assert made[[2, 0]] == Bags.from_ids(X, ids)[[2, 0]]


def test_a_run_of_bags_is_a_view(bags):
    assert np.shares_memory(bags[1:].instances, bags.instances)
    assert np.shares_memory(bags[0], bags.instances)


@pytest.mark.parametrize(
    "key", [3, -4, [3], [True, False], np.ones((2, 2), int), "a", ["a"], (0, 1), [0.5], None]
)
def test_keys_that_do_not_fit(bags, key):
    with pytest.raises(IndexError):
        bags[key]


def test_keys_scikit_learn_uses(bags):
    assert bags[np.array([0, 1]), ...] == bags[:2]
    assert bags[range(2)] == bags[:2]
    assert bags[pd.Series([True, True, False])] == bags[:2]
    assert len(bags[[]]) == 0


def test_equality(bags):
    assert bags == copy.deepcopy(bags)
    assert bags != bags[[0, 1]]
    assert bags != bags.with_labels(None)
    assert bags != bags.with_labels([0, 0.25, 0.5])
    assert bags != Bags.from_ids(X.astype(np.float32), IDS)
    assert bags != "bags"
    with pytest.raises(TypeError, match="unhashable"):
        hash(bags)


def test_pickling_keeps_everything(bags):
    again = pickle.loads(pickle.dumps(bags))
    assert again == bags
    assert again.source_rows.tolist() == bags.source_rows.tolist()


def test_it_cannot_be_changed(bags):
    with pytest.raises(AttributeError, match="with_labels"):
        bags.labels = None


def test_numpy_does_not_flatten_it(bags):
    for spread in (np.asarray, np.array, np.ravel, np.mean, np.isnan):
        with pytest.raises(TypeError):
            spread(bags)
    with pytest.raises(TypeError):
        bags * 2
    with pytest.raises(TypeError, match=r"PerInstance\(transformer\)"):
        np.asarray(bags)


def test_repr(bags):
    assert repr(bags.with_labels(None)[:2]) == (
        "Bags(2 bags, 4 instances, 2 features, float64, largest bag 3, "
        "carrying reader_weight, groups, instance_ids, bag_table)"
    )
    assert repr(Bags.singletons([[1.0]])) == "Bags(1 bags, 1 instances, 1 features, float64, largest bag 1)"


def test_singletons_and_lists():
    assert Bags.singletons(X).sizes.tolist() == [1] * 6
    assert Bags.singletons(X).bag_ids.tolist() == list(range(6))
    frames = [pd.DataFrame(X[:2], columns=["f", "g"]), pd.DataFrame(X[2:], columns=["f", "g"])]
    made = Bags.from_list(frames, bag_ids=["u", "v"])
    assert made.feature_names == ("f", "g")
    assert made == Bags.from_ids(pd.DataFrame(X, columns=["f", "g"]), ["u"] * 2 + ["v"] * 4)


def test_concatenation(bags):
    assert Bags.concatenate([bags[:1], bags[1:]]) == bags
    assert Bags.concatenate([bags[:1], bags[1:].with_labels(None)]).labels is None
    with pytest.raises(InvalidInputError, match="bag 'a' is in two parts"):
        Bags.concatenate([bags[:1], bags[1:2], bags[[0]]])
    other = Bags.from_ids([[1.0, 2.0]], ["z"], instance_ids=["u"], feature_names=["f", "g"])
    with pytest.raises(InvalidInputError, match="instance 'u' is in two"):
        Bags.concatenate([bags, other])
    with pytest.raises(InvalidInputError, match="different features"):
        Bags.concatenate([bags, Bags.singletons([[1.0, 2.0]])])
    with pytest.raises(InvalidInputError, match="nothing"):
        Bags.concatenate([])


def test_replacing(bags):
    scaled = bags.with_instances(bags.instances * 2, feature_names=["h", "i"])
    assert scaled.feature_names == ("h", "i")
    assert scaled.labels is bags.labels
    assert (scaled.instances == 2 * bags.instances).all()
    assert bags.with_groups(None).groups is None
    assert bags.with_reader_weight([1, 1, 0]).reader_weight.tolist() == [1, 1, 0]
    assert bags.to_frame().columns.tolist() == ["f", "g"]
    with pytest.raises(InvalidInputError, match="5 rows for 6 instances"):
        bags.with_instances(X[:5])


def test_recoded_labels_are_noticed(bags):
    bags.check_labels([0, 0.25, 1])
    bags.check_labels(pd.Series([0, 0.25, 1]))
    bags.with_labels(None).check_labels([7, 8, 9])
    with pytest.raises(InvalidInputError, match=r"bag 'b': y is 1, the bag carries 0.25.*out_of_fold"):
        bags.check_labels([0, 1, 2])
    with pytest.raises(InvalidInputError, match="differs"):
        bags.check_labels(["a", "b", "c"])
    with pytest.raises(InvalidInputError, match="2 labels for 3 bags"):
        bags.check_labels([0, 1])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Bags.from_list([]), "no bags"),
        (lambda: Bags.from_list([X, np.ones((0, 2))], bag_ids=["u", "v"]), "bag 'v' is empty"),
        (lambda: Bags(X, [0, 3, 3, 6], bag_ids=["u", "v", "w"]), "bag 'v' is empty"),
        (lambda: Bags(X, [0, 4, 3, 6]), "offsets must increase"),
        (lambda: Bags(X, [0, 3]), "offsets must increase from 0 to the number of instances, 6"),
        (lambda: Bags(X, [0]), "no bags"),
        (lambda: Bags(X, [0.0, 6.0]), "integers"),
        (lambda: Bags.from_ids(np.ones((0, 2)), []), r"0 sample\(s\)"),
        (lambda: Bags.from_list([X, np.ones((2, 3))]), "bag 1 has other columns than bag 0"),
        (lambda: Bags.from_list([X, [[np.nan, 1.0]]]), "bag 1: Input X contains NaN at row 0, column 0"),
        (lambda: Bags.from_list([X], bag_ids=[1, 2]), "2 ids for 1 bags"),
        (lambda: Bags.from_ids(X, IDS[:5]), "bags has 5 ids for 6 rows"),
        (lambda: Bags.from_ids(X, IDS, instance_ids=list("uvwxy")), "5 ids for 6 rows"),
        (lambda: Bags.from_ids(X, IDS, instance_ids=list("uvwxyu")), "'u' is duplicated in bag 'a'"),
        (lambda: Bags.from_ids(X, IDS, instance_ids=list("uuwxyz")), "'u' is in two bags, 'a' and 'b'"),
        (lambda: Bags(X, [0, 3, 6], bag_ids=["u", "u"]), "bag id 'u' is given to bags 0 and 1"),
        (lambda: Bags.from_ids(X, ["a", None, "a", "c", "c", "a"]), "row 1 is None"),
        (lambda: Bags.from_ids(X, [0, 1, np.nan, 1, 1, 1]), "row 2 is nan"),
        (lambda: Bags.from_ids(X, np.array([0, 1, np.nan, 1, 1, 1])), "row 2 is .*nan"),
        (lambda: Bags.from_ids(X, pd.array([1, None, 1, 2, 2, 2], "Int64")), "row 1"),
        (lambda: Bags.from_ids(X, IDS, labels=[0, 1.5, 1]), "label of bag 'b' is 1.5"),
        (lambda: Bags.from_ids(X, IDS, labels=[0, np.nan, 1]), "label of bag 'b' is nan"),
        (lambda: Bags.from_ids(X, IDS, labels=[0, 1]), r"labels has shape \(2,\) for 3 bags"),
        (lambda: Bags.from_ids(X, IDS, reader_weight=[1, -1, 1]), "reader weight of bag 'b' is -1"),
        (lambda: Bags.from_ids(X, IDS, reader_weight=[1, 1, np.inf]), "reader weight of bag 'c' is inf"),
        (lambda: Bags.from_ids(X, IDS, groups=["p", "q"]), "groups has 2 ids for 3 rows"),
        (lambda: Bags.from_ids(X, IDS, bag_table=pd.DataFrame({"a": [1]})), "1 rows for 3 bags"),
        (lambda: Bags(X, [0, 6], source_rows=[0]), "source_rows"),
    ],
)
def test_refusals_name_the_place(make, words):
    with pytest.raises(InvalidInputError, match=words):
        make()


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1, "a", 1, 1, 1, 1], r"row 0 is 1 \(int\), row 1 is 'a' \(str\)"),
        ([1, 1.0, 1, 1, 1, 1], "mixes types"),
        ([1, True, 1, 1, 1, 1], "mixes types"),
        (np.array([1, "a", 1, 1, 1, 1], dtype=object), "mixes types"),
        ([[1], [2], [1], [1], [1], [1]], "must be hashable"),
        (np.ones((6, 2)), "an instance is in one bag only"),
        (7, "sequence of ids"),
    ],
)
def test_ids_of_mixed_or_no_type_are_refused(ids, words):
    with pytest.raises(InputTypeError, match=words):
        Bags.from_ids(X, ids)


@pytest.mark.parametrize(
    "ids",
    [
        ["NA", "None", "00123", "1.10", " x ", "a\0"],
        [("i", 1), ("i", 2), ("j", 1), ("j", 2), ("k", 1), ("k", 2)],
        [10**30, 2, 3, 4, 5, 6],
        np.array([1.5, 2.5, 3.5, 4.5, 5.5, 6.5]),
        pd.Categorical(list("abcdef")),
        pd.date_range("2020", periods=6),
        [np.int64(1), 2, 3, 4, 5, 6],
    ],
)
def test_ids_are_kept_exactly(ids):
    made = Bags.from_ids(X, ids)
    assert len(made) == 6
    assert list(made.bag_ids) == list(ids)
    assert Bags.concatenate([made[:2], made[2:]]).bag_ids.tolist() == made.bag_ids.tolist()


def test_kinds_that_are_refused():
    with pytest.raises(InputTypeError, match="data frame"):
        Bags(X, [0, 6], bag_table={"a": [1]})
    with pytest.raises(InputTypeError, match="labels must be numbers"):
        Bags(X, [0, 6], labels=["a"])
