"""Settings of a study and of a scenario's design: every key with type, default and meaning, from its model."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from markdown_text import code, first_paragraph, plain
from pydantic.fields import FieldInfo

from overread._sections import describe_keys
from overread.apps.scenario._design import Design
from overread.plugins import Section
from overread.study import Settings
from overread.study._settings import section_names

__all__ = ["design_page", "key_names", "settings_page"]

KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "not set"}
BOUNDS = {Ge: ("ge", "at least {}"), Gt: ("gt", "above {}"), Le: ("le", "at most {}"), Lt: ("lt", "below {}")}
LENGTHS = {MinLen: ("min_length", "at least {}"), MaxLen: ("max_length", "at most {}")}


def settings_page() -> str:
    """Every key of ``study.toml``."""
    return describe_model(Settings, "")


def design_page() -> str:
    """Every key of ``design.toml``."""
    return describe_model(Design, "design ")


def key_names(model: type[Section], prefix: str = "") -> Iterator[str]:
    """Name of every key, as pages and errors write it: ``[models] folds``."""
    for name, field in model.model_fields.items():
        if is_section(field.annotation):
            yield from (f"{prefix}[{name}] {key}" for key in field.annotation.model_fields)
        else:
            yield f"{prefix}{name}"


def is_section(annotation: Any) -> bool:
    """Say whether a field is a table of the file."""
    return isinstance(annotation, type) and issubclass(annotation, Section)


def describe_model(model: type[Section], prefix: str) -> str:
    """Keys of the file itself, then its tables."""
    fields = model.model_fields
    own = [name for name, field in fields.items() if not is_section(field.annotation)]
    lines = [
        "## At the top of the file",
        *(line for name in own for line in describe_key(model, name, prefix)),
    ]
    for name in section_names() if model is Settings else [name for name in fields if name not in own]:
        section: Any = fields[name].annotation
        keys = section.model_fields
        lines += ["", f"## [{name}]", "", first_paragraph(section.__doc__)]
        lines += [line for key in keys for line in describe_key(section, key, f"{prefix}[{name}] ")]
    return "\n".join(lines)


def describe_key(section: type[Section], key: str, prefix: str) -> list[str]:
    """Entry of one key."""
    field = section.model_fields[key]
    told = describe_keys(section)[key]
    words = [plain(told), "", f"{capital(plain(kind_of(field)))}. Default: {code(default_of(field))}."]
    if field.examples and field.examples[0] is not None:
        words += [f"For example {code(f'{key} = {json.dumps(field.examples[0])}')}."]
    return ["", f"```{{confval}} {prefix}{key}", *words, "```"]


def capital(words: str) -> str:
    """Begin a sentence."""
    return words[:1].upper() + words[1:]


def default_of(field: FieldInfo) -> str:
    """Value of a key that is not there, as it would be written."""
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "not set"
    return json.dumps(float(f"{value:.6g}") if isinstance(value, float) else value)


def kind_of(field: FieldInfo) -> str:
    """Type of a key in words, with its bounds."""
    return with_bounds(words_for(field.annotation), field.metadata)


def words_for(hint: Any) -> str:
    """Type in words."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        metadata = [
            one
            for given in inside[1:]
            for one in (given.metadata if isinstance(given, FieldInfo) else [given])
        ]
        return with_bounds(words_for(inside[0]), metadata)
    if origin is Literal:
        return "one of " + ", ".join(json.dumps(one) for one in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(words_for(one) for one in inside if one is not type(None))
    if origin in (list, tuple):
        return f"list of ({words_for(inside[0])})"
    if origin is dict:
        return f"table of ({words_for(inside[1])})"
    return KINDS[hint]


def with_bounds(words: str, metadata: list[Any]) -> str:
    """Add what pydantic checks of a value."""
    told = [words]
    for kinds, unit in ((BOUNDS, ""), (LENGTHS, " characters" if words == KINDS[str] else " of them")):
        for kind, (name, phrase) in kinds.items():
            told += [
                phrase.format(number_words(getattr(one, name))) + unit
                for one in metadata
                if isinstance(one, kind)
            ]
    return ", ".join(told)


def number_words(value: float) -> str:
    """Bound without needless digits."""
    return str(value) if isinstance(value, int) else f"{value:g}"
