"""Runs a room until it is stopped."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from overread.errors import StorageError, UsageError
from overread.files.lock import folder_lock
from overread.reading.app import Address, make_app
from overread.reading.connections import BoundedConnection
from overread.reading.doorkeeper import Limits
from overread.reading.room import Room
from overread.reading.store import ROOM_FILE

__all__ = ["bind", "check_proxy", "check_reachable", "serve"]

IS_HELD = "another process serves this room (process {holder}); stop it first"
# Idle connections are closed after this, seconds; a page opens another when it needs one. Chosen by eye.
KEEP_ALIVE = 30
STOP_SECONDS = 5
BACKLOG = 128
# Number of the option in glibc's malloc.h.
M_MMAP_THRESHOLD = -3
# Bytes from which a block is the system's; far below an image, far above everything else. Chosen by eye.
OWN_BLOCK = 1 << 20


def check_reachable(host: str, url: str | None) -> None:
    """Refuse to listen where others can reach the room, unless its address there is said.

    Raises
    ------
    UsageError
        If the host is not of this machine alone and there is no address.
    """
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    if not near and url is None:
        raise UsageError(
            f"--host {host}: others can reach it there; say at which address with --url, and put a proxy with https "
            "in front (docs/how-to/reading_room.md)"
        )


def check_proxy(proxy: str) -> str:
    """Return the address of a proxy.

    Raises
    ------
    UsageError
        If it is none: with a misspelt one nothing would be believed, without a word.
    """
    try:
        return str(ipaddress.ip_address(proxy))
    except ValueError as error:
        raise UsageError(
            f"--proxy {proxy!r}: the address that the proxy asks from, such as 127.0.0.1"
        ) from error


def bind(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 takes any that is free.

    Raises
    ------
    StorageError
        If the system refuses, because another program listens there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio sends small answers at once (TCP_NODELAY) only where a socket says that it speaks TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # At once: who comes before the application answers waits instead of being refused.
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"cannot listen at {host}:{port}: {reason} (--port 0 takes a free one)") from error
    listening.set_inheritable(False)
    return listening


def give_back_memory() -> bool:
    """Let the C library return the memory of each image when it is freed; whether it does is returned.

    Left alone, glibc raises the size from which it asks the system for a block of its own, and images that come and go
    leave holes: 30 readers at once took 772 MB instead of 528 (2048 x 2048 pixels of 16 bits; 128 MB are kept).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, OWN_BLOCK))


def serve(
    room: Room,
    listening: socket.socket,
    address: Address,
    *,
    limits: Limits | None = None,
    proxy: str | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve a room until SIGINT or SIGTERM.

    Parameters
    ----------
    room
        Prepared.
    listening
        Bound socket.
    address
        Where readers find the room.
    limits
        How often may be asked.
    proxy
        Address of the proxy whose word on who asks (X-Forwarded-For) is taken; nobody else's is.
    ready
        Called when the room is locked for other servers and about to answer.

    Raises
    ------
    LockedError
        If another process serves the same room.
    """
    config = uvicorn.Config(
        make_app(room, address, limits),
        http=BoundedConnection,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    give_back_memory()
    with folder_lock((room.folder / ROOM_FILE).parent, "lock", IS_HELD):
        ready()
        # uvicorn passes on the signal that stopped it.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
