"""A running node: receiver, worker and sender together, until it is told to stop.

The detector's turn: an image that was received becomes two documents, a report and a presentation state. They are sent
by C-STORE to the destination, until it has acknowledged each.
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

# Set by judgement: a destination that refuses a document for a passing reason has had time to get over it.
MOST_REFUSALS = 5
# Documents of one connection, so that a connection that breaks costs few. Set by judgement.
MOST_AT_ONCE = 100
SILENCE_SECONDS = 30
# Status codes: PS3.4 table B.2-1 and PS3.7 annex C. Who has an instance of ours already, has this one: the UID follows
# from the content.
SUCCESS, DUPLICATE, WARNINGS = 0x0000, 0x0111, range(0xB000, 0xC000)


@dataclass(eq=False)
class Sender:
    """Sends what waits."""

    spool: Spool
    settings: NodeSettings
    log: Callable[[str], None]

    def send(self) -> bool | None:
        """Send the documents that wait; return whether there were any, None where some were not taken."""
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
        # One context for each syntax: a document is sent in the one it is written in, or converted by us.
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
                reason = "takes no documents of this kind"
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
        """Document of an answer; where it is gone or damaged, its image waits for the detector again."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                document = dcmread(BytesIO(read_regular(self.spool.document_path(answer.file))))
                is_whole = content_uid(document) == answer.uid
        except Exception:  # pydicom raises almost anything on damaged data
            is_whole = False
        if not is_whole:
            self.log(f"document {answer.uid}: its file is gone or damaged; it is made again")
            self.spool.ledger.wait_again(answer.sop_uid)
            return None
        return document

    def _refuse(self, answer: NodeAnswer, reason: str) -> None:
        self.log(f"document {answer.uid}: {reason}")
        if self.spool.ledger.refuse(answer, reason) >= MOST_REFUSALS:
            self.spool.ledger.fail(answer.sop_uid, reason)


# Processes that may die of an image, each with nothing else to do; by judgement: one or two may have died of want of
# memory, or by somebody's hand.
MOST_DEATHS = 3
KINDS = Documents(sr=True, gsps=True, mode=PRIVATE_FILE)


@dataclass(eq=False)
class Worker:
    """Works on one image after the other.

    A node that dies, be it killed or out of memory, says nothing of the image that it worked on. That image is worked
    on again after all others, in a process that has nothing else to do; only if that process dies, `MOST_DEATHS`
    times, is the image given up.
    """

    spool: Spool  # Has the images, and gets the documents
    request: Request  # What is asked of the detector, with documents
    mm_per_px: tuple[float, float] | None  # Pixel size where an image does not say
    log: Callable[[str], None]  # Gets a line for each image that failed

    def work(self) -> bool:
        """Work on the image that waits longest; return whether there was one."""
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
        except Exception as error:  # one image that finds a bug of ours must not cost the others
            self._fail(entry.sop_uid, _describe(error))
        else:
            ledger.answer(entry.sop_uid, files, len(report.marks))
        return True

    def _detect(self, sop_uid: str, path: Path) -> ImageReport | None:
        """Look for detections in an image; None where there are none yet, or it failed: its file may not be read."""
        try:
            report = detect_image(self.request, path, self.mm_per_px)[2]
            assert report is not None, "the request asks for documents"
        except MemoryError:
            self.log(f"image {sop_uid}: not enough memory; it is worked on again in a process of its own")
        except Exception as error:
            self._fail(sop_uid, _describe(error))
        else:
            return report
        return None

    def _detect_alone(self, sop_uid: str, path: Path) -> ImageReport | None:
        """Look for detections in an image in a process of its own; None where there are none yet, or it failed."""
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
            self.log(f"image {sop_uid}: {outcome.fault.reason}; it will be worked on again")
        else:
            self._fail(
                sop_uid,
                f"{deaths} processes with nothing but this image to work on did not live to its end, the last: "
                f"{outcome.fault.reason} (it is kept; to try again, send it again)",
            )
        return None

    def _fail(self, sop_uid: str, reason: str) -> None:
        reason = reason.replace(f"{self.spool.folder}/images/{sop_uid}.dcm: ", "")
        self.spool.ledger.fail(sop_uid, reason)
        self.log(f"image {sop_uid} failed: {reason}")


def _describe(error: Exception) -> str:
    """Say what went wrong with an image."""
    if isinstance(error, OverreadError):
        return str(error)
    return f"failed in a way that nobody foresaw: {error!r}"


# Without news, look for work this often; set by judgement: only a missed wake-up would have to wait so long.
IDLE_SECONDS = 1.0
# A destination that does not answer is asked again after 1, 2, 4, ... seconds, at most a minute; set by judgement.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Node:
    """A node, which runs within its ``with`` block; one that was killed goes on with its folder.

    The caller holds the lock of the folder. ``log`` is told, in one line, of what goes wrong.
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
        """Stop: the image that is worked on is finished, all else waits in the spool."""
        self._receiver.stop()
        self._stopped.set()
        self._received.set()
        self._answered.set()
        for thread in self._threads:
            thread.join()
        self._spool.close()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the node stops by itself, which only a fault makes it do, or so many seconds."""
        self._stopped.wait(seconds)
        if self._fault is not None:
            raise self._fault

    def _guard(self, loop: Callable[[], None]) -> None:
        """Run a loop; what nobody foresaw stops the node, so that it does not go on with half of its parts."""
        try:
            loop()
        except BaseException as error:
            self._fault = error
            self._stopped.set()

    def _work(self) -> None:
        """Work on images as they come."""
        while not self._stopped.is_set():
            self._received.clear()
            try:
                while not self._stopped.is_set() and self._worker.work():
                    self._answered.set()
            except OverreadError as error:  # no space: what waits is tried again
                self._log(str(error))
                self._stopped.wait(LONGEST_PAUSE)
            self._received.wait(IDLE_SECONDS)

    def _send(self) -> None:
        """Send documents as they are written, with longer and longer pauses while nobody takes them."""
        pause = FIRST_PAUSE
        while not self._stopped.is_set():
            self._answered.clear()
            try:
                sent = self._sender.send()
            except OverreadError as error:
                self._log(str(error))
                sent = None
            if sent is None:
                self._log(f"{self.settings.destination} does not take documents now; next try in {pause:g} s")
                self._stopped.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                if not sent:
                    self._answered.wait(IDLE_SECONDS)
