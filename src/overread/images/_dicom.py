"""A DICOM file as a source image: the attributes that define the values, and the pixels.

A loop over the elements of the data set keeps only the requested ones. Nothing else of the file is decoded, so nothing
about the patient can get into a message or a result. The loop has its own stack: its time is proportional to the number
of elements, which is limited, and it needs no memory beyond the file's bytes (PS3.5 section 7). pydicom's parser would
recurse into nested sequences, and keep the last of two equal elements.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydicom import uid
from pydicom.tag import Tag

from overread.errors import ImageError, InvalidInputError
from overread.images._codestreams import COMPRESSED, PixelLayout, decode
from overread.images._limits import MAX_BYTES, check_shape
from overread.images._source import LookupTable, Rescale, SourceImage, VoiFunction, Window
from overread.images._spacing import decimal, file_spacing

MAX_ELEMENTS = 100_000
MAX_NESTING = 64
UNDEFINED = 0xFFFFFFFF
ITEM, ITEM_END, SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
LONG_VRS = frozenset(
    [b"OB", b"OD", b"OF", b"OL", b"OV", b"OW", b"SQ", b"SV", b"UC", b"UN", b"UR", b"UT", b"UV"]
)
PIXEL_DATA = 0x7FE00010
NO_ITEM = "a sequence holds something that is not an item"


@dataclass(frozen=True)
class Encoding:
    """Encoding of elements: with or without their type, and the order of bytes."""

    implicit: bool = False
    big_endian: bool = False

    @property
    def order(self) -> str:
        """Byte order in the notation of `struct` and NumPy."""
        return ">" if self.big_endian else "<"


UNKNOWN_CONTENT = Encoding(implicit=True)
"""Encoding inside an element of VR UN and undefined length (PS3.5 section 6.2.2)."""


@dataclass(frozen=True)
class Element:
    """One element: its type ("" if not stated), and its bytes."""

    vr: str
    value: memoryview
    encapsulated: bool = False


class Head(NamedTuple):
    """Tag, type and length of an element, and the position of its value."""

    tag: int
    vr: bytes
    length: int
    start: int


class Walk:
    """Position in the bytes, and the remaining number of elements."""

    def __init__(self, content: memoryview, start: int = 0) -> None:
        self.content = content
        self.position = start
        self.left = MAX_ELEMENTS

    def at_end(self) -> bool:
        """Whether this is the end."""
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
        """Move past a sequence of undefined length and return its body, without the delimiter."""
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
                    raise ImageError(NO_ITEM)
                self.position += head.length
            elif len(levels) == MAX_NESTING:
                raise ImageError(f"sequences are nested deeper than {MAX_NESTING}")
            else:
                levels.append((not inside_item, UNKNOWN_CONTENT if head.vr == b"UN" else now))
        return self.content[start:body_end]


def read_elements(
    content: memoryview, start: int, encoding: Encoding, wanted: Collection[int], *, group: int | None = None
) -> tuple[dict[int, Element], int]:
    """Read the wanted elements of one level, up to the pixel data or the end; return the end position too.

    With a group, stop before the first element of another one (little endian, as file meta information is).
    """
    found: dict[int, Element] = {}
    walk = Walk(content, start)
    while not walk.at_end():
        # Elements after the group may be deflated or have another byte order, so their head must not be read.
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
                raise ImageError(f"element ({head.tag >> 16:04X},{head.tag & 0xFFFF:04X}) occurs twice")
            found[head.tag] = Element(head.vr.decode("latin-1"), value, encapsulated)
        if head.tag == PIXEL_DATA:
            break
    return found, walk.position


def _fragments(pixel_data: Element) -> bytes:
    """Join the fragments of a single frame, without the offset table (PS3.5 section A.4)."""
    walk = Walk(pixel_data.value)
    parts = []
    while not walk.at_end():
        head = walk.head(Encoding())
        if head.tag != ITEM or head.length == UNDEFINED:
            raise ImageError("the compressed pixels have no fragments")
        parts.append(pixel_data.value[head.start : head.start + head.length])
        walk.position += head.length
    if len(parts) < 2:
        raise ImageError("there are no compressed pixels")
    return b"".join(parts[1:])


DICOM_PREFIX, PREAMBLE = b"DICM", 128
TRANSFER_SYNTAX = 0x00020010
TAGS: dict[str, int] = {
    name: int(Tag(name))
    for name in (
        "EstimatedRadiographicMagnificationFactor", "ImagerPixelSpacing", "SamplesPerPixel",
        "PhotometricInterpretation", "NumberOfFrames", "Rows", "Columns",
        "PixelSpacing", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation",
        "PixelPaddingValue", "PixelPaddingRangeLimit", "WindowCenter", "WindowWidth",
        "RescaleIntercept", "RescaleSlope", "VOILUTFunction", "ModalityLUTSequence",
        "LUTDescriptor", "LUTData", "VOILUTSequence", "PresentationLUTShape", "PixelData",
    )
}  # fmt: skip
"""All elements read for an image; `_dicom_facts` reads patient and view."""


class Attributes:
    """The attributes in `TAGS` of a file, by name."""

    def __init__(self, elements: dict[int, Element], encoding: Encoding) -> None:
        self._elements = elements
        self.encoding = encoding

    def element(self, name: str) -> Element | None:
        """Return the element, or None."""
        return self._elements.get(TAGS[name])

    def text(self, name: str) -> str:
        """Text without its padding; "" if absent."""
        return _plain_text(self.element(name), name)

    def number(self, name: str, default: float) -> float:
        """Decimal string, the first of several."""
        text = self.text(name).split("\\")[0]
        if not text:
            return default
        value = decimal(text, name)
        if not math.isfinite(value):
            raise ImageError(f"{name} is not finite")
        return value

    def words(self, name: str, *, signed: bool = False) -> NDArray[Any]:
        """16-bit integers; none if absent."""
        element = self.element(name)
        if element is None:
            return np.zeros(0, np.uint16)
        if element.encapsulated or len(element.value) % 2:
            raise ImageError(f"{name} is damaged")
        return np.frombuffer(element.value, self.encoding.order + ("i2" if signed else "u2"))

    def integer(self, name: str, default: int | None = None) -> int:
        """One 16-bit unsigned integer."""
        words = self.words(name)
        if words.size == 0 and default is not None:
            return default
        if words.size != 1:
            raise ImageError(f"{name} is missing or damaged")
        return int(words[0])

    def item(self, name: str) -> Attributes | None:
        """Attributes of a sequence's first item."""
        sequence = self.element(name)
        if sequence is None or not sequence.value:
            return None
        head = Walk(sequence.value).head(self.encoding)
        if head.tag != ITEM:
            raise ImageError(NO_ITEM)
        end = len(sequence.value) if head.length == UNDEFINED else head.start + head.length
        elements, _ = read_elements(sequence.value[:end], head.start, self.encoding, TAGS.values())
        return Attributes(elements, self.encoding) if elements else None


