"""A running node: receiver, worker and sender together, until it is stopped.

The detector makes two documents from each image, a report and a presentation state. They are sent by C-STORE to the
destination until it has acknowledged each.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.uid import (
    ComprehensiveSRStorage,
    ExplicitVRLittleEndian,
    GrayscaleSoftcopyPresentationStateStorage,
    ImplicitVRLittleEndian,
)
from pynetdicom import AE

from overread.apps.node._receiver import Receiver, quiet_network_log
from overread.apps.node._settings import NodeSettings
from overread.apps.node._spool import PRIVATE_FILE, NodeAnswer, Spool
from overread.errors import OverreadError, StorageError
from overread.files import read_regular
from overread.marks import content_uid
from overread.study import (
    PASSING,
    DetectionPipeline,
    Documents,
    ImageReport,
    IsolatedWorker,
    Request,
    WorkLimits,
    detect_image,
    found_of,
    read_work,
    write_documents,
)

# Set by judgement: enough time for a destination to recover from a temporary problem.
MOST_REFUSALS = 5
# Documents of one connection, so that a connection that breaks costs few. Set by judgement.
MOST_AT_ONCE = 100
SILENCE_SECONDS = 30
# Status codes: PS3.4 table B.2-1 and PS3.7 annex C. A destination that already has the instance has this one, because
# the UID is derived from the content.
SUCCESS, DUPLICATE, WARNINGS = 0x0000, 0x0111, range(0xB000, 0xC000)


@dataclass(eq=False)
class Sender:
    """Send waiting documents."""

    spool: Spool
    settings: NodeSettings
    log: Callable[[str], None]

    def send(self) -> bool | None:
        """Send the waiting documents; return whether there were any, None if some were not accepted."""
        waiting = self.spool.ledger.unsent(MOST_AT_ONCE)
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
        entity = AE(ae_title=self.settings.ae_title)
        entity.acse_timeout = entity.dimse_timeout = entity.network_timeout = SILENCE_SECONDS
        entity.connection_timeout = SILENCE_SECONDS
        # One context for each syntax: a document is sent in its own syntax, or converted here.
        for document_class in (ComprehensiveSRStorage, GrayscaleSoftcopyPresentationStateStorage):
            for syntax in (ExplicitVRLittleEndian, ImplicitVRLittleEndian):
                entity.add_requested_context(document_class, syntax)
        destination = self.settings.destination
        return entity.associate(destination.host, destination.port, ae_title=destination.ae_title)

    def _send_all(self, association: Any, waiting: Sequence[NodeAnswer]) -> bool | None:
        is_refused = False
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
                reason = "does not accept documents of this kind"
            else:
                if "Status" not in response:
                    return None
                status = int(response.Status)
                if status in (SUCCESS, DUPLICATE) or status in WARNINGS:
                    if self.spool.ledger.mark_sent(answer) and not self.settings.keep:
                        self.spool.discard(answer.sop_uid)
                    continue
                reason = f"refused with status 0x{status:04X}"
            self._refuse(answer, f"{self.settings.destination} {reason}")
            is_refused = True
        return None if is_refused else True

    def _read(self, answer: NodeAnswer) -> Dataset | None:
        """Document of an answer; if it is missing or damaged, its image is queued for the detector again."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                document = dcmread(BytesIO(read_regular(self.spool.document_path(answer.file))))
                is_whole = content_uid(document) == answer.uid
        except Exception:  # pydicom raises almost anything on damaged data
            is_whole = False
        if not is_whole:
            self.log(f"document {answer.uid}: its file is missing or damaged; it is made again")
            self.spool.ledger.wait_again(answer.sop_uid)
            return None
        return document

    def _refuse(self, answer: NodeAnswer, reason: str) -> None:
        self.log(f"document {answer.uid}: {reason}")
        if self.spool.ledger.refuse(answer, reason) >= MOST_REFUSALS:
            self.spool.ledger.fail(answer.sop_uid, reason)


# Processes with only this image that may die before the image is skipped; by judgement: one or two may have lacked
# memory or been killed by hand.
MOST_DEATHS = 3
KINDS = Documents(sr=True, gsps=True, mode=PRIVATE_FILE)


