"""The loss and its gradient against 60-digit arithmetic, where double precision is at its worst.

What 1e-12 means here. A value is compared relative to itself: it is a sum of terms >= 0, so nothing cancels. A
gradient is (1 - label) P - label Q with P, Q >= 0, which is 0 where the model meets the label; it is compared
relative to (1 - label) P + label Q, which for hard labels is the gradient itself. Below the smallest normal
number doubles have no relative accuracy left, so each may also be off by a few of the smallest steps (5e-324).
"""

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from overread.models.loss import _kernels
from overread.models.loss._bag_loss import BagLoss, find_pooling, pool

RELATIVE = mpf("1e-12")
SMALLEST_STEP = mpf(5e-324)
POOLINGS = ("noisy_or", "noisy_or_mean", "log_sum_exp", "mean")
LABELS = (0.0, 1e-320, 1e-16, 0.5, 1.0 - 2.0**-53, 1.0)
SIZES = (1, 2, 3, 7, 40, 300, 5_000, 100_000)
N_CASES_PER_POOLING = 720


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def score_levels(size: int, random: np.random.Generator) -> list[np.ndarray]:
    """Sets of five scores; a bag repeats them up to its size."""
    total_700 = random.uniform(600, 744) / size
    return [
        random.uniform(-1e4, -9e3, 5),
        random.uniform(9e3, 1e4, 5),
        random.uniform(-1e4, 1e4, 5),
        np.array([-1e4, 1e4, -3.0, 700.0, -700.0]),
        random.uniform(-746, -690, 5),
        np.array([-70.0, -740.0, -400.0, -709.0, -75.0]),
        np.array([-1.0, -740.0, -400.0, -709.0, -700.0]),
        random.uniform(-90, -70, 5),
        random.uniform(-42, -30, 5),
        random.normal(0, 2, 5),
        # s near log 2, where log p changes its form, and s just before exp(-s) underflows.
        np.log(np.expm1(np.log(2) / size)) + random.normal(0, 0.1, 5),
        (np.log(np.expm1(total_700)) if total_700 < 50 else total_700) + random.normal(0, 0.01, 5),
        np.array([random.uniform(20, 40), -random.uniform(0, 1e4), -50.0, -800.0, -5.0]),
        random.choice([-1, 1], 5) * 10 ** random.uniform(-12, 4, 5),
        np.zeros(5),
    ]


@dataclass(frozen=True)
class Case:
    """A bag given by levels and how often each comes; z is shuffled, first[i] is a row with level i."""

    levels: np.ndarray
    counts: np.ndarray
    z: np.ndarray
    first: np.ndarray
    label: float


def make_case(levels: np.ndarray, size: int, label: float, random: np.random.Generator) -> Case:
    levels = levels[: min(size, len(levels))]
    counts = 1 + random.multinomial(size - len(levels), np.full(len(levels), 1 / len(levels)))
    order = random.permutation(size)
    position = np.empty(size, dtype=np.int64)
    position[order] = np.arange(size)
    first = position[np.cumsum(counts) - counts]
    return Case(levels, counts, np.repeat(levels, counts)[order], first, label)


def make_cases(pooling: str, labels: tuple[float, ...] = LABELS) -> list[Case]:
    random = np.random.default_rng(POOLINGS.index(pooling))
    return [
        make_case(levels, size, label, random)
        for size in SIZES
        for label in labels
        for levels in score_levels(size, random)
    ]


@dataclass(frozen=True)
class Exact:
    """Loss, gradient at each level, and the scale on which the gradient is compared."""

    loss: mpf
    gradient: list[mpf]
    scale: list[mpf]


def exact(case: Case, pooling: str) -> Exact:
    z = [mpf(float(level)) for level in case.levels]
    counts = [int(count) for count in case.counts]
    label, size = mpf(case.label), sum(counts)
    if pooling in ("noisy_or", "noisy_or_mean"):
        exponent = mpf(1) if pooling == "noisy_or" else mpf(1) / size
        s = exponent * sum(n * mpmath.log1p(mpmath.exp(x)) for n, x in zip(counts, z, strict=True))
        p, q = -mpmath.expm1(-s), mpmath.exp(-s)
        loss = (1 - label) * s - label * (mpmath.log(p) if p < 0.5 else mpmath.log1p(-q))
        negative, positive = mpf(1), q / p
        shares = [exponent / (1 + mpmath.exp(-x)) for x in z]
    else:
        if pooling == "mean":
            score = sum(n * x for n, x in zip(counts, z, strict=True)) / size
            shares = [mpf(1) / size] * len(z)
        else:
            total = sum(n * mpmath.exp(x - max(z)) for n, x in zip(counts, z, strict=True))
            score = max(z) + mpmath.log(total / size)
            shares = [mpmath.exp(x - max(z)) / total for x in z]
        loss = label * mpmath.log1p(mpmath.exp(-score)) + (1 - label) * mpmath.log1p(mpmath.exp(score))
        negative, positive = 1 / (1 + mpmath.exp(-score)), 1 / (1 + mpmath.exp(score))
    return Exact(
        loss,
        [share * ((1 - label) * negative - label * positive) for share in shares],
        [share * ((1 - label) * negative + label * positive) for share in shares],
    )


