"""Properties that merging must have, whatever the marks; and marks that cannot be merged.

Votes across scales, against a plain search over all pairs, and on the paper's own situation.
"""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import TableError
from overread.tables import plain, read_table, write_table
from overread.truth import MergeOptions, merge_marks, reader_statistics
from overread.truth._mark_arrays import MarkArrays
from overread.truth._merging import find_pairs, group_marks

ELLIPSE = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
IN_PX = {name: name.replace("_mm", "_px") for name in ELLIPSE[:4]}
COLUMNS = ["image_id", "reader_id", "mark_id", *ELLIPSE]
METHODS = ["star", "components", "dbscan", "fusion", "linkage"]

seeds = st.integers(0, 2**32 - 1)
methods = st.sampled_from(METHODS)
property_test = settings(max_examples=25, deadline=None, derandomize=True)


def random_study(seed, n_images=4, n_readers=5):
    """Lesions marked by some readers, some twice, and marks of nothing."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(n_images):
        places = rng.uniform(50, 90, (rng.integers(0, 4), 2))
        for reader in range(n_readers):
            for place in places[rng.random(len(places)) < 0.7]:
                rows += [(image, reader, *drawn(rng, place)) for _ in range(1 + (rng.random() < 0.15))]
            if rng.random() < 0.3:
                rows.append((image, reader, *drawn(rng, rng.uniform(50, 90, 2))))
    marks = pd.DataFrame(rows, columns=["image_id", "reader_id", *ELLIPSE])
    marks = marks.astype({"image_id": "str", "reader_id": "str"}).assign(
        mark_id=[f"m{row}" for row in rng.permutation(len(rows))]
    )
    readings = [(str(image), str(reader)) for image in range(n_images) for reader in range(n_readers)]
    return marks[COLUMNS], pd.DataFrame(readings, columns=["image_id", "reader_id"])


def drawn(rng, place):
    major = np.exp(rng.normal(1.8, 0.3))
    return (*(place + rng.normal(0, 1.5, 2)), major, major * rng.uniform(0.5, 1), rng.uniform(0, 180))


def groups_of(truth):
    return set(zip(truth["image_id"], truth["mark_ids"], strict=True))


@property_test
@given(seeds, methods)
def test_neither_order_of_rows_nor_names_of_readers_matter(seed, method):
    marks, readings = random_study(seed)
    options = MergeOptions(method=method)
    names = {str(number): name for number, name in enumerate(["zoe", "NA", "00123", " x ", "=1+1"])}
    others = [
        table.replace({"reader_id": names}).sample(frac=1, random_state=1) for table in (marks, readings)
    ]
    pd.testing.assert_frame_equal(
        merge_marks(*others, options=options), merge_marks(marks, readings, options=options), check_exact=True
    )


@property_test
@given(seeds, methods)
def test_a_reader_who_is_doubled_is_one_more_reader_of_the_same_objects(seed, method):
    """A copy of a reader agrees with them, so no object of theirs is lost or split in two."""
    marks, readings = random_study(seed)
    own, rest = marks[marks["reader_id"] == "0"], marks[marks["reader_id"] != "0"]
    copies = own.assign(reader_id="copy", mark_id=own["mark_id"] + "'")
    read = pd.concat([readings, readings[readings["reader_id"] == "0"].assign(reader_id="copy")])
    truth = merge_marks(pd.concat([rest, own, copies]), read, options=MergeOptions(method=method))
    together = truth.explode("mark_ids")
    object_of = dict(
        zip(zip(together["image_id"], together["mark_ids"], strict=True), together.index, strict=True)
    )
    for image, mark in zip(own["image_id"], own["mark_id"], strict=True):
        assert truth.loc[object_of[image, mark], "n_readers"] >= 2


@property_test
@given(seeds, st.sampled_from([0.1, 0.25, 7.3, 10.0]), st.sampled_from(["dbscan", "fusion", "linkage"]))
def test_rules_by_iou_need_no_unit(seed, scale, method):
    marks, readings = random_study(seed)
    options = MergeOptions(method=method)
    scaled = marks.assign(**(marks[ELLIPSE[:4]] * scale)).rename(columns=IN_PX)
    truth = merge_marks(marks, readings, options=options)
    with warnings.catch_warnings(action="ignore"):
        again = merge_marks(scaled, readings, options=options)
    assert groups_of(again) == groups_of(truth)
    assert again[list(IN_PX.values())].to_numpy() == pytest.approx(scale * truth[ELLIPSE[:4]].to_numpy())


@property_test
@given(seeds, methods)
def test_some_images_at_a_time_give_the_same_objects(seed, method):
    marks, unit = plain(random_study(seed)[0])
    options = MergeOptions(method=method).in_unit(unit)
    arrays = MarkArrays.from_table(marks, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MarkArrays.parts, "__defaults__", (7,))
        parts = group_marks(arrays, options)
    whole = group_marks(arrays, options, find_pairs(arrays, options))
    for groups, outlines in (parts, whole):
        assert len(outlines) == groups.max(initial=-1) + 1
    assert (parts[1][parts[0]] == whole[1][whole[0]]).all()
    assert len(np.unique(np.column_stack([parts[0], whole[0]]), axis=0)) == len(whole[1])


@property_test
@given(seeds, methods)
def test_each_mark_is_in_one_object_and_counts_match(seed, method):
    marks, readings = random_study(seed)
    truth = merge_marks(marks, readings, options=MergeOptions(method=method))
    members = truth.explode("mark_ids")
    assert sorted(zip(members["image_id"], members["mark_ids"], strict=True)) == sorted(
        zip(marks["image_id"], marks["mark_id"], strict=True)
    )
    assert truth["n_marks"].sum() == len(marks)
    assert (truth["n_marks"] == truth["mark_ids"].map(len)).all()
    readers = members.merge(marks, left_on=["image_id", "mark_ids"], right_on=["image_id", "mark_id"])
    assert (
        readers.groupby("truth_id")["reader_id"].nunique().loc[truth["truth_id"]]
        == truth["n_readers"].to_numpy()
    ).all()
    assert (truth["n_readers"].between(1, truth["n_marks"])).all()
    assert (truth["n_readers"] <= truth["n_readings"]).all()
    assert truth["probability"].between(0, 1, inclusive="right").all()
    assert (truth["golden"] == (truth["n_readers"] >= 2)).all()
    assert truth["truth_id"].is_unique


def moved(marks, *, angle=0.0, shift=(0.0, 0.0), mirror=False):
    """Marks after a rotation about the origin and a shift, or a reflection x -> -x."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    x, y = marks["x_mm"], marks["y_mm"]
    turned = marks.assign(
        x_mm=c * x - s * y + shift[0], y_mm=s * x + c * y + shift[1], angle_deg=marks["angle_deg"] + angle
    )
    return turned.assign(x_mm=-turned["x_mm"], angle_deg=180 - turned["angle_deg"]) if mirror else turned


