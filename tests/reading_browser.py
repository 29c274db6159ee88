"""A reading room that a browser visits: a small study, a server in a thread, and hands on mouse, keys and screen."""

from __future__ import annotations

import io
import json
import threading
import time
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import numpy as np
import pandas as pd
import uvicorn
from PIL import Image

from overread.apps.room._app import Address, bind, make_app
from overread.apps.room._people import add_person
from overread.apps.room._room import Room, open_room
from overread.apps.room._store import Act
from overread.images import write_png16

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

WIDTH, HEIGHT = 640, 800
# Small for a desk, because the picture is drawn without a graphics card.
DESK = (960, 640)
PHONE = (390, 844)
ENTER, ESCAPE, TAB, DELETE, SHIFT, CONTROL = "\ue007", "\ue00c", "\ue004", "\ue017", "\ue008", "\ue009"
LEFT, RIGHT, DOWN = "\ue012", "\ue014", "\ue015"
MARKS, DETECTIONS = ".overlay .mark", ".overlay .detection"
# Bright dots of each picture: centres in pixels from the top-left corner.
DOTS = ((200.5, 250.5), (430.5, 310.5), (330.5, 600.5))


def dotted_picture(seed: int) -> np.ndarray:
    """A dim field with dots of 3 px that a screenshot finds again."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    # The bright strip keeps the window wide.
    field = 4000 + 500 * np.sin(columns / 90 + seed) * np.cos(rows / 70) + 46000 * (columns > 600)
    for x, y in DOTS:
        field += 45000 * np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / (2 * 3.0**2))
    return np.clip(field, 0, 65535).astype(np.uint16)


def write_study(folder: Path, spacings: dict[str, tuple[float, float]], first_seed: int = 0) -> Path:
    folder.mkdir()
    rows = []
    for seed, (image, (mm_x, mm_y)) in enumerate(spacings.items(), start=first_seed):
        write_png16(folder / f"{image}.png", dotted_picture(seed))
        rows.append((image, f"P{seed}", f"{image}.png", mm_x, mm_y))
    columns = ["image_id", "patient_id", "path", "mm_per_px_x", "mm_per_px_y"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "images.csv", index=False)
    return folder


def write_detections(path: Path, rows: Sequence[tuple[str, float, float]]) -> Path:
    """Write a table of detections: image, x and y in mm, the strongest of an image first."""
    table = pd.DataFrame(rows, columns=["image_id", "x_mm", "y_mm"])
    number = table.groupby("image_id").cumcount()
    names = table["image_id"] + "-" + number.astype(str)
    table.assign(candidate_id=names, radius_mm=6.0, score=0.9 - 0.2 * number).to_csv(path, index=False)
    return path


class ServedRoom:
    """A room that is open at a port of this machine; it can be closed and opened again at the same port."""

    def __init__(
        self, folder: Path, *, readers: tuple[str, ...], chair: str | None = None, **settings: Any
    ) -> None:
        self.room: Room = open_room(folder)
        detector = settings.pop("detector", None)
        if (training := settings.pop("training", None)) is not None:
            self.room = self.room.with_training(training)
        self.room.change_labels(settings.pop("labels", ("nodule", "calcification")))
        self.room.change_plan(**settings)
        self.listening = bind("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        self.address = Address(f"http://127.0.0.1:{self.port}")
        people = dict.fromkeys(readers, "reader") | ({chair: "chair"} if chair else {}) | {"owner": "owner"}
        self.links = {
            name: self.address.link(add_person(self.room.store, name, role)) for name, role in people.items()
        }
        self.room.prepare(detector)
        self.open()

    def open(self) -> None:
        app = make_app(self.room, self.address)
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True
        )
        self.thread.start()

    def close(self) -> None:
        """Stop answering."""
        self.server.should_exit = True
        self.thread.join(20)
        self.listening.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.room.store.close()

    def reopen(self) -> None:
        self.listening = bind("127.0.0.1", self.port)
        self.open()

    def item(self, person: str, image: str, place: int = 0) -> str:
        query = "SELECT item FROM items WHERE person = ? AND image_id = ? ORDER BY position"
        return str(self.room.store.rows(query, (person, image))[place]["item"])

    def finish(self, person: str, image: str, *marks: tuple[float, float, float]) -> None:
        """Read an image without a browser: circles (x, y, radius) in pixels, or nothing suspicious."""
        item = self.item(person, image)

        def do(what: str, **body: Any) -> None:
            self.room.items.do(Act(person, uuid4().hex, what, item, body))

        for x, y, r in marks:
            do("mark", mark=uuid4().hex, x=x, y=y, rx=r, ry=r, angle=0.0, confidence=70)
        if not marks:
            do("nothing", on=True)
        do("lock")

    def stored(self, person: str, image: str, phase: str = "unaided") -> list[dict[str, Any]]:
        query = "SELECT * FROM marks WHERE item = ? AND phase = ? ORDER BY rowid"
        return [dict(row) for row in self.room.store.rows(query, (self.item(person, image), phase))]


class Visitor:
    """Somebody at the browser."""

    def __init__(self, browser: WebDriver, room: ServedRoom, size: tuple[int, int] = DESK) -> None:
        self.browser, self.room, self.size = browser, room, size
        phone = size == PHONE
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": phone}
        self.cdp("Emulation.setDeviceMetricsOverride", metrics)
        self.cdp("Emulation.setTouchEmulationEnabled", {"enabled": phone, "maxTouchPoints": 5})
        # Without glides nothing has to be waited for.
        calm = [{"name": "prefers-reduced-motion", "value": "reduce"}]
        self.cdp("Emulation.setEmulatedMedia", {"features": calm})
        browser.get_log("browser")

    def cdp(self, command: str, values: dict[str, Any]) -> Any:
        return self.browser.execute_cdp_cmd(command, values)

    def run(self, script: str, *values: Any) -> Any:
        return self.browser.execute_script(f"return {script}", *values)

    def wait(self, script: str, seconds: float = 20) -> Any:
        deadline = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < deadline, (
                f"in vain waited for {script}\n{self.run('document.body.innerText')}"
            )
            time.sleep(0.03)
        return found

    def enter(self, name: str) -> None:
        self.browser.get("about:blank")
        self.browser.get(self.room.links[name])
        self.wait(
            "document.querySelector('.page h1') !== null && document.getElementById('who').textContent !== ''"
        )

    def read(self, person: str, image: str) -> str:
        """Open an image of the person who has entered."""
        item = self.room.item(person, image)
        self.browser.execute_script(f"location.hash = '#/read/{item}'")
        self.ready(item)
        return item

    def ready(self, item: str | None = None) -> None:
        if item is not None:
            self.wait(f"location.hash === '#/read/{item}'")
        self.wait("document.querySelector('.reading .waiting')?.hidden === true")
        self.still()

    def still(self) -> None:
        """Wait until the view has stopped gliding and what was asked for is drawn."""
        self.browser.execute_async_script(
            """
            const done = arguments[0], still = () => document.querySelector(".reading").dataset.settled === "true";
            const look = (n) => requestAnimationFrame(() => (!still() ? look(2) : n ? look(n - 1) : done()));
            look(2);
            """
        )

    def saved(self) -> None:
        """Wait until the server has everything."""
        self.wait("document.getElementById('saved').textContent === 'All saved'")

    def press(self, *keys: str, holding: str | None = None) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.browser)
        if holding is not None:
            chain.key_down(holding)
        for key in keys:
            chain.send_keys(key)
        if holding is not None:
            chain.key_up(holding)
        chain.perform()

    def mouse(self, kind: str, x: float, y: float, buttons: int = 1) -> None:
        button = {0: "none", 1: "left", 2: "right", 4: "middle"}[buttons]
        event = {"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1}
        self.cdp("Input.dispatchMouseEvent", event)

    def drag(self, start: tuple[float, float], end: tuple[float, float], buttons: int = 1) -> None:
        self.mouse("mouseMoved", *start, 0)
        self.mouse("mousePressed", *start, buttons)
        for share in (0.3, 0.7, 1.0):
            self.mouse("mouseMoved", *(a + share * (b - a) for a, b in zip(start, end, strict=True)), buttons)
        self.mouse("mouseReleased", *end, buttons)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y, 0)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def count(self, css: str) -> int:
        """Elements that there are."""
        return int(self.run("document.querySelectorAll(arguments[0]).length", css))

    def shows(self, css: str, count: int | None = None) -> None:
        """Wait for an element, or for so many."""
        found = f"document.querySelectorAll({json.dumps(css)}).length"
        self.wait(f"{found} > 0" if count is None else f"{found} === {count}")

    def text(self, css: str) -> str:
        return str(self.run("document.querySelector(arguments[0]).textContent", css))

    def answer(self, *keys: str) -> None:
        """Wait for a question, answer it, and wait until it is gone."""
        self.shows("dialog.ask")
        self.press(*keys)
        self.shows("dialog.ask", 0)

    def finish(self) -> None:
        """Finish the image; another one is shown."""
        here = self.run("location.hash")
        self.press(ENTER)
        self.wait(f"location.hash !== '{here}'")

    def click_on(self, css: str) -> None:
        from selenium.webdriver.common.by import By

        self.browser.find_element(By.CSS_SELECTOR, css).click()

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        self.cdp(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]}
        )

    def offline(self, *, gone: bool) -> None:
        self.cdp("Network.enable", {})
        speed = {"offline": gone, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.cdp("Network.emulateNetworkConditions", speed)

    def screenshot(self) -> np.ndarray:
        taken = self.cdp("Page.captureScreenshot", {"format": "png"})
        return np.asarray(Image.open(io.BytesIO(b64decode(taken["data"]))).convert("RGB"))

    def stage(self) -> dict[str, float]:
        box: dict[str, float] = self.run("document.querySelector('.stage').getBoundingClientRect().toJSON()")
        return box

    def errors(self) -> list[str]:
        """What the browser complained of, but for the notices of a graphics card that is none."""
        return [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if "WebGL" not in entry["message"] and "ERR_INTERNET_DISCONNECTED" not in entry["message"]
        ]


def leave(browser: WebDriver) -> None:
    """Leave a browser that tests share as it was found."""
    browser.get("about:blank")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


class View:
    """Where the picture lies on the screen, computed here and not asked of the page."""

    def __init__(self, visitor: Visitor, ratio: tuple[float, float] = (1.0, 1.0)) -> None:
        self.box, (self.ax, self.ay) = visitor.stage(), ratio
        extent = (WIDTH * self.ax, HEIGHT * self.ay)
        self.zoom = min(self.box["width"] / extent[0], self.box["height"] / extent[1])
        self.middle = (extent[0] / 2, extent[1] / 2)

    @property
    def centre(self) -> tuple[float, float]:
        return self.box["left"] + self.box["width"] / 2, self.box["top"] + self.box["height"] / 2

    def zoom_at(self, zoom: float, at: tuple[float, float]) -> None:
        """The same change as one that keeps a point of the screen where it is."""
        x, y = self.to_units(at)
        self.zoom = zoom
        self.middle = (x - (at[0] - self.centre[0]) / zoom, y - (at[1] - self.centre[1]) / zoom)

    def to_units(self, at: tuple[float, float]) -> tuple[float, float]:
        (left, top), (x, y) = self.centre, self.middle
        return (at[0] - left) / self.zoom + x, (at[1] - top) / self.zoom + y

    def to_screen(self, pixel: tuple[float, float]) -> tuple[float, float]:
        (left, top), (x, y) = self.centre, self.middle
        return (pixel[0] * self.ax - x) * self.zoom + left, (pixel[1] * self.ay - y) * self.zoom + top
