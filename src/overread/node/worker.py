"""The detector's turn: an image that was received becomes two documents, a report and a presentation state."""

from __future__ import annotations

from collections.abc import Callable

from overread.detection.documents import Documents, write_documents
from overread.detection.pipeline import Request, detect_image
from overread.errors import OverreadError, StorageError
from overread.node.spool import Spool

__all__ = ["Worker"]

# Attempts at an image during which the process died; chosen by eye: a power cut or two must not cost an image.
MOST_TRIES = 3


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
        path = self._spool.image_path(entry.sop_uid)
        try:
            _, candidates, report = detect_image(self._request, path, self._mm_per_px)
            observer = f"Overread {self._request.detector.name}"
            assert report is not None, "the request asks for documents"
            files = write_documents([report], observer, self._spool.documents, Documents(sr=True, gsps=True))
        except StorageError:
            ledger.wait_again(entry.sop_uid)
            raise
        except OverreadError as error:
            self._fail(entry.sop_uid, str(error).replace(f"{path}: ", ""))
        except Exception as error:  # one image that finds a bug of ours must not cost the others
            self._fail(entry.sop_uid, f"failed in a way that nobody foresaw: {error!r}")
        else:
            ledger.answer(entry.sop_uid, files, int(candidates["shown"].sum()))
        return True

    def _fail(self, sop_uid: str, reason: str) -> None:
        self._spool.ledger.fail(sop_uid, reason)
        self._log(f"image {sop_uid} failed: {reason}")
