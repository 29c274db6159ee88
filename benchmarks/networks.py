"""The small networks that the package ships are trained in one way."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

__all__ = ["fitted_network"]


def fitted_network(
    inputs: Any, labels: Any, *, hidden_units: int, penalty: float, epochs: int, seed: int
) -> MLPClassifier:
    """One hidden layer, a fixed number of passes over standardized inputs."""
    network = MLPClassifier(
        (hidden_units,),
        alpha=penalty,
        batch_size=512,
        learning_rate_init=2e-3,
        max_iter=epochs,
        tol=0.0,
        n_iter_no_change=epochs,
        random_state=seed,
    )
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return network.fit(inputs, labels)
