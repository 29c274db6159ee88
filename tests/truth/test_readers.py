"""Reader statistics on a small study counted by hand, and against scikit-learn and plain loops.

Leave-one-out judges a reader only where two others read, and asks once what hits what.

Marks that are far from the full size are told, with a cure that cures.
"""

import json
import re
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

import overread.truth._readers
from overread.cli import main
from overread.errors import TableError
from overread.froc import Counting
from overread.study.stages.performance import judge_readers
from overread.tables import plain
from overread.truth import HIT, MergeOptions, merge_marks, merge_objects, reader_statistics, tell_misfit
from overread.truth._kernels import near_pairs

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


def write_study(folder, readings, marks):
    """Readings by image, and marks as (image, reader, x): equal discs."""
    rows = [f"{i},{r},{i}{r}{x},{x},50,8,8,0" for i, r, x in marks]
    (folder / "marks.csv").write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    pairs = [f"{image},{reader}" for image, readers in readings.items() for reader in readers]
    (folder / "readings.csv").write_text("\n".join(["image_id,reader_id", *pairs]) + "\n")
    return str(folder)


def test_two_readers_who_agree_make_no_false_marks(tmp_path, capsys):
    study = write_study(tmp_path, {"i": "AB"}, [("i", "A", 50), ("i", "B", 50)])
    assert main(["readers", study]) == 0
    said = capsys.readouterr().out
    assert "No leave-one-out table" in said
    assert "(leave-one-out)" not in said
    assert main(["readers", study, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["images_not_in_loo"] == 1
    for row in told["readers"]:
        assert (row["loo_n_readings"], row["loo_n_golden"], row["loo_n_false"]) == (0, 0, 0)
        assert row["loo_sensitivity"] is row["loo_fp_per_image"] is None


def test_images_with_fewer_readings_are_left_out_and_counted(tmp_path, capsys):
    """In i three agree; j has two readings, k one: the marks there are not called false."""
    marks = (
        [("i", r, 50) for r in "ABC"] + [("i", "A", 120)] + [("j", r, 50) for r in "AB"] + [("k", "C", 50)]
    )
    study = write_study(tmp_path, {"i": "ABC", "j": "AB", "k": "C"}, marks)
    assert main(["readers", study]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Not in that table: 2 of 3 images, which have fewer than three readings." in said
    assert main(["readers", study, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["images_not_in_loo"] == 2
    found = {row["reader_id"]: row for row in told["readers"]}
    names = ("loo_n_readings", "loo_n_golden", "loo_n_found", "loo_n_false", "loo_fp_per_image")
    expected = {"A": (1, 1, 1, 1, 1.0), "B": (1, 1, 1, 0, 0.0), "C": (1, 1, 1, 0, 0.0)}
    assert {reader: tuple(found[reader][name] for name in names) for reader in "ABC"} == expected


def draw_study(seed, n_readers=5):
    rng = np.random.default_rng(seed)
    rows, read = [], []
    for image in range(6):
        readers = rng.permutation(n_readers)[: rng.integers(2, n_readers + 1)]
        lesions = rng.uniform(0, 120, (4, 2))
        for reader in readers:
            read.append((f"i{image}", f"r{reader}"))
            for x, y in lesions[rng.random(4) < 0.7] + rng.normal(0, 2, 2):
                major = rng.uniform(4, 12)
                shape = (x, y, major, major * rng.uniform(0.6, 1), rng.uniform(0, 180))
                rows.append((f"i{image}", f"r{reader}", f"m{len(rows)}", *shape))
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(read, columns=["image_id", "reader_id"])


def share_of_larger(one, other, n=400):
    """Overlap over the larger area, counted on a grid."""
    reach = max(one[2], other[2])
    low = np.minimum(one[:2], other[:2]) - reach
    high = np.maximum(one[:2], other[:2]) + reach
    x, y = np.meshgrid(np.linspace(low[0], high[0], n), np.linspace(low[1], high[1], n))

    def inside(ellipse):
        turn = np.radians(ellipse[4])
        dx, dy = x - ellipse[0], y - ellipse[1]
        along, across = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
        return (along / ellipse[2]) ** 2 + (across / ellipse[3]) ** 2 <= 1

    a, b = inside(one), inside(other)
    return (a & b).sum() / max(a.sum(), b.sum())


@pytest.mark.parametrize("seed", range(3))
def test_the_figures_are_those_of_merging_the_others_one_reader_at_a_time(seed):
    """Each reader in turn: `merge_marks` of the others' tables, and overlaps counted on a grid."""
    marks, readings = draw_study(seed)
    options = MergeOptions(threshold="fixed", t0=0.3)
    found = reader_statistics(marks, readings, options=options).readers.set_index("reader_id")
    n_readings = readings["image_id"].value_counts()
    judged = set(n_readings.index[n_readings >= 3])
    for reader in sorted(set(readings["reader_id"])):
        images = set(readings.loc[readings["reader_id"] == reader, "image_id"]) & judged
        own = marks[(marks["reader_id"] == reader) & marks["image_id"].isin(images)]
        others = marks[(marks["reader_id"] != reader) & marks["image_id"].isin(images)]
        theirs = readings[readings["image_id"].isin(images) & (readings["reader_id"] != reader)]
        truth = merge_marks(others, theirs, options=options)
        golden = truth[truth["n_readers"] >= 2]
        hit = [
            (mark.mark_id, object_.truth_id)
            for mark in own.itertuples()
            for object_ in golden[golden["image_id"] == mark.image_id].itertuples()
            if share_of_larger(np.array(mark[4:9]), np.array(object_[3:8])) > 0.3
        ]
        row = found.loc[reader]
        assert (row["loo_n_readings"], row["loo_n_golden"]) == (len(images), len(golden))
        assert row["loo_n_found"] == len({object_ for _, object_ in hit})
        assert row["loo_n_false"] == len(own) - len({mark for mark, _ in hit})


def test_the_report_judges_readers_in_the_same_images():
    """On the page of a study, too: in j, which two read, nothing can be golden, and no mark is false."""
    images, by = ["i", "j"], {"i": "ABC", "j": "AB"}
    marks = pd.DataFrame(
        [(i, r, f"{i}{r}", 50.0, 50.0, 8.0, 8.0, 0.0) for i in images for r in by[i]], columns=COLUMNS
    )
    readings = pd.DataFrame([(i, r) for i in images for r in by[i]], columns=["image_id", "reader_id"])
    candidates = pd.DataFrame(
        {"image_id": images, "candidate_id": ["c", "d"], "x": 50.0, "y": 50.0, "radius": 8.0}
    )
    unseen = SimpleNamespace(
        images=pd.DataFrame({"image_id": images}),
        marks=plain(marks)[0],
        readings=readings,
        candidates=candidates,
        counting=Counting(rule=HIT.in_unit("mm")),
    )
    found = judge_readers("ABC", unseen, np.array([0.9, 0.8]), MergeOptions().in_unit("mm")).set_index(
        "reader_id"
    )
    assert found["n_images"].tolist() == [1, 1, 1]
    assert found["sensitivity"].tolist() == [1.0, 1.0, 1.0]
    assert found["fp_per_image"].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_near_pairs_are_those_of_a_plain_search(seed):
    """Also where reaches are 0, places are equal, and one reaches over the whole image."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 40, (2, 4))
    tables = []
    for counts in sizes:
        points = rng.integers(0, 30, (counts.sum(), 2)).astype(float)
        reach = rng.choice([0.0, 1.0, 2.5, 100.0], len(points), p=[0.3, 0.4, 0.25, 0.05])
        tables.append((np.concatenate([[0], np.cumsum(counts)]), points, reach))
    (starts, points, reach), (other_starts, other_points, other_reach) = tables
    rows, others = near_pairs(*tables[0], *tables[1])
    expected = [
        (i, j)
        for group in range(4)
        for i in range(starts[group], starts[group + 1])
        for j in range(other_starts[group], other_starts[group + 1])
        if np.hypot(*(points[i] - other_points[j])) <= reach[i] + other_reach[j] + 1e-12
    ]
    assert list(zip(rows.tolist(), others.tolist(), strict=True)) == expected


def test_overlaps_are_found_once_however_many_readers_there_are(monkeypatch):
    """What hits what among all marks is asked once, not once for each reader who is left out."""
    import overread.truth._mark_arrays as pairs_module

    asked = []
    areas = pairs_module.overlap_areas
    monkeypatch.setattr(pairs_module, "overlap_areas", lambda a, b: (asked.append(len(a)), areas(a, b))[1])
    for n_readers in (5, 10):
        asked.clear()
        marks, readings = draw_study(7, n_readers)
        truth = merge_marks(marks, readings)
        all_pairs = max(asked)
        asked.clear()
        reader_statistics(marks, readings, truth=truth)
        # All pairs once, and then each reader's own marks against the golden objects of the others.
        assert sum(asked) < 3 * all_pairs


def make_marks(diameter: float, n: int = 25) -> pd.DataFrame:
    random = np.random.default_rng(0)
    semi = diameter / 2 * np.exp(random.normal(0, 0.3, n))
    return pd.DataFrame(
        {
            "x": random.uniform(0, 300, n),
            "y": random.uniform(0, 300, n),
            "semi_major": semi * 1.1,
            "semi_minor": semi / 1.1,
            "angle_deg": 0.0,
        }
    )


@pytest.mark.parametrize("diameter", [1.5, 7.6, 14.0, 17.0])
def test_marks_of_the_usual_sizes_fit(diameter):
    assert tell_misfit(make_marks(diameter), MergeOptions(), "mm") is None


@pytest.mark.parametrize(
    ("diameter", "word"), [(0.3, "little overlap"), (60.0, "nearly identical"), (500.0, "nearly identical")]
)
def test_too_small_and_too_large_are_told_and_the_cure_cures(diameter, word):
    marks = make_marks(diameter)
    message, remedy = tell_misfit(marks, MergeOptions(), "mm")
    assert word in message
    advised = float(re.search(r"full_size = ([0-9.e+]+)", remedy)[1])
    assert advised == pytest.approx(5 * diameter, rel=0.2)
    assert tell_misfit(marks, MergeOptions(full_size=advised), "mm") is None


@pytest.mark.parametrize("options", [{"threshold": "fixed"}, {"method": "dbscan"}, {"method": "fusion"}])
def test_without_an_adaptive_threshold_nothing_is_told(options):
    assert tell_misfit(make_marks(0.1), MergeOptions(**options), "mm") is None


def test_a_handful_of_marks_is_not_judged():
    assert tell_misfit(make_marks(0.1, n=9), MergeOptions(), "mm") is None
