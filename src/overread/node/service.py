"""A running node: receiver, worker and sender together, until it is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from overread.detection.pipeline import Request
from overread.errors import OverreadError
from overread.node.receiver import Receiver, quiet_network_log
from overread.node.sender import Sender
from overread.node.settings import NodeSettings
from overread.node.spool import Spool
from overread.node.worker import Worker

__all__ = ["Node"]

# Without news, look for work this often; chosen by eye: only a missed wake-up would have to wait so long.
IDLE_SECONDS = 1.0
# A destination that does not answer is asked again after 1, 2, 4, ... seconds, at most a minute; chosen by eye.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Node:
    """A node, which runs within its ``with`` block.

    Parameters
    ----------
    settings
        How it listens and where it sends.
    request
        What is asked of the detector, with documents.
    folder
        Spool; a node that was stopped or killed goes on with it. The caller holds its lock.
    mm_per_px
        Size of a pixel where an image does not say.
    log
        Is told, in one line, of what goes wrong.

    Attributes
    ----------
    port
        Where it listens.
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
        self._settings, self._log = settings, log
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
        self._spool.recover(keep_done=self._settings.keep)
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
        """Wait until the node stops by itself, which only a fault makes it do, or so many seconds.

        Raises
        ------
        BaseException
            The fault.
        """
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

    def is_idle(self) -> bool:
        """Whether every image is done or failed."""
        return self._spool.ledger.count_waiting() == 0

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
                self._log(
                    f"{self._settings.destination} does not take documents now; next try in {pause:g} s"
                )
                self._stopped.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE
                if not sent:
                    self._answered.wait(IDLE_SECONDS)
