"""A plain installation, without any extra, runs the chain; what needs an extra says which."""

import subprocess
import sys

import pytest

from overread.errors import EXTRAS, MissingExtraError, find_extra, require_extra

PACKAGES = [package for _, packages in EXTRAS.values() for package in packages]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES!r}))\n"
COMMANDS = BLOCKED + "from overread.cli import main; print([main(words.split()) for words in sys.argv[1:]])"
NEEDS = {
    "read study": "overread read needs the reading room: pip install 'overread[room]'",
    "demo-read": "overread demo-read needs the reading room: pip install 'overread[room]'",
    "node d --spool s --destination A@h:1": "overread node needs DICOM documents and networking: "
    "pip install 'overread[pacs]'",
    "detect d i --gsps": "overread detect --sr or --gsps needs DICOM documents and networking: "
    "pip install 'overread[pacs]'",
    "export s -o o --format dicom-sr": "overread export --format dicom-sr needs DICOM documents and networking: "
    "pip install 'overread[pacs]'",
}
IMPORT_ALL = (
    BLOCKED
    + """
import pkgutil, overread
from importlib import import_module
from overread.errors import find_extra
for found in pkgutil.walk_packages(overread.__path__, "overread."):
    if found.name.startswith("overread.apps"):
        continue
    try:
        import_module(found.name)
    except ModuleNotFoundError as error:
        print(found.name, find_extra(error))
"""
)
SETTINGS = """
[candidates]
limit = 8
[features]
only = ["profile.*", "blob.*", "glcm.*"]
[models]
folds = 2
[b1]
prune_bounds = [100.0]
[b2]
prune_bounds = [100.0]
n_bootstrap = 0
min_positives = 2
[evaluation]
n_bootstrap = 100
headline = "test"
"""


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_every_module_of_the_core_is_imported_without_them():
    """Only the writers of DICOM documents are not, which the formats load when they write."""
    failed = dict(line.split() for line in python(IMPORT_ALL).stdout.splitlines())
    assert set(failed.values()) <= {"pacs"}
    assert all(name.endswith(("_writer", "_writers")) for name in failed)


def test_a_command_without_its_extra_says_the_line_that_installs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = python(COMMANDS, *NEEDS)
    assert done.stdout.strip() == str([2] * len(NEEDS))
    assert done.stderr.splitlines() == [f"overread: {said}" for said in NEEDS.values()]
    assert list(tmp_path.iterdir()) == []


def test_help_needs_no_extra():
    assert python(COMMANDS, "read --help", "node --help").stdout.count("Usage: overread") == 2


def test_a_package_of_the_core_is_no_extra(monkeypatch):
    assert find_extra(ModuleNotFoundError("numpy", name="numpy")) is None
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"the job needs ONNX: pip install 'overread\[onnx\]'"):
        require_extra("onnx", "the job")


@pytest.mark.slow
def test_the_chain_runs_without_them(tmp_path):
    """All commands in one process, which cannot import the packages of any extra."""
    study, found, truth = tmp_path / "study", tmp_path / "found", tmp_path / "truth.csv"
    python(COMMANDS, f"simulate {study} --n-images 12 --format png --grid-mm 1.4")
    with (study / "study.toml").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    done = python(
        COMMANDS,
        f"run {study} --executor serial --quiet",
        f"merge {study} -o {truth}",
        f"detect {study}/runs/main {study}/images --mm-per-px 1.4 -o {found} --all-candidates",
        f"froc {found}/detections.csv {truth} --n-images 12 --score score --n-bootstrap 100",
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0]"
