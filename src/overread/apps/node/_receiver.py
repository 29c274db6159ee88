"""Receive images: C-ECHO and C-STORE. An image is acknowledged only when it is on the device.

This module also limits the connections, time and memory of each peer.

A connection costs two threads before its peer sends anything, and an image is in memory until it is stored. So silent
peers are soon disconnected, connections per address are limited, and so is the memory of all messages.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydicom.uid import (
    ComputedRadiographyImageStorage,
    DigitalXRayImageStorageForPresentation,
    DigitalXRayImageStorageForProcessing,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)
from pynetdicom import AE, _config, evt
from pynetdicom.dsutils import encode_file_meta
from pynetdicom.sop_class import Verification

from overread.apps.node._settings import NodeSettings
from overread.apps.node._spool import Spool, StoreResult
from overread.errors import FormatError, OverreadError, StorageError
from overread.images import COMPRESSED

# Longest PDU that the node announces; some senders round it up, hence the margin below. The size is pynetdicom's
# default.
LARGEST_PDU = 16382
PDU_MARGIN = 1 << 16
# All by judgement. A sender requests an association as soon as it is connected; the few senders of a department may
# share an address, but none takes all connections; a minute of silence between two images ends an association.
SECONDS_TO_ASK = 5.0
SILENCE_SECONDS = 60.0
MOST_ASSOCIATIONS, MOST_OF_AN_ADDRESS = 20, 12
MOST_SILENT, MOST_SILENT_OF_AN_ADDRESS = 20, 5
# A message may take as long as a slow line needs, 10 kB per second, plus the allowed silence.
SLOWEST_BYTES_PER_SECOND = 10_000
# Number of largest messages in memory at once; set by judgement: many images of usual size.
LARGEST_MESSAGES_AT_ONCE = 4
# Seconds before the same line is logged again, so that a flood does not fill the log.
REPEAT_SECONDS = 10.0
CHUNK = 1 << 12
LEAST_WAIT = 0.01
# Results of a request, PS3.8 table 9-21: result, source, reason.
LOCAL_LIMIT_EXCEEDED = (0x02, 0x03, 0x02)
REASONS = {
    (0x01, 0x03): "it is not in --callers",
    (0x01, 0x07): "it called another AE title",
}


@dataclass(eq=False)
class Peer:
    """One connection: its address, its association, and the message that it is sending."""

    association: Any
    host: str
    line: socket.socket
    opened: float = field(default_factory=time.monotonic)
    is_associated: bool = False
    message_began: float | None = None
    message_bytes: int = 0

    def deadline(self) -> float:
        """Deadline for the next bytes."""
        if not self.is_associated:
            return self.opened + SECONDS_TO_ASK
        began = time.monotonic() if self.message_began is None else self.message_began
        return began + SILENCE_SECONDS + self.message_bytes / SLOWEST_BYTES_PER_SECOND

    def is_over(self) -> bool:
        """Whether its thread has run and ended."""
        return self.association.ident is not None and not self.association.is_alive()

    def end(self) -> None:
        """End the connection; the threads that serve it find it closed."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)


