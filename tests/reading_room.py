"""What the tests of the reading room share: a small study, its room, and visitors who speak HTTP to it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd

from overread.images import write_png16
from overread.reading.app import Address, make_app
from overread.reading.doorkeeper import Limits
from overread.reading.people import add_person
from overread.reading.rate_limits import RateLimit
from overread.reading.room import Room, open_room
from overread.tables import write_table

URL = "http://127.0.0.1:8765"
WIDTH, HEIGHT, MM = 80, 60, 0.5


def make_study(folder: Path, n_images: int = 4) -> Path:
    """Write a study of small 16-bit images without marks."""
    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(0)
    names = [f"case{number}" for number in range(n_images)]
    for name in names:
        write_png16(
            folder / "images" / f"{name}.png", rng.integers(0, 60000, (HEIGHT, WIDTH), dtype=np.uint16)
        )
    table = pd.DataFrame(
        {
            "image_id": names,
            "patient_id": [f"P{number}" for number in range(n_images)],
            "path": [f"images/{name}.png" for name in names],
            "mm_per_px_x": MM,
            "mm_per_px_y": MM,
        }
    )
    write_table(table, folder / "images.csv")
    return folder


def write_detections(path: Path, rows: Sequence[tuple[str, float, float]]) -> Path:
    """Write a table of detections: image, x and y in px."""
    table = pd.DataFrame(
        {
            "image_id": [row[0] for row in rows],
            "candidate_id": [f"c{number}" for number in range(len(rows))],
            "x_mm": [row[1] * MM for row in rows],
            "y_mm": [row[2] * MM for row in rows],
            "radius_mm": 4.0,
            "score": [1.0 - 0.1 * number for number in range(len(rows))],
        }
    )
    write_table(table, path)
    return path


def open_limits() -> Limits:
    """No limits that a fast test would meet."""
    return Limits(*(RateLimit(1e6, 1e6) for _ in range(3)))


def new_id() -> str:
    return str(uuid.uuid4())


class Visitor:
    """A browser: keeps the cookie, sends the proof of origin."""

    def __init__(self, app: Any, secret: str | None = None, url: str = URL) -> None:
        self.app, self.url, self.cookies, self.csrf = app, url, httpx.Cookies(), ""
        if secret is not None:
            answer = self.ask("POST", "/api/enter", {"secret": secret})
            assert answer.status_code == 200, answer.text
            self.csrf = answer.json()["csrf"]

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url=self.url, cookies=self.cookies
            ) as client:
                sent = {"X-CSRF": self.csrf, **(headers or {})}
                if content is not None:
                    return await client.request(method, path, headers=sent, content=content)
                return await client.request(method, path, headers=sent, json=body)

        answer = asyncio.run(send())
        self.cookies.update(answer.cookies)
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

    def pass_over(self, item: str) -> Any:
        """Say that there is nothing, and lock."""
        self.act("POST", f"/api/items/{item}/nothing", on=True)
        return self.act("POST", f"/api/items/{item}/lock")


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

    def image_of(self, item: str) -> str:
        return str(self.room.store.rows("SELECT image_id FROM items WHERE item = ?", (item,))[0][0])

    def item_of(self, name: str, image: str, presentation: int = 0) -> str:
        query = "SELECT item FROM items WHERE person = ? AND image_id = ? AND presentation = ? AND kind = 'reading'"
        return str(self.room.store.rows(query, (name, image, presentation))[0][0])
