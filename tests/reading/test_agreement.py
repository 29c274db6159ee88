import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.apps.room._agreement import describe_agreement, krippendorff_alpha, repeat_agreement
from overread.marks import MarkSet


def by_definition(marked):
    """1 - observed / expected disagreement, from pairs of values within images and over all values."""
    units = [row[~np.isnan(row)] for row in marked]
    units = [row for row in units if len(row) >= 2]
    values = np.concatenate(units)
    observed = sum(
        sum(a != b for i, a in enumerate(row) for j, b in enumerate(row) if i != j) / (len(row) - 1)
        for row in units
    ) / len(values)
    n = len(values)
    expected = sum(a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j) / (
        n * (n - 1)
    )
    return 1.0 - observed / expected


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=4, max_size=4), min_size=2, max_size=8)
)
def test_alpha_is_what_its_definition_says(rows):
    marked = np.array(rows)
    usable = marked[np.sum(~np.isnan(marked), axis=1) >= 2]
    kinds = set(usable[~np.isnan(usable)])
    found = krippendorff_alpha(marked)[0]
    if len(kinds) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(by_definition(marked))


def test_alpha_of_krippendorffs_binary_example():
    """Two observers, ten articles, binary data: alpha = 0.095 (Krippendorff 2011, Computing alpha, section A)."""
    a = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    b = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(np.array([a, b], float).T)[0] == pytest.approx(0.095, abs=5e-4)


def test_weights_are_repetitions():
    marked = np.array([[0, 1, np.nan], [1, 1, 1], [0, 0, 1.0]])
    repeated = krippendorff_alpha(np.repeat(marked, [2, 0, 3], axis=0))[0]
    assert krippendorff_alpha(marked, np.array([[2.0, 0.0, 3.0]]))[0] == pytest.approx(repeated)


def readings(n_images, marks):
    """Readings of three readers of all images, with marks (image, reader) all at one place."""
    names = pd.DataFrame(
        [(f"i{image:02}", reader) for image, reader in marks], columns=["image_id", "reader_id"]
    )
    ellipse = {"x_mm": 50.0, "y_mm": 50.0, "semi_major_mm": 8.0, "semi_minor_mm": 8.0, "angle_deg": 0.0}
    table = names.astype("str").assign(mark_id=[f"m{n}" for n in range(len(marks))], **ellipse)
    pairs = [(f"i{image:02}", reader) for image in range(n_images) for reader in "ABC"]
    read = pd.DataFrame(pairs, columns=["image_id", "reader_id"], dtype="str")
    return MarkSet(table, read, pd.DataFrame({"image_id": read["image_id"].unique()}))


def test_readers_who_agree_fully_and_a_few_images_that_tell_nothing():
    assert describe_agreement(readings(4, [(0, "A")])) is None
    told = describe_agreement(readings(10, [(i, r) for i in range(5) for r in "ABC"]))
    assert told["alpha"]["estimate"] == pytest.approx(1.0)
    assert [pair["kappa"]["estimate"] for pair in told["pairs"]] == [1.0] * 3
    assert [(r["sensitivity"]["estimate"], r["fp_per_image"]) for r in told["readers"]] == [(1.0, 0.0)] * 3
    assert told["readers"][0]["sensitivity"]["lower"] == pytest.approx(0.566, abs=1e-3)  # Wilson, 5 of 5


def test_a_reader_who_misses_half():
    marks = [(i, r) for i in range(10) for r in "AB"] + [(i, "C") for i in range(5)]
    told = describe_agreement(readings(20, marks))
    by_name = {row["name"]: row for row in told["readers"]}
    assert by_name["C"]["sensitivity"]["estimate"] == pytest.approx(0.5)
    assert by_name["C"]["n_objects"] == 10
    kappa = next(pair for pair in told["pairs"] if (pair["a"], pair["b"]) == ("A", "C"))["kappa"]
    assert kappa["estimate"] == pytest.approx(0.5)
    assert kappa["lower"] < 0.5 < kappa["upper"]
    assert 0.3 < told["alpha"]["lower"] < told["alpha"]["estimate"] < told["alpha"]["upper"] < 1.0


def test_intervals_cover_a_known_kappa():
    """Two readers who agree by a common cause: of 100 studies at least 85 intervals hold kappa."""
    rng = np.random.default_rng(5)
    truth_kappa, held = 0.6, 0
    for _ in range(100):
        common = rng.random(60) < truth_kappa
        own = rng.random((3, 60)) < 0.5
        values = np.where(common, own[0], own[1:])
        a, b = values.astype(float)
        draws = rng.multinomial(60, np.full(60, 1 / 60), size=400).astype(float)
        alphas = krippendorff_alpha(np.column_stack([a, b]), draws)
        low, high = np.nanquantile(alphas, (0.025, 0.975))
        held += low <= truth_kappa <= high
    assert held >= 85


def test_a_reader_beside_themselves():
    first = readings(10, [(i, "A") for i in range(4)])
    again = readings(6, [(i, "A") for i in range(3)])
    again = MarkSet(again.marks, again.readings[again.readings["reader_id"] == "A"], again.images)
    told = repeat_agreement(first, again)
    assert told == [{"name": "A", "n_images": 6, "same": 5, "kappa": pytest.approx(2 / 3)}]


def test_readers_are_judged_by_two_others_or_not_at_all(open_one):
    """With one other reader alone, each mark would be a false one."""
    pair, three = open_one(6, "pair"), open_one(6, "three", readers=("Anna", "Ben", "Cleo"))
    for room in (pair, three):
        for name in set(room.secrets) - {"Chair", "owner"}:
            room.finish(name)
    assert pair.room.agreement()["readers"] == []
    assert pair.room.agreement()["pairs"][0]["positive_agreement"] == 1.0
    judged = three.room.agreement()["readers"]
    assert [(one["name"], one["sensitivity"]["estimate"], one["fp_per_image"]) for one in judged] == [
        (name, 1.0, 0.0) for name in ("Anna", "Ben", "Cleo")
    ]
