"""Settings of a DICOM node, checked before anything listens."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Self

from overread.errors import UsageError
from overread.images import MAX_BYTES

# PS3.5 table 6.2-1, AE: 16 characters, no control characters and no backslash; blanks at the ends do not count.
AE_TITLE = re.compile(r"[ -\[\]-~]{1,16}")
HIGHEST_PORT = 65535
BYTES_IN_MB = 1 << 20


@dataclass(frozen=True)
class Destination:
    """Where documents go: AE title, host and port."""

    ae_title: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``AE@HOST:PORT``."""
        parts = re.fullmatch(r"(.+)@([^@\s]+):([0-9]{1,5})", text)
        if parts is None:
            raise UsageError(f"--destination {text!r}: give AE@HOST:PORT, such as PACS@127.0.0.1:4242")
        title, host, port = parts.groups()
        _check_port(int(port), "--destination", lowest=1)
        return cls(_check_ae_title(title, "--destination"), host.strip("[]"), int(port))

    def __str__(self) -> str:
        return f"{self.ae_title}@{self.host}:{self.port}"


@dataclass(frozen=True)
class NodeSettings:
    """How a node listens and where it sends.

    Parameters
    ----------
    destination
        Destination of the documents.
    ae_title
        AE title of the node; calls to other titles are rejected.
    host, port
        Address to listen at; port 0: any free port. A host that others can reach needs ``callers``.
    callers
        AE titles that may send; empty: all, but only on this machine.
    largest_bytes
        Longest accepted message; a longer one ends the connection.
    keep
        Keep processed images and sent documents; otherwise only the journal stays.

    Raises
    ------
    UsageError
        If a setting makes no sense.
    """

    destination: Destination
    ae_title: str = "OVERREAD"
    host: str = "127.0.0.1"
    port: int = 11112
    callers: tuple[str, ...] = ()
    largest_bytes: int = MAX_BYTES
    keep: bool = False

    def __post_init__(self) -> None:
        _check_ae_title(self.ae_title, "--ae-title")
        for caller in self.callers:
            _check_ae_title(caller, "--callers")
        _check_port(self.port, "--port", lowest=0)
        if not BYTES_IN_MB <= self.largest_bytes <= MAX_BYTES:
            raise UsageError(
                f"--largest-mb {self.largest_bytes / BYTES_IN_MB:g}: give 1 to {MAX_BYTES // BYTES_IN_MB}, the largest "
                "image file that is read"
            )
        try:
            is_local = ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            raise UsageError(f"--host {self.host!r}: give an IP address of this machine") from None
        if not is_local and not self.callers:
            raise UsageError(
                f"--host {self.host}: other machines can reach this address. Give --callers AE,AE."
            )


def _check_ae_title(title: str, option: str) -> str:
    """Return an AE title without blanks at its ends; refuse an invalid one."""
    if AE_TITLE.fullmatch(title) is None or not title.strip():
        raise UsageError(
            f"{option}: {title!r} is not an AE title (1 to 16 ASCII characters without a backslash)"
        )
    return title.strip()


def _check_port(port: int, option: str, *, lowest: int) -> None:
    """Refuse a number that is not a port."""
    if not lowest <= port <= HIGHEST_PORT:
        raise UsageError(f"{option}: {port} is not a port; give {lowest} to {HIGHEST_PORT}")
