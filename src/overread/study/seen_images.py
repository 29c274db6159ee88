"""Fingerprints of the images that a detector was trained on, so that it can say when it sees one of them again."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from overread.errors import ModelFileError

__all__ = ["SeenImages"]

# 64 bits: among a million images trained on and a million new ones, a chance likeness has probability 5e-8.
DIGITS = 16
SALT = re.compile(r"[0-9a-f]{64}")
FINGERPRINT = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
# A forged file must not fill the memory; no study of ours has so many images.
MOST_IMAGES = 2_000_000


@dataclass(frozen=True)
class SeenImages:
    """Images that were seen, told by what they show and by nothing that names them.

    A fingerprint is the beginning of SHA-256(salt, hash of the pixels). The salt differs from one set of images to
    another, so that the lists of two detectors cannot be laid beside each other. Only who has the very image can ask
    for it, and learns whether it was among them.

    Attributes
    ----------
    salt
        SHA-256 of the sorted hashes of all images: the same images give the same bytes.
    fingerprints
        Sorted.

    Raises
    ------
    ModelFileError
        If a salt or fingerprint is none that `of` gives.
    """

    salt: str
    fingerprints: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.salt, str) or not SALT.fullmatch(self.salt):
            raise ModelFileError("seen: the salt is not 64 hexadecimal digits")
        if len(self.fingerprints) > MOST_IMAGES or not all(
            isinstance(one, str) and FINGERPRINT.fullmatch(one) for one in self.fingerprints
        ):
            raise ModelFileError(f"seen: not at most {MOST_IMAGES:,} texts of {DIGITS} hexadecimal digits")
        if any(after <= before for before, after in pairwise(self.fingerprints)):
            raise ModelFileError("seen: the fingerprints do not rise")

    @classmethod
    def of(cls, pixel_hashes: Iterable[str]) -> Self:
        """Fingerprints of images, given the hashes of their pixels (`Radiograph.pixel_hash`)."""
        hashes = sorted(set(pixel_hashes))
        salt = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        return cls(salt, tuple(sorted({fingerprint(salt, one) for one in hashes})))

    @classmethod
    def read(cls, told: Any) -> Self:
        """Fingerprints out of the member of a detector's file."""
        return cls(told["salt"], tuple(told["fingerprints"]))

    def __contains__(self, pixel_hash: object) -> bool:
        if not isinstance(pixel_hash, str):
            return False
        wanted = fingerprint(self.salt, pixel_hash)
        place = bisect_left(self.fingerprints, wanted)
        return self.fingerprints[place : place + 1] == (wanted,)


def fingerprint(salt: str, pixel_hash: str) -> str:
    """Fingerprint of one image."""
    return hashlib.sha256(f"{salt}{pixel_hash}".encode()).hexdigest()[:DIGITS]
