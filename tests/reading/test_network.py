"""Silent connections, forged addresses and floods keep no reader out of the room."""

import http.client
import json
import resource
import socket
import time
from contextlib import ExitStack, closing, suppress

import pytest
import uvicorn

from overread.cli import main
from reading_process import Client, running_room
from reading_room import OpenRoom, Visitor, make_study

# In the room of these tests; 5 in every other.
HEAD_SECONDS = 1.0


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A room whose readers have links, served by a process of its own."""
    folder = tmp_path_factory.mktemp("network") / "study"
    opened = OpenRoom(make_study(folder, 2))
    opened.room.store.close()
    with running_room(folder, 0, str(HEAD_SECONDS)) as (_, opened.port):
        yield opened


def ask(port, *, secret=None, **headers):
    """Status of an answer: to a secret at the entrance, else to the page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        if secret is None:
            connection.request("GET", "/")
        else:
            content = {"Content-Type": "application/json"}
            connection.request("POST", "/api/enter", json.dumps({"secret": secret}), content | headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def is_open(peer):
    """Whether the server has not hung up."""
    peer.setblocking(False)
    try:
        return peer.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def wait_until_closed(peers, tick=lambda: None):
    for _ in range(600):
        if not any(is_open(peer) for peer in peers):
            return
        tick()
        time.sleep(0.05)
    raise AssertionError(f"{sum(is_open(peer) for peer in peers)} are open after half a minute")


def test_420_silent_connections_keep_nobody_out_and_are_closed(room):
    """More than the room takes; the answer was 503 for as long as they were held."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1000 if hard < 0 else min(1000, hard), hard))
    port = room.port
    with ExitStack() as held:
        anna = Client(port, room.secrets["Anna"])
        peers = [
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(420)
        ]
        for peer in peers[::2]:
            peer.sendall(b"GET / HTTP/1.1\r\nHo")
        assert [ask(port), ask(port, secret=room.secrets["Ben"])] == [200, 200]
        assert anna.get("/api/me")["name"] == "Anna"
        wait_until_closed(peers)
        assert anna.get("/api/me")["name"] == "Anna"
        anna.close()


def test_a_head_that_comes_byte_by_byte_is_given_up_and_a_patient_reader_is_not(room):
    """Also on a connection that has been answered before, where each byte ended the wait."""
    known = http.client.HTTPConnection("127.0.0.1", room.port, timeout=20)
    with socket.create_connection(("127.0.0.1", room.port), timeout=20) as fresh, closing(known):
        known.request("GET", "/nothing")
        known.getresponse().read()
        anna = Client(room.port, room.secrets["Anna"])
        anna.get("/api/me")
        peers = [fresh, known.sock]

        def drip():
            for peer in peers:
                with suppress(OSError):
                    peer.sendall(b"G")

        wait_until_closed(peers, drip)
        # A reader who thinks for longer than a head may take keeps the connection.
        assert anna.get("/api/me")["name"] == "Anna"
        assert anna.retries == 0
        anna.close()


def test_slow_bodies_of_strangers_keep_nobody_out(room):
    """Requests whose body never comes are waited for, too, and make way."""
    port = room.port
    with ExitStack() as held:
        for _ in range(420):
            peer = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            peer.sendall(
                b"POST /api/enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 9\r\n\r\n{"
            )
        assert ask(port, secret=room.secrets["Ben"]) == 200


def test_forged_addresses_are_not_believed_and_a_flood_keeps_no_right_link_out(room):
    """25 wrong secrets under 25 names were all tried; a flood of them emptied the bucket of everybody."""
    codes = [ask(room.port, secret=f"wrong {n}", **{"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(25)]
    assert codes[:10] == [401] * 10
    assert codes[-5:] == [429] * 5
    for n in range(250):
        ask(room.port, secret=f"flood {n}")
    assert [ask(room.port, secret=room.secrets[name]) for name in ("Anna", "Ben", "Chair")] == [200] * 3


def test_the_proxy_that_was_named_is_believed(tmp_path, capsys, monkeypatch):
    """By the command, which remembers it; what it would serve is asked here, as a proxy at 127.0.0.1 asks."""
    study = str(make_study(tmp_path / "study", 1))
    assert main(["read", study, "--owner-link", "--proxy", "nginx"]) == 2
    assert "--proxy 'nginx'" in capsys.readouterr().err
    assert main(["read", study, "--owner-link", "--proxy", "127.0.0.1"]) == 0
    codes = []

    class AskedServer:
        def __init__(self, config):
            config.load()
            self.stranger = Visitor(config.loaded_app)

        def run(self, sockets):
            for n, place in enumerate([f"10.0.0.{n}" for n in range(25)] + ["10.0.1.1"] * 12):
                secret, headers = {"secret": f"wrong {n}"}, {"X-Forwarded-For": place}
                codes.append(self.stranger.ask("POST", "/api/enter", secret, headers=headers).status_code)

    monkeypatch.setattr(uvicorn, "Server", AskedServer)
    assert main(["read", study, "--port", "0"]) == 0
    assert codes == [401] * 25 + [401] * 10 + [429] * 2
