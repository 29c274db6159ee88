from __future__ import annotations

import asyncio

import uvicorn

from overread.apps.room import _connections as connections
from overread.apps.room._connections import BoundedConnection


async def answer(scope, receive, send):
    """Answer when the body is there."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def crowd():
    """Let four come where three have place; return what each of them reads last."""
    config = uvicorn.Config(answer, http=BoundedConnection, lifespan="off", ws="none", log_level="error")
    config.load()
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: BoundedConnection(config, server.server_state, {}), "127.0.0.1", 0
    )
    port = listening.sockets[0].getsockname()[1]
    peers = []
    for head in (
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HT",
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        peers.append((reader, writer))
        writer.write(head)
        if head.endswith(b"\r\n\r\n"):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    # The one that was answered first has been silent longest; the rest are still there.
    assert await asyncio.wait_for(peers[0][0].read(), 10) == b""
    peers[1][1].write(b"TP/1.1\r\nHost: a\r\n\r\n")
    assert (await peers[1][0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    n_there = len(server.server_state.connections)
    for _, writer in peers:
        writer.close()
    listening.close()
    await listening.wait_closed()
    await asyncio.sleep(0)
    return n_there


def test_in_a_crowd_the_one_that_was_silent_longest_makes_way(monkeypatch):
    monkeypatch.setattr(connections, "LARGEST_CROWD", 3)
    assert asyncio.run(crowd()) == 3
