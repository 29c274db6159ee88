import subprocess
import sys

import pytest

from overread import __version__, cli
from overread.errors import LeakageError, NotConvergedError, StorageError, TableError

COMMANDS = sorted(name for name in cli.app if not name.startswith("-"))


def test_version_and_list_of_commands(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__
    assert cli.main(["--help"]) == 0
    page = capsys.readouterr().out
    assert len(COMMANDS) > 16
    for command in COMMANDS:
        assert f" {command} " in page


def test_help_imports_nothing_heavy():
    """All of them in one process; the options of the others come from what their packages know."""
    code = (
        "import sys; from overread.cli import main\n"
        "for command in ('', *'demo check init run report plan detect node read explain'.split()):\n"
        "    main([*command.split(), '--help'])\n"
        "print([m for m in ('numpy', 'pandas', 'numba', 'sklearn', 'scipy', 'matplotlib', 'pydicom') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip().endswith("[]")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_an_example(command, capsys):
    assert cli.main([command, "--help"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "Usage: overread" in page
    assert f"Example: overread {command} " in page


def test_an_unknown_command_is_a_usage_error(capsys):
    assert cli.main(["no-such-command"]) == 2
    assert "overread --help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (TableError("marks.csv, row 3"), 4),
        (StorageError("full"), 5),
        (NotConvergedError("no"), 6),
        (LeakageError("patient"), 7),
        (PermissionError("denied"), 5),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_become_exit_codes_and_one_line(monkeypatch, capsys, raised, code):
    def fail(*arguments, **options):
        raise raised

    monkeypatch.setattr(cli, "app", fail)
    assert cli.main([]) == code
    said = capsys.readouterr().err
    assert said.startswith("overread: ")
    assert said.count("\n") == 1


def test_a_bug_keeps_its_traceback(monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main([])
