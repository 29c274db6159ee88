"""Independent random streams, one for each part of the body."""

from __future__ import annotations

from zlib import crc32

import numpy as np

__all__ = ["stream"]


def stream(seed: int, part: str) -> np.random.Generator:
    """Give one part its generator: a further draw in one part leaves all others as they were."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, crc32(part.encode())])))
