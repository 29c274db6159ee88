"""Documents out: C-STORE to the destination, until it has acknowledged each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.uid import (
    ComprehensiveSRStorage,
    ExplicitVRLittleEndian,
    GrayscaleSoftcopyPresentationStateStorage,
    ImplicitVRLittleEndian,
)
from pynetdicom import AE

from overread.apps.node._settings import NodeSettings
from overread.apps.node._spool import NodeAnswer, Spool
from overread.files import read_regular
from overread.marks import content_uid

# Chosen by eye: a destination that refuses a document for a passing reason has had time to get over it.
MOST_REFUSALS = 5
# Documents of one connection, so that a connection that breaks costs few. Chosen by eye.
MOST_AT_ONCE = 100
SILENCE_SECONDS = 30
# Status codes: PS3.4 table B.2-1 and PS3.7 annex C. Who has an instance of ours already, has this one: the UID follows
# from the content.
SUCCESS, DUPLICATE, WARNINGS = 0x0000, 0x0111, range(0xB000, 0xC000)


class Sender:
    """Sends what waits.

    Parameters
    ----------
    spool
        Has the documents.
    settings
        The destination, and who we are.
    log
        Is told, in one line, of what was refused.
    """

    def __init__(self, spool: Spool, settings: NodeSettings, log: Callable[[str], None]) -> None:
        self._spool, self._settings, self._log = spool, settings, log

    def send(self) -> bool | None:
        """Send the documents that wait.

        Returns
        -------
        bool or None
            Whether there was something to send; None where the destination did not answer, or refused some of it.
        """
        waiting = self._spool.ledger.unsent(MOST_AT_ONCE)
        if not waiting:
            return False
        association = self._connect()
        if not association.is_established:
            return None
        try:
            return self._send_all(association, waiting)
        finally:
            if association.is_established:
                association.release()

    def _connect(self) -> Any:
        entity = AE(ae_title=self._settings.ae_title)
        entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = SILENCE_SECONDS
        entity.connection_timeout = SILENCE_SECONDS
        syntaxes = [ExplicitVRLittleEndian, ImplicitVRLittleEndian]
        for document_class in (ComprehensiveSRStorage, GrayscaleSoftcopyPresentationStateStorage):
            # One context for each syntax: a document is sent in the one it is written in, or converted by us.
            for syntax in syntaxes:
                entity.add_requested_context(document_class, syntax)
        destination = self._settings.destination
        return entity.associate(destination.host, destination.port, ae_title=destination.ae_title)

    def _send_all(self, association: Any, waiting: Sequence[NodeAnswer]) -> bool | None:
        n_refused = 0
        made_again: set[str] = set()
        for answer in waiting:
            document = None if answer.sop_uid in made_again else self._read(answer)
            if document is None:
                made_again.add(answer.sop_uid)
                continue
            try:
                response = association.send_c_store(document)
            except RuntimeError:  # the connection is gone
                return None
            except ValueError:  # the destination takes no documents of this class
                self._refuse(answer, f"{self._settings.destination} takes no documents of this kind")
                n_refused += 1
                continue
            if "Status" not in response:
                return None
            status = int(response.Status)
            if status in (SUCCESS, DUPLICATE) or status in WARNINGS:
                if self._spool.ledger.mark_sent(answer) and not self._settings.keep:
                    self._spool.discard(answer.sop_uid)
            else:
                self._refuse(answer, f"{self._settings.destination} refused with status 0x{status:04X}")
                n_refused += 1
        return None if n_refused else True

    def _read(self, answer: NodeAnswer) -> Dataset | None:
        """Document of an answer; where it is gone or damaged, its image waits for the detector again."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                document = dcmread(BytesIO(read_regular(self._spool.document_path(answer))))
                is_whole = content_uid(document) == answer.uid
        except Exception:  # pydicom raises almost anything on damaged data
            is_whole = False
        if not is_whole:
            self._log(f"document {answer.uid}: its file is gone or damaged; it is made again")
            self._spool.ledger.wait_again(answer.sop_uid)
            return None
        return document

    def _refuse(self, answer: NodeAnswer, reason: str) -> None:
        self._log(f"document {answer.uid}: {reason}")
        if self._spool.ledger.refuse(answer, reason) >= MOST_REFUSALS:
            self._spool.ledger.fail(answer.sop_uid, reason)
