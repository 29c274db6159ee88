"""Checks before a request reaches the room: its size, its sender, and that it comes from the room's page.

Rates are limited by buckets that fill with time and are emptied by requests.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from overread.apps.room._people import Person, find_session
from overread.apps.room._room import Room
from overread.apps.room._store import Act, RefusalError
from overread.apps.room._values import check_id
from overread.files import parse_json

# Most buckets that are kept; the least used is dropped first, because it would be full again.
LARGEST_COUNT = 10_000


class TooOftenError(RefusalError):
    """Too many requests; the page tries again after some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many requests; wait a moment", "often", 429)
        self.retry_after = max(1, math.ceil(seconds))


class RateLimit:
    """Limit requests per key: ``burst`` at once and ``per_second`` in the long run."""

    def __init__(
        self, per_second: float, burst: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = per_second, burst, clock
        # Remaining requests, and the time of that count.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str) -> None:
        """Count a request."""
        now = self._clock()
        left, at = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        is_enough = left >= 1.0
        self._buckets[key] = (left - is_enough, now)
        if len(self._buckets) > LARGEST_COUNT:
            self._buckets.popitem(last=False)
        if not is_enough:
            raise TooOftenError((1.0 - left) / self._rate)


LARGEST_BODY = 32 << 10
# A page sends at most a few kilobytes; a slower peer blocks a connection. Set by judgement.
BODY_SECONDS = 10.0


@dataclass(frozen=True)
class Limits:
    """Limits of request rates; all numbers are set by judgement.

    Attributes
    ----------
    requests
        Requests of a person. Drawing sends one change per stroke, far below the limit.
    entrances
        Wrong secrets from one address. A correct secret is always accepted: a flood from one address, or from the proxy
        of all readers, must not keep readers out, and 256 bits cannot be guessed at any rate.
    """

    requests: RateLimit = field(default_factory=lambda: RateLimit(20.0, 200.0))
    entrances: RateLimit = field(default_factory=lambda: RateLimit(0.2, 10.0))


@dataclass(frozen=True)
class Call:
    """A request of a known person."""

    room: Room
    person: Person
    request: Request
    body: Mapping[str, Any]

    @property
    def path(self) -> dict[str, str]:
        """Parts of the address: the item, the mark, ..."""
        return self.request.path_params

    def act(self, what: str, item: str, **place: str) -> Act:
        """Return the requested act on this path of the item; its id is required."""
        body = {**{name: value for name, value in self.body.items() if name != "op"}, **place}
        return Act(self.person.name, check_id(self.body.get("op"), "op"), what, item, body)


def admit(
    room: Room, cookie: str, rate: RateLimit, work: Callable[[Call], Any], roles: Collection[str]
) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint that does its work in a thread, for people with one of these roles."""

    async def endpoint(request: Request) -> Response:
        token = request.cookies.get(cookie, "")
        person = await run_in_threadpool(find_session, room.store, token) if token else None
        if person is None:
            raise RefusalError("open your personal link again", "session", 401)
        rate.spend(person.name)
        if person.role not in roles:
            raise RefusalError("your role does not allow this", "role", 403)
        body = {}
        if request.method in ("POST", "PUT", "DELETE"):
            check_same_site(request)
            proof = request.headers.get("x-csrf", "").encode()
            if not hmac.compare_digest(proof, person.csrf.encode()):
                raise RefusalError("this request does not come from the room's page", "csrf", 403)
            body = await read_body(request)
        answer = await run_in_threadpool(work, Call(room, person, request, body))
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    return endpoint


def check_same_site(request: Request) -> None:
    """Refuse a request that, according to the browser, another site sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusalError("this request comes from another site", "csrf", 403)


async def read_body(request: Request) -> dict[str, Any]:
    """Read a JSON object from the body, within limits of size and time."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusalError("the body is not application/json", "body", 415)
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for block in request.stream():
                content += block
                if len(content) > LARGEST_BODY:
                    raise RefusalError(f"the body is longer than {LARGEST_BODY} bytes", "body", 413)
    except TimeoutError:
        raise RefusalError("the body arrived too slowly", "body", 408) from None
    except ClientDisconnect:
        raise RefusalError("the body did not arrive", "body", 400) from None
    body = parse_json(bytes(content), "the body", error=RefusalError)
    if not isinstance(body, dict):
        raise RefusalError("the body is not a JSON object", "body")
    return body


# Most connections at once; thirty readers' browsers have at most six each.
LARGEST_CROWD = 400
# A browser sends the head of a request, about a kilobyte, as soon as it is connected. Set by judgement.
HEAD_SECONDS = 5.0


class BoundedConnection(H11Protocol):
    """Connection that must send a request within some seconds, and that may be closed while idle.

    uvicorn waits for the head of a request without limit, and its limit on connections refuses readers too.
    """

    _since = 0.0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request; with too many connections, close the one idle for longest.

        If all others are busy, this is the new one.
        """
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > LARGEST_CROWD:
            waiting = [one for one in self.connections if isinstance(one, BoundedConnection) and one._waits]
            oldest = min(waiting, key=lambda one: one._since)
            # At once, so that the next connection does not count it.
            self.connections.discard(oldest)
            oldest.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take received bytes; the head of a request must be complete in time."""
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
        """Whether the other side must send next."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _expect_head(self) -> None:
        self._since = self.loop.time()
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
