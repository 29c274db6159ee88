"""How often somebody may ask: a bucket that fills with time and is emptied by requests."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from overread.reading.store import RefusalError

__all__ = ["RateLimit", "TooOftenError"]

# Buckets that are kept at most; the least used goes first, and would be full again anyhow.
LARGEST_COUNT = 10_000


class TooOftenError(RefusalError):
    """More requests than are answered; the page tries again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many requests; wait a moment", "often", 429)
        self.retry_after = max(1, math.ceil(seconds))


@dataclass
class Bucket:
    """Requests that are left, and when that was so."""

    left: float
    at: float


class RateLimit:
    """At most ``burst`` requests at once and ``per_second`` in the long run, for each key.

    Parameters
    ----------
    per_second, burst
        The two numbers.
    clock
        Seconds that only grow.
    """

    def __init__(
        self, per_second: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def spend(self, key: str) -> None:
        """Count a request.

        Raises
        ------
        TooOftenError
            If the bucket is empty.
        """
        bucket = self._fill(key)
        if bucket.left < 1.0:
            raise TooOftenError((1.0 - bucket.left) / self._rate)
        bucket.left -= 1.0

    def _fill(self, key: str) -> Bucket:
        now = self._clock()
        bucket = self._buckets.pop(key, None) or Bucket(self._burst, now)
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        self._buckets[key] = bucket
        if len(self._buckets) > LARGEST_COUNT:
            self._buckets.popitem(last=False)
        return bucket
