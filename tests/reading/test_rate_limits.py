from __future__ import annotations

import pytest

from overread.apps.room import _gate as rate_limits
from overread.apps.room._gate import RateLimit, TooOftenError


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def count_allowed(limit, key, tries):
    allowed = 0
    for _ in range(tries):
        try:
            limit.spend(key)
        except TooOftenError:
            continue
        allowed += 1
    return allowed


def test_a_burst_and_then_the_rate():
    clock = Clock()
    limit = RateLimit(2.0, 5.0, clock=clock)
    assert count_allowed(limit, "Anna", 20) == 5
    clock.now = 1.0
    assert count_allowed(limit, "Anna", 20) == 2
    clock.now = 1000.0
    assert count_allowed(limit, "Anna", 20) == 5


def test_one_does_not_cost_another():
    limit = RateLimit(1.0, 3.0, clock=Clock())
    count_allowed(limit, "Anna", 10)
    assert count_allowed(limit, "Ben", 10) == 3


def test_the_refusal_says_when_to_come_again():
    limit = RateLimit(0.1, 1.0, clock=Clock())
    limit.spend("Anna")
    with pytest.raises(TooOftenError) as caught:
        limit.spend("Anna")
    assert caught.value.retry_after == 10
    assert caught.value.status == 429


def test_buckets_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(rate_limits, "LARGEST_COUNT", 10)
    limit = RateLimit(1.0, 1.0, clock=Clock())
    for number in range(100):
        limit.spend(f"visitor {number}")
    assert len(limit._buckets) == 10