def computed(case: Case, pooling: str) -> tuple[float, np.ndarray]:
    size = len(case.z)
    loss = BagLoss.build(np.array([0, size]), np.array([case.label]), np.ones(1), find_pooling(pooling))
    residual, gradient = np.empty(size), np.empty(size)
    value = loss.value(case.z[loss.order], residual)
    gradient[loss.order] = residual
    return value, gradient[case.first]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_loss_and_gradient_in_extreme_cases(pooling):
    cases = make_cases(pooling)
    assert len(cases) == N_CASES_PER_POOLING
    for case in cases:
        truth = exact(case, pooling)
        value, gradient = computed(case, pooling)
        steps = (len(case.z) + 4) * SMALLEST_STEP
        assert abs(mpf(float(value)) - truth.loss) <= RELATIVE * truth.loss + steps, case
        for got, wanted, scale in zip(gradient, truth.gradient, truth.scale, strict=True):
            assert abs(mpf(float(got)) - wanted) <= RELATIVE * scale + 4 * SMALLEST_STEP, case


@pytest.mark.parametrize("pooling", POOLINGS)
def test_log_probabilities_in_extreme_cases(pooling):
    """log p and log(1 - p) are the losses of labels 1 and 0."""
    for case in make_cases(pooling, labels=(0.5,)):
        size = len(case.z)
        log_p, log_q = pool(case.z, np.array([0, size]), pooling)
        for label, found in ((1.0, -log_p[0]), (0.0, -log_q[0])):
            wanted = exact(Case(case.levels, case.counts, case.z, case.first, label), pooling).loss
            assert abs(mpf(float(found)) - wanted) <= RELATIVE * wanted + (size + 4) * SMALLEST_STEP, case


def test_reference_is_the_product_formula():
    """With digits enough not to cancel, 1 - prod(1 - P) gives what the reference gives."""
    random = np.random.default_rng(0)
    for levels in ([-1e3, -1.5e3], [-3.0, 2.0, -800.0], [700.0, -2.0], [0.25]):
        case = make_case(np.array(levels), 7 if len(levels) > 1 else 1, 0.3, random)
        with mpmath.workdps(2000):
            kept = mpf(1)
            for level, count in zip(case.levels, case.counts, strict=True):
                kept *= (1 - 1 / (1 + mpmath.exp(-mpf(float(level))))) ** int(count)
            wanted = -(mpf(0.3) * mpmath.log(1 - kept) + (1 - mpf(0.3)) * mpmath.log(kept))
        assert abs(exact(case, "noisy_or").loss - wanted) <= mpf("1e-55") * wanted


def test_scores_near_the_largest_number_stay_finite():
    z = np.array([1e300, -1e300, 0.0])
    for pooling in POOLINGS:
        loss = BagLoss.build(np.array([0, 3]), np.array([0.5]), np.ones(1), find_pooling(pooling))
        residual = np.empty(3)
        assert np.isfinite(loss.value(z, residual))
        assert np.isfinite(residual).all()
        assert np.isfinite(loss.bag_curvature(z).diagonal).all()


def units_in_last_place(found: np.ndarray, wanted: list[mpf]) -> np.ndarray:
    return np.array(
        [
            float(abs(mpf(float(x)) - y) / mpf(float(np.spacing(abs(float(y))))))
            for x, y in zip(found, wanted, strict=True)
        ]
    )


def test_exp_to_two_units_in_the_last_place():
    random = np.random.default_rng(0)
    x = -np.concatenate(
        [
            random.uniform(0, 745, 3000),
            random.uniform(0, 2, 2000),
            10.0 ** random.uniform(-300, 2, 1000),
            (np.arange(1, 1074) - 0.5) * np.log(2),
            [0.0, 5e-324, 708.3964185322641, 745.1332191019411],
        ]
    )
    found = np.array([_kernels._exp_nonpositive(value) for value in x])
    assert units_in_last_place(found, [mpmath.exp(mpf(float(value))) for value in x]).max() <= 2
    assert _kernels._exp_nonpositive(0.0) == 1.0
    assert _kernels._exp_nonpositive(-746.0) <= 5e-324
    assert _kernels._exp_nonpositive(-np.inf) <= 5e-324
    assert np.isnan(_kernels._exp_nonpositive(np.nan))


def test_log1p_to_two_units_in_the_last_place():
    random = np.random.default_rng(0)
    e = np.concatenate(
        [random.uniform(0, 1, 4000), 10.0 ** random.uniform(-320, 0, 2000), [0.0, 5e-324, 1.0]]
    )
    found = np.array([_kernels._log1p_unit(value) for value in e])
    assert units_in_last_place(found, [mpmath.log1p(mpf(float(value))) for value in e]).max() <= 2


def test_compensated_sum_keeps_what_plain_addition_loses():
    random = np.random.default_rng(0)
    x = random.normal(0, 1, 100_000) * 10.0 ** random.uniform(-8, 8, 100_000)
    wanted = mpmath.fsum(map(mpf, x.tolist()))
    assert abs(mpf(float(_kernels._compensated_sum(x))) - wanted) <= abs(wanted) * mpf(2) ** -52
    assert _kernels._compensated_sum(np.array([1e308, 1e308])) == np.inf
