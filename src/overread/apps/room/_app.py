"""The room as a web application: routes, page, and security headers.

The files of the page are read once. Their addresses contain a digest, so that browsers can cache them.

`serve` runs a room until it is stopped.
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
# These files contain nothing personal, so proxies may cache them too. One year is the longest that HTTP recommends.
FOR_EVER = "public, max-age=31536000, immutable"
# Hexadecimal digits of a digest: 64 bits distinguish two versions of a page.
DIGITS = 16


class PageFiles:
    """Files of the page, the same for all people; their address ``place`` changes when any of them changes."""

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
        """Answer with the page, which browsers revalidate each time."""
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
    """Error answer for the page; messages of the disk or of a bug stay in the server's log."""
    if isinstance(error, HTTPException):
        error = RefusalError("this page does not exist", "unknown", 404)  # the address is not repeated
    elif not isinstance(error, OverreadError):
        error = RefusalError("internal error; tell the study's owner", "bug", 500)
    elif not isinstance(error, RefusalError):
        error = RefusalError("the room cannot do this now; tell the study's owner", "room", 503)
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
    """Address of the room for readers.

    Parameters
    ----------
    url
        Address in the reader's browser, with the path under which a proxy serves it.

    Raises
    ------
    UsageError
        If it is not the address of a page.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise UsageError(f"--url {url!r}: give an address such as https://example.org/reading")
        self.url = url.rstrip("/") + "/"
        self.base = parts.path.rstrip("/")
        self.secure = parts.scheme == "https"
        self.host = (parts.hostname or "").lower()

    def knows(self, host: str) -> bool:
        """Whether a request to this host is meant for the room; other names could point to this machine.

        The port does not count, because a proxy may omit it.
        """
        name = PORT.sub("", host.lower())
        return name in (self.host, f"[{self.host}]", *LOOPBACK_NAMES)

    def link(self, secret: str) -> str:
        """Personal link; the part after # never leaves the browser, so that no log contains it."""
        return f"{self.url}#s={secret}"


class Guard:
    """Set headers on every answer, refuse other hosts, and remove the base path."""

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
            # A proxy may keep or remove the path.
            scope = {**scope, "path": path[len(base) :] or "/"}
        request, app = Request(scope), self._app
        if not self._address.knows(request.headers.get("host", "")):
            app = await _answer_refusal(
                request, RefusalError("no reading room has this address", "host", 421)
            )
        await app(scope, receive, send_guarded)


def make_app(room: Room, address: Address, limits: Limits | None = None) -> ASGIApp:
    """Make the application of a room."""
    # Browsers share cookies between the ports of a host, and rooms must not.
    known = room.store.setting("room") or secrets.token_hex(4)
    room.store.set_setting("room", known)
    cookie, path, limits = f"overread_{known}", address.base or "/", limits or Limits()

    async def enter_room(request: Request) -> Response:
        """Start a session with the secret of a link."""
        check_same_site(request)
        secret = (await read_body(request)).get("secret")
        if not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET:
            raise RefusalError("secret: give the part of the link after #s=")
        entered = await run_in_threadpool(enter, room.store, secret)
        if entered is None:
            limits.entrances.spend(request.client.host if request.client else "")
            raise RefusalError(
                "this link is invalid or was revoked; ask the study's owner for a new one", "link", 401
            )
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
# Idle connections are closed after these seconds; a page opens another if needed. Set by judgement.
KEEP_ALIVE = 30
STOP_SECONDS = 5
BACKLOG = 128
# Number of the option in glibc's malloc.h.
M_MMAP_THRESHOLD = -3
# Size in bytes from which a block is allocated by the system; far below an image, far above the rest. By judgement.
OWN_BLOCK = 1 << 20


def check_reachable(host: str, url: str | None) -> None:
    """Refuse to listen on a public address without --url."""
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    if not near and url is None:
        raise UsageError(
            f"--host {host}: other machines can reach this address. Give --url, and use an https proxy "
            "(docs/how-to/reading_room.md)"
        )


def check_proxy(proxy: str) -> str:
    """Return the address of a proxy."""
    try:
        return str(ipaddress.ip_address(proxy))
    except ValueError as error:
        raise UsageError(
            f"--proxy {proxy!r}: give the address from which the proxy connects, such as 127.0.0.1"
        ) from error


def bind(host: str, port: int) -> socket.socket:
    """Listen at an address; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name, because asyncio sets TCP_NODELAY only for sockets with this protocol.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # At once, so that early requests wait instead of being refused.
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise StorageError(
            f"cannot listen at {host}:{port}: {reason} (--port 0 takes a free port)"
        ) from error
    listening.set_inheritable(False)
    return listening


def _give_back_memory() -> bool:
    """Make the C library return the memory of each freed image to the system; return whether it does.

    By default, glibc raises the size from which it asks the system for a separate block, and freed images leave holes:
    30 readers at once took 772 MB instead of 528 (2048 x 2048 pixels of 16 bits; 128 MB are kept).
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
