"""Images in: C-ECHO and C-STORE. An image is acknowledged when it is on the device, not before.

Who is connected to a node, and how much of it one peer may hold: connections, time and memory.

A connection costs two threads before its peer has said a word, and an image is in memory until it is stored. So a peer
that says nothing is soon shown out, an address has its share of the places, and all messages together have a bound.
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

# Longest PDU that we announce; some senders round it up, hence the margin below. The size is pynetdicom's default.
LARGEST_PDU = 16382
PDU_MARGIN = 1 << 16
# All by judgement. A sender asks for an association as soon as it is connected; a department's few senders may share
# an address, but none takes all places; a minute of silence between two images ends an association.
SECONDS_TO_ASK = 5.0
SILENCE_SECONDS = 60.0
MOST_ASSOCIATIONS, MOST_OF_AN_ADDRESS = 20, 12
MOST_SILENT, MOST_SILENT_OF_AN_ADDRESS = 20, 5
# A message may take as long as a slow line needs: 10 kB a second, besides the silence that is allowed anyway.
SLOWEST_BYTES_PER_SECOND = 10_000
# Messages of the largest size that may be on their way at once; set by judgement: many images of usual size.
LARGEST_MESSAGES_AT_ONCE = 4
# The same is not said again so soon: a flood must not fill the log either.
REPEAT_SECONDS = 10.0
CHUNK = 1 << 12
LEAST_WAIT = 0.01
# Results of a request, PS3.8 table 9-21: result, source, reason.
LOCAL_LIMIT_EXCEEDED = (0x02, 0x03, 0x02)
REASONS = {
    (0x01, 0x03): "it is not one of the callers",
    (0x01, 0x07): "it called another AE title",
}


@dataclass(eq=False)
class Peer:
    """One connection: where from, whether it has an association, and the message that it is sending."""

    association: Any
    host: str
    line: socket.socket
    opened: float = field(default_factory=time.monotonic)
    is_associated: bool = False
    message_began: float | None = None
    message_bytes: int = 0

    def deadline(self) -> float:
        """When the bytes that are waited for must be here."""
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
        """Note that the message of a connection is dealt with, and no longer in memory."""
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
        """Take a connection into the count; the oldest that has said nothing makes place for it."""
        sock = event.assoc.dul.socket
        peer = Peer(event.assoc, str(event.address[0]), sock.socket)
        sock.recv = lambda count: self._receive(peer, count)
        with self._lock:
            # pynetdicom tells of most ends (`_close`), but not of its own faults.
            self._peers = {key: one for key, one in self._peers.items() if not one.is_over()}
            self._peers[id(event.assoc)] = peer
            silent = [one for one in self._peers.values() if not one.is_associated]
        neighbours = [one for one in silent if one.host == peer.host]
        if len(neighbours) > MOST_SILENT_OF_AN_ADDRESS:
            self._say(f"{peer.host} opens connections and says nothing in them: the oldest was ended")
            neighbours[0].end()
        elif len(silent) > MOST_SILENT:
            self._say("too many connections in which nothing is said: the oldest was ended")
            silent[0].end()

    def _admit(self, event: Any) -> None:
        """Give a peer that asks for an association a place, or say that there is none."""
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
                f"{of_the_address} of them with that address"
            )
            event.assoc.acse.send_reject(*LOCAL_LIMIT_EXCEEDED)
            event.assoc.kill()  # returns when the peer has its answer, or after SECONDS_TO_ASK

    def _tell_rejected(self, event: Any) -> None:
        """Say why pynetdicom rejected a request; the peer gives its place back."""
        with self._lock:
            self._peers[id(event.assoc)].is_associated = False
        answer = event.assoc.acceptor.primitive
        why = REASONS.get((answer.result_source, answer.diagnostic), "its request cannot be met")
        self._say(f"{event.assoc.requestor.ae_title!r} was rejected: {why}")

    def _close(self, event: Any) -> None:
        """Free the place at once: pynetdicom's thread would wait for a request until its time is over."""
        with self._lock:
            peer = self._peers.pop(id(event.assoc), None)
        if peer is None:
            return
        # pynetdicom closes no socket that the peer has shut.
        peer.line.close()
        if event.assoc.requestor.primitive is None:
            event.assoc.dul.to_user_queue.put(None)

    def _receive(self, peer: Peer, count: int) -> bytearray:
        """Read bytes of a peer, within the bounds of size and time."""
        self._reserve(peer, count)
        content = bytearray()
        while len(content) < count:
            # Also after the deadline, what is here already is read: the news that the peer has gone, above all.
            left = max(peer.deadline() - time.monotonic(), LEAST_WAIT)
            try:
                peer.line.settimeout(left)
                part = peer.line.recv(min(CHUNK, count - len(content)))
            except TimeoutError:
                self._say(f"{peer.host} began to send and did not go on: the connection was ended")
                raise
            if not part:
                break
            content += part
        peer.line.settimeout(SILENCE_SECONDS)
        return content

    def _reserve(self, peer: Peer, count: int) -> None:
        """Count bytes that are about to be read, and end the connection where they are too many."""
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
        self._say(f"{why}: the connection with {peer.host} was ended")
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
    """Keep pynetdicom from printing each message, and its own account of what we answer for."""
    _config.LOG_HANDLER_LEVEL = "none"
    logging.getLogger("pynetdicom").setLevel(logging.CRITICAL)


class Receiver:
    """DICOM server of a node; ``tell`` is told of each image, ``log`` in one line of what was refused."""

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
        """Begin to listen, and return the port."""
        entity = AE(ae_title=self._settings.ae_title)
        entity.require_called_aet = True
        entity.require_calling_aet = list(self._settings.callers)
        entity.maximum_pdu_size = LARGEST_PDU
        # `Connections` counts, as pynetdicom would count those that say nothing, and let them keep others out.
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
        """Stop listening, and end the connections that are open."""
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
