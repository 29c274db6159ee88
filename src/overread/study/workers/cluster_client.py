"""Connections to existing Dask clusters: one of its own for who works on images, one shared by the fits of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from overread.errors import MissingExtraError, StorageError

__all__ = ["close_shared_clients", "connect_cluster", "share_client", "take_as_completed"]

# A scheduler that answers at all answers within a second; chosen by eye for slow networks.
TIMEOUT_SECONDS = 30
_SHARED: dict[str, Any] = {}


def connect_cluster(scheduler: str) -> Any:
    """Connect to a cluster by its address, ``tcp://host:port``.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    StorageError
        If nothing answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("the executor dask needs: pip install overread[dask]") from error
    try:
        return Client(scheduler, timeout=TIMEOUT_SECONDS)
    except (OSError, ValueError) as error:
        raise StorageError(f"{scheduler}: no Dask scheduler answers there") from error


def take_as_completed(futures: list[Any]) -> Iterable[Any]:
    """Give what a cluster was asked for in the order in which it is done."""
    from distributed import as_completed

    return iter(as_completed(futures))


def share_client(scheduler: str) -> Any:
    """Return the connection that all fits of this process share, made when the first one asks."""
    if scheduler not in _SHARED or _SHARED[scheduler].status != "running":
        _SHARED[scheduler] = connect_cluster(scheduler)
    return _SHARED[scheduler]


def close_shared_clients() -> None:
    """Leave the clusters that fits used."""
    while _SHARED:
        _SHARED.popitem()[1].close()
