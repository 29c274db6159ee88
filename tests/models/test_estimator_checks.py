"""scikit-learn's own checks of an estimator, all of them, none excused."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# SCIPY_ARRAY_API must be set before scipy is imported, or scikit-learn skips a check: hence another process.
SCRIPT = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from overread.models import SoftMILLogisticRegression, SoftMILPath, SoftMILPathCV
model = {"classifier": SoftMILLogisticRegression, "path": SoftMILPath, "cv": SoftMILPathCV}[sys.argv[1]]()
if sys.argv[1] == "cv":
    model.set_params(n_alphas=5, cv=3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    results = check_estimator(model, on_skip=None, on_fail=None)
print(json.dumps([[r["check_name"], r["status"], repr(r["exception"]), r["expected_to_fail"]] for r in results]))
"""


@pytest.mark.parametrize(("kind", "fewest"), [("classifier", 60), ("path", 30), ("cv", 60)])
def test_check_estimator_passes_whole(kind, fewest):
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert [result for result in results if result[1] != "passed" or result[3]] == []
    assert len(results) >= fewest
