"""Images in: C-ECHO and C-STORE. An image is acknowledged when it is on the device, not before."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
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

from overread.errors import FormatError, OverreadError, StorageError
from overread.images.dicom_codestreams import COMPRESSED
from overread.node.settings import NodeSettings
from overread.node.spool import Spool, StoreResult

__all__ = ["Receiver", "quiet_network_log"]

IMAGE_CLASSES = (
    ComputedRadiographyImageStorage,
    DigitalXRayImageStorageForPresentation,
    DigitalXRayImageStorageForProcessing,
)
SYNTAXES = [ExplicitVRLittleEndian, ImplicitVRLittleEndian, *sorted(COMPRESSED)]
# Status codes: PS3.4 table B.2-1 and PS3.7 annex C.
SUCCESS, DUPLICATE, OUT_OF_RESOURCES, NO_MATCH = 0x0000, 0x0111, 0xA700, 0xA900
# Longest PDU that we announce; some senders round it up, hence the margin below. The size is pynetdicom's default.
LARGEST_PDU = 16382
PDU_MARGIN = 1 << 16
# Chosen by eye: a department's few senders at once, and a minute of silence before a connection is given up.
MOST_ASSOCIATIONS = 20
SILENCE_SECONDS = 60


def quiet_network_log() -> None:
    """Keep pynetdicom from printing each message, and its own account of what we answer for."""
    _config.LOG_HANDLER_LEVEL = "none"
    logging.getLogger("pynetdicom").setLevel(logging.CRITICAL)


class Receiver:
    """DICOM server of a node.

    Parameters
    ----------
    settings
        Where to listen, and to whom.
    spool
        Where images go.
    tell
        Is told of each image that came in.
    log
        Is told, in one line, of what was refused.
    """

    def __init__(
        self,
        settings: NodeSettings,
        spool: Spool,
        tell: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._settings, self._spool = settings, spool
        self._tell, self._log = tell, log
        self._server: Any = None

    def start(self) -> int:
        """Begin to listen, and return the port.

        Raises
        ------
        StorageError
            If the address cannot be listened at.
        """
        entity = AE(ae_title=self._settings.ae_title)
        entity.require_called_aet = True
        entity.require_calling_aet = list(self._settings.callers)
        entity.maximum_pdu_size = LARGEST_PDU
        entity.maximum_associations = MOST_ASSOCIATIONS
        entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = SILENCE_SECONDS
        entity.add_supported_context(Verification)
        for image_class in IMAGE_CLASSES:
            entity.add_supported_context(image_class, SYNTAXES)
        handlers = [
            (evt.EVT_C_STORE, self._store),
            (evt.EVT_CONN_OPEN, self._limit),
            (evt.EVT_REJECTED, self._say_rejected),
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

    def _limit(self, event: Any) -> None:
        """Count what a connection sends, and end it when one message is too long: memory is not the peer's to fill."""
        connection = event.assoc.dul.socket
        receive, largest = connection.recv, self._settings.largest_bytes
        event.assoc.bytes_of_message = 0

        def receive_within_limits(count: int) -> Any:
            event.assoc.bytes_of_message += count
            if count > LARGEST_PDU + PDU_MARGIN or event.assoc.bytes_of_message > largest + PDU_MARGIN:
                if event.assoc.bytes_of_message < math.inf:
                    self._log(f"a message of more than {largest >> 20} MB: the connection was ended")
                event.assoc.bytes_of_message = math.inf
                raise OSError("message too long")
            return receive(count)

        connection.recv = receive_within_limits

    def _say_rejected(self, event: Any) -> None:
        caller = event.assoc.requestor.ae_title
        self._log(f"{caller!r} was rejected: it is not one of the callers, or called another AE title")

    def _store(self, event: Any) -> int:
        """Answer a C-STORE request with a status."""
        event.assoc.bytes_of_message = 0
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
        if result is StoreResult.CONFLICT:
            self._log(f"an image of {sender!r} was refused: {result.value} {uid}")
            return DUPLICATE
        self._tell()
        return SUCCESS
