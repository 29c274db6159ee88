"""Section 4 of the paper: bag probability, divergence, the two objectives, normalizations, soft labels."""

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from overread.bags import Bags, mean_soft_kl
from overread.models import SoftMILLogisticRegression, SoftMILObjective
from overread.models.loss._bag_loss import pool

POOLINGS = ("noisy_or", "noisy_or_mean", "log_sum_exp", "mean")


def scores(problem):
    return [[(problem.exact_w.T * x)[0] for x in bag] for bag in problem.exact_bags]


def sigma(z):
    return 1 / (1 + mpmath.exp(-z))


def exact_probability(z, pooling):
    if pooling == "noisy_or":
        return 1 - mpmath.fprod(1 - sigma(x) for x in z)
    if pooling == "noisy_or_mean":
        return 1 - mpmath.fprod(1 - sigma(x) for x in z) ** (mpf(1) / len(z))
    if pooling == "log_sum_exp":
        return sigma(mpmath.log(sum(map(mpmath.exp, z)) / len(z)))
    return sigma(sum(z) / len(z))


def exact_divergences(problem, pooling="noisy_or"):
    """Cross-entropy D_mu of each bag."""
    found = []
    for z, label in zip(scores(problem), problem.exact_labels, strict=True):
        p = exact_probability(z, pooling)
        found.append(-(label * mpmath.log(p) + (1 - label) * mpmath.log(1 - p)))
    return found


@pytest.mark.parametrize("pooling", POOLINGS)
def test_bag_probability(problem, pooling):
    """p_mu = 1 - prod_k (1 - sigma(w'x_k)), and the other poolings by their definitions."""
    log_p, log_q = pool(problem.bags.instances @ problem.w, problem.bags.offsets, pooling)
    wanted = [exact_probability(z, pooling) for z in scores(problem)]
    np.testing.assert_allclose(np.exp(log_p), [float(p) for p in wanted], rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_q), [float(1 - p) for p in wanted], rtol=1e-12)


def test_kl_divergence(problem):
    """D_KL = p~ log(p~/p) + (1 - p~) log((1 - p~)/(1 - p)), the cross-entropy less the labels' entropy."""
    wanted = mpf(0)
    for z, label in zip(scores(problem), problem.exact_labels, strict=True):
        p = exact_probability(z, "noisy_or")
        wanted += label * mpmath.log(label / p) if label else 0
        wanted += (1 - label) * mpmath.log((1 - label) / (1 - p)) if label < 1 else 0
    objective = SoftMILObjective(problem.bags, normalization="none")
    assert objective.kl_divergence(problem.w) == pytest.approx(float(wanted), rel=1e-12)
    log_p, log_q = pool(problem.bags.instances @ problem.w, problem.bags.offsets)
    mean = mean_soft_kl(problem.labels, log_proba=np.column_stack([log_q, log_p]))
    assert objective.kl_divergence(problem.w) == pytest.approx(mean * len(problem.labels), rel=1e-12)
    assert objective.entropy == pytest.approx(
        objective.cross_entropy(problem.w) - objective.kl_divergence(problem.w)
    )


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("normalization", ["none", "bags", "class"])
@pytest.mark.parametrize("divide_by_features", [False, True])
def test_normalizations(problem, pooling, normalization, divide_by_features):
    """F = D + alpha |w|, (1/M) D + ..., (1/M+) D+ + (1/M-) D- + ..., with alpha or alpha / d."""
    D = exact_divergences(problem, pooling)
    positive = [label > 0 for label in problem.labels]
    M, M_plus = len(D), sum(positive)
    if normalization == "none":
        wanted = sum(D)
    elif normalization == "bags":
        wanted = sum(D) / M
    else:
        wanted = sum(d / (M_plus if soft else M - M_plus) for d, soft in zip(D, positive, strict=True))
    wanted += mpf(0.06) * sum(map(abs, problem.exact_w)) / (len(problem.w) if divide_by_features else 1)
    objective = SoftMILObjective(
        problem.bags,
        alpha=0.06,
        normalization=normalization,
        divide_by_features=divide_by_features,
        pooling=pooling,
    )
    assert objective.value(problem.w) == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("b", [0.0, -1.25])