@property_test
@given(seeds, st.floats(-180, 180), st.floats(-500, 500), st.booleans(), methods)
def test_moving_the_image_changes_nothing(seed, angle, shift, mirror, method):
    marks, readings = random_study(seed)
    options = MergeOptions(method=method)
    truth = merge_marks(marks, readings, options=options)
    elsewhere = merge_marks(
        moved(marks, angle=angle, shift=(shift, -shift), mirror=mirror), readings, options=options
    )
    assert groups_of(elsewhere) == groups_of(truth)
    moved_truth = moved(truth, angle=angle, shift=(shift, -shift), mirror=mirror)
    for name in ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "probability"):
        assert elsewhere[name].to_numpy() == pytest.approx(moved_truth[name].to_numpy(), abs=1e-8)


@property_test
@given(seeds, st.data())
def test_swapped_axes_change_nothing(seed, data):
    marks, readings = random_study(seed)
    swap = np.array([data.draw(st.booleans()) for _ in range(len(marks))], dtype=bool)
    swapped = marks.copy()
    swapped.loc[swap, ["semi_major_mm", "semi_minor_mm"]] = marks.loc[
        swap, ["semi_minor_mm", "semi_major_mm"]
    ].to_numpy()
    swapped.loc[swap, "angle_deg"] += 90
    truth, same = merge_marks(marks, readings), merge_marks(swapped, readings)
    assert groups_of(same) == groups_of(truth)
    assert same[ELLIPSE].to_numpy() == pytest.approx(truth[ELLIPSE].to_numpy(), abs=1e-9)


