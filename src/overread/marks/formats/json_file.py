"""JSON from strangers: a wrong type or a missing member gives an error that names the place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.errors import FormatError
from overread.files.strict_json import read_json
from overread.tables.cell_types import quote_cell

__all__ = ["JsonNode", "read_node"]


@dataclass(frozen=True)
class JsonNode:
    """A JSON value that knows its place in the file.

    Parameters
    ----------
    value : object
        What ``json`` gave.
    place : str
        File and path, such as ``export.json: [3].annotations[0]``.
    """

    value: Any
    place: str

    def __getitem__(self, key: str) -> JsonNode:
        if key not in self.mapping():
            raise FormatError(f"{self.place}: {key!r} is missing")
        return JsonNode(self.value[key], f"{self.place}.{key}")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def get(self, key: str) -> JsonNode | None:
        """Member, or None where it is absent or null."""
        return self[key] if key in self.mapping() and self.value[key] is not None else None

    def mapping(self) -> dict[str, Any]:
        """Value as an object."""
        if not isinstance(self.value, dict):
            raise FormatError(f"{self.place}: {name_kind(self.value)} where an object belongs")
        return self.value

    def items(self) -> Iterator[JsonNode]:
        """Members of an array."""
        if not isinstance(self.value, list):
            raise FormatError(f"{self.place}: {name_kind(self.value)} where an array belongs")
        for index, value in enumerate(self.value):
            yield JsonNode(value, f"{self.place}[{index}]")

    def number(self) -> float:
        """Value as a finite number; true and "1" are none."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise FormatError(f"{self.place}: {name_kind(self.value)} where a number belongs")
        return float(self.value)

    def text(self) -> str:
        """Value as text."""
        if not isinstance(self.value, str):
            raise FormatError(f"{self.place}: {name_kind(self.value)} where text belongs")
        return self.value

    def identifier(self) -> str:
        """Value as an id: text, or a whole number written as text."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not self.text():
            raise FormatError(f"{self.place}: an empty id")
        return self.text()


def name_kind(value: Any) -> str:
    """Name a JSON value for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else quote_cell(str(value))


def read_node(path: Path) -> JsonNode:
    """Read a JSON file strictly, as `overread.files.strict_json` does.

    Raises
    ------
    FormatError
        If it is not JSON, or holds NaN, infinities, a key twice, or nesting deeper than Python can follow.
    """
    return JsonNode(read_json(path), f"{path}: ")
