"""A small scenario, prepared and run once."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from small_scenario import small_design

from overread.apps.scenario._material import prepare_material
from overread.apps.scenario.command import run_scenario


@pytest.fixture(scope="session")
def design():
    return small_design()


@pytest.fixture(scope="session")
def material(design, tmp_path_factory):
    return prepare_material(design, tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scenario") / "out"


@pytest.fixture(scope="session")
def done(design, folder):
    return run_scenario(design, folder)
