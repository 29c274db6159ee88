"""A walk over the elements of a DICOM data set that keeps only the few it is asked for.

Nothing else of the file is ever decoded, so nothing about the patient can get into a message or a result. The
walk is a loop with its own stack: it takes time in proportion to the number of elements, which is capped, and
no memory beyond the file's bytes (PS3.5 section 7).
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass

from overread.errors import ImageError

__all__ = ["PIXEL_DATA", "Element", "Encoding", "first_item", "fragments", "read_elements"]

MAX_ELEMENTS = 100_000
MAX_NESTING = 64
UNDEFINED = 0xFFFFFFFF
ITEM, ITEM_END, SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
LONG_VRS = frozenset(
    [b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"]
)
PIXEL_DATA = 0x7FE00010


@dataclass(frozen=True)
class Encoding:
    """How elements are written: with or without their type, and the order of bytes."""

    implicit: bool = False
    big_endian: bool = False

    @property
    def order(self) -> str:
        """Byte order, as `struct` and NumPy write it."""
        return ">" if self.big_endian else "<"


UNKNOWN_CONTENT = Encoding(implicit=True)
"""What stands inside an element of VR UN and undefined length (PS3.5 section 6.2.2)."""


@dataclass(frozen=True)
class Element:
    """One element: its type ("" where the file does not say), and its bytes."""

    vr: str
    value: memoryview
    encapsulated: bool = False


@dataclass(frozen=True)
class Head:
    """Tag, type and length of an element, and where its value starts."""

    tag: int
    vr: bytes
    length: int
    start: int


class Walk:
    """Position in the bytes, the sequences it stands in, and the elements left until the cap."""

    def __init__(self, content: memoryview, start: int, encoding: Encoding) -> None:
        self.content = content
        self.position = start
        self.encoding = encoding
        self.left = MAX_ELEMENTS

    def at_end(self) -> bool:
        """Whether nothing more follows."""
        return self.position >= len(self.content)

    def head(self, encoding: Encoding) -> Head:
        """Read an element's head and move to its value."""
        self.left -= 1
        if self.left < 0:
            raise ImageError(f"more than {MAX_ELEMENTS:,} elements")
        at, order = self.position, encoding.order
        try:
            group, number = struct.unpack_from(order + "HH", self.content, at)
            tag = group << 16 | number
            if encoding.implicit or group == ITEM >> 16:
                vr, (length,), start = b"", struct.unpack_from(order + "L", self.content, at + 4), at + 8
            else:
                vr = bytes(self.content[at + 4 : at + 6])
                if vr in LONG_VRS:
                    (length,), start = struct.unpack_from(order + "L", self.content, at + 8), at + 12
                else:
                    (length,), start = struct.unpack_from(order + "H", self.content, at + 6), at + 8
        except struct.error:
            raise ImageError("the file ends in the middle of an element") from None
        if length != UNDEFINED and start + length > len(self.content):
            raise ImageError("an element is longer than the file: truncated or damaged")
        self.position = start
        return Head(tag, vr, length, start)

    def skip_undefined(self, encoding: Encoding) -> memoryview:
        """Move past a sequence of undefined length and give its body, without the delimiter."""
        start = self.position
        # Whether each level is an item (holding elements) or a sequence (holding items).
        levels = [(False, encoding)]
        while levels:
            inside_item, now = levels[-1]
            body_end = self.position
            head = self.head(now)
            if head.tag == (ITEM_END if inside_item else SEQUENCE_END):
                levels.pop()
            elif head.length != UNDEFINED:
                if not inside_item and head.tag != ITEM:
                    raise ImageError("a sequence holds something that is not an item")
                self.position += head.length
            elif len(levels) == MAX_NESTING:
                raise ImageError(f"sequences are nested deeper than {MAX_NESTING}")
            else:
                levels.append((not inside_item, UNKNOWN_CONTENT if head.vr == b"UN" else now))
        return self.content[start:body_end]


def read_elements(
    content: memoryview, start: int, encoding: Encoding, wanted: Collection[int], *, group: int | None = None
) -> tuple[dict[int, Element], int]:
    """Read the wanted elements of one level, to the pixel data, the item's end or the end.

    Parameters
    ----------
    content
        Bytes of the file, or of an item.
    start
        Where the first element stands.
    encoding
        How elements are written.
    wanted
        Tags to keep, as group << 16 | element.
    group
        Stop before the first element of another group (little endian, as file meta information is).

    Returns
    -------
    elements, end
        What was found by tag, and where the walk stopped.
    """
    found: dict[int, Element] = {}
    walk = Walk(content, start, encoding)
    while not walk.at_end():
        # What follows the group may be deflated, or of another byte order: its head must not be read.
        if group is not None and content[walk.position : walk.position + 2] != struct.pack("<H", group):
            break
        head = walk.head(encoding)
        if head.tag == ITEM_END:
            break
        encapsulated = head.length == UNDEFINED
        if encapsulated:
            value = walk.skip_undefined(UNKNOWN_CONTENT if head.vr == b"UN" else encoding)
        else:
            value = content[head.start : head.start + head.length]
            walk.position += head.length
        if head.tag in wanted:
            if head.tag in found:
                raise ImageError(f"element ({head.tag >> 16:04X},{head.tag & 0xFFFF:04X}) stands there twice")
            found[head.tag] = Element(head.vr.decode("latin-1"), value, encapsulated)
        if head.tag == PIXEL_DATA:
            break
    return found, walk.position


def first_item(sequence: Element, encoding: Encoding, wanted: Collection[int]) -> dict[int, Element]:
    """Wanted elements of a sequence's first item; none if the sequence is empty."""
    walk = Walk(sequence.value, 0, encoding)
    if walk.at_end():
        return {}
    head = walk.head(encoding)
    if head.tag != ITEM:
        raise ImageError("a sequence holds something that is not an item")
    end = len(sequence.value) if head.length == UNDEFINED else head.start + head.length
    return read_elements(sequence.value[:end], head.start, encoding, wanted)[0]


def fragments(pixel_data: Element) -> bytes:
    """Join the fragments of a single frame, the offset table left out (PS3.5 section A.4)."""
    walk = Walk(pixel_data.value, 0, Encoding())
    parts = []
    while not walk.at_end():
        head = walk.head(Encoding())
        if head.tag != ITEM or head.length == UNDEFINED:
            raise ImageError("the compressed pixels are not made of fragments")
        parts.append(pixel_data.value[head.start : head.start + head.length])
        walk.position += head.length
    if len(parts) < 2:
        raise ImageError("there are no compressed pixels")
    return b"".join(parts[1:])
