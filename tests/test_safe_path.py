"""A folder of data brings Python files of its own; no process of ours runs them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overread._child_process import OWN_FOLDER, safe_environment, start_children_safely


def test_a_child_imports_nothing_from_the_current_folder(trap: Path) -> None:
    code = "import overread.study.executors._worker"
    subprocess.run([sys.executable, "-c", code], env=safe_environment(), check=True)
    assert not (trap / "PWNED").exists()


def test_the_trap_works(trap: Path) -> None:
    subprocess.run([sys.executable, "-c", "import json"], stderr=subprocess.DEVNULL, check=False)
    assert (trap / "PWNED").exists()


def test_a_current_folder_in_the_path_is_left_out(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(trap))
    assert str(trap) not in safe_environment()["PYTHONPATH"].split(os.pathsep)
    assert str(trap) in safe_environment(keep_current_folder=True)["PYTHONPATH"].split(os.pathsep)


def test_a_checkout_finds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(OWN_FOLDER)
    monkeypatch.syspath_prepend(str(OWN_FOLDER))
    assert str(OWN_FOLDER) in safe_environment()["PYTHONPATH"].split(os.pathsep)


@pytest.mark.parametrize("before", [None, "", "1"])
def test_the_environment_is_as_before(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    with start_children_safely():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ.get("PYTHONSAFEPATH") == before
