"""A section of ``study.toml`` as a class: its docstring explains each key, its fields define the allowed values.

``overread init`` writes these docstrings as the comments of the settings file.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import pydantic
from pydantic import BaseModel, ConfigDict, Field, create_model

Fraction = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""
Positive = Annotated[float, Field(gt=0)]
"""A number above 0."""
# More false positives per image than any useful operating point has; set by judgement.
FpTarget = Annotated[float, Field(gt=0, le=1000)]
FpTargets = Annotated[list[FpTarget], Field(min_length=1, max_length=50)]
"""1 to 50 values of false positives per image at which a result is reported."""


class Section(BaseModel):
    """A table of the file: unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def make_section(options: type[Any]) -> type[Section]:
    """Make a section from a dataclass of options; the seed comes from the study."""
    hints = get_type_hints(options)
    members: dict[str, Any] = {
        one.name: (hints[one.name], Field(default=one.default, examples=[one.metadata.get("example")]))
        for one in fields(options)
        if one.name != "seed"
    }

    def check(section: Section) -> Section:
        options(**{name: getattr(section, name) for name in members})
        return section

    validators: dict[str, Any] = {"check": pydantic.model_validator(mode="after")(check)}
    return create_model(
        options.__name__, __base__=Section, __doc__=options.__doc__, __validators__=validators, **members
    )


def describe_keys(section: type[Any]) -> dict[str, str]:
    """Return the text on each key from the docstrings of a class and its bases, in one paragraph each."""
    told: dict[str, str] = {}
    for base in reversed(section.__mro__):
        told |= _attributes(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
    return told


def _attributes(text: str) -> dict[str, str]:
    """Read the part "Attributes" or "Parameters" of a numpydoc docstring."""
    lines = text.splitlines()
    starts = [row for row, line in enumerate(lines) if line in ("Attributes", "Parameters")]
    told: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines[starts[0] + 2 :] if starts else []:
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(":")[0].split(",")]
            told |= {name: [] for name in names}
        elif line:
            for name in names:
                told[name].append(line.strip())
    return {name: " ".join(words) for name, words in told.items()}
