"""A reading room in a process of its own, so that it can be killed, and a client that never gives up a change.

Run as a script it serves a prepared room without limits: ``reading_process.py FOLDER PORT``. With a number of seconds
in which a request has to begin, and the address of a proxy or a word that is none, it has the limits of every room.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

OPEN = "open at "


def start_room(folder: Path, port: int, *more: str) -> tuple[subprocess.Popen[str], int]:
    """Start a process that serves a room, and return it with its port once it answers."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, __file__, str(folder), str(port), *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert OPEN in line, line
    return process, int(line.rpartition(":")[2])


@contextmanager
def running_room(folder: Path, port: int = 0, *more: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Process of a room and its port; it is killed in the end."""
    process, found = start_room(folder, port, *more)
    try:
        yield process, found
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a room as the power does, and wait until it is gone."""
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class Client:
    """One reader's connection; a request that gets no answer is sent again, as it was."""

    def __init__(self, port: int, secret: str, patience: float = 60.0) -> None:
        self._port, self._patience = port, patience
        self._connection: http.client.HTTPConnection | None = None
        self._headers = {"Content-Type": "application/json"}
        self.retries = 0
        entered, headers = self.send("POST", "/api/enter", {"secret": secret})
        self._headers["Cookie"] = headers["set-cookie"].split(";")[0]
        self._headers["X-CSRF"] = json.loads(entered)["csrf"]

    def send(self, method: str, path: str, body: Any = None) -> tuple[bytes, dict[str, str]]:
        """Return the answer, however often the server has to be asked."""
        deadline = time.monotonic() + self._patience
        content = None if body is None else json.dumps(body)
        while True:
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
                self._connection.request(method, path, content, self._headers)
                answer = self._connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                if time.monotonic() > deadline:
                    raise
                self.retries += 1
                time.sleep(0.05)
                continue
            assert answer.status == 200, (answer.status, data)
            return data, {name.lower(): value for name, value in answer.getheaders()}

    def get(self, path: str) -> Any:
        return json.loads(self.send("GET", path)[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class Saver(threading.Thread):
    """Draws and moves marks on a reader's images until told to stop; remembers what was acknowledged."""

    def __init__(self, port: int, secret: str, wanted: int) -> None:
        super().__init__()
        self._port, self._secret, self._wanted = port, secret, wanted
        self.saved = 0
        self.retries = 0
        self.last: dict[tuple[str, str], float] = {}
        self.versions: dict[str, int] = {}
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.problem = error

    def _work(self) -> None:
        client = Client(self._port, self._secret)
        items = [entry["item"] for entry in client.get("/api/worklist")]
        marks = {item: [str(uuid.uuid4()) for _ in range(3)] for item in items}
        self.versions = dict.fromkeys(items, 0)
        for number in range(self._wanted):
            item = items[number % len(items)]
            mark, x = marks[item][number // len(items) % 3], 1.0 + number % 70
            body = {"op": str(uuid.uuid4()), "version": self.versions[item], "x": x, "y": 9.0}
            body |= {"rx": 4.0, "ry": 3.0, "angle": 10.0, "confidence": 50}
            answer = json.loads(client.send("PUT", f"/api/items/{item}/marks/{mark}", body)[0])
            assert answer["version"] == self.versions[item] + 1
            self.versions[item] = answer["version"]
            self.last[item, mark] = x
            self.saved += 1
        self.retries = client.retries
        client.close()


def main(folder: str, port: str, head_seconds: str = "", proxy: str = "none") -> None:
    from overread.apps.room import _gate as connections
    from overread.apps.room._app import Address, bind, serve
    from overread.apps.room._gate import Limits, RateLimit
    from overread.apps.room._room import open_room

    room = open_room(Path(folder))
    listening = bind("127.0.0.1", int(port))
    limits = Limits() if head_seconds else Limits(*(RateLimit(1e6, 1e6) for _ in range(2)))
    connections.HEAD_SECONDS = float(head_seconds or connections.HEAD_SECONDS)
    address = Address(f"http://127.0.0.1:{listening.getsockname()[1]}")
    believed = None if proxy == "none" else proxy
    say = partial(print, f"{OPEN}{address.url.rstrip('/')}", flush=True)
    serve(room, listening, address, limits=limits, proxy=believed, ready=say)


if __name__ == "__main__":
    main(*sys.argv[1:])
