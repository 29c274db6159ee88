"""Images in: C-ECHO and C-STORE. An image is acknowledged when it is on the device, not before."""

from __future__ import annotations

import logging
import sys
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
from overread.node.connections import LARGEST_PDU, SECONDS_TO_ASK, SILENCE_SECONDS, Connections
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
        self._connections = Connections(settings.largest_bytes, log)
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
        try:
            return self._store_within_limits(event)
        finally:
            self._connections.finish_message(event.assoc)

    def _store_within_limits(self, event: Any) -> int:
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
