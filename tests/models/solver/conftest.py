import pytest

from overread.models import single_threaded_blas


@pytest.fixture(autouse=True)
def one_thread():
    """Run as the estimators do; small products on many threads wait more than they compute."""
    with single_threaded_blas():
        yield
