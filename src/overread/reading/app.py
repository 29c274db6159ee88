"""The room as a web application: its routes, its page, and headers that keep a browser from doing anything else."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overread.errors import OverreadError, UsageError
from overread.reading.doorkeeper import Doorkeeper, Limits, check_same_site, read_body, refusal_answer
from overread.reading.page_files import PageFiles
from overread.reading.people import end_session, enter
from overread.reading.room import Room
from overread.reading.routes import room_routes
from overread.reading.store import RefusalError, Store

__all__ = ["Address", "make_app", "make_link"]

PAGE = Path(__file__).with_name("page")
LONGEST_SECRET = 128
PORT = re.compile(r":[0-9]*$")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Address:
    """Where readers find the room.

    Parameters
    ----------
    url
        As the reader's browser sees it, with the path under which a proxy serves it.

    Raises
    ------
    UsageError
        If it is no address of a page.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise UsageError(f"--url {url!r}: an address such as https://example.org/reading")
        self.url = url.rstrip("/") + "/"
        self.base = parts.path.rstrip("/")
        self.secure = parts.scheme == "https"
        self.host = (parts.hostname or "").lower()

    def knows(self, host: str) -> bool:
        """Whether a request to this host is meant for the room: a foreign name may be made to lead here.

        A proxy may leave the port out, so that it does not count.
        """
        name = PORT.sub("", host.lower())
        return name in (self.host, f"[{self.host}]", *LOOPBACK_NAMES)


def make_link(address: Address, secret: str) -> str:
    """Personal link; what follows the # never leaves the browser, so that no log has it."""
    return f"{address.url}#s={secret}"


class Guard:
    """Sets headers on every answer, refuses foreign hosts, and takes the base path off."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app, self._address = app, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        base, path = self._address.base, scope["path"]
        if base and (path == base or path.startswith(f"{base}/")):
            # A proxy may leave the path as it is, or take it off; both come out the same.
            scope = {**scope, "path": path[len(base) :] or "/"}
        if not self._address.knows(Request(scope).headers.get("host", "")):
            refusal = JSONResponse({"error": "no room goes by this name here", "code": "host"}, 421)
            await refusal(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)


def make_app(room: Room, address: Address, limits: Limits | None = None) -> ASGIApp:
    """Make the application of a room.

    Parameters
    ----------
    room
        Prepared.
    address
        Where readers find it.
    limits
        How often may be asked.
    """
    cookie = f"overread_{room_id(room.store)}"
    keeper = Doorkeeper(room, cookie, limits or Limits())
    page = PageFiles(PAGE)
    routes = [
        Route("/", page.index, methods=["GET"]),
        Route(f"{page.place}/{{name}}", page.file, methods=["GET"]),
        Route("/api/enter", Entrance(keeper, address).enter, methods=["POST"]),
        Route("/api/leave", Entrance(keeper, address).leave, methods=["POST"]),
        *room_routes(keeper),
    ]
    handlers = {404: not_found, 405: not_found, 500: failure}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), address)


def room_id(store: Store) -> str:
    """Name of the room's cookie: browsers share cookies between the ports of a host, and rooms must not."""
    known = store.setting("room")
    if known is None:
        known = secrets.token_hex(4)
        store.set_setting("room", known)
    return str(known)


class Entrance:
    """Turns a personal link into a session, and ends it."""

    def __init__(self, keeper: Doorkeeper, address: Address) -> None:
        self._keeper, self._address = keeper, address

    async def enter(self, request: Request) -> Response:
        """Begin a session with the secret of a link."""
        limits, store = self._keeper.limits, self._keeper.room.store
        try:
            check_same_site(request)
            body = await read_body(request)
            secret = body.get("secret")
            if not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET:
                raise RefusalError("secret: the part of the link after #s=")
            entered = await run_in_threadpool(enter, store, secret)
            if entered is None:
                limits.entrances.spend(request.client.host if request.client else "")
                raise RefusalError(
                    "this link is not valid, or was revoked; ask the study's owner", "link", 401
                )
        except OverreadError as error:
            return refusal_answer(error)
        token, person = entered
        answer = JSONResponse({"name": person.name, "role": person.role, "csrf": person.csrf})
        answer.set_cookie(
            self._keeper.cookie,
            token,
            path=self._address.base or "/",
            secure=self._address.secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def leave(self, request: Request) -> Response:
        """End the session."""
        try:
            person = await self._keeper.identify(request)
            self._keeper.check_origin(request, person)
        except OverreadError as error:
            return refusal_answer(error)
        token = request.cookies.get(self._keeper.cookie, "")
        await run_in_threadpool(end_session, self._keeper.room.store, token)
        answer = JSONResponse({})
        answer.delete_cookie(self._keeper.cookie, path=self._address.base or "/")
        return answer


async def not_found(request: Request, error: Exception) -> Response:
    """Answer to what is not there; nothing of the address is repeated."""
    return JSONResponse({"error": "there is nothing here", "code": "unknown"}, 404)


async def failure(request: Request, error: Exception) -> Response:
    """Answer to a bug of ours; its text stays in the server's log."""
    return JSONResponse({"error": "something went wrong; tell the study's owner", "code": "bug"}, 500)
