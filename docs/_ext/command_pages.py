"""The command line: every command with its arguments, as ``--help`` knows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from cyclopts import App
from markdown_text import code, plain, table
from type_hints import types_in

from overread.cli import app

__all__ = ["command_names", "command_page", "commands_table"]

WORDS = {Path: "PATH", int: "N", float: "NUMBER", str: "TEXT"}


def own_commands(of: App) -> list[str]:
    """Names of the commands below one, without its options for help and version."""
    return [name for name in of if not name.startswith("-")]


def command_names() -> list[str]:
    """Every command, sub-commands after the one that they belong to, as they are typed."""
    found = []
    for name in own_commands(app):
        found += [name, *(f"{name} {below}" for below in own_commands(app[name]))]
    return found


def commands_table() -> str:
    """Every command with a link to its page and what it does."""
    rows = [(f"[overread {name}]({name}.md)", plain(help_of(app[name]))) for name in own_commands(app)]
    return table(("command", "what it does"), rows)


def command_page(name: str) -> str:
    """One command: usage, example, arguments, and the same of the commands below it."""
    parts = [describe(app[name], f"overread {name}")]
    for below in own_commands(app[name]):
        full = f"overread {name} {below}"
        parts += [f"## {full}", describe(app[name][below], full)]
    return "\n\n".join(parts)


def help_of(command: App) -> str:
    """Say what a command does, in its first sentence; arguments have entries of their own."""
    return str(command.help or "").split("\n\n")[0]


def describe(command: App, full_name: str) -> str:
    """Words, usage, example and arguments of one command."""
    arguments = list(shown_arguments(command))
    wanted = [usage_of(one) for one in arguments if one.required]
    kinds = ["[COMMAND]"] if own_commands(command) else []
    example = str(command.help_epilogue or "").removeprefix("Example:").strip()
    lines = [
        plain(help_of(command)),
        "",
        "```text",
        " ".join([full_name, *wanted, *kinds, "[OPTIONS]"]),
        "```",
    ]
    if example:
        lines += ["", "For example:", "", "```sh", *(one.strip() for one in example.split(";")), "```"]
    lines += ["", f"```{{program}} {full_name}", "```"]
    groups: dict[str, list[Any]] = {}
    for one in arguments:
        groups.setdefault(group_of(one), []).append(one)
    for title, members in groups.items():
        lines += ["", f"**{title}**", *(line for one in members for line in describe_argument(one))]
    return "\n".join(lines)


def shown_arguments(command: App) -> Iterator[Any]:
    """Arguments that the help shows, those given by their place first."""
    if command.default_command is None:
        return
    arguments = [one for one in command.assemble_argument_collection(parse_docstring=True) if one.show]
    yield from sorted(arguments, key=lambda one: one.index is None)


def group_of(argument: Any) -> str:
    """Title of the group under which the help shows an argument."""
    if argument.index is not None:
        return "Arguments"
    name = argument.parameter.group[0].name
    return "Options" if name == "Parameters" else name


def usage_of(argument: Any) -> str:
    """How a needed argument is typed."""
    return value_of(argument) if argument.index is not None else f"{argument.names[0]} {value_of(argument)}"


def value_of(argument: Any) -> str:
    """Return what stands for the value: a name of what is given by its place, choices, a kind; nothing for a flag."""
    if argument.index is not None:
        return str(argument.names[0].lstrip("-").upper())
    if argument.is_flag():
        return ""
    if choices := argument.get_choices():
        return "|".join(choices)
    kinds = [one for one in types_in(argument.hint) if one in WORDS]
    several = any(get_origin(one) in (tuple, list) for one in [argument.hint, *get_args(argument.hint)])
    return (WORDS[kinds[0]] if kinds else "VALUE") + (" ..." if several else "")


def describe_argument(argument: Any) -> list[str]:
    """Entry of one argument, with its meaning and default."""
    value = value_of(argument)
    names = [value] if argument.index is not None else [f"{name} {value}".strip() for name in argument.names]
    default = argument.field_info.default
    shown = argument.show_default and not argument.is_flag() and default not in ((), "", None)
    told = [plain(str(argument.parameter.help or ""))]
    told += ["Needed."] if argument.required and argument.index is None else []
    told += [f"Default: {code(str(default))}."] if shown else []
    return ["", f"```{{option}} {', '.join(names)}", " ".join(told), "```"]
