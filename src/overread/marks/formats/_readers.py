"""Untrusted JSON: a wrong type or a missing member gives an error with its path.

Untrusted XML: no document types, no entities, limited depth and size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from overread.errors import FormatError
from overread.files import read_capped, read_json
from overread.tables import parse_number, quote_cell


@dataclass(frozen=True)
class JsonNode:
    """A JSON value with its path in the file.

    Parameters
    ----------
    value : object
        Value from ``json``.
    place : str
        File and path, such as ``export.json: [3].annotations[0]``.
    """

    value: Any
    place: str

    def __getitem__(self, key: str) -> JsonNode:
        if key not in self.mapping():
            raise self._error(f"{key!r} is missing")
        return JsonNode(self.value[key], f"{self.place}.{key}")

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def get(self, key: str) -> JsonNode | None:
        """Member, or None if it is absent or null."""
        return self[key] if key in self.mapping() and self.value[key] is not None else None

    def mapping(self) -> dict[str, Any]:
        """Value as an object."""
        if not isinstance(self.value, dict):
            raise self._misfit("an object")
        return self.value

    def items(self) -> Iterator[JsonNode]:
        """Members of an array."""
        if not isinstance(self.value, list):
            raise self._misfit("an array")
        for index, value in enumerate(self.value):
            yield JsonNode(value, f"{self.place}[{index}]")

    def number(self) -> float:
        """Value as a finite number; true and "1" are refused."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self._misfit("a number")
        return float(self.value)

    def text(self) -> str:
        """Value as text."""
        if not isinstance(self.value, str):
            raise self._misfit("text")
        return self.value

    def _misfit(self, wanted: str) -> FormatError:
        kinds: dict[type, str] = {
            dict: "an object",
            list: "an array",
            bool: str(self.value).lower(),
            type(None): "null",
        }
        found = kinds.get(type(self.value), quote_cell(str(self.value)))
        return self._error(f"{found} instead of {wanted}")

    def _error(self, message: str) -> FormatError:
        # The place of a file's outermost value ends in a colon.
        return FormatError(f"{self.place.removesuffix(': ')}: {message}")

    def identifier(self) -> str:
        """Value as an id: text, or a whole number written as text."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not self.text():
            raise self._error("the id is empty")
        return self.text()


def read_node(path: Path) -> JsonNode:
    """Read a JSON file strictly, as `read_json` does."""
    return JsonNode(read_json(path), f"{path}: ")


LARGEST_FILE = 1 << 29
DEEPEST = 100
# A document type with only a name is harmless; DIARETDB1 has one. The parser refuses any other.
PLAIN_DOCTYPE = re.compile(rb"\A(\s*<\?xml[^>]*\?>)?\s*<!DOCTYPE\s+[\w:.-]+\s*>")


def files_of(path: Path, ending: str) -> list[Path]:
    """Files of a folder that have an ending, sorted, or the one file that a path is."""
    files = sorted(path.glob(f"*{ending}")) if path.is_dir() else [path]
    if not files:
        raise FormatError(f"{path}: no {ending} files in this folder")
    return files


def read_xml(path: Path, roots: Sequence[str] = (), what: str = "") -> Element:
    """Read an XML file and return its root, which must have one of the names, if given."""
    content = read_capped(
        path,
        LARGEST_FILE,
        lambda _: FormatError(f"{path}: more than {LARGEST_FILE >> 20} MB of XML. Split the export."),
    )
    depth = 0
    root: Element | None = None
    try:
        for event, element in iterparse(
            BytesIO(without_doctype(content)), events=("start", "end"), forbid_dtd=True
        ):
            depth += 1 if event == "start" else -1
            root = element if root is None else root
            if depth > DEEPEST:
                raise FormatError(f"{path}: nested deeper than {DEEPEST} elements")
    except DefusedXmlException as error:
        raise FormatError(f"{path}: declares a document type or entities, which are not allowed") from error
    except (ParseError, ValueError, LookupError) as error:
        raise error if isinstance(error, FormatError) else FormatError(f"{path}: not XML: {error}") from error
    if root is None:
        raise FormatError(f"{path}: not XML: it has no element")
    if roots and local_name(root) not in roots:
        wanted = " or ".join(f"<{name}>" for name in roots)
        raise FormatError(
            f"{path}: the root is <{local_name(root)}>, not {wanted}: this is not a {what} file"
        )
    return root


def without_doctype(content: bytes) -> bytes:
    """Blank out a harmless document type; line numbers stay."""
    found = PLAIN_DOCTYPE.match(content)
    if found is None:
        return content
    start = content.index(b"<!DOCTYPE")
    blank = re.sub(rb"[^\n]", b" ", content[start : found.end()])
    return content[:start] + blank + content[found.end() :]


def local_name(element: Element) -> str:
    """Name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def children(element: Element, name: str) -> Iterator[Element]:
    """Children with a name, in any namespace."""
    return (child for child in element if local_name(child) == name)


def attribute(element: Element, name: str, place: str) -> str:
    """Return a required attribute."""
    value = element.get(name)
    if value is None:
        raise FormatError(f"{place}: <{local_name(element)}> lacks the attribute {name}")
    return value


def child_text(element: Element, name: str) -> str | None:
    """Text of a child in any namespace, or None."""
    return next(((child.text or "").strip() for child in children(element, name)), None)


def number_in(text: str | None, name: str, place: str) -> float:
    """Read a number from XML text."""
    try:
        value = parse_number(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"{place}: {name} is {text!r}, not a finite number")
    return value
