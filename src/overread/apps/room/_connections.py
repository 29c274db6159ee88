"""Connections to a room: who says nothing, or says it slowly, keeps nobody else out."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# Connections at once; thirty readers' browsers have six each at most.
LARGEST_CROWD = 400
# A browser sends the head of a request, about a kilobyte, as soon as it is connected. Chosen by eye.
HEAD_SECONDS = 5.0


class BoundedConnection(H11Protocol):
    """Connection whose requests begin within some seconds, and which makes way for others while it sends nothing.

    uvicorn waits for the head of a request without limit, and its own bound on connections refuses readers and
    strangers alike.
    """

    _since = 0.0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; in a crowd, the one that has been waited for longest goes.

        Where all others are at work that is the new one.
        """
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > LARGEST_CROWD:
            waiting = [one for one in self.connections if isinstance(one, BoundedConnection) and one._waits]
            oldest = min(waiting, key=lambda one: one._since)
            # At once, so that the next newcomer does not count it.
            self.connections.discard(oldest)
            oldest.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take what has come; the head of a request has to be whole in time, however slowly it comes."""
        if self._patience is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _waits(self) -> bool:
        """Whether the next word is the other side's."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _expect_head(self) -> None:
        self._since = self.loop.time()
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