def _plain_text(element: Element | None, name: str) -> str:
    """ASCII text without its padding; "" if absent."""
    if element is None:
        return ""
    try:
        return bytes(element.value).decode("ascii").strip(" \0")
    except UnicodeDecodeError:
        raise ImageError(f"{name} is not plain text") from None


def read_dicom(content: bytes) -> SourceImage:
    """Read the pixels of a DICOM file of one grey frame, and their meaning."""
    syntax, data, encoding = dataset_of(content)
    attributes = Attributes(read_elements(data, 0, encoding, frozenset(TAGS.values()))[0], encoding)
    photometric = _read_photometric(attributes)
    layout = _pixel_layout(attributes)
    stored = _read_stored_pixels(attributes, syntax, layout, photometric)
    low = -(1 << (layout.bits_stored - 1)) if layout.signed else 0
    return SourceImage(
        stored,
        (float(low), float(low + (1 << layout.bits_stored) - 1)),
        valid=_find_valid(attributes, stored, signed=layout.signed),
        modality=_modality(attributes, signed=layout.signed),
        inverted=photometric == "MONOCHROME1" or attributes.text("PresentationLUTShape") == "INVERSE",
        voi=_voi(attributes, signed=layout.signed),
        spacing=file_spacing(
            attributes.text("PixelSpacing"),
            attributes.text("ImagerPixelSpacing"),
            attributes.text("EstimatedRadiographicMagnificationFactor"),
        ),
    )


