"""How much memory and disk a run will take, and what to change where it will not fit.

It follows from the numbers of images, candidates and features. What a run holds beside features grows with the
candidates; the features that a model is fitted to are held twice, or stay on disk where memory is bounded.
docs/explanation/scaling.md has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from overread.errors import InvalidInputError
from overread.models.columns.room import COPIES, find_least_bytes

__all__ = ["Demand", "Supply", "give_advice", "reckon_demand", "refuse_too_small_a_bound"]

# Measured by `python -m benchmarks.study_memory large` with 4,000 and 20,000 images x 20 candidates x 50 features, the
# soft model: peaks of 554 and 888 MB. What there is without any candidate, and what each adds.
PROCESS_MB = 470.0
BYTES_PER_CANDIDATE = 775.0
# What a run may hold beyond that when its last fit begins: of 100,000 candidates x 3750 features, with memory_mb = 900,
# 568 MB where the two say 548; fits of the same fold began with up to 30 MB more in another run. The rest is by eye.
RESERVE_MB = 70.0
# On disk, of the same study of 20,000 images: all files but the features. Most are scores of folds by 60 settings.
DISK_BYTES_PER_CANDIDATE = 470.0
# A shard beside its features, in the demo with all features: their names and the facts of the image.
DISK_BYTES_PER_SHARD = 100_000.0


@dataclass(frozen=True)
class Demand:
    """What a run will take, in megabytes, about.

    Attributes
    ----------
    memory
        Of the run's own process, features held in memory.
    least_memory
        With features left on disk, as the fits themselves reckon.
    disk
        Of the run's folder.
    """

    memory: float
    least_memory: float
    disk: float


@dataclass(frozen=True)
class Supply:
    """What there is for a run, in megabytes.

    Attributes
    ----------
    memory
        Of the machine.
    bound
        Of ``[execution] memory_mb``; None: not set.
    disk
        That is free where the run's folder is.
    """

    memory: float
    bound: float | None
    disk: float


def reckon_demand(
    n_candidates: float,
    n_features: int,
    *,
    n_shards: int,
    fitted: float,
    itemsize: int = 4,
    shard_bytes: float | None = None,
) -> Demand:
    """Reckon what a run will take.

    Parameters
    ----------
    n_candidates, n_features
        Of the whole study.
    n_shards
        Images whose features are made; 0 where the study brings its own.
    fitted
        Share of the candidates that the last fit has: those outside of the test set.
    itemsize
        Bytes of a feature.
    shard_bytes
        Mean size of a shard; None where none is known yet: its features, and what shards of the demo have beside them.
    """
    table = n_candidates * itemsize * n_features / 1e6
    least = find_least_bytes(round(fitted * n_candidates), n_features, itemsize) / 1e6
    held = PROCESS_MB + BYTES_PER_CANDIDATE * n_candidates / 1e6
    shards = n_shards and (table + DISK_BYTES_PER_SHARD * n_shards / 1e6)
    if shard_bytes is not None:
        shards = shard_bytes * n_shards / 1e6
    return Demand(
        memory=held + COPIES * fitted * table,
        least_memory=held + RESERVE_MB + least,
        disk=table + shards + DISK_BYTES_PER_CANDIDATE * n_candidates / 1e6,
    )


def give_advice(demand: Demand, supply: Supply) -> list[str]:
    """Say in lines what a run will take, and what to change where it will not fit."""
    taken = demand.memory if supply.bound is None else min(demand.memory, supply.bound)
    lines = [f"about {tell_size(max(taken, 1))} of memory and {tell_size(demand.disk)} of disk"]
    least = f"memory_mb under [execution] in study.toml to {round_up(demand.least_memory)} or more"
    fewer = "fewer candidates ([candidates] limit) or features ([features] only)"
    if supply.bound is not None and supply.bound < demand.least_memory:
        lines.append(f"memory_mb = {supply.bound:.0f} will hardly do: set {least}, or take {fewer}")
    if supply.memory < demand.least_memory:
        lines.append(
            f"this machine has {tell_size(supply.memory)} of memory, too little even with features on disk: take"
            f" {fewer}, or a machine with {tell_size(demand.least_memory)}"
        )
    elif supply.bound is None and supply.memory < demand.memory:
        lines.append(
            f"this machine has {tell_size(supply.memory)} of memory: set {least}, and models are fitted from disk"
        )
    if supply.disk < demand.disk:
        lines.append(
            f"{tell_size(supply.disk)} of disk are free, too little: make room, put the study on another disk, or take"
            f" {fewer}"
        )
    return lines


def refuse_too_small_a_bound(demand: Demand, bound: float) -> None:
    """Refuse a bound that the largest fit does not do with, before the first one begins.

    Raises
    ------
    InvalidInputError
        Naming a bound that does.
    """
    if bound < demand.least_memory:
        raise InvalidInputError(
            f"memory_mb = {bound:.0f} is too little for the largest fit of this study: set it to"
            f" {round_up(demand.least_memory)} or more (--memory-mb, or memory_mb under [execution] in study.toml), or"
            " take fewer candidates ([candidates] limit) or features ([features] only)"
        )


def tell_size(megabytes: float) -> str:
    """Return a size in words: ``350 MB``, ``2.5 GB``."""
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:,.1f} GB"


def round_up(megabytes: float) -> int:
    """Return megabytes that are enough, as a number that one would write."""
    return int(-(-megabytes // 100) * 100)
