"""The detector's turn: an image that was received becomes two documents, a report and a presentation state."""

from __future__ import annotations

from collections.abc import Callable

from overread.detection.documents import Documents, ImageReport, write_documents
from overread.detection.pipeline import Request, detect_image
from overread.errors import OverreadError, StorageError
from overread.node.spool import PRIVATE_FILE, Spool

__all__ = ["Worker"]

# Attempts at an image during which the process died; chosen by eye: a power cut or two must not cost an image.
MOST_TRIES = 3
KINDS = Documents(sr=True, gsps=True, mode=PRIVATE_FILE)


class Worker:
    """Works on one image after the other.

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
        tries = ledger.count_try(entry.sop_uid)
        if tries > MOST_TRIES:
            self._fail(entry.sop_uid, f"the node stopped {MOST_TRIES} times while it worked on this image")
            return True
        report = self._detect(entry.sop_uid)
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
        """Look for detections in an image; None where it failed, also because its file cannot be read."""
        try:
            path = self._spool.image_path(sop_uid)
            report = detect_image(self._request, path, self._mm_per_px)[2]
            assert report is not None, "the request asks for documents"
        except Exception as error:
            self._fail(sop_uid, describe(error))
            return None
        return report

    def _fail(self, sop_uid: str, reason: str) -> None:
        reason = reason.replace(f"{self._spool.folder}/images/{sop_uid}.dcm: ", "")
        self._spool.ledger.fail(sop_uid, reason)
        self._log(f"image {sop_uid} failed: {reason}")


def describe(error: Exception) -> str:
    """Say what went wrong with an image."""
    if isinstance(error, OverreadError):
        return str(error)
    return f"failed in a way that nobody foresaw: {error!r}"