@dataclass(eq=False)
class Worker:
    """Process one image after the other.

    A node that is killed or runs out of memory does not report the image it was processing. That image is processed
    again after all others, in a separate process. Only if that process dies `MOST_DEATHS` times is the image skipped.

    """

    spool: Spool  # Source of the images, and destination of the documents
    request: Request  # Request to the detector, with documents
    mm_per_px: tuple[float, float] | None  # Pixel size of images that do not state it
    log: Callable[[str], None]  # Called with a line for each image that failed

    def work(self) -> bool:
        """Process the image that has waited longest; return whether there was one."""
        ledger = self.spool.ledger
        entry = ledger.next_received()
        if entry is None:
            return False
        ledger.begin_work(entry.sop_uid)
        try:
            path = self.spool.image_path(entry.sop_uid)
        except OverreadError as error:
            self._fail(entry.sop_uid, str(error))
            return True
        report = (self._detect_alone if entry.tries else self._detect)(entry.sop_uid, path)
        if report is None:
            return True
        try:
            files = write_documents(
                [report], f"Overread {self.request.detector.name}", self.spool.documents, KINDS
            )
        except StorageError:
            ledger.wait_again(entry.sop_uid)
            raise
        except Exception as error:  # an internal error on one image must not affect the others
            self._fail(entry.sop_uid, _describe(error))
        else:
            ledger.answer(entry.sop_uid, files, len(report.marks))
        return True

    def _detect(self, sop_uid: str, path: Path) -> ImageReport | None:
        """Detect in an image; None if there is no result yet, or it failed because its file cannot be read."""
        try:
            report = detect_image(self.request, path, self.mm_per_px)[2]
            assert report is not None, "the request asks for documents"
        except MemoryError:
            self.log(f"image {sop_uid}: not enough memory; it will be processed again in a separate process")
        except Exception as error:
            self._fail(sop_uid, _describe(error))
        else:
            return report
        return None

    def _detect_alone(self, sop_uid: str, path: Path) -> ImageReport | None:
        """Detect in an image in a separate process; None if there is no result yet, or it failed."""
        with closing(IsolatedWorker(DetectionPipeline(self.request).spec(), WorkLimits())) as worker:
            outcome = worker.work(self.request.make_task(path, self.mm_per_px))
        if outcome.shard is not None:
            return found_of(path, read_work(outcome.shard)[0]).report
        assert outcome.fault is not None, "an outcome is one of the two"
        if outcome.fault.kind not in PASSING:
            self._fail(sop_uid, outcome.fault.reason)
            return None
        deaths = self.spool.ledger.count_death(sop_uid)
        if deaths < MOST_DEATHS:
            self.log(f"image {sop_uid}: {outcome.fault.reason}; it will be processed again")
        else:
            self._fail(
                sop_uid,
                f"{deaths} separate processes died on this image, the last: "
                f"{outcome.fault.reason} (the image is kept; to try again, send it again)",
            )
        return None

    def _fail(self, sop_uid: str, reason: str) -> None:
        reason = reason.replace(f"{self.spool.folder}/images/{sop_uid}.dcm: ", "")
        self.spool.ledger.fail(sop_uid, reason)
        self.log(f"image {sop_uid} failed: {reason}")


def _describe(error: Exception) -> str:
    """Return the error message of an image."""
    if isinstance(error, OverreadError):
        return str(error)
    return f"failed with an unexpected error: {error!r}"


# Seconds between checks for work without a wake-up; set by judgement: only a missed wake-up waits for this.
IDLE_SECONDS = 1.0
# A destination that does not answer is asked again after 1, 2, 4, ... seconds, at most a minute; set by judgement.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Node:
    """A node, which runs within its ``with`` block; after a kill it continues with the same folder.

    The caller holds the lock of the folder. ``log`` is called with one line per problem.
    """

    def __init__(
        self,
        settings: NodeSettings,
        request: Request,
        folder: Path,
        *,
        mm_per_px: tuple[float, float] | None = None,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.settings, self._log = settings, log
        self._spool = Spool(folder)
        self._received, self._answered, self._stopped = (threading.Event() for _ in range(3))
        self._receiver = Receiver(settings, self._spool, self._received.set, log)
        self._worker = Worker(self._spool, request, mm_per_px, log)
        self._sender = Sender(self._spool, settings, log)
        self._threads: list[threading.Thread] = []
        self._fault: BaseException | None = None
        self.port = settings.port

    def __enter__(self) -> Self:
        quiet_network_log()
        self._spool.recover(keep_done=self.settings.keep)
        try:
            self.port = self._receiver.start()
        except OverreadError:
            self._spool.close()
            raise
        for loop in (self._work, self._send):
            thread = threading.Thread(target=self._guard, args=(loop,), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop after the current image; everything else waits in the spool."""
        self._receiver.stop()
        self._stopped.set()
        self._received.set()
        self._answered.set()
        for thread in self._threads:
            thread.join()
        self._spool.close()

    def wait(self, seconds: float | None = None) -> None:
        """Wait some seconds, or until the node stops because of an error."""
        self._stopped.wait(seconds)
        if self._fault is not None:
            raise self._fault

    def _guard(self, loop: Callable[[], None]) -> None:
        """Run a loop; an unexpected error stops the node, so that it does not continue with half of its parts."""
        try:
            loop()
        except BaseException as error:
            self._fault = error
            self._stopped.set()

    def _work(self) -> None:
        """Process images as they arrive."""
        while not self._stopped.is_set():
            self._received.clear()
            try:
                while not self._stopped.is_set() and self._worker.work():
                    self._answered.set()
            except OverreadError as error:  # no space: waiting images are tried again
                self._log(str(error))
                self._stopped.wait(LONGEST_PAUSE)
            self._received.wait(IDLE_SECONDS)

    def _send(self) -> None:
        """Send documents as they are written, with growing pauses while they are not accepted."""
        pause = FIRST_PAUSE
        while not self._stopped.is_set():
            self._answered.clear()
            try:
                sent = self._sender.send()
            except OverreadError as error:
                self._log(str(error))
                sent = None
            if sent is None:
                self._log(
                    f"{self.settings.destination} does not accept documents now; next try in {pause:g} s"
                )
                self._stopped.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                if not sent:
                    self._answered.wait(IDLE_SECONDS)
