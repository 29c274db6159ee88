"""JSON files that carry the SHA-256 of what they hold, so that a changed one is noticed.

A sealed file is one JSON object: a head that names the kind of file and the version of its layout, the digest of the
payload in canonical form (`digest_of_value`), and the payload. The same payload gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from overread.files.digests import digest_of_value

__all__ = ["Seal"]


@dataclass(frozen=True)
class Seal:
    """Layout of one kind of sealed file.

    Attributes
    ----------
    head
        First members of the object, such as ``{"format": "overread-model", "schema": 1}``.
    digest_key
        Member that holds the digest.
    payload_key
        Member that holds the payload; None: the payload is an object whose members follow the digest.
    indent
        Spaces per level in the file.
    """

    head: Mapping[str, str | int]
    digest_key: str = "sha256"
    payload_key: str | None = "payload"
    indent: int = 1

    def close(self, payload: Any) -> dict[str, Any]:
        """Make the object of the file.

        Raises
        ------
        ValueError
            If the payload holds NaN or infinity, which JSON has not.
        """
        rest = payload if self.payload_key is None else {self.payload_key: payload}
        return {**self.head, self.digest_key: digest_of_value(payload), **rest}

    def spell(self, document: Mapping[str, Any]) -> bytes:
        """Bytes of the file for an object that `close` made."""
        return (json.dumps(document, indent=self.indent, allow_nan=False) + "\n").encode()

    def payload(self, document: Mapping[str, Any]) -> Any:
        """Payload of an object, unchecked; None where it has none."""
        if self.payload_key is not None:
            return document.get(self.payload_key)
        outside = {*self.head, self.digest_key}
        return {key: value for key, value in document.items() if key not in outside}

    def broken_key(self, document: Any) -> str | None:
        """First member of the head that is not as it should be, else the digest's key if it does not fit, else None."""
        known = document if isinstance(document, dict) else {}
        for key, value in self.head.items():
            # True and 1.0 equal 1, but were not written by us.
            if type(known.get(key)) is not type(value) or known[key] != value:
                return key
        fits = known.get(self.digest_key) == digest_of_value(self.payload(known))
        return None if fits else self.digest_key
