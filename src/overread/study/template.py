"""The commented ``study.toml`` that ``overread init`` writes: every key with its default and what it means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

from overread.study.models import MODELS
from overread.study.sections import Section, describe_keys
from overread.study.settings import Settings

__all__ = ["section_names", "settings_template"]

WIDTH = 110
TOP = ("name", "seed")
OF_PICTURES = (
    "# Of pictures that are no chests, finder, limit and lengths that are commented out follow from images and marks",
    "# (docs/explanation/fields.md); the run's page shows which they were.",
)


def settings_template(proposed: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Text of a settings file in which every key is there, commented out, with its default.

    Keys without a default are shown with an example.

    Parameters
    ----------
    proposed
        Values by section and key that are written down, not commented out.
    """
    given = proposed or {}
    values = Settings().to_plain()
    lines = [
        "# Settings of the study. A key that is commented out has the value shown, unless it says: not set.",
        *(OF_PICTURES if "region" in given else ()),
        "",
    ]
    for key in TOP:
        lines += [f"# {describe_keys(Settings)[key]}", f"{key} = {json.dumps(values[key])}"]
    for name in section_names():
        section: Any = Settings.model_fields[name].annotation
        lines += ["", *_section_lines(name, section, values[name], given.get(name, {}))]
    return "\n".join(lines) + "\n"


def section_names() -> list[str]:
    """Sections in the order in which a person would want them: each model's after ``[models]``."""
    others = [name for name in Settings.model_fields if name not in (*MODELS, *TOP)]
    place = others.index("models") + 1
    return [*others[:place], *MODELS, *others[place:]]


def _section_lines(
    name: str, section: type[Section], values: dict[str, Any], proposed: Mapping[str, Any]
) -> list[str]:
    summary = (section.__doc__ or "").strip().splitlines()[0]
    lines = [f"# {summary}", f"[{name}]"]
    told = describe_keys(section)
    for key, value in values.items():
        if key in proposed:
            lines += [f"# {line}" for line in wrap(told[key], WIDTH)]
            lines += [f"{key} = {_write_toml(proposed[key])}"]
            continue
        note = " Not set; for example:" if value is None else ""
        shown = _example(section, key) if value is None else value
        lines += [f"# {line}" for line in wrap(told[key] + note, WIDTH)]
        lines += [f"# {key} = {_write_toml(shown)}"]
    return lines


def _write_toml(value: Any) -> str:
    """Write a plain value as TOML in one line; all but tables is the same in JSON."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_write_toml(one)}" for key, one in value.items())
        return f"{{{inside}}}"
    return json.dumps(value)


def _example(section: type[Section], key: str) -> Any:
    """Return the example of a key that has no default."""
    examples = section.model_fields[key].examples
    return examples[0] if examples else 1
