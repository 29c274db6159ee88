"""Reader statistics on a small study counted by hand, and against scikit-learn and plain loops."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

import overread.truth._readers
from overread.errors import TableError
from overread.truth import merge_marks, merge_objects, reader_statistics

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


def study(*lesions, readings):
    """Lesions (image, x, readers who marked it) as equal discs; `readings` maps an image to its readers."""
    rows = [
        (image, reader, f"{image}{x}{reader}", float(x), 50.0, 8.0, 8.0, 0.0)
        for image, x, readers in lesions
        for reader in readers
    ]
    read = [(image, reader) for image, readers in readings.items() for reader in readers]
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(read, columns=["image_id", "reader_id"])


BY_HAND = study(
    ("i", 50, "ABC"),  # golden, also without A
    ("i", 90, "AB"),  # golden; without A only B's
    ("i", 130, "A"),  # A alone
    ("j", 50, "C"),
    ("j", 90, "AC"),
    readings={"i": "ABC", "j": "ABCD", "k": "ABCD"},
)


def test_histogram_counts_images_without_marks():
    found = reader_statistics(*BY_HAND).readings_per_image
    assert found.to_numpy().tolist() == [[3, 1], [4, 2]]


def test_readers_as_the_paper_counts():
    readers = reader_statistics(*BY_HAND).readers.set_index("reader_id")
    assert readers[["n_readings", "n_marks", "n_golden", "n_found", "n_false"]].to_numpy().tolist() == [
        [3, 4, 3, 3, 1],
        [3, 2, 3, 2, 0],
        [3, 3, 3, 2, 1],
        [2, 0, 1, 0, 0],
    ]
    assert readers["sensitivity"].tolist() == [1.0, 2 / 3, 2 / 3, 0.0]
    assert readers["fp_per_image"].tolist() == [1 / 3, 0.0, 1 / 3, 0.0]


def test_readers_left_out_do_not_vote():
    """Golden without A: i50. Without B: i50, j90. Without C: i50, i90. Without D: j90, who read no i."""
    readers = reader_statistics(*BY_HAND).readers.set_index("reader_id")
    assert readers[["loo_n_golden", "loo_n_found", "loo_n_false"]].to_numpy().tolist() == [
        [1, 1, 3],
        [2, 1, 1],
        [2, 1, 2],
        [1, 0, 0],
    ]
    assert readers["loo_sensitivity"].tolist() == [1.0, 0.5, 0.5, 0.0]


def test_two_readers_find_everything_until_one_is_left_out():
    marks, readings = study(("i", 50, "AB"), ("j", 50, "A"), readings={"i": "AB", "j": "AB"})
    readers = reader_statistics(marks, readings).readers
    assert readers["sensitivity"].tolist() == [1.0, 1.0]
    assert readers["loo_n_golden"].tolist() == [0, 0]
    assert readers["loo_sensitivity"].isna().all()


def test_objects_that_are_merged_already_are_not_merged_again(monkeypatch):
    random = np.random.default_rng(5)
    readers = [f"r{k}" for k in range(4)]
    readings = pd.DataFrame(
        [(f"i{i}", r) for i in range(6) for r in readers], columns=["image_id", "reader_id"]
    )
    marks = readings.assign(
        mark_id=[f"m{n}" for n in range(len(readings))],
        x_mm=50 + random.normal(0, 6, len(readings)),
        y_mm=50.0,
        semi_major_mm=8.0,
        semi_minor_mm=7.0,
        angle_deg=0.0,
    )
    whole = reader_statistics(marks, readings)
    truth = merge_marks(marks, readings)
    merged = []
    monkeypatch.setattr(
        overread.truth._readers,
        "merge_objects",
        lambda *args: (merged.append(len(args[0])), merge_objects(*args))[1],
    )
    again = reader_statistics(marks, readings, truth=truth.assign(golden=True))
    for name in ("readings_per_image", "readers", "pairs"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(whole, name))
    assert merged == []  # without each reader, the pairs that are known are grouped again


def test_agreement_by_hand():
    pairs = reader_statistics(*BY_HAND).pairs.set_index(["reader_a", "reader_b"])
    assert pairs.loc[("A", "B"), ["n_images", "n_a", "n_b", "n_both"]].tolist() == [3, 4, 2, 2]
    assert pairs.loc[("A", "D"), ["n_images", "n_a", "n_b", "n_both"]].tolist() == [2, 1, 0, 0]
    assert len(pairs) == 6


def random_study(seed):
    rng = np.random.default_rng(seed)
    readers = [f"R{n}" for n in range(6)]
    readings = {f"i{n}": [r for r in readers if rng.random() < 0.7] or readers[:2] for n in range(30)}
    lesions = [
        (image, 40 * place, [r for r in readers if r in read and rng.random() < 0.4])
        for image, read in readings.items()
        for place in range(1, rng.integers(1, 4))
    ]
    return study(*lesions, readings=readings)


@pytest.mark.parametrize("seed", range(3))
def test_agreement_follows_scikit_learn(seed):
    """Positive agreement is the F1 of one reader's objects against the other's."""
    marks, readings = random_study(seed)
    truth = merge_marks(marks, readings)
    reader_of = dict(zip(marks["mark_id"], marks["reader_id"], strict=True))
    by = [{reader_of[mark] for mark in ids} for ids in truth["mark_ids"]]
    read = readings.groupby("image_id")["reader_id"].agg(set)
    marked = marks.groupby("image_id")["reader_id"].agg(set)
    pairs = reader_statistics(marks, readings).pairs.set_index(["reader_a", "reader_b"])
    for a, b in combinations(sorted(set(readings["reader_id"])), 2):
        images = [image for image in read.index if {a, b} <= read[image]]
        row = pairs.loc[(a, b)]
        assert row["n_images"] == len(images)
        shared = [readers for image, readers in zip(truth["image_id"], by, strict=True) if image in images]
        assert row["positive_agreement"] == pytest.approx(
            f1_score([a in r for r in shared], [b in r for r in shared])
        )
        yes = [[reader in marked.get(image, set()) for image in images] for reader in (a, b)]
        assert row["image_kappa"] == pytest.approx(cohen_kappa_score(*yes))


def test_tables_that_do_not_fit_are_refused():
    marks, readings = BY_HAND
    with pytest.raises(TableError, match="without a reading"):
        reader_statistics(marks, readings[readings["reader_id"] != "A"])


def test_no_marks_give_no_rates():
    marks, readings = BY_HAND
    statistics = reader_statistics(marks[:0], readings)
    assert statistics.readers["sensitivity"].isna().all()
    assert (statistics.readers["fp_per_image"] == 0).all()
    assert statistics.pairs["positive_agreement"].isna().all()
