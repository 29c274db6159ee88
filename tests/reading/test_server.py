"""The server as a process: killed amid saves it loses nothing and doubles nothing."""

import asyncio
import http.client
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest

from overread.apps.room._app import Address, bind, check_reachable, serve
from overread.apps.room._store import Store
from overread.errors import LockedError, StorageError, UsageError
from reading_process import Saver, end, running_room, start_room
from reading_room import OpenRoom, make_study


def save_and_kill(folder, *, saves, kills, seed=0):
    """Let three readers save while the server is killed so many times; check that all is there once."""
    room = OpenRoom(make_study(folder, 4), ("Anna", "Ben", "Cleo"))
    secrets = [room.secrets[name] for name in ("Anna", "Ben", "Cleo")]
    room.room.store.close()
    process, port = start_room(folder, 0)
    savers = [Saver(port, secret, -(-saves // 3)) for secret in secrets]
    random_pause = random.Random(seed)
    try:
        for saver in savers:
            saver.start()
        for kill in range(kills):
            # After a share of the work, at a moment that nobody chose.
            while sum(saver.saved for saver in savers) < (kill + 1) * saves / (kills + 1):
                assert any(saver.is_alive() for saver in savers)
                time.sleep(0.002)
            time.sleep(random_pause.random() * 0.02)
            end(process)
            process, port = start_room(folder, port)
        for saver in savers:
            saver.join()
    finally:
        end(process)
    assert [saver.problem for saver in savers] == [None] * 3
    assert sum(saver.retries for saver in savers) >= kills
    check_stored(folder, savers)


def check_stored(folder, savers):
    store = Store(folder / "reading/room.sqlite")
    marks = {(row["item"], row["mark"]): row["x"] for row in store.rows("SELECT item, mark, x FROM marks")}
    assert marks == {place: x for saver in savers for place, x in saver.last.items()}
    versions = {row["item"]: row["version"] for row in store.rows("SELECT item, version FROM items")}
    assert versions == {item: version for saver in savers for item, version in saver.versions.items()}
    saved = sum(saver.saved for saver in savers)
    counts = store.rows("SELECT count(*) AS lines, count(DISTINCT op) AS ops FROM log WHERE what = 'mark'")[0]
    assert (counts["lines"], counts["ops"]) == (saved, saved)
    store.close()


def test_two_kills_amid_saves_lose_and_double_nothing(tmp_path):
    save_and_kill(tmp_path / "study", saves=200, kills=2)


@pytest.mark.slow
def test_twenty_kills_amid_a_hundred_thousand_saves_lose_and_double_nothing(tmp_path):
    save_and_kill(tmp_path / "study", saves=100_000, kills=20)


def test_one_server_a_room_plain_http_only_and_it_stops_when_asked(tmp_path):
    room = OpenRoom(make_study(tmp_path / "study", 2))
    with running_room(tmp_path / "study") as (process, port):
        with (
            closing(bind("127.0.0.1", 0)) as listening,
            pytest.raises(LockedError, match="another process serves this room"),
        ):
            serve(room.room, listening, Address("http://127.0.0.1"))
        room.room.store.close()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        connection.request(
            "GET", "/api/me", headers={**upgrade, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
        )
        answer = connection.getresponse()
        assert answer.status == 401
        assert "server" not in {name.lower() for name, _ in answer.getheaders()}
        connection.close()
        with socket.create_connection(("127.0.0.1", port), timeout=10) as raw, suppress(ConnectionError):
            raw.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 200_000 + b"\r\n\r\n")
            assert raw.recv(12) in (b"", b"HTTP/1.1 400", b"HTTP/1.1 431")
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def test_small_answers_are_sent_at_once():
    """Else each waits until the browser says, 40 ms later, that it has the head of the answer."""

    async def serve_one() -> int:
        found = asyncio.get_running_loop().create_future()

        def note(reader, writer):
            found.set_result(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        listening = bind("127.0.0.1", 0)
        async with await asyncio.start_server(note, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            answer = await found
            writer.close()
            return answer

    assert asyncio.run(serve_one()) == 1


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of glibc")
def test_memory_of_images_is_given_back():
    """Each is a block of its own, also after larger ones were freed, which makes glibc think otherwise."""
    # Dask, in another test of this process, leaves options of glibc behind (MALLOC_TRIM_THRESHOLD_).
    own = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    environment = own | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", BLOCKS]
    lines = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    assert lines.split() == ["False", "False", "True", "True", "True"]


# In a process of its own, where nothing else comes and goes. The fifth number of mallinfo2 counts bytes in own blocks.
BLOCKS = """
import ctypes, os
from overread.apps.room._app import _give_back_memory
ask = ctypes.CDLL(None).mallinfo2
ask.restype = type("Info", (ctypes.Structure,), {"_fields_": [(f"n{i}", ctypes.c_size_t) for i in range(10)]})
def measure():
    larger = bytes(16 << 20)
    del larger
    before = ask().n4
    image = bytes(8 << 20)
    own = ask().n4 - before >= len(image)
    del image
    print(own, own and ask().n4 == before, flush=True)
if os.fork() == 0:
    measure()
    os._exit(0)
os.wait()
print(_give_back_memory())
measure()
"""


def test_where_a_room_cannot_listen():
    listening = bind("127.0.0.1", 0)
    for port, told in ((listening.getsockname()[1], "--port 0 takes a free port"), (99999, "cannot listen")):
        with pytest.raises(StorageError, match=told):
            bind("127.0.0.1", port)
    listening.close()
    for host, url in (("127.0.0.1", None), ("localhost", None), ("0.0.0.0", "https://example.org/reading")):
        check_reachable(host, url)
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org"):
        with pytest.raises(UsageError, match="--url"):
            check_reachable(host, None)
