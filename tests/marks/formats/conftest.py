"""Files that come inside packages of requirements/data.txt; the packages themselves are never imported."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from dicom_marks import make_mark_set
from overread.marks import MarkSet
from overread.marks.formats import pylidc


@pytest.fixture(scope="session")
def package_file() -> Callable[[str, str], Path]:
    def find(package: str, name: str) -> Path:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            pytest.skip(f"needs the package {package} of requirements/data.txt")
        return Path(spec.origin).parent / name

    return find


@pytest.fixture(scope="session")
def all_of_pylidc(package_file) -> MarkSet:
    return pylidc.read(package_file("pylidc", "pylidc.sqlite"), guess_readers=True)


@pytest.fixture
def mark_set(tmp_path) -> MarkSet:
    """Marks of one reader and none of another on two DICOM images."""
    return make_mark_set(tmp_path)
