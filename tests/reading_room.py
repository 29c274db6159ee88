"""What the tests of the reading room share: a small study, its room, and visitors who speak HTTP to it."""

import asyncio
import json
import threading
import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd

from overread.apps.room._app import Address, make_app
from overread.apps.room._gate import Limits, RateLimit
from overread.apps.room._people import add_person
from overread.apps.room._room import Room, open_room
from overread.images import write_png16
from overread.tables import write_table

URL = "http://127.0.0.1:8765"
WIDTH, HEIGHT, MM = 80, 60, 0.5


def make_study(folder: Path, n_images: int = 4, seed: int = 0) -> Path:
    """Write a study of small 16-bit images without marks."""
    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(seed)
    names = [f"case{number}" for number in range(n_images)]
    for name in names:
        pixels = rng.integers(0, 60000, (HEIGHT, WIDTH), dtype=np.uint16)
        write_png16(folder / "images" / f"{name}.png", pixels)
    table = pd.DataFrame({"image_id": names, "patient_id": [f"P{number}" for number in range(n_images)]})
    paths = [f"images/{name}.png" for name in names]
    write_table(table.assign(path=paths, mm_per_px_x=MM, mm_per_px_y=MM), folder / "images.csv")
    return folder


def write_detections(path: Path, rows: Sequence[tuple[str, float, float]]) -> Path:
    """Write a table of detections: image, x and y in px."""
    table = pd.DataFrame(rows, columns=["image_id", "x_mm", "y_mm"])
    number = np.arange(len(rows))
    ids = {"candidate_id": [f"c{one}" for one in number], "radius_mm": 4.0, "score": 1.0 - 0.1 * number}
    write_table(table.assign(x_mm=table["x_mm"] * MM, y_mm=table["y_mm"] * MM, **ids), path)
    return path


def write_readings(
    folder: Path,
    images: Sequence[str],
    readers: Sequence[str],
    marks: Sequence[tuple[str, str, float, float]],
) -> None:
    """Write readings of images by readers, and marks: image, reader, x and y in mm; circles of 5 mm."""
    table = pd.DataFrame(marks, columns=["image_id", "reader_id", "x_mm", "y_mm"])
    table.insert(2, "mark_id", [f"m{number}" for number in range(len(marks))])
    write_table(table.assign(semi_major_mm=5.0, semi_minor_mm=5.0, angle_deg=0.0), folder / "marks.csv")
    pairs = [(image, reader) for image in images for reader in readers]
    write_table(pd.DataFrame(pairs, columns=["image_id", "reader_id"]), folder / "readings.csv")


def open_limits() -> Limits:
    """No limits that a fast test would meet."""
    return Limits(*(RateLimit(1e6, 1e6) for _ in range(2)))


def new_id() -> str:
    return str(uuid.uuid4())


class Answer:
    """What an application answers."""

    def __init__(self, status_code: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
        self.status_code, self.content = status_code, content
        self.headers = {name.decode().lower(): value.decode() for name, value in headers}

    @property
    def text(self) -> str:
        return self.content.decode(errors="replace")

    def json(self) -> Any:
        return json.loads(self.content)


@cache
def shared_loop() -> asyncio.AbstractEventLoop:
    """One event loop in a thread of its own, for all requests: a loop for each would start threads each time."""
    loop = asyncio.new_event_loop()
    # A task that lasts keeps the threads in which the application works.
    lasting = asyncio.Event().wait()
    threading.Thread(target=loop.run_until_complete, args=(lasting,), daemon=True).start()
    return loop


async def send_request(app: Any, scope: dict[str, Any], body: bytes) -> Answer:
    """Speak ASGI to an application."""
    sent: list[Any] = []
    arriving = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if arriving:
            return arriving.pop()
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    # The server answers an exception before it passes it on.
    with suppress(Exception):
        await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], sent[0]["headers"], content)


