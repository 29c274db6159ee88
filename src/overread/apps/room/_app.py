"""The room as a web application: its routes, its page, and headers that keep a browser from doing anything else.

The page's own files, read once; each address holds what the file holds, so that a browser need not ask again.

Runs a room until it is stopped.
"""

from __future__ import annotations

import ctypes
import hashlib
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from overread.apps.room._gate import (
    BoundedConnection,
    Call,
    Limits,
    TooOftenError,
    admit,
    check_same_site,
    read_body,
)
from overread.apps.room._people import end_session, enter
from overread.apps.room._room import Room
from overread.apps.room._routes import ENDPOINTS, ROLES
from overread.apps.room._store import ROOM_FILE, RefusalError
from overread.errors import OverreadError, StorageError, UsageError
from overread.files import folder_lock

INDEX = "index.html"
KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Nothing in these files is anybody's, so that proxies may keep them too. A year is what HTTP calls for ever.
FOR_EVER = "public, max-age=31536000, immutable"
# Hexadecimal digits of a digest: 64 bits distinguish two versions of a page.
DIGITS = 16


class PageFiles:
    """Files of the page, the same for everybody; ``place``, where they are served, changes when any of them does."""

    def __init__(self, folder: Path) -> None:
        files = sorted(path for path in folder.iterdir() if path.suffix in KINDS)
        self._files = {path.name: path.read_bytes() for path in files}
        digest = hashlib.sha256()
        for name, content in self._files.items():
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        version = digest.hexdigest()[:DIGITS]
        self.place, self._tag = f"/static/{version}", f'"{version}"'
        self._index = self._files.pop(INDEX).replace(b'"static/', f'"static/{version}/'.encode())

    async def index(self, request: Request) -> Response:
        """Answer with the page; a browser asks each time whether it is new."""
        headers = {"Cache-Control": "no-cache", "ETag": self._tag}
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        return Response(self._index, headers=headers, media_type=KINDS[".html"])

    async def file(self, request: Request) -> Response:
        """Answer with a file of the page."""
        name = request.path_params["name"]
        if name not in self._files:
            raise HTTPException(404)
        headers = {"Cache-Control": FOR_EVER}
        return Response(self._files[name], headers=headers, media_type=KINDS[Path(name).suffix])


async def _answer_refusal(request: Request, error: Exception) -> Response:
    """Answer that a page understands as an error; what the disk or a bug says stays in the server's log."""
    if isinstance(error, HTTPException):
        error = RefusalError("there is nothing here", "unknown", 404)  # nothing of the address is repeated
    elif not isinstance(error, OverreadError):
        error = RefusalError("something went wrong; tell the study's owner", "bug", 500)
    elif not isinstance(error, RefusalError):
        error = RefusalError("the room cannot do this now; tell its owner", "room", 503)
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, TooOftenError) else None
    return JSONResponse({"error": str(error), "code": error.code, **error.more}, error.status, headers)


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

    def link(self, secret: str) -> str:
        """Personal link; what follows the # never leaves the browser, so that no log has it."""
        return f"{self.url}#s={secret}"


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
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        base, path = self._address.base, scope["path"]
        if base and (path == base or path.startswith(f"{base}/")):
            # A proxy may leave the path as it is, or take it off; both come out the same.
            scope = {**scope, "path": path[len(base) :] or "/"}
        request, app = Request(scope), self._app
        if not self._address.knows(request.headers.get("host", "")):
            app = await _answer_refusal(request, RefusalError("no room goes by this name here", "host", 421))
        await app(scope, receive, send_guarded)


def make_app(room: Room, address: Address, limits: Limits | None = None) -> ASGIApp:
    """Make the application of a room."""
    # Browsers share cookies between the ports of a host, and rooms must not.
    known = room.store.setting("room") or secrets.token_hex(4)
    room.store.set_setting("room", known)
    cookie, path, limits = f"overread_{known}", address.base or "/", limits or Limits()

    async def enter_room(request: Request) -> Response:
        """Begin a session with the secret of a link."""
        check_same_site(request)
        secret = (await read_body(request)).get("secret")
        if not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET:
            raise RefusalError("secret: the part of the link after #s=")
        entered = await run_in_threadpool(enter, room.store, secret)
        if entered is None:
            limits.entrances.spend(request.client.host if request.client else "")
            raise RefusalError("this link is not valid, or was revoked; ask the study's owner", "link", 401)
        token, person = entered
        answer = JSONResponse(vars(person))
        answer.set_cookie(cookie, token, path=path, secure=address.secure, httponly=True, samesite="strict")
        return answer

    def leave_room(call: Call) -> Response:
        """End the session."""
        end_session(room.store, call.request.cookies[cookie])
        answer = JSONResponse({})
        answer.delete_cookie(cookie, path=path)
        return answer

    page, endpoints = PageFiles(PAGE), [("POST", "/api/leave", leave_room, ROLES), *ENDPOINTS]
    routes = [
        Route("/", page.index, methods=["GET"]),
        Route(f"{page.place}/{{name}}", page.file, methods=["GET"]),
        Route("/api/enter", enter_room, methods=["POST"]),
    ]
    for method, place, work, roles in endpoints:
        endpoint = admit(room, cookie, limits.requests, work, roles)
        routes.append(Route(place, endpoint, methods=[method]))
    handlers = dict.fromkeys((HTTPException, OverreadError, Exception), _answer_refusal)
    return Guard(Starlette(routes=routes, exception_handlers=handlers), address)


IS_HELD = "another process serves this room (process {holder}); stop it first"
# Idle connections are closed after this, seconds; a page opens another when it needs one. Set by judgement.
KEEP_ALIVE = 30
STOP_SECONDS = 5
BACKLOG = 128
# Number of the option in glibc's malloc.h.
M_MMAP_THRESHOLD = -3
# Bytes from which a block is the system's; far below an image, far above everything else. Set by judgement.
OWN_BLOCK = 1 << 20


def check_reachable(host: str, url: str | None) -> None:
    """Refuse to listen where others can reach the room, unless its address there is said."""
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    if not near and url is None:
        raise UsageError(
            f"--host {host}: others can reach it there; say at which address with --url, and put a proxy with https "
            "in front (docs/how-to/reading_room.md)"
        )


def check_proxy(proxy: str) -> str:
    """Return the address of a proxy."""
    try:
        return str(ipaddress.ip_address(proxy))
    except ValueError as error:
        raise UsageError(
            f"--proxy {proxy!r}: the address that the proxy asks from, such as 127.0.0.1"
        ) from error


def bind(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio sends small answers at once (TCP_NODELAY) only where a socket says that it speaks TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # At once: who comes before the application answers waits instead of being refused.
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"cannot listen at {host}:{port}: {reason} (--port 0 takes a free one)") from error
    listening.set_inheritable(False)
    return listening


def _give_back_memory() -> bool:
    """Let the C library return the memory of each image when it is freed; whether it does is returned.

    Left alone, glibc raises the size from which it asks the system for a block of its own, and images that come and go
    leave holes: 30 readers at once took 772 MB instead of 528 (2048 x 2048 pixels of 16 bits; 128 MB are kept).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, OWN_BLOCK))


def serve(
    room: Room,
    listening: socket.socket,
    address: Address,
    *,
    limits: Limits | None = None,
    proxy: str | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve a room until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        make_app(room, address, limits),
        http=BoundedConnection,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    _give_back_memory()
    with folder_lock((room.folder / ROOM_FILE).parent, "lock", IS_HELD):
        ready()
        # uvicorn passes on the signal that stopped it.
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
