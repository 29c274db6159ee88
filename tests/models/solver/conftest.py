"""Let the tests of the solver import the problems they share."""

import sys
from pathlib import Path

import pytest

from overread.models import single_threaded_blas

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def one_thread():
    """Run as the estimators do; small products on many threads wait more than they compute."""
    with single_threaded_blas():
        yield
