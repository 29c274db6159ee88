"""One test per boxed equation of the paper's appendix.

Each is written out as printed, in 60 digits, and must agree with `SoftMILObjective` to 1e-12 and with central
differences of it. The transcriptions are meant to be naive: products, quotients, no logarithms rearranged.
"""

import mpmath
import numpy as np
from mpmath import mpf

from overread.bags import Bags
from overread.models import SoftMILObjective
from overread.models.loss import _kernels
from overread.models.loss._bag_loss import BagLoss, find_pooling

STEP = 1e-5


def sigma(z):
    return 1 / (1 + mpmath.exp(-z))


def dot(a, b):
    return (a.T * b)[0]


def instance_probabilities(bag, w):
    return [sigma(dot(w, x)) for x in bag]


def bag_probability(bag, w):
    return 1 - mpmath.fprod(1 - P for P in instance_probabilities(bag, w))


def x_g(bag, w):
    return sum((x * P for x, P in zip(bag, instance_probabilities(bag, w), strict=True)), 0 * bag[0])


def divergence(bag, label, w):
    p = bag_probability(bag, w)
    first = label * mpmath.log(p) if label else mpf(0)
    return -(first + (1 - label) * mpmath.log(1 - p))


def bag_gradient(bag, label, w):
    return -(label / bag_probability(bag, w) - 1) * x_g(bag, w)


def bag_hessian(bag, label, w):
    p = bag_probability(bag, w)
    beta = 1 / p - 1
    spread = sum((x * x.T * P * (1 - P) for x, P in zip(bag, instance_probabilities(bag, w), strict=True)), 0)
    return -((label / p - 1) * spread - label * beta * (beta + 1) * x_g(bag, w) * x_g(bag, w).T)


def as_doubles(exact):
    return np.array(exact.tolist(), dtype=float).reshape(exact.rows, exact.cols).squeeze()


def numeric_gradient(function, w):
    columns = [(function(w + STEP * e) - function(w - STEP * e)) / (2 * STEP) for e in np.eye(len(w))]
    return np.stack(columns, axis=-1)


def one_bag(problem, mu):
    """The objective of a single bag, weight 1."""
    return SoftMILObjective(problem.bags[[mu]], [problem.labels[mu]], normalization="none")


def each_bag(problem):
    return enumerate(zip(problem.exact_bags, problem.exact_labels, strict=True))


def test_x_g(problem):
    """x^g_mu = sum_j x_mu,j sigma(w'x_mu,j): the gradient of a bag with label 0, since there D = -log(1 - p)."""
    for mu, (bag, _) in each_bag(problem):
        objective = SoftMILObjective(problem.bags[[mu]].with_labels(None), [0.0], normalization="none")
        found = objective.gradient(problem.w)[:-1]
        np.testing.assert_allclose(found, as_doubles(x_g(bag, problem.exact_w)), rtol=1e-12)
        np.testing.assert_allclose(found, numeric_gradient(objective.value, problem.w), atol=1e-8)


def test_g_new(problem):
    """g^new(w) = sum_mu g^new_mu(w), g^new_mu = -[p~ g_mu|y=1 + (1 - p~) g_mu|y=0]."""
    w = problem.exact_w
    objective = SoftMILObjective(problem.bags, normalization="none")
    wanted = mpmath.zeros(len(problem.w), 1)
    for _, (bag, label) in each_bag(problem):
        beta = (1 - bag_probability(bag, w)) / bag_probability(bag, w)
        g_positive, g_negative = beta * x_g(bag, w), -x_g(bag, w)
        wanted += -(label * g_positive + (1 - label) * g_negative)
    found = objective.gradient(problem.w)[:-1]
    np.testing.assert_allclose(found, as_doubles(wanted), rtol=1e-12)
    np.testing.assert_allclose(found, numeric_gradient(objective.value, problem.w), atol=1e-8)


