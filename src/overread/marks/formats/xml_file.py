"""XML from strangers: no document types, no entities, bounded depth, bounded size."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from overread.errors import FormatError
from overread.files.capped import read_capped
from overread.tables.cell_types import parse_number

__all__ = ["attribute", "child_text", "local_name", "number_in", "read_xml", "without_doctype"]

LARGEST_FILE = 1 << 29
DEEPEST = 100
# A document type that only names itself declares nothing; DIARETDB1 has one. Any other stays for the parser to refuse.
PLAIN_DOCTYPE = re.compile(rb"\A(\s*<\?xml[^>]*\?>)?\s*<!DOCTYPE\s+[\w:.-]+\s*>")


def read_xml(path: Path) -> Element:
    """Read an XML file and return its root.

    Raises
    ------
    FormatError
        If it is not XML, is larger than 512 MB, is nested deeper than 100 elements, or has a document type with
        declarations (with which entity bombs and external entities begin).
    """
    content = read_capped(
        path,
        LARGEST_FILE,
        lambda _: FormatError(f"{path}: more than {LARGEST_FILE >> 20} MB of XML; split the export"),
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
        raise FormatError(f"{path}: declares a document type or entities, which are refused") from error
    except (ParseError, ValueError, LookupError) as error:
        raise error if isinstance(error, FormatError) else FormatError(f"{path}: not XML: {error}") from error
    if root is None:
        raise FormatError(f"{path}: not XML: no element")
    return root


def without_doctype(content: bytes) -> bytes:
    """Blank out a document type that declares nothing, lines kept for messages."""
    found = PLAIN_DOCTYPE.match(content)
    if found is None:
        return content
    start = content.index(b"<!DOCTYPE")
    blank = re.sub(rb"[^\n]", b" ", content[start : found.end()])
    return content[:start] + blank + content[found.end() :]


def local_name(element: Element) -> str:
    """Name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def attribute(element: Element, name: str, place: str) -> str:
    """Attribute that must be there."""
    value = element.get(name)
    if value is None:
        raise FormatError(f"{place}: <{local_name(element)}> lacks the attribute {name}")
    return value


def child_text(element: Element, name: str) -> str | None:
    """Text of a child, whatever its namespace, or None."""
    for child in element:
        if local_name(child) == name:
            return (child.text or "").strip()
    return None


def number_in(text: str | None, name: str, place: str) -> float:
    """Read a number from XML text."""
    try:
        value = parse_number(text or "")
    except ValueError:
        value = float("nan")
    if value != value or value in (float("inf"), float("-inf")):
        raise FormatError(f"{place}: {name} is {text!r}, not a finite number")
    return value
