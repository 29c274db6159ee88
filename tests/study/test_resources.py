"""What a run is said to take: sums of its parts, and advice that would help."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from overread.errors import InvalidInputError
from overread.study._run import (
    Demand,
    Supply,
    _tell_size,
    estimate_resources,
    refuse_too_small_a_bound,
    warn_if_short,
)

PLENTY = Supply(memory=1e6, bound=None, disk=1e9)


def test_memory_is_what_candidates_and_two_copies_of_features_take():
    small = estimate_resources(100_000, 50, n_shards=0, fitted=0.5)
    wide = estimate_resources(100_000, 1050, n_shards=0, fitted=0.5)
    assert wide.memory - small.memory == pytest.approx(2 * 0.5 * 100_000 * 1000 * 4 / 1e6)
    wider = estimate_resources(100_000, 2050, n_shards=0, fitted=0.5)
    assert small.least_memory < wide.least_memory == wider.least_memory < wide.memory
    assert wide.disk - small.disk == pytest.approx(400)


def test_it_is_near_what_was_measured():
    """Peaks of the studies of benchmarks/study_memory.py that the constants come from."""
    for n_images, peak in ((4_000, 554), (20_000, 888)):
        demand = estimate_resources(20 * n_images, 50, n_shards=0, fitted=2 / 3)
        assert demand.memory == pytest.approx(peak, rel=0.05)


def test_shards_are_a_second_copy_on_disk():
    own = estimate_resources(3_600, 1150, n_shards=0, fitted=0.67)
    made = estimate_resources(3_600, 1150, n_shards=120, fitted=0.67)
    # Of the demo: 28.7 MB of shards.
    assert made.disk - own.disk == pytest.approx(28.7, rel=0.05)
    assert made.memory == own.memory


def test_shards_that_were_seen_say_what_all_take():
    own = estimate_resources(3_600, 1150, n_shards=0, fitted=0.67)
    seen = estimate_resources(3_600, 1150, n_shards=120, fitted=0.67, shard_bytes=500_000)
    assert seen.disk - own.disk == pytest.approx(60)


def test_what_fits_is_told_in_one_line():
    demand = estimate_resources(400_000, 50, n_shards=0, fitted=2 / 3)
    assert warn_if_short(demand, PLENTY) == ["about 887 MB of memory and 268 MB of disk"]
    larger = estimate_resources(400_000, 500, n_shards=0, fitted=2 / 3)
    (line,) = warn_if_short(larger, replace(PLENTY, bound=1200))
    assert line.startswith("about 1.2 GB of memory")


DEMAND = Demand(memory=32_000, least_memory=2_930, disk=20_000)


def test_a_machine_that_is_too_small_is_told_the_setting_that_helps():
    _, line = warn_if_short(DEMAND, replace(PLENTY, memory=8_000))
    (bound,) = re.findall(r"set memory_mb under \[execution\] in study.toml to (\d+) or more", line)
    assert int(bound) == 3000
    assert len(warn_if_short(DEMAND, replace(PLENTY, memory=8_000, bound=float(bound)))) == 1


def test_a_bound_that_is_too_small_is_told():
    _, line = warn_if_short(DEMAND, replace(PLENTY, bound=1_000))
    assert line.startswith("memory_mb = 1000 will hardly do: set memory_mb under [execution]")


def test_the_bound_that_is_named_is_not_refused():
    with pytest.raises(InvalidInputError, match="memory_mb = 2000 is too little") as refused:
        refuse_too_small_a_bound(DEMAND, 2000)
    (bound,) = re.findall(r"set it to (\d+) or more", str(refused.value))
    refuse_too_small_a_bound(DEMAND, float(bound))


def test_what_no_setting_helps():
    _, line = warn_if_short(DEMAND, replace(PLENTY, memory=2_000))
    assert "too little even with features on disk" in line
    assert "[candidates] limit" in line


def test_a_disk_that_is_too_small():
    _, line = warn_if_short(DEMAND, replace(PLENTY, disk=500))
    assert line.startswith("500 MB of disk are free, too little")


@pytest.mark.parametrize(("megabytes", "told"), [(3, "3 MB"), (999, "999 MB"), (12_345, "12.3 GB")])
def test_sizes_in_words(megabytes: float, told: str):
    assert _tell_size(megabytes) == told