def test_h_new(problem):
    """H^new(w) = sum_mu H^new_mu(w), H^new_mu = -[p~ H_mu|y=1 + (1 - p~) H_mu|y=0], and H v."""
    w = problem.exact_w
    objective = SoftMILObjective(problem.bags, normalization="none")
    wanted = mpmath.zeros(len(problem.w))
    for _, (bag, label) in each_bag(problem):
        beta = (1 - bag_probability(bag, w)) / bag_probability(bag, w)
        c = [P * sigma(-dot(w, x)) for x, P in zip(bag, instance_probabilities(bag, w), strict=True)]
        spread = sum((x * x.T * c_j for x, c_j in zip(bag, c, strict=True)), 0 * wanted)
        H_positive = beta * spread - beta * (beta + 1) * x_g(bag, w) * x_g(bag, w).T
        H_negative = -spread
        wanted += -(label * H_positive + (1 - label) * H_negative)
    found = objective.hessian(problem.w)
    np.testing.assert_allclose(found[:-1, :-1], as_doubles(wanted), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        found[:-1, :-1], numeric_gradient(lambda v: objective.gradient(v)[:-1], problem.w), atol=1e-8
    )
    v = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(objective.hessian_product(problem.w, 0.0, v), found @ v, rtol=1e-13)
    np.testing.assert_allclose(found, found.T, atol=1e-15)


def test_gradient_of_a_bag(problem):
    """g^new_mu(w) = -(p~/p - 1) x^g_mu, bag by bag."""
    for mu, (bag, label) in each_bag(problem):
        objective = one_bag(problem, mu)
        found = objective.gradient(problem.w)[:-1]
        np.testing.assert_allclose(found, as_doubles(bag_gradient(bag, label, problem.exact_w)), rtol=1e-12)
        np.testing.assert_allclose(found, numeric_gradient(objective.value, problem.w), atol=1e-8)


def test_hessian_of_a_bag(problem):
    """H^new_mu(w) = -[(p~/p - 1) sum_j x x' c_j - p~ beta (beta + 1) x^g x^g'], bag by bag (not boxed, but used)."""
    for mu, (bag, label) in each_bag(problem):
        objective = one_bag(problem, mu)
        found = objective.hessian(problem.w)[:-1, :-1]
        wanted = as_doubles(bag_hessian(bag, label, problem.exact_w))
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
        numeric = numeric_gradient(lambda v, F=objective: F.gradient(v)[:-1], problem.w)
        np.testing.assert_allclose(found, numeric, atol=1e-8)


def bag_curvature(scores, label):
    size = len(scores)
    loss = BagLoss.build(np.array([0, size]), np.array([label]), np.ones(1), find_pooling("noisy_or"))
    return loss.bag_curvature(np.asarray(scores, dtype=float))


def test_beta_times_beta_plus_one():
    """beta (beta + 1) = (1 - p) / p^2: the strength of the rank-one term, whichever way it is scaled."""
    for scores in ([-3.0, -4.0], [0.5, -1.0, 2.0], [-30.0, -28.0], [5.0, 3.0]):
        curvature = bag_curvature(scores, 1.0)
        z = [mpf(score) for score in scores]
        p = 1 - mpmath.fprod(1 - sigma(x) for x in z)
        found = curvature.strength[0] * np.outer(curvature.direction, curvature.direction)
        wanted = [[float((1 - p) / p**2 * sigma(x) * sigma(y)) for y in z] for x in z]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        beta = (1 - p) / p
        assert abs(beta * (beta + 1) - (1 - p) / p**2) < mpf("1e-40") * beta**2
        residual = np.empty(len(scores))
        loss = BagLoss.build(np.array([0, len(z)]), np.ones(1), np.ones(1), find_pooling("noisy_or"))

        def slope(v, loss=loss, residual=residual):
            loss.value(v, residual)
            return residual.copy()

        numeric = numeric_gradient(slope, np.array(scores))
        np.testing.assert_allclose(np.diag(curvature.diagonal) + found, numeric, atol=1e-8)