@property_test
@given(seeds, methods)
def test_a_far_mark_adds_one_object_and_changes_nothing_else(seed, method):
    marks, readings = random_study(seed)
    options = MergeOptions(method=method)
    far = pd.DataFrame([("0", "0", "far", 900.0, 900.0, 8.0, 5.0, 10.0)], columns=COLUMNS)
    before = merge_marks(marks, readings, options=options)
    after = merge_marks(pd.concat([far, marks]), readings, options=options)
    added = after[~after["truth_id"].isin(before["truth_id"])]
    assert added["mark_ids"].tolist() == [("far",)]
    kept = after[after["truth_id"].isin(before["truth_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, before, check_exact=True)


@property_test
@given(st.integers(2, 9), seeds, methods)
def test_identical_marks_of_k_readers_are_one_object_of_score_k(k, seed, method):
    ellipse = drawn(np.random.default_rng(seed), np.array([50.0, 50.0]))
    marks = pd.DataFrame([("i", f"R{n}", f"m{n}", *ellipse) for n in range(k)], columns=COLUMNS)
    readings = pd.DataFrame([("i", f"R{n}") for n in range(k)], columns=["image_id", "reader_id"])
    truth = merge_marks(marks, readings, options=MergeOptions(method=method))
    assert truth["n_readers"].tolist() == [k]
    assert truth["probability"].tolist() == [1.0]
    assert truth[ELLIPSE].to_numpy()[0] == pytest.approx(np.array(ellipse), rel=1e-12)


@property_test
@given(seeds, st.integers(0, 10))
def test_same_seed_same_objects_and_the_seed_moves_only_pairs(seed, other):
    marks, readings = random_study(seed)
    first = merge_marks(marks, readings, options=MergeOptions(merge_coinciding=False))
    again = merge_marks(marks, readings, options=MergeOptions(merge_coinciding=False, seed=other))
    assert groups_of(first) == groups_of(again)
    differs = ~np.isclose(first[ELLIPSE], again[ELLIPSE], rtol=0, atol=0).all(axis=1)
    assert (first.loc[differs, "n_marks"] == 2).all()
    if other == 0:
        assert not differs.any()


def three_marks(readers="ABC"):
    sizes = [6.0, 9.0, 7.0]
    rows = [
        ("i", reader, f"m{n}", 50.0, 50.0, size, size, 0.0)
        for n, (reader, size) in enumerate(zip(readers, sizes, strict=True))
    ]
    readings = pd.DataFrame([("i", reader) for reader in "ABCD"], columns=["image_id", "reader_id"])
    return pd.DataFrame(rows, columns=COLUMNS), readings


@pytest.mark.parametrize(("choice", "size"), [("larger", 9.0), ("smaller", 6.0)])
def test_a_pair_is_represented_as_asked(choice, size):
    marks, readings = three_marks()
    truth = merge_marks(marks[:2], readings, options=MergeOptions(t0=0.3, pair_representative=choice))
    assert truth["semi_major_mm"].tolist() == [size]


def test_a_pair_is_drawn_fairly():
    """Over 400 images either mark is drawn about as often (within 4 standard deviations)."""
    marks, readings = three_marks()
    many = pd.concat([marks[:2].assign(image_id=f"i{n}") for n in range(400)])
    read = pd.concat([readings.assign(image_id=f"i{n}") for n in range(400)])
    truth = merge_marks(many, read, options=MergeOptions(t0=0.3))
    assert abs((truth["semi_major_mm"] == 9.0).sum() - 200) < 40


def test_one_reader_who_marks_twice_counts_once():
    """A's two marks both hit B's, so the object has three marks, two readers, and no probability above 1."""
    marks, readings = three_marks(readers="ABA")
    truth = merge_marks(marks, readings[:2], options=MergeOptions(t0=0.3))
    assert truth[["n_marks", "n_readers", "n_readings", "probability"]].to_numpy().tolist() == [
        [3, 2, 2, 1.0]
    ]


def test_marks_of_one_reader_do_not_hit_unless_allowed():
    marks, readings = three_marks(readers="AAA")
    keep_apart = MergeOptions(t0=0.3, merge_coinciding=False)
    assert len(merge_marks(marks, readings, options=keep_apart)) == 3
    assert len(merge_marks(marks, readings, options=MergeOptions(t0=0.3))) == 1
    allowed = MergeOptions(t0=0.3, merge_coinciding=False, same_reader_hits=True)
    assert len(merge_marks(marks, readings, options=allowed)) == 1


def test_labels_keep_marks_apart():
    marks, readings = three_marks()
    marks["label"] = ["nodule", "nodule", "calcification"]
    truth = merge_marks(marks, readings, options=MergeOptions(t0=0.3))
    assert sorted(zip(truth["label"], truth["n_marks"], strict=True)) == [("calcification", 1), ("nodule", 2)]
    ignored = merge_marks(marks, readings, options=MergeOptions(t0=0.3, labels="ignore"))
    assert ignored["n_marks"].tolist() == [3]
    assert "label" not in ignored


def test_no_marks_give_an_empty_table_with_all_columns():
    marks, readings = three_marks()
    empty = merge_marks(marks[:0], readings)
    assert list(empty.columns) == list(merge_marks(marks, readings).columns)
    assert empty.empty


@pytest.mark.parametrize("options", [{}, {"nested": "votes"}, {"method": "linkage"}])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_survives_a_file(tmp_path, ending, options):
    truth = merge_marks(*random_study(3), options=MergeOptions(**options))
    write_table(truth, tmp_path / f"truth.{ending}")
    back = read_table(tmp_path / f"truth.{ending}", "truth")
    pd.testing.assert_frame_equal(back, truth, check_exact=True, check_dtype=False)


@pytest.mark.parametrize(
    "name", ["NA", "None", "00123", "1.10", " x ", "../../etc/passwd", "=1+1", "a\0b", "x" * 10_000]
)
def test_ids_are_kept_exactly(name):
    marks, readings = three_marks()
    truth = merge_marks(marks.assign(image_id=name, mark_id=[name, "b", "c"]), readings.assign(image_id=name))
    assert set(truth["image_id"]) == {name}
    assert {mark for ids in truth["mark_ids"] for mark in ids} == {name, "b", "c"}


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_bad_axes_are_refused_with_their_row(value):
    marks, readings = three_marks()
    marks.loc[1, "semi_minor_mm"] = value
    with pytest.raises(TableError, match=r"row 3, column semi_minor_mm"):
        merge_marks(marks, readings)


def test_a_mark_or_reading_listed_twice_is_refused():
    marks, readings = three_marks()
    with pytest.raises(TableError, match="already in row 2"):
        merge_marks(pd.concat([marks, marks[:1]]), readings)
    with pytest.raises(TableError, match="already in row 2"):
        merge_marks(marks, pd.concat([readings, readings[:1]]))


VOTES = MergeOptions(nested="votes")


def make_marks(*rows):
    marks = pd.DataFrame(rows, columns=COLUMNS[1:]).assign(image_id="a")[COLUMNS]
    return marks, pd.DataFrame({"image_id": "a", "reader_id": list("ABCD")})


RING_AND_LESIONS = make_marks(
    ("A", "ring", 50, 50, 20, 20, 0),
    ("B", "one", 40, 50, 3, 2, 0),
    ("B", "two", 62, 55, 3, 3, 0),
    ("C", "two'", 62, 55.5, 3, 3, 0),
    ("D", "far", 120, 50, 4, 4, 0),
)


def test_a_ring_votes_for_what_it_holds():
    """One reader's ring, two lesions inside it: the paper's Figure 1, top row."""
    truth = merge_marks(*RING_AND_LESIONS, options=VOTES).set_index("mark_ids")
    readers = {ids: int(n) for ids, n in truth["n_readers"].items()}
    # The ring holds all centres, so B and C vote for it too; nobody votes for what lies far off.
    assert readers == {("ring",): 3, ("one",): 2, ("two", "two'"): 3, ("far",): 1}
    assert truth.loc[[("one",)], "nested_mark_ids"].iloc[0] == ("ring",)
    assert truth.loc[[("ring",)], "nested_mark_ids"].iloc[0] == ("one", "two", "two'")
    assert truth.loc[[("one",)], "probability"].iloc[0] == 0.5
    assert truth["golden"].sum() == 3


def test_without_votes_nothing_changes_but_readers():
    plain, nested = (
        merge_marks(*RING_AND_LESIONS, options=options).sort_values("truth_id").reset_index(drop=True)
        for options in (MergeOptions(), VOTES)
    )
    same = ["image_id", "truth_id", *COLUMNS[3:], "n_marks", "n_readings", "mark_ids"]
    pd.testing.assert_frame_equal(plain[same], nested[same])
    assert "nested_mark_ids" not in plain


def test_another_label_does_not_vote():
    marks, readings = RING_AND_LESIONS
    labelled = marks.assign(label=["x" if mark == "ring" else "y" for mark in marks["mark_id"]])
    truth = merge_marks(labelled, readings, options=VOTES)
    assert truth.set_index("mark_ids")["n_readers"].to_dict()[("one",)] == 1


def test_a_reader_who_rings_has_found():
    """A's ring alone stands for no golden object without votes, and finds all three with them."""
    plain, nested = (
        reader_statistics(*RING_AND_LESIONS, options=options).readers.set_index("reader_id").loc["A"]
        for options in (MergeOptions(), VOTES)
    )
    assert (plain["n_found"], plain["n_false"]) == (0, 1)
    assert (nested["n_found"], nested["n_false"]) == (3, 0)
    # The golden object of the others is the one that B and C drew; the ring holds its centre.
    assert (plain["loo_n_found"], nested["loo_n_found"]) == (0, 1)


def holds(ellipse, point):
    x, y, a, b, angle = ellipse
    turn = math.radians(angle)
    dx, dy = point[0] - x, point[1] - y
    along, across = dx * math.cos(turn) + dy * math.sin(turn), dy * math.cos(turn) - dx * math.sin(turn)
    return (along / a) ** 2 + (across / b) ** 2 <= 1


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_votes_are_those_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for image in "ab":
        for number in range(rng.integers(1, 14)):
            major = np.exp(rng.normal(1.5, 0.9))
            rows.append((image, rng.choice(list("ABCD")), f"{number}", *rng.uniform(0, 60, 2), major))
    marks = pd.DataFrame(rows, columns=COLUMNS[:6])
    marks["semi_minor_mm"] = marks["semi_major_mm"] * rng.uniform(0.3, 1, len(marks))
    marks["angle_deg"] = rng.uniform(0, 180, len(marks))
    readings = pd.DataFrame([(i, r) for i in "ab" for r in "ABCD"], columns=["image_id", "reader_id"])
    truth = merge_marks(marks, readings, options=VOTES)
    for row in truth.itertuples():
        own = marks[(marks["image_id"] == row.image_id)]
        ellipse = (row.x_mm, row.y_mm, row.semi_major_mm, row.semi_minor_mm, row.angle_deg)
        members = own[own["mark_id"].isin(row.mark_ids)]
        voting = [
            mark.mark_id
            for mark in own.itertuples()
            if mark.reader_id not in set(members["reader_id"])
            and (holds(mark[4:9], ellipse[:2]) or holds(ellipse, mark[4:6]))
        ]
        assert row.nested_mark_ids == tuple(sorted(voting))
        readers = set(members["reader_id"]) | set(own.loc[own["mark_id"].isin(voting), "reader_id"])
        assert row.n_readers == len(readers)
