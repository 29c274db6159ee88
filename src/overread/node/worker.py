"""The detector's turn: an image that was received becomes two documents, a report and a presentation state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from overread.detection.batch import PASSING, found_of, make_task
from overread.detection.documents import Documents, ImageReport, write_documents
from overread.detection.pipeline import DetectionPipeline, Request, detect_image, read_work
from overread.errors import OverreadError, StorageError
from overread.node.spool import PRIVATE_FILE, Spool
from overread.study.workers.isolation import IsolatedWorker, WorkLimits

__all__ = ["Worker"]

# Processes that may die of an image, each with nothing else to do; chosen by eye: one or two may have died of want of
# memory, or by somebody's hand.
MOST_DEATHS = 3
KINDS = Documents(sr=True, gsps=True, mode=PRIVATE_FILE)


class Worker:
    """Works on one image after the other.

    A node that dies, be it killed or out of memory, says nothing of the image that it worked on. That image is worked
    on again after all others, in a process that has nothing else to do; only if that process dies, `MOST_DEATHS`
    times, is the image given up.

    Parameters
    ----------
    spool
        Has the images, and gets the documents.
    request
        What is asked of the detector, with documents.
    mm_per_px
        Size of a pixel where an image does not say.
    log
        Is told, in one line, of images that failed.
    """

    def __init__(
        self,
        spool: Spool,
        request: Request,
        mm_per_px: tuple[float, float] | None,
        log: Callable[[str], None],
    ) -> None:
        self._spool, self._request, self._mm_per_px = spool, request, mm_per_px
        self._log = log

    def work(self) -> bool:
        """Work on the image that waits longest; return whether there was one.

        Raises
        ------
        StorageError
            If documents cannot be written; the image waits on.
        """
        ledger = self._spool.ledger
        entry = ledger.next_received()
        if entry is None:
            return False
        ledger.begin_work(entry.sop_uid)
        report = self._detect_alone(entry.sop_uid) if entry.tries else self._detect(entry.sop_uid)
        if report is None:
            return True
        try:
            files = write_documents(
                [report], f"Overread {self._request.detector.name}", self._spool.documents, KINDS
            )
        except StorageError:
            ledger.wait_again(entry.sop_uid)
            raise
        except Exception as error:  # one image that finds a bug of ours must not cost the others
            self._fail(entry.sop_uid, describe(error))
        else:
            ledger.answer(entry.sop_uid, files, len(report.marks))
        return True

    def _detect(self, sop_uid: str) -> ImageReport | None:
        """Look for detections in an image; None where there are none yet, or it failed: its file may not be read."""
        try:
            path = self._spool.image_path(sop_uid)
            report = detect_image(self._request, path, self._mm_per_px)[2]
            assert report is not None, "the request asks for documents"
        except MemoryError:
            self._log(
                f"image {sop_uid}: not enough memory; it will be worked on again, in a process of its own"
            )
            return None
        except Exception as error:
            self._fail(sop_uid, describe(error))
            return None
        return report

    def _detect_alone(self, sop_uid: str) -> ImageReport | None:
        """Look for detections in an image in a process of its own; None where there are none yet, or it failed."""
        try:
            path = self._spool.image_path(sop_uid)
        except OverreadError as error:
            self._fail(sop_uid, describe(error))
            return None
        with closing(IsolatedWorker(DetectionPipeline(self._request).spec(), WorkLimits())) as worker:
            outcome = worker.work(make_task(path, self._mm_per_px))
        if outcome.shard is not None:
            return found_of(path, read_work(outcome.shard)[0]).report
        assert outcome.fault is not None, "an outcome is one of the two"
        if outcome.fault.kind not in PASSING:
            self._fail(sop_uid, outcome.fault.reason)
            return None
        deaths = self._spool.ledger.count_death(sop_uid)
        if deaths < MOST_DEATHS:
            self._log(f"image {sop_uid}: {outcome.fault.reason}; it will be worked on again")
        else:
            self._fail(
                sop_uid,
                f"{deaths} processes with nothing but this image to work on did not live to its end, the last: "
                f"{outcome.fault.reason} (it is kept; to try again, send it again)",
            )
        return None

    def _fail(self, sop_uid: str, reason: str) -> None:
        reason = reason.replace(f"{self._spool.folder}/images/{sop_uid}.dcm: ", "")
        self._spool.ledger.fail(sop_uid, reason)
        self._log(f"image {sop_uid} failed: {reason}")


def describe(error: Exception) -> str:
    """Say what went wrong with an image."""
    if isinstance(error, OverreadError):
        return str(error)
    return f"failed in a way that nobody foresaw: {error!r}"