def test_sigma_times_sigma_of_minus():
    """sigma(z) sigma(-z) = P (1 - P): the curvature of a plain row."""
    z = np.array([-700.0, -30.0, -1.0, 0.0, 0.5, 8.0, 36.0, 700.0])
    found = np.empty(len(z))
    _kernels.plain_curvature(z, np.ones(len(z)), found)
    with mpmath.workdps(700):
        wanted = [float(sigma(mpf(x)) * (1 - sigma(mpf(x)))) for x in z.tolist()]
        same = [float(sigma(mpf(x)) * sigma(-mpf(x))) for x in z.tolist()]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_allclose(found, same, rtol=1e-12)
    residual = np.empty(2)
    for k in range(2, 6):
        ends = z[k] + STEP * np.array([1.0, -1.0])
        _kernels.plain_terms(ends, np.ones(2), np.zeros(2), residual)
        np.testing.assert_allclose((residual[0] - residual[1]) / (2 * STEP), found[k], atol=1e-9)


def test_hard_negatives(problem):
    """g^new,-_mu(w) = x_mu,1 P_mu,1 and H^new,-_mu(w) = x_mu,1 x_mu,1' c_mu,1, of one instance.

    The gradient is printed with x^t for x and j for 1: see docs/reference/errata.md. A larger one is its rows' sum.
    """
    for row in problem.bags.instances[:4]:
        objective = SoftMILObjective(Bags.singletons(row[None]), [0.0], normalization="none")
        x = mpmath.matrix([mpf(float(value)) for value in row])
        z = dot(problem.exact_w, x)
        slope = objective.gradient(problem.w)[:-1]
        np.testing.assert_allclose(slope, as_doubles(x * sigma(z)), rtol=1e-12)
        np.testing.assert_allclose(slope, numeric_gradient(objective.value, problem.w), atol=1e-8)
        found = objective.hessian(problem.w)[:-1, :-1]
        np.testing.assert_allclose(found, as_doubles(x * x.T * sigma(z) * sigma(-z)), rtol=1e-12)
        numeric = numeric_gradient(lambda v, F=objective: F.gradient(v)[:-1], problem.w)
        np.testing.assert_allclose(found, numeric, atol=1e-8)
    whole = SoftMILObjective(problem.bags[[3]], [0.0], normalization="none")
    rows = SoftMILObjective(Bags.singletons(problem.bags[3]), [0.0] * 4, normalization="none")
    np.testing.assert_allclose(whole.hessian(problem.w), rows.hessian(problem.w), rtol=1e-13)
    np.testing.assert_allclose(whole.gradient(problem.w), rows.gradient(problem.w), rtol=1e-13)


def test_modified_objective_with_reader_weights(problem):
    """F = sum_mu a_mu D_mu + alpha |w|, a = n / n_max, with gradient and Hessian sum_mu a_mu g_mu, a_mu H_mu."""
    a = [mpf(n) / max(problem.readers) for n in problem.readers]
    weights = np.array(problem.readers) / max(problem.readers)
    bags = problem.bags.with_reader_weight(weights)
    objective = SoftMILObjective(bags, alpha=0.5, normalization="none")
    w = problem.exact_w
    terms = list(zip(a, problem.exact_bags, problem.exact_labels, strict=True))
    F = sum(a_mu * divergence(bag, label, w) for a_mu, bag, label in terms) + mpf(0.5) * sum(map(abs, w))
    g = sum((a_mu * bag_gradient(bag, label, w) for a_mu, bag, label in terms), 0 * w)
    H = sum((a_mu * bag_hessian(bag, label, w) for a_mu, bag, label in terms), mpmath.zeros(len(w)))
    np.testing.assert_allclose(objective.value(problem.w), float(F), rtol=1e-12)
    np.testing.assert_allclose(objective.gradient(problem.w)[:-1], as_doubles(g), rtol=1e-12)
    found = objective.hessian(problem.w)[:-1, :-1]
    np.testing.assert_allclose(found, as_doubles(H), rtol=1e-12, atol=1e-15)
    numeric = numeric_gradient(objective.cross_entropy, problem.w)
    np.testing.assert_allclose(objective.gradient(problem.w)[:-1], numeric, atol=1e-8)
    np.testing.assert_allclose(
        found, numeric_gradient(lambda v: objective.gradient(v)[:-1], problem.w), atol=1e-8
    )
