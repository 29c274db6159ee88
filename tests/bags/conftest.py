"""Small tables, and a small honest bag classifier: the tools are tested apart from the project's models."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from tests.bags.small_tables import candidate, ground_truth

from overread.bags import Bags


@pytest.fixture
def tables():
    """Candidates, features, truth and readings of three images; small enough to work out by hand."""
    candidates = pd.DataFrame(
        [
            candidate("i", "0", 50, 50),
            candidate("i", "1", 200, 200),
            candidate("i", "2", 54, 50),
            candidate("j", "0", 30, 30),
            candidate("i", "3", 66, 50),
            candidate("k", "0", 50, 50),
        ]
    )
    truth = pd.DataFrame(
        [
            ground_truth("i", "A", 50, 50, probability=0.5),
            ground_truth("i", "B", 64, 50, readers=1, probability=0.05, axes=(12.0, 12.0)),
            ground_truth("i", "C", 300, 300, probability=0.75),
            ground_truth("j", "A", 31, 30, readers=1, probability=0.1, weight=1.0),
        ]
    )
    readings = pd.DataFrame(
        [(image, f"r{n}") for image, count in (("i", 2), ("j", 4), ("k", 3)) for n in range(count)],
        columns=["image_id", "reader_id"],
    )
    rng = np.random.default_rng(0)
    features = candidates[["image_id", "candidate_id"]].copy()
    for name in ("f", "g"):
        features[name] = rng.normal(size=len(candidates)).astype(np.float32)
    return candidates, features, truth, readings


@pytest.fixture(scope="session")
def bag_mean_logistic():
    """Logistic regression on the mean of each bag, ridge 1, by scipy; takes soft labels.

    The class is local so that worker processes get it by value.
    """

    class BagMeanLogistic(ClassifierMixin, BaseEstimator):
        def __init__(self, ridge=1.0):
            self.ridge = ridge

        def fit(self, X, y, sample_weight=None):
            from overread.bags import Bags, read_labels

            if isinstance(X, Bags):
                X.check_labels(y)
            labels = read_labels(y)
            self.classes_ = labels.classes
            means = self._means(X)
            weight = np.ones(len(means)) if sample_weight is None else np.asarray(sample_weight)
            self.n_features_in_ = means.shape[1]

            def loss(theta):
                z = means @ theta[1:] + theta[0]
                y = labels.probability
                value = -weight @ (y * log_expit(z) + (1 - y) * log_expit(-z))
                residual = weight * (expit(z) - y)
                gradient = np.append(residual.sum(), means.T @ residual + self.ridge * theta[1:])
                return value + 0.5 * self.ridge * theta[1:] @ theta[1:], gradient

            start = np.zeros(means.shape[1] + 1)
            self.theta_ = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9}).x
            return self

        @staticmethod
        def _means(X):
            from overread.bags import Bags

            return np.array([bag.mean(axis=0) for bag in X]) if isinstance(X, Bags) else np.asarray(X)

        def decision_function(self, X):
            return self._means(X) @ self.theta_[1:] + self.theta_[0]

        def predict_proba(self, X):
            z = self.decision_function(X)
            return np.column_stack([expit(-z), expit(z)])

        def predict_log_proba(self, X):
            z = self.decision_function(X)
            return np.column_stack([log_expit(-z), log_expit(z)])

        def predict(self, X):
            return self.classes_[(self.decision_function(X) > 0).astype(int)]

        def instance_predict_proba(self, X):
            return expit(X.instances @ self.theta_[1:] + self.theta_[0])

        def score(self, X, y, sample_weight=None):
            from overread.bags import soft_kl_scorer

            return soft_kl_scorer(self, X, y, sample_weight)

    return BagMeanLogistic


@pytest.fixture(scope="session")
def soft_problem():
    """120 bags of 1 to 4 instances, 3 features, soft labels in quarters, 40 patients; labels are carried."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, 120)
    ids = np.repeat([f"bag{i}" for i in range(120)], sizes)
    X = rng.normal(size=(sizes.sum(), 3))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    labels = np.round(4 * expit(1.5 * np.add.reduceat(X[:, 0], first) / sizes - 0.5)) / 4
    return Bags.from_ids(X, ids, labels=labels, groups=[f"p{i // 3}" for i in range(120)])
