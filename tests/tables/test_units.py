"""Lengths and their units: names, conversion against arithmetic, and one study in three units."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread import EllipseHit, MergeOptions, candidate_hits, make_bags, merge_marks, reader_statistics
from overread.errors import InvalidInputError, TableError
from overread.tables import convert_lengths, named, plain, read_table, unit_of, write_table

LENGTHS = ["x", "y", "semi_major", "semi_minor"]
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "units.md"


def draw_study(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Marks in px, readings, and images with square pixels of different sizes and widths."""
    random = np.random.default_rng(seed)
    images = pd.DataFrame(
        {"image_id": ["a", "b", "c"], "width_px": random.integers(200, 4000, 3).astype(float)}
    )
    side = np.round(random.uniform(0.05, 0.3, 3), 3)
    images = images.assign(height_px=images["width_px"], mm_per_px_x=side, mm_per_px_y=side)
    readings = images[["image_id"]].merge(pd.DataFrame({"reader_id": ["R1", "R2", "R3"]}), how="cross")
    n = 24
    row = random.integers(0, 3, n)
    width = images["width_px"].to_numpy()[row]
    semi = np.sort(random.uniform(0.01, 0.1, (n, 2)) * width[:, None], axis=1)
    marks = pd.DataFrame(
        {
            "image_id": images["image_id"].to_numpy()[row],
            "reader_id": random.choice(["R1", "R2", "R3"], n),
            "mark_id": [f"m{number}" for number in range(n)],
            "x_px": random.uniform(0.3, 0.7, n) * width,
            "y_px": random.uniform(0.3, 0.7, n) * width,
            "semi_major_px": semi[:, 1],
            "semi_minor_px": semi[:, 0],
            "angle_deg": random.uniform(0, 180, n),
        }
    )
    return marks, readings, images


@given(
    st.integers(0, 10_000), st.sampled_from(["mm", "px", "percent"]), st.sampled_from(["mm", "px", "percent"])
)
@settings(max_examples=30, deadline=None)
def test_conversion_is_arithmetic_and_comes_back(seed, first, second):
    marks, _, images = draw_study(seed)
    found = named(convert_lengths(marks, images, first), first)
    there = named(convert_lengths(found, images, second), second)
    for row, mark in there.iterrows():
        image = images.set_index("image_id").loc[mark["image_id"]]
        factor = {"mm": image["mm_per_px_x"], "px": 1.0, "percent": 100 / image["width_px"]}[second]
        for name in LENGTHS:
            assert mark[f"{name}_{second}"] == pytest.approx(marks[f"{name}_px"][row] * factor, rel=1e-12)
    assert there["angle_deg"].equals(marks["angle_deg"])


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_same_marks_in_three_units_are_the_same_objects(seed):
    """Of one image, so that a full size is the same length in every unit."""
    marks, readings, images = draw_study(seed)
    marks, readings = (table[table["image_id"] == "a"].reset_index(drop=True) for table in (marks, readings))
    if marks.empty:
        return
    found = {}
    for unit in ("mm", "px", "percent"):
        side = {"mm": images["mm_per_px_x"][0], "px": 1.0, "percent": 100 / images["width_px"][0]}[unit]
        own = named(convert_lengths(marks, images, unit), unit)
        options = MergeOptions(full_size=0.2 * images["width_px"][0] * side)
        truth = merge_marks(own, readings, options=options)
        assert unit_of(truth.columns) == unit
        by_plain = merge_marks(plain(own)[0], readings, options=options, unit=unit)
        pd.testing.assert_frame_equal(truth, by_plain)
        counts = reader_statistics(own, readings, options=options).readers
        found[unit] = truth[["truth_id", "n_readers", "probability", "golden"]], counts
    for unit in ("px", "percent"):
        for one, other in zip(found["mm"], found[unit], strict=True):
            pd.testing.assert_frame_equal(one, other)


def test_no_silent_20_px_and_no_silent_5_px():
    marks, readings, _ = draw_study(0)
    with pytest.raises(InvalidInputError, match=r"full_size: marks are in px.*give full_size in px"):
        merge_marks(marks, readings)
    with pytest.raises(InvalidInputError, match="full_size"):
        reader_statistics(marks, readings)
    assert len(merge_marks(marks, readings, options=MergeOptions(threshold="fixed")))
    truth = merge_marks(marks, readings, options=MergeOptions(full_size=100.0))
    candidates = truth[["image_id", "x_px", "y_px"]].assign(candidate_id=truth["truth_id"])
    with pytest.raises(InvalidInputError, match="give min_semi_axis in px"):
        candidate_hits(candidates, truth)
    rule = EllipseHit(min_semi_axis=1.0)
    assert len(candidate_hits(candidates, truth, rule)) >= len(truth)
    features = candidates[["image_id", "candidate_id"]].assign(f=0.0)
    bags = make_bags(candidates, features, truth, rule=rule)
    same = make_bags(plain(candidates)[0], features, plain(truth)[0], rule=rule, unit="px")
    assert bags.bag_ids.tolist() == same.bag_ids.tolist()
    with pytest.raises(TableError, match=r"truth: column \w+_mm: lengths are in mm, but px is needed"):
        candidate_hits(candidates, named(plain(truth)[0], "mm"), rule)


def test_a_table_has_one_unit(tmp_path):
    marks, readings, _ = draw_study(0)
    mixed = marks.rename(columns={"y_px": "y_mm"})
    with pytest.raises(TableError, match="columns x_px and y_mm: lengths in two units"):
        merge_marks(mixed, readings)
    write_table(mixed, tmp_path / "marks.csv")
    with pytest.raises(TableError, match=r"marks.csv: columns x_px and y_mm"):
        read_table(tmp_path / "marks.csv", "marks")
    with pytest.raises(TableError, match=r"column x: has no unit \(name it x_mm, x_px or x_percent"):
        merge_marks(plain(marks)[0], readings)
    with pytest.raises(TableError, match="columns x and y_px"):
        merge_marks(marks.rename(columns={"x_px": "x"}), readings)
    for ending in ("csv", "parquet"):
        path = write_table(marks, tmp_path / f"own.{ending}")
        pd.testing.assert_frame_equal(read_table(path, "marks"), marks, check_dtype=False)


def test_a_conversion_without_sizes_says_which_image():
    marks, _, images = draw_study(0)
    unknown = images.assign(mm_per_px_x=np.nan)
    with pytest.raises(TableError, match=r"row 2, column x_px.*needed in mm.*no mm_per_px_x of image"):
        convert_lengths(marks, unknown, "mm")
    assert convert_lengths(marks, unknown, "px")["x"].equals(marks["x_px"])


def test_lengths_of_pixels_that_are_not_square_are_not_converted():
    """By one side of a pixel, every y would be wrong."""
    marks, _, images = draw_study(0)
    rows = marks.index[marks["image_id"] == "b"]
    uneven = images.assign(mm_per_px_y=images["mm_per_px_y"].where(images["image_id"] != "b", 0.4))
    with pytest.raises(TableError, match=rf"row {rows[0] + 2}, column y_px: image 'b' has pixels"):
        convert_lengths(marks, uneven, "mm")
    square = marks.drop(rows)
    pd.testing.assert_frame_equal(
        convert_lengths(square, uneven, "mm"), convert_lengths(square, images, "mm")
    )


def test_the_page_of_units_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(block, str(PAGE), "exec", dont_inherit=True), {"__name__": "units"})