class Connections:
    """The connections of a node; its handlers are bound to the server's events."""

    def __init__(self, largest_bytes: int, log: Callable[[str], None]) -> None:
        self._largest, self._tell = largest_bytes, log
        self._peers: dict[int, Peer] = {}
        self._said: dict[str, float] = {}
        self._lock = threading.RLock()

    def handlers(self) -> list[tuple[Any, Callable[[Any], None]]]:
        """Event handlers of pynetdicom."""
        return [
            (evt.EVT_CONN_OPEN, self._open),
            (evt.EVT_REQUESTED, self._admit),
            (evt.EVT_REJECTED, self._tell_rejected),
            (evt.EVT_CONN_CLOSE, self._close),
        ]

    def finish_message(self, association: Any) -> None:
        """Record that the message of a connection is processed and no longer in memory."""
        with self._lock:
            peer = self._peers.get(id(association))
            if peer is not None:
                peer.message_bytes, peer.message_began = 0, None

    def _say(self, line: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._said.get(line, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return
            self._said = {told: when for told, when in self._said.items() if now - when < REPEAT_SECONDS}
            self._said[line] = now
        self._tell(line)

    def _open(self, event: Any) -> None:
        """Count a connection; with too many, the oldest silent one is closed."""
        sock = event.assoc.dul.socket
        peer = Peer(event.assoc, str(event.address[0]), sock.socket)
        sock.recv = lambda count: self._receive(peer, count)
        with self._lock:
            # pynetdicom reports most ends (`_close`), but not its own errors.
            self._peers = {key: one for key, one in self._peers.items() if not one.is_over()}
            self._peers[id(event.assoc)] = peer
            silent = [one for one in self._peers.values() if not one.is_associated]
        neighbours = [one for one in silent if one.host == peer.host]
        if len(neighbours) > MOST_SILENT_OF_AN_ADDRESS:
            self._say(f"{peer.host} opens connections and sends nothing: the oldest was closed")
            neighbours[0].end()
        elif len(silent) > MOST_SILENT:
            self._say("too many silent connections: the oldest was closed")
            silent[0].end()

    def _admit(self, event: Any) -> None:
        """Accept or reject a peer's request for an association."""
        with self._lock:
            peer = self._peers[id(event.assoc)]
            others = [one for one in self._peers.values() if one.is_associated]
            of_the_address = sum(one.host == peer.host for one in others)
            is_full = len(others) >= MOST_ASSOCIATIONS or of_the_address >= MOST_OF_AN_ADDRESS
            peer.is_associated = not is_full
        self.finish_message(event.assoc)
        if is_full:
            self._say(
                f"a request of {peer.host} was rejected: {len(others)} associations are open, "
                f"{of_the_address} of them from that address"
            )
            event.assoc.acse.send_reject(*LOCAL_LIMIT_EXCEEDED)
            event.assoc.kill()  # returns when the peer has the answer, or after SECONDS_TO_ASK

    def _tell_rejected(self, event: Any) -> None:
        """Log why pynetdicom rejected a request, and release the connection."""
        with self._lock:
            self._peers[id(event.assoc)].is_associated = False
        answer = event.assoc.acceptor.primitive
        why = REASONS.get((answer.result_source, answer.diagnostic), "its request cannot be met")
        self._say(f"{event.assoc.requestor.ae_title!r} was rejected: {why}")

    def _close(self, event: Any) -> None:
        """Release the connection at once: pynetdicom's thread would wait for a request until its deadline."""
        with self._lock:
            peer = self._peers.pop(id(event.assoc), None)
        if peer is None:
            return
        # pynetdicom does not close a socket that the peer has shut.
        peer.line.close()
        if event.assoc.requestor.primitive is None:
            event.assoc.dul.to_user_queue.put(None)

    def _receive(self, peer: Peer, count: int) -> bytearray:
        """Read bytes of a peer, within the bounds of size and time."""
        self._reserve(peer, count)
        content = bytearray()
        while len(content) < count:
            # After the deadline, bytes that have arrived are still read, above all the end of the connection.
            left = max(peer.deadline() - time.monotonic(), LEAST_WAIT)
            try:
                peer.line.settimeout(left)
                part = peer.line.recv(min(CHUNK, count - len(content)))
            except TimeoutError:
                self._say(f"{peer.host} stopped in the middle of a message: the connection was closed")
                raise
            if not part:
                break
            content += part
        peer.line.settimeout(SILENCE_SECONDS)
        return content

    def _reserve(self, peer: Peer, count: int) -> None:
        """Count bytes before they are read, and close the connection if they are too many."""
        most = self._largest * LARGEST_MESSAGES_AT_ONCE
        with self._lock:
            if peer.message_began is None:
                peer.message_began = time.monotonic()
            total = sum(one.message_bytes for one in self._peers.values()) + count
            size = peer.message_bytes + count
            if count <= LARGEST_PDU + PDU_MARGIN and size <= self._largest + PDU_MARGIN and total <= most:
                peer.message_bytes = size
                return
        if total > most and size <= self._largest:
            why = f"more than {most >> 20} MB at once"
        else:
            why = f"a message of more than {self._largest >> 20} MB"
        self._say(f"{why}: the connection with {peer.host} was closed")
        raise OSError("message too long")


IMAGE_CLASSES = (
    ComputedRadiographyImageStorage,
    DigitalXRayImageStorageForPresentation,
    DigitalXRayImageStorageForProcessing,
)
SYNTAXES = [ExplicitVRLittleEndian, ImplicitVRLittleEndian, *sorted(COMPRESSED)]
# Status codes: PS3.4 table B.2-1 and PS3.7 annex C.
SUCCESS, DUPLICATE, OUT_OF_RESOURCES, NO_MATCH = 0x0000, 0x0111, 0xA700, 0xA900


def quiet_network_log() -> None:
    """Keep pynetdicom from printing each message."""
    _config.LOG_HANDLER_LEVEL = "none"
    logging.getLogger("pynetdicom").setLevel(logging.CRITICAL)


class Receiver:
    """DICOM server of a node; ``tell`` is called for each image, ``log`` with one line per refusal."""

    def __init__(
        self,
        settings: NodeSettings,
        spool: Spool,
        tell: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._settings, self._spool = settings, spool
        self._tell, self._log = tell, log
        self._connections = Connections(settings.largest_bytes, log)
        self._server: Any = None

    def start(self) -> int:
        """Start to listen, and return the port."""
        entity = AE(ae_title=self._settings.ae_title)
        entity.require_called_aet = True
        entity.require_calling_aet = list(self._settings.callers)
        entity.maximum_pdu_size = LARGEST_PDU
        # `Connections` counts instead of pynetdicom, which would let silent connections keep others out.
        entity.maximum_associations = sys.maxsize
        entity.acse_timeout = SECONDS_TO_ASK
        entity.dimse_timeout = entity.network_timeout = SILENCE_SECONDS
        entity.add_supported_context(Verification)
        for image_class in IMAGE_CLASSES:
            entity.add_supported_context(image_class, SYNTAXES)
        handlers = [
            (evt.EVT_C_ECHO, self._echo),
            (evt.EVT_C_STORE, self._store),
            *self._connections.handlers(),
        ]
        address = (self._settings.host, self._settings.port)
        try:
            self._server = entity.start_server(address, block=False, evt_handlers=handlers)
        except OSError as error:
            raise StorageError(
                f"cannot listen at {address[0]}:{address[1]}: {error.strerror or error}"
            ) from error
        return int(self._server.socket.getsockname()[1])

    def stop(self) -> None:
        """Stop listening, and close open connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server = None

    def _echo(self, event: Any) -> int:
        """Answer a C-ECHO request with a status."""
        self._connections.finish_message(event.assoc)
        return SUCCESS

    def _store(self, event: Any) -> int:
        """Answer a C-STORE request with a status."""
        sender, uid = event.assoc.requestor.ae_title, str(event.request.AffectedSOPInstanceUID)
        try:
            meta, dataset = encode_file_meta(event.file_meta), event.request.DataSet.getvalue()
            result = self._spool.store(meta, dataset, uid, sender)
        except FormatError as error:
            self._log(f"an image of {sender!r} was refused: {error}")
            return NO_MATCH
        except (OverreadError, OSError) as error:
            self._log(f"an image of {sender!r} was not stored: {error}")
            return OUT_OF_RESOURCES
        finally:
            self._connections.finish_message(event.assoc)
        if result is StoreResult.CONFLICT:
            self._log(f"an image of {sender!r} was refused: {result.value} {uid}")
            return DUPLICATE
        self._tell()
        return SUCCESS
