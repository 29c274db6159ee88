"""A plain installation, without any extra, runs the chain; what needs an extra says which."""

import subprocess
import sys
from pathlib import Path

import pytest

from overread.errors import EXTRAS, MissingExtraError, find_extra, require_extra

PACKAGES = [package for _, packages in EXTRAS.values() for package in packages]
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES!r}))\n"
COMMAND = BLOCKED + "from overread.cli import main; sys.exit(main(sys.argv[1:]))"
COMMANDS = (
    BLOCKED + "from overread.cli import main; sys.exit(any([main(words.split()) for words in sys.argv[1:]]))"
)
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


def python(code: str, *words: str | Path, code_of_exit: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code_of_exit, done.stderr
    return done


def test_every_module_of_the_core_is_imported_without_them():
    """Only the writers of DICOM documents are not, which the formats load when they write."""
    failed = dict(line.split() for line in python(IMPORT_ALL).stdout.splitlines())
    assert set(failed.values()) <= {"pacs"}
    assert all(name.endswith(("_writer", "_writers")) for name in failed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["read", "study"], "overread read needs the reading room: pip install 'overread[room]'"),
        (["demo-read"], "overread demo-read needs the reading room: pip install 'overread[room]'"),
        (
            ["node", "d", "--spool", "s", "--destination", "A@h:1"],
            "overread node needs DICOM documents and networking: pip install 'overread[pacs]'",
        ),
        (
            ["detect", "d", "i", "--gsps"],
            "overread detect --sr or --gsps needs DICOM documents and networking: pip install 'overread[pacs]'",
        ),
        (
            ["export", "s", "-o", "o", "--format", "dicom-sr"],
            "overread export --format dicom-sr needs DICOM documents and networking: "
            "pip install 'overread[pacs]'",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_without_its_extra_says_the_line_that_installs_it(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert python(COMMAND, *words, code_of_exit=2).stderr == f"overread: {said}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["read", "node"])
def test_help_needs_no_extra(command):
    assert "Usage: overread" in python(COMMAND, command, "--help").stdout


def test_a_package_of_the_core_is_no_extra(monkeypatch):
    assert find_extra(ModuleNotFoundError("numpy", name="numpy")) is None
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"the job needs ONNX: pip install 'overread\[onnx\]'"):
        require_extra("onnx", "the job")


def test_the_chain_runs_without_them(tmp_path):
    """All commands in one process, which cannot import the packages of any extra."""
    study, found, truth = tmp_path / "study", tmp_path / "found", tmp_path / "truth.csv"
    python(COMMAND, "simulate", study, "--n-images", "12", "--format", "png", "--grid-mm", "1.4")
    with (study / "study.toml").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    scores = found / "detections.csv"
    commands = [
        ["run", study, "--executor", "serial", "--quiet"],
        ["merge", study, "-o", truth],
        [
            "detect",
            study / "runs" / "main",
            study / "images",
            "--mm-per-px",
            "1.4",
            "-o",
            found,
            "--all-candidates",
        ],
        ["froc", scores, truth, "--n-images", "12", "--score", "score", "--n-bootstrap", "100"],
    ]
    python(COMMANDS, *(" ".join(map(str, words)) for words in commands))
