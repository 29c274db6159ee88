"""Follow a page as a reader would: its blocks of commands, Python and settings, in order, in one folder."""

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overread.cli import main

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMPT, GOES_ON = "$ ", "> "


@dataclass
class Step:
    """A command, and the lines that the page shows below it."""

    command: str
    shown: list[str] = field(default_factory=list)


def list_steps(block: str) -> list[Step]:
    """Read a block of a terminal: commands after ``$``, which may go on after ``>``, and their output."""
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith(PROMPT):
            steps.append(Step(line.removeprefix(PROMPT)))
        elif line.startswith(GOES_ON) and not steps[-1].shown:
            steps[-1].command = steps[-1].command.removesuffix("\\") + line.removeprefix(GOES_ON)
        elif line.strip():
            steps[-1].shown.append(line)
    return steps


def squeeze(text: str) -> str:
    """Text without the rules of tables, and with single blanks: how wide a terminal is does not matter."""
    return " ".join(re.sub(r"[\u2500-\u257f]", " ", text).split())


def missing_lines(shown: list[str], told: str) -> list[str]:
    """Lines of the page that the output has not, in their order."""
    rest, missing = squeeze(told), []
    for line in map(squeeze, shown):
        _, found, after = rest.partition(line)
        if found:
            rest = after
        else:
            missing.append(line)
    return missing


OpenRoom = Callable[[Path, str], None]
"""What happens while a reading room is open: gets its folder, and all that the commands before it printed."""


def run_command(command: str, before: str, open_room: OpenRoom | None) -> tuple[int, str]:
    """Run a command of the package in this process, and any other by the shell; return exit code and output."""
    words = shlex.split(command, comments=True)
    if words[0] != "overread":
        done = subprocess.run(
            ["bash", "-c", command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        return done.returncode, done.stdout
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        if words[1] == "read" and len(words) == 3 and open_room is not None:
            # It would stay open until somebody closes it.
            open_room(Path(words[2]), before)
            return 0, told.getvalue()
        return main(words[1:]), told.getvalue()


def follow(page: Path, open_room: OpenRoom | None = None) -> dict[str, Any]:
    """Do what the page says in the current folder, and fail where it does not come out as shown.

    Returns the names that the page's Python has defined.
    """
    names: dict[str, Any] = {"__name__": "__tutorial__"}
    told, transcript = "", ""
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block, page.name, "exec"), names)
            told = printed.getvalue()
        elif kind == "text":
            assert not missing_lines(block.splitlines(), told), f"{page.name} shows {block!r}, not {told!r}"
        elif kind == "toml":
            place, _, content = block.removeprefix("# ").partition("\n")
            Path(place).write_text(content, encoding="utf-8")
        elif kind == "console":
            told = run_steps(page, block, transcript, open_room)
            transcript += told
    return names


def run_steps(page: Path, block: str, before: str, open_room: OpenRoom | None) -> str:
    """Run the commands of a block, and return what they print."""
    printed = ""
    for step in list_steps(block):
        code, told = run_command(step.command, before + printed, open_room)
        assert code == 0, f"{page.name}: {step.command!r} ended with {code}: {told}"
        missing = missing_lines(step.shown, told)
        assert not missing, f"{page.name}: {step.command!r} does not print {missing}, but:\n{told}"
        printed += told
    return printed