def test_derivatives_of_every_pooling(problem, pooling, b):
    """Gradient and Hessian, intercept included, against central differences."""
    objective = SoftMILObjective(problem.bags, pooling=pooling, normalization="class")
    here, step = np.append(problem.w, b), 1e-5
    shifts = step * np.eye(len(here))
    gradient, hessian = objective.gradient(problem.w, b), objective.hessian(problem.w, b)
    for j, shift in enumerate(shifts):
        up, down = here + shift, here - shift
        slope = (objective.value(up[:-1], up[-1]) - objective.value(down[:-1], down[-1])) / (2 * step)
        assert gradient[j] == pytest.approx(slope, abs=1e-8)
        bend = (objective.gradient(up[:-1], up[-1]) - objective.gradient(down[:-1], down[-1])) / (2 * step)
        np.testing.assert_allclose(hessian[j], bend, atol=1e-8)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_soft_label_is_the_bag_twice(problem, pooling):
    """A bag with label p is the bag with label 1 and weight p, and again with label 0 and weight 1 - p."""
    soft = SoftMILObjective(problem.bags, normalization="none", pooling=pooling)
    bags = problem.bags.with_labels(None)
    twice = Bags.from_list([*bags, *bags])
    p = np.array(problem.labels)
    hard = SoftMILObjective(
        twice,
        np.repeat([1.0, 0.0], len(p)),
        normalization="none",
        pooling=pooling,
        sample_weight=np.append(p, 1 - p),
    )
    assert soft.value(problem.w, 0.3) == pytest.approx(hard.value(problem.w, 0.3), rel=1e-13)
    np.testing.assert_allclose(soft.gradient(problem.w, 0.3), hard.gradient(problem.w, 0.3), rtol=1e-12)
    np.testing.assert_allclose(
        soft.hessian(problem.w, 0.3), hard.hessian(problem.w, 0.3), rtol=1e-11, atol=1e-14
    )


@pytest.mark.parametrize("divide_by_features", [False, True])
@pytest.mark.parametrize("normalization", ["none", "bags", "class"])
def test_the_estimator_minimizes_this_objective(problem, normalization, divide_by_features):
    model = SoftMILLogisticRegression(
        normalization=normalization, divide_by_features=divide_by_features, standardize=False, tol=1e-9
    )
    model.fit(problem.bags, problem.labels)
    objective = SoftMILObjective(
        problem.bags, alpha=model.alpha_, normalization=normalization, divide_by_features=divide_by_features
    )
    w, b = model.coef_[0], model.intercept_[0]
    assert objective.value(w, b) == pytest.approx(model.fit_report_.objective, rel=1e-12)
    assert np.abs(objective.minimum_norm_subgradient(w, b)).max() <= 1e-8 * objective.strength
    larger = SoftMILObjective(
        problem.bags,
        alpha=1.0001 * model.alpha_max_,
        normalization=normalization,
        divide_by_features=divide_by_features,
    )
    null = SoftMILLogisticRegression(
        larger.strength * (len(w) if divide_by_features else 1),
        normalization=normalization,
        divide_by_features=divide_by_features,
        standardize=False,
    ).fit(problem.bags, problem.labels)
    assert not null.coef_.any()
    assert np.abs(larger.minimum_norm_subgradient(null.coef_[0], null.intercept_[0])).max() < 1e-9


def test_integer_weights_repeat_bags(problem):
    counts = np.array([1, 2, 3, 1, 2, 1, 4])
    bags = problem.bags.with_labels(None)
    repeated = Bags.from_list([bags[m] for m in np.repeat(np.arange(len(counts)), counts)])
    labels = np.array(problem.labels)
    for normalization in ("none", "bags", "class"):
        weighted = SoftMILObjective(bags, labels, normalization=normalization, sample_weight=counts)
        plain = SoftMILObjective(repeated, np.repeat(labels, counts), normalization=normalization)
        assert weighted.value(problem.w, -0.2) == pytest.approx(plain.value(problem.w, -0.2), rel=1e-13)
        np.testing.assert_allclose(
            weighted.gradient(problem.w, -0.2), plain.gradient(problem.w, -0.2), rtol=1e-12
        )