class Visitor:
    """A browser: keeps the cookie, sends the proof of origin."""

    def __init__(self, app: Any, secret: str | None = None, url: str = URL) -> None:
        self.app, self.host, self.csrf = app, url.partition("//")[2].partition("/")[0], ""
        self.cookies: dict[str, str] = {}
        if secret is not None:
            answer = self.ask("POST", "/api/enter", {"secret": secret})
            assert answer.status_code == 200, answer.text
            self.csrf = answer.json()["csrf"]

    def scope(self, method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
        """Request as a server hands it to an application."""
        sent = {"host": self.host, "x-csrf": self.csrf}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        place, _, query = path.partition("?")
        return {
            "type": "http",
            "method": method,
            "path": unquote(place),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in (sent | headers).items()],
            "client": ("127.0.0.1", 50000),
        }

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> Answer:
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if content is None and body is not None:
            content, sent = json.dumps(body).encode(), {"content-type": "application/json"} | sent
        work = send_request(self.app, self.scope(method, path, sent), content or b"")
        answer = asyncio.run_coroutine_threadsafe(work, shared_loop()).result(timeout=60)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def act(self, method: str, path: str, **body: Any) -> Any:
        answer = self.ask(method, path, {"op": new_id(), **body})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def items(self) -> list[str]:
        return [entry["item"] for entry in self.get("/api/worklist")]

    def draw(self, item: str, x: float, y: float, **more: Any) -> str:
        """Draw a mark and return its id."""
        mark = new_id()
        values = {"x": x, "y": y, "rx": 8.0, "ry": 5.0, "angle": 30.0, "confidence": 80, **more}
        self.act("PUT", f"/api/items/{item}/marks/{mark}", **values)
        return mark

    def do(self, item: str, what: str, **body: Any) -> Any:
        """Do an act on an item: ``lock``, ``decisions/D1``, ..."""
        return self.act("POST", f"/api/items/{item}/{what}", **body)

    def change(self, item: str, mark: str, x: float, y: float, **more: Any) -> Any:
        """Give a mark new values."""
        return self.act(
            "PUT", f"/api/items/{item}/marks/{mark}", **{"x": x, "y": y, "rx": 3, "ry": 3, "angle": 0, **more}
        )

    def refused(self, item: str, what: str, method: str = "POST", **body: Any) -> tuple[int, str]:
        """Status and code of an act that is refused."""
        answer = self.ask(method, f"/api/items/{item}/{what}", {"op": new_id(), **body})
        return answer.status_code, answer.json()["code"]

    def state(self, item: str) -> Any:
        return self.get(f"/api/items/{item}")

    def pass_over(self, item: str) -> Any:
        """Say that there is nothing, and lock."""
        self.do(item, "nothing", on=True)
        return self.do(item, "lock")


class OpenRoom:
    """A prepared room with its people's secrets."""

    def __init__(
        self,
        folder: Path,
        readers: Sequence[str] = ("Anna", "Ben"),
        *,
        detector: Path | None = None,
        limits: Limits | None = None,
        url: str = URL,
        **plan: Any,
    ) -> None:
        self.room: Room = open_room(folder)
        self.room.change_labels(["nodule", "mass"])
        self.room.change_plan(**plan)
        self.secrets = {name: add_person(self.room.store, name, "reader") for name in readers}
        self.secrets["Chair"] = add_person(self.room.store, "Chair", "chair")
        self.secrets["owner"] = add_person(self.room.store, "owner", "owner")
        self.ready = self.room.prepare(detector)
        self.url = url
        self.app = make_app(self.room, Address(url), limits or open_limits())

    def visit(self, name: str) -> Visitor:
        return Visitor(self.app, self.secrets[name], self.url)

    def finish(
        self, name: str, images: Sequence[str] | None = None, *, mark: bool = True, **more: Any
    ) -> None:
        """Let a reader finish images, all by default: in 4 s each, with a mark at (20, 30) px or with nothing."""
        visitor = self.visit(name)
        for item in visitor.items() if images is None else [self.item_of(name, image) for image in images]:
            visitor.do(item, "time", active_ms=4000, paused_ms=0)
            if mark:
                visitor.draw(item, 20, 30, **more)
                visitor.do(item, "lock")
            else:
                visitor.pass_over(item)

    def image_of(self, item: str) -> str:
        return str(self.room.store.rows("SELECT image_id FROM items WHERE item = ?", (item,))[0][0])

    def item_of(self, name: str, image: str, presentation: int = 0) -> str:
        query = "SELECT item FROM items WHERE person = ? AND image_id = ? AND presentation = ? AND kind = 'reading'"
        return str(self.room.store.rows(query, (name, image, presentation))[0][0])
