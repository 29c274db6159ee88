"""Marks per image here, beside those where the threshold was locked."""

import numpy as np
import pytest
from scipy.stats import betabinom

from overread.study import MarkRate, OperatingPoint


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (0.1, "more than chance explains (p = 0.00077)"),
        (2.8, "in 100 images."),
        (30.0, "fewer than chance explains"),
    ],
)
def test_the_line_says_which_number_is_which(before, words):
    said = MarkRate(OperatingPoint(1.0, 0.0, 100, before, before).record(), 4, 11).tell()
    assert "2.75 marks per image here (11 in 4 images); its threshold is locked for 1 false positives" in said
    assert f"it made {before:.2f} marks per image, true and false, in 100 images." in said
    assert words in said
    assert ("chance" in said) == ("chance" in words)
    assert "nothing is compared" in MarkRate(OperatingPoint(1.0, 0.0).record(), 4, 11).tell()


@pytest.mark.parametrize(("marks", "n_images"), [(0, 24), (3, 24), (31, 24), (109, 24), (7, 1), (40, 500)])
def test_the_p_value_is_that_of_a_beta_binomial_law(marks, n_images):
    point = OperatingPoint(1.0, 0.0, 80, 1.3, 2.1)
    total = marks + 104
    size = total / (80 + n_images) / (2.1 / 1.3 * (1 + 16 / 79) - 1)
    law = betabinom(total, n_images * size, 80 * size)
    expected = min(1.0, 2 * min(law.cdf(marks), law.sf(marks - 1)))
    assert MarkRate(point.record(), n_images, marks).p_value == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_one_mark_after_none_is_not_named():
    """The mean of the lock was taken for known: 1 mark in 1,000 images gave p < 0.0001."""
    none = OperatingPoint(1.0, 0.0, 20, 0.0, 0.0).record()
    assert MarkRate(none, 1000, 0).p_value == 1.0
    assert not MarkRate(none, 1000, 1).differs
    # But 3 per image are, and so is a tenth of what was.
    assert MarkRate(none, 100, 300).differs
    assert MarkRate(OperatingPoint(1.0, 0.0, 60, 1.0, 1.5).record(), 100, 10).differs


@pytest.mark.parametrize(
    ("size", "mean", "n_lock", "n_here"),
    [
        (np.inf, 0.05, 20, 1000),
        (np.inf, 0.1, 30, 1000),
        (np.inf, 5.0, 20, 100),
        (0.05, 0.05, 60, 1000),
        (0.3, 0.3, 60, 1000),
        (0.8, 5.0, 20, 1000),
        (0.8, 1.0, 200, 100),
    ],
)
def test_few_marks_and_crowds_of_them_are_seldom_named(size, mean, n_lock, n_here):
    """Drawn again from the same law: Poisson, or a negative binomial one of some size."""
    rng = np.random.default_rng(1)

    def draw(n):
        rate = np.full(n, mean) if np.isinf(size) else rng.gamma(size, mean / size, n)
        return rng.poisson(rate)

    n_named = 0
    for _ in range(1000):
        lock = draw(n_lock)
        point = OperatingPoint(1.0, 0.0, n_lock, lock.mean(), lock.var(ddof=1)).record()
        n_named += MarkRate(point, n_here, int(draw(n_here).sum())).differs
    # 1.5 %, and two standard errors of the simulation.
    assert n_named / 1000 < 0.0227


def test_images_of_the_same_kind_are_seldom_named():
    """Lesions in a third of the images, false positives that crowd in some: far from Poisson, and drawn again."""
    rng = np.random.default_rng(0)

    def draw(n):
        return rng.negative_binomial(0.8, 0.8 / 1.8, n) + rng.binomial(2, 0.8, n) * (rng.random(n) < 1 / 3)

    named = {}
    for n_lock, n_here in ((60, 24), (150, 24), (150, 300), (1000, 10)):
        sets = [(draw(n_lock), draw(n_here)) for _ in range(1000)]
        rates = [
            MarkRate(
                OperatingPoint(1.0, 0.0, n_lock, lock.mean(), lock.var(ddof=1)).record(),
                n_here,
                int(here.sum()),
            )
            for lock, here in sets
        ]
        named[n_lock, n_here] = np.mean([rate.differs for rate in rates])
    assert max(named.values()) < 0.02, named
    # The two that were seen: 4.5 marks per image against 1, 0.4 against 3.
    for before, here, n in ((1.0, 109, 24), (3.0, 39, 98)):
        assert MarkRate(OperatingPoint(1.0, 0.0, 80, before, 2 * before).record(), n, here).p_value < 1e-4