def dataset_of(content: bytes) -> tuple[str, memoryview, Encoding]:
    """Transfer syntax, data set and its encoding, of a deflated file after inflating it."""
    view = memoryview(content)
    start = PREAMBLE + len(DICOM_PREFIX)
    meta, start = read_elements(view, start, Encoding(), [TRANSFER_SYNTAX], group=0x0002)
    syntax = _plain_text(meta.get(TRANSFER_SYNTAX), "the transfer syntax")
    if syntax == uid.DeflatedExplicitVRLittleEndian:
        view, start = memoryview(_inflate(view[start:])), 0
    elif syntax not in (*COMPRESSED, *uid.UncompressedTransferSyntaxes):
        raise ImageError("the transfer syntax is missing or not supported")
    encoding = Encoding(
        implicit=syntax == uid.ImplicitVRLittleEndian, big_endian=syntax == uid.ExplicitVRBigEndian
    )
    return syntax, view[start:], encoding


def _inflate(data: memoryview) -> bytes:
    """Inflate up to the limit."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    content = engine.decompress(data, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ImageError(f"inflates to more than {MAX_BYTES >> 20} MiB")
    if not engine.eof:
        raise ImageError("the deflated content is truncated")
    return content


def _read_photometric(attributes: Attributes) -> str:
    """MONOCHROME1 or MONOCHROME2, of one frame and one channel."""
    if attributes.number("NumberOfFrames", 1) != 1:
        raise ImageError("the file holds several frames; a radiograph is one")
    if attributes.integer("SamplesPerPixel", 1) != 1:
        raise ImageError("the image is in colour; a radiograph is grey")
    photometric = attributes.text("PhotometricInterpretation")
    if photometric not in ("MONOCHROME1", "MONOCHROME2"):
        raise ImageError("PhotometricInterpretation is neither MONOCHROME1 nor MONOCHROME2")
    return photometric


def _pixel_layout(attributes: Attributes) -> PixelLayout:
    """Size of image and values, checked for consistency and limits."""
    rows, columns = attributes.integer("Rows"), attributes.integer("Columns")
    check_shape(rows, columns)
    allocated = attributes.integer("BitsAllocated")
    stored = attributes.integer("BitsStored")
    high_bit = attributes.integer("HighBit", stored - 1)
    if allocated not in (8, 16, 32):
        raise ImageError("BitsAllocated is not 8, 16 or 32")
    if not 1 <= stored <= high_bit + 1 <= allocated:
        raise ImageError("BitsStored, HighBit and BitsAllocated contradict each other")
    representation = attributes.integer("PixelRepresentation", 0)
    if representation not in (0, 1):
        raise ImageError("PixelRepresentation is not 0 or 1")
    return PixelLayout(rows, columns, allocated, stored, high_bit, representation == 1)


def _read_stored_pixels(
    attributes: Attributes, syntax: str, layout: PixelLayout, photometric: str
) -> NDArray[Any]:
    """Decode the stored numbers and remove unused bits."""
    pixel_data = attributes.element("PixelData")
    if pixel_data is None:
        raise ImageError("the file has no pixel data")
    if pixel_data.encapsulated != (syntax in COMPRESSED):
        raise ImageError("the pixel data do not match the transfer syntax")
    if syntax not in COMPRESSED:
        return _cut_to_used_bits(_native_pixels(pixel_data, attributes.encoding, layout), layout)
    pixels = decode(_fragments(pixel_data), syntax, layout, photometric)
    return (_cut_to_used_bits if syntax == uid.RLELossless else _within_bits)(pixels, layout)


def _native_pixels(pixel_data: Element, encoding: Encoding, layout: PixelLayout) -> NDArray[Any]:
    """Uncompressed numbers; up to a row of padding may follow them."""
    n_bytes = layout.bits_allocated // 8
    row, value = layout.columns * n_bytes, pixel_data.value
    if not 0 <= len(value) - layout.rows * row <= row:
        raise ImageError(f"{len(value)} bytes of pixels instead of {layout.rows * row}: truncated or damaged")
    if encoding.big_endian and n_bytes == 1 and pixel_data.vr == "OW":
        # Bytes are in 16-bit words, whose order is swapped (PS3.5 section 8.1.1).
        value = memoryview(np.frombuffer(value[: len(value) // 2 * 2], ">u2").astype("<u2").tobytes())
    n_pixels = layout.rows * layout.columns
    pixels = np.frombuffer(value, f"{encoding.order}u{n_bytes}", count=n_pixels)
    return pixels.astype(f"=u{n_bytes}", copy=False).reshape(layout.rows, layout.columns)


def _cut_to_used_bits(pixels: NDArray[Any], layout: PixelLayout) -> NDArray[Any]:
    """Bits HighBit - BitsStored + 1 to HighBit as a number; the others may contain an overlay."""
    size = layout.bits_allocated // 8
    bits = pixels.view(f"u{size}")
    above = layout.bits_allocated - 1 - layout.high_bit
    unused = layout.bits_allocated - layout.bits_stored
    # Shifting up first drops the bits above; shifting down as a signed type repeats the sign.
    moved = bits << np.array(above, bits.dtype) if above else bits
    moved = moved.view(f"i{size}") if layout.signed else moved
    return moved >> np.array(unused, moved.dtype) if unused else moved


def _within_bits(pixels: NDArray[Any], layout: PixelLayout) -> NDArray[Any]:
    """Values of a codestream, which must fit the stored bits; the sign may still be a plain bit."""
    low, high = int(pixels.min()), int(pixels.max())
    n_values = 1 << layout.bits_stored
    if low >= 0 and high < n_values:
        if not layout.signed:
            return pixels
        wide = pixels.astype(np.int64)
        return np.where(wide >= n_values // 2, wide - n_values, wide).astype(np.int32)
    if not layout.signed or low < -n_values // 2 or high >= n_values // 2:
        raise ImageError("compressed pixels have more bits than BitsStored states")
    return pixels


def _find_valid(attributes: Attributes, stored: NDArray[Any], *, signed: bool) -> NDArray[np.bool_] | None:
    """Mask, False from PixelPaddingValue to PixelPaddingRangeLimit; None without padding."""
    value = attributes.words("PixelPaddingValue", signed=signed)
    if value.size == 0:
        return None
    limit = attributes.words("PixelPaddingRangeLimit", signed=signed)
    ends = [int(value[0]), int(limit[0] if limit.size else value[0])]
    valid = (stored < min(ends)) | (stored > max(ends))
    if not valid.any():
        raise ImageError("every pixel is padding")
    return None if valid.all() else valid


def _modality(attributes: Attributes, *, signed: bool) -> Rescale | LookupTable:
    """Look-up table or rescale; the identity if the file has neither."""
    table = _lookup_table(attributes, "ModalityLUTSequence", signed=signed)
    if table is not None:
        return table
    rescale = Rescale(attributes.number("RescaleSlope", 1.0), attributes.number("RescaleIntercept", 0.0))
    if rescale.slope == 0.0:
        raise ImageError("RescaleSlope is 0")
    return rescale


def _lookup_table(attributes: Attributes, sequence: str, *, signed: bool) -> LookupTable | None:
    """Table of descriptor (number of entries, first number mapped, bits) and data; None if absent or empty."""
    item = attributes.item(sequence)
    if item is None:
        return None
    descriptor = item.words("LUTDescriptor")
    data = item.element("LUTData")
    if descriptor.size == 0 and (data is None or len(data.value) == 0):
        return None
    if descriptor.size != 3 or data is None or data.encapsulated:
        raise ImageError("a look-up table is damaged")
    n_entries = int(descriptor[0]) or 1 << 16
    first = int(descriptor[1:2].astype(np.uint16).view(np.int16)[0]) if signed else int(descriptor[1])
    bits = int(descriptor[2])
    if not 1 <= bits <= 16:
        raise ImageError("a look-up table has no usable number of bits")
    if len(data.value) == 2 * n_entries:
        entries = np.frombuffer(data.value, item.encoding.order + "u2").astype(np.uint16)
    elif bits <= 8 and len(data.value) == n_entries + n_entries % 2:
        entries = np.frombuffer(data.value, np.uint8, count=n_entries).astype(np.uint16)
    else:
        raise ImageError("the length of a look-up table differs from its descriptor")
    return LookupTable(first, entries, bits)


def _voi(attributes: Attributes, *, signed: bool) -> Window | LookupTable | None:
    """Display window or table of the file; None if missing or unusable. It does not affect measurements."""
    try:
        table = _lookup_table(attributes, "VOILUTSequence", signed=signed)
        if table is not None:
            return table
        width = attributes.number("WindowWidth", 0.0)
        function = VoiFunction(attributes.text("VOILUTFunction") or VoiFunction.LINEAR)
        if width > 0.0 and attributes.text("WindowCenter"):
            return Window(attributes.number("WindowCenter", 0.0), width, function)
    except (InvalidInputError, ValueError):
        pass
    return None
