"""Golden values of the crowd models, written by crowd-kit and scikit-activeml to ``tests/golden/crowd.json``.

Run by ``.venv-peers/bin/python -m benchmarks.golden_crowd``; needs no overread. The models coincide without priors
on skills: scikit-activeml's Dirichlet prior is set to 1 and its L2 prior to 1e-9, ours to Beta(1, 1) and a tiny L1.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene
from skactiveml.classifier.multiannotator import AnnotatorLogisticRegression
from tests.golden.crowd_problems import CrowdProblem, make_crowd

DECIMALS = 12
TARGET = Path(__file__).parents[1] / "tests" / "golden" / "crowd.json"


def with_crowd_kit(problem: CrowdProblem) -> dict[str, object]:
    bag, reader = np.nonzero(~np.isnan(problem.votes))
    label = problem.votes[bag, reader].astype(int)
    model = DawidSkene(n_iter=5000, tol=1e-15)
    posterior = model.fit_predict_proba(pd.DataFrame({"task": bag, "worker": reader, "label": label}))
    errors = model.errors_.sort_index()
    readers = range(problem.votes.shape[1])
    return {
        "posterior": rounded(posterior.sort_index()[1]),
        "prevalence": round(float(model.priors_[1]), DECIMALS),
        "sensitivity": rounded([errors.loc[(r, 1), 1] for r in readers]),
        "specificity": rounded([errors.loc[(r, 0), 0] for r in readers]),
    }


def with_scikit_activeml(problem: CrowdProblem) -> dict[str, object]:
    model = AnnotatorLogisticRegression(
        classes=[0, 1], weights_prior=1e-9, tol=1e-10, max_iter=5000, solver="Newton-CG"
    )
    model.fit(problem.X, problem.votes)
    return {
        "probability": rounded(model.predict_proba(problem.X)[:, 1]),
        "sensitivity": rounded(model.Alpha_[:, 1, 1]),
        "specificity": rounded(model.Alpha_[:, 0, 0]),
    }


def rounded(values: object) -> list[float]:
    """Without the last digits, which differ from machine to machine."""
    return np.asarray(values, dtype=float).round(DECIMALS).tolist()


def main() -> None:
    problem = make_crowd()
    content = {
        "written_by": "benchmarks/golden_crowd.py",
        "peers": {name: version(name) for name in ("crowd-kit", "scikit-activeml")},
        "dawid_skene": with_crowd_kit(problem),
        "raykar": with_scikit_activeml(problem),
    }
    TARGET.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
