from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from overread.errors import InvalidInputError
from overread.simulate import Reader, ReaderModel, SeenObject, marks_of_image, reader_panel
from overread.simulate._readers import draw_readings


def nowhere(random: np.random.Generator) -> tuple[float, float]:
    return float(random.uniform(0, 300)), float(random.uniform(0, 300))


def model(*readers: Reader, **settings) -> ReaderModel:
    return ReaderModel(readers, **{"false_marks": 0.0, **settings})


def test_readings_follow_their_shares_and_never_repeat():
    readings = draw_readings(
        [f"i{i}" for i in range(3000)], ReaderModel(reader_panel(8)), np.random.default_rng(0)
    )
    counts = readings.groupby("image_id").size()
    assert (counts == 4).mean() == pytest.approx(0.47, abs=0.03)
    assert (counts == 6).mean() == pytest.approx(0.06, abs=0.02)
    assert not readings.duplicated().any()
    assert readings["reader_id"].value_counts(normalize=True).max() < 0.14


def test_few_readers_read_everything():
    readings = draw_readings(["a", "b"], ReaderModel(reader_panel(2)), np.random.default_rng(0))
    assert len(readings) == 4


@pytest.mark.parametrize(("skill", "threshold"), [(0.0, 0.0), (0.6, 0.0), (0.2, 0.7)])
def test_a_reader_marks_with_the_probability_of_the_formula(skill, threshold):
    readers = model(Reader("R1", skill, threshold))
    seen, random = [SeenObject("N1", 100, 100, 12, 0.3)], np.random.default_rng(1)
    marked = np.mean([bool(marks_of_image(seen, ["R1"], readers, nowhere, random)) for _ in range(4000)])
    assert marked == pytest.approx(norm.cdf(0.3 + skill - threshold), abs=0.025)


def test_the_level_of_a_nodule_is_the_formula():
    readers, random = ReaderModel(reader_panel(8)), np.random.default_rng(2)
    levels = [readers.nodule_level(2.2, 20.0, random) for _ in range(4000)]
    expected = 2.08 * np.log(2.2 / 1.5) + 0.5 * np.log(20 / 14)
    assert np.mean(levels) == pytest.approx(expected, abs=0.03)
    assert np.std(levels) == pytest.approx(0.4, rel=0.05)


def test_false_marks_follow_the_threshold_and_cluster_in_images():
    readers = model(Reader("strict", threshold=0.5), Reader("lax", threshold=-0.5), false_marks=0.4)
    random = np.random.default_rng(3)
    names = [
        m.reader_id
        for _ in range(3000)
        for m in marks_of_image([], ["strict", "lax"], readers, nowhere, random)
    ]
    assert names.count("lax") / names.count("strict") == pytest.approx(np.e, rel=0.15)
    uneven = model(Reader("R1"), false_marks=1.0, image_variance=1.5)
    counts = [len(marks_of_image([], ["R1"], uneven, nowhere, random)) for _ in range(4000)]
    assert np.mean(counts) == pytest.approx(1.0, abs=0.1)
    assert np.var(counts) == pytest.approx(1.0 + 1.5, rel=0.2)


def test_a_splitter_draws_several_small_ellipses_on_a_large_object():
    readers = model(Reader("R1", skill=9.0, splits=1.0))
    random = np.random.default_rng(4)
    large = marks_of_image([SeenObject("N1", 100, 100, 24, 0.0)], ["R1"], readers, nowhere, random)
    small = marks_of_image([SeenObject("N1", 100, 100, 10, 0.0)], ["R1"], readers, nowhere, random)
    assert len(large) in (2, 3)
    assert len(small) == 1
    assert all(mark.semi_major_mm < 9 for mark in large)
    assert all(np.hypot(mark.x_mm - 100, mark.y_mm - 100) < 12 for mark in large)


def test_hands_shake_as_much_as_they_should():
    readers = model(Reader("R1", skill=9.0, size=1.2), place_jitter=0.1, size_jitter=0.15, shape_jitter=0.0)
    random = np.random.default_rng(5)
    drawn = [
        marks_of_image([SeenObject("N1", 50, 60, 20, 0.0)], ["R1"], readers, nowhere, random)[0]
        for _ in range(3000)
    ]
    assert np.std([m.x_mm for m in drawn]) == pytest.approx(1.0, rel=0.06)
    assert np.mean(np.log([m.semi_major_mm for m in drawn])) == pytest.approx(np.log(12.0), abs=0.02)
    assert np.std(np.log([m.semi_major_mm for m in drawn])) == pytest.approx(0.15, rel=0.06)


def test_panels_spread_over_their_ranges():
    readers = reader_panel(8, skills=(-1, 1), thresholds=(0, 0.7))
    assert [reader.skill for reader in readers] == sorted(reader.skill for reader in readers)
    assert sorted(reader.threshold for reader in readers) == pytest.approx(np.linspace(0, 0.7, 8))
    assert len({reader.reader_id for reader in readers}) == 8


def test_senseless_panels_are_refused():
    with pytest.raises(InvalidInputError):
        reader_panel(0)
    with pytest.raises(InvalidInputError):
        ReaderModel(())
