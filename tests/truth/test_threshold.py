"""Thresholds judged by held-out readers: against a plain search, and where the answer is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.truth import MergeOptions, merge_marks, threshold_curve

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


def neighbours(n_images=40, n_readers=4, gap=1.7, jitter=0.2, seed=0):
    """Two touching lesions of radius 1 in each image; every reader marks each with probability 0.8."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"i{image}",
            f"R{reader}",
            f"{reader}-{lesion}",
            *(np.array([gap * lesion, 0.0]) + rng.normal(0, jitter, 2)),
            *size,
        )
        for image in range(n_images)
        for reader in range(n_readers)
        for lesion in range(2)
        for size in [np.r_[np.repeat(np.exp(rng.normal(0, 0.15)), 2), 0.0]]
        if rng.random() < 0.8
    ]
    readings = [(f"i{image}", f"R{reader}") for image in range(n_images) for reader in range(n_readers)]
    marks = pd.DataFrame(rows, columns=COLUMNS)
    marks[COLUMNS[3:]] *= [30, 30, 30, 30, 1]
    return marks, pd.DataFrame(readings, columns=["image_id", "reader_id"])


@pytest.mark.parametrize("method", ["star", "linkage", "fusion"])
def test_the_chosen_threshold_separates_neighbours_and_joins_copies(method):
    marks, readings = neighbours()
    options = MergeOptions(method=method, threshold="fixed")
    curve = threshold_curve(marks, readings, options=options)
    chosen = replace(options, **{curve.option: curve.chosen})
    objects = [
        len(merge_marks(marks, readings, options=one))
        for one in (chosen, replace(chosen, **{curve.option: 0.7}))
    ]
    assert abs(objects[0] - 80) <= 4
    assert objects[1] > 100


def by_loops(marks, readings, options):
    """Agreement as the page says it, one held-out reader after the other."""
    import shapely

    from overread.marks import Ellipse

    def shapes(table):
        return [
            (Ellipse(*row), shapely.Polygon(Ellipse(*row).outline(720)))
            for row in table[COLUMNS[3:]].to_numpy(float)
        ]

    matched, counted = 0.0, 0
    for reader in sorted(set(marks["reader_id"])):
        for image in sorted(set(readings["image_id"])):
            here = marks[marks["image_id"] == image]
            own, rest = here[here["reader_id"] == reader], here[here["reader_id"] != reader]
            read = readings[(readings["image_id"] == image) & (readings["reader_id"] != reader)]
            objects, drawn = shapes(merge_marks(rest, read, options=options)), shapes(own)

            def touches(one, other):
                return one[1].contains(shapely.Point(other[0].x, other[0].y)) or other[1].contains(
                    shapely.Point(one[0].x, one[0].y)
                )

            counted += sum(any(touches(one, mark) for mark in drawn) for one in objects)
            counted += sum(any(touches(one, mark) for one in shapes(rest)) for mark in drawn)
            ious = sorted(
                (
                    (one[1].intersection(mark[1]).area / one[1].union(mark[1]).area, i, j)
                    for i, one in enumerate(objects)
                    for j, mark in enumerate(drawn)
                ),
                reverse=True,
            )
            used: set[tuple[str, int]] = set()
            for iou, i, j in ious:
                if iou > 0.5 and not {("object", i), ("mark", j)} & used:
                    matched += iou
                    used |= {("object", i), ("mark", j)}
    return 2 * matched / counted


@pytest.mark.parametrize("method", ["star", "linkage"])
def test_the_agreement_is_that_of_a_plain_search(method):
    marks, readings = neighbours(n_images=6, seed=3)
    options = MergeOptions(method=method)
    curve = threshold_curve(marks, readings, options=options, thresholds=[0.3])
    for step, agreement in zip(curve.table["threshold"], curve.table["agreement"], strict=True):
        expected = by_loops(marks, readings, replace(options, **{curve.option: step}))
        assert agreement == pytest.approx(expected, abs=2e-3)


def test_a_second_object_on_one_mark_counts_against():
    """Three readers agree; if their marks stay three objects, only one of them can match the fourth."""
    marks, readings = neighbours(gap=100.0, jitter=0.1)
    table = threshold_curve(
        marks, readings, options=MergeOptions(method="linkage"), thresholds=[0.2, 0.99]
    ).table
    joined, apart = table["agreement"].iloc[[0, -1]]
    assert apart < 0.7 * joined
    assert table["objects_per_image"].iloc[0] == pytest.approx(2.0, abs=0.1)


def test_the_curve_does_not_depend_on_the_order_or_names_of_readers():
    marks, readings = neighbours(n_images=10)
    names = {f"R{number}": name for number, name in enumerate(["zoe", "NA", "x", "b"])}
    renamed = [
        table.replace({"reader_id": names}).sample(frac=1, random_state=0) for table in (marks, readings)
    ]
    one, other = (
        threshold_curve(*tables, thresholds=[0.2, 0.5]).table for tables in ((marks, readings), renamed)
    )
    pd.testing.assert_frame_equal(one, other)


def test_what_cannot_be_judged_has_no_curve():
    marks, readings = neighbours(n_images=5, n_readers=2)
    assert threshold_curve(marks, readings) is None
    assert threshold_curve(*neighbours(n_images=5), options=MergeOptions(method="dbscan")) is None
    empty, readings = neighbours(n_images=5)
    assert threshold_curve(empty[:0], readings) is None


def test_large_studies_are_judged_by_a_part(monkeypatch):
    monkeypatch.setattr("overread.truth._threshold.MOST_MARKS", 30)
    marks, readings = neighbours()
    few = threshold_curve(marks, readings, thresholds=[0.3])
    assert few.table["objects_per_image"].notna().all()
    again = threshold_curve(marks.sample(frac=1, random_state=1), readings, thresholds=[0.3])
    pd.testing.assert_frame_equal(few.table, again.table)
