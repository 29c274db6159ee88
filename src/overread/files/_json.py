"""Read and print JSON strictly.

NaN, a key twice, numbers too large and deep nesting give errors that name the file.
"""

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from overread.errors import FormatError, InvalidInputError
from overread.files._regular import read_capped

LARGEST_FILE = 1 << 30
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(path: Path) -> Any:
    """Read a JSON file strictly."""
    content = read_capped(
        path,
        LARGEST_FILE,
        lambda size: FormatError(f"{path}: {size:,} bytes, more than {LARGEST_FILE:,}; split the file"),
    )
    return parse_json(content, str(path))


def parse_json(content: bytes, place: str, *, error: type[InvalidInputError] = FormatError) -> Any:
    """Parse JSON in UTF-8; ``error``, with a message that starts with ``place``, is raised if it is not strict JSON.

    Not strict are other encodings, NaN and infinities, numbers beyond float64, half of a surrogate pair, a repeated key
    in one object, and nesting deeper than Python can follow.
    """
    try:
        text = content.decode("utf-8-sig")
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_whole
        )
        if SURROGATE.search(text):
            _refuse_lone_surrogates(value)
        return value
    except RecursionError:
        raise error(f"{place}: nested too deeply") from None
    except UnicodeDecodeError as fault:
        raise error(f"{place}: not JSON: not UTF-8 text") from fault
    except ValueError as fault:
        raise error(f"{place}: not JSON, or truncated: {fault}") from fault


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} occurs twice in one object")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large for a float64")
    return value


def _whole(text: str) -> int:
    value = int(text)
    try:
        float(value)
    except OverflowError:
        raise ValueError(f"{text[:40]} is too large for a float64") from None
    return value


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as fault:
        half = fault.object[fault.start]
        raise ValueError(f"{half!r} is half of a surrogate pair and not a character") from None
