"""The run of the session's chain of stages, as its readers see it."""

import pytest

from overread.report import StudyResults
from overread.study import Run, open_run
from study_chain import Chain


@pytest.fixture(scope="module")
def run(chain: Chain) -> Run:
    return open_run(chain.folder.root)


@pytest.fixture(scope="module")
def results(run: Run) -> StudyResults:
    return run.results
