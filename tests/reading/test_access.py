"""Who enters a room, how often, and what browsers may keep of it."""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvicorn

from overread.apps import room as reading
from overread.apps.room import _gate as gate
from overread.apps.room import _people as people
from overread.apps.room._app import PageFiles
from overread.apps.room._gate import BoundedConnection, Limits, RateLimit, TooOftenError
from overread.apps.room._people import add_person, enter, find_session, list_people, revoke
from overread.errors import UsageError
from reading_room import Visitor, new_id, open_limits


def test_a_secret_opens_a_session_and_is_stored_nowhere(store, tmp_path):
    secret = add_person(store, "Anna", "reader")
    token, person = enter(store, secret)
    assert (person.name, person.role) == ("Anna", "reader")
    assert find_session(store, token) == person
    store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in stored
    assert token.encode() not in stored


def test_a_revoked_link_ends_sessions_and_a_new_one_goes_on(store):
    secret = add_person(store, "Anna", "reader")
    token, _ = enter(store, secret)
    revoke(store, "Anna")
    assert find_session(store, token) is None
    assert enter(store, secret) is None
    again = add_person(store, "Anna", "reader")
    assert again != secret
    assert enter(store, again) is not None
    assert list_people(store, "reader") == ["Anna"]


def move_back(store, column, age):
    moved = (datetime.now(UTC) - age).isoformat(timespec="milliseconds")
    with store.transaction() as database:
        database.execute(f"UPDATE sessions SET {column} = ?", (moved,))


def test_sessions_end_after_a_day_and_after_a_long_pause_and_use_keeps_them_alive(store):
    secret = add_person(store, "Anna", "reader")
    for column, age in (("created", people.LONGEST_SESSION), ("seen", people.LONGEST_PAUSE)):
        token, _ = enter(store, secret)
        move_back(store, column, age - timedelta(minutes=1))
        assert find_session(store, token) is not None
        assert store.rows("SELECT seen FROM sessions")[0]["seen"][:16] == datetime.now(UTC).isoformat()[:16]
        move_back(store, column, age + timedelta(minutes=1))
        assert find_session(store, token) is None
        assert not store.rows("SELECT 1 FROM sessions")


def test_a_name_that_cannot_be_one_or_is_taken_or_nearly_so_is_refused(store):
    for name in ("", " Anna", "Anna ", "A\nB", "x" * 65, "A\x00"):
        with pytest.raises(UsageError, match="a name needs 1 to 64"):
            add_person(store, name, "reader")
    add_person(store, "Anna", "reader")
    for name, role, told in (
        ("Anna", "reader", "already has a link"),
        ("anna", "reader", "'Anna' already exists"),
        ("Anna", "chair", "already is a reader. Give the chair another name"),
    ):
        with pytest.raises(UsageError, match=told):
            add_person(store, name, role)
    with pytest.raises(UsageError, match="no person of this name"):
        revoke(store, "Ben")


@pytest.fixture
def room(open_one):
    return open_one(3)


@pytest.fixture
def stranger(room):
    return Visitor(room.app)


def test_a_change_needs_the_proof_that_it_comes_from_the_page(room):
    anna = room.visit("Anna")
    item = anna.items()[0]
    body = {"op": new_id(), "on": True}
    for csrf in ("", "x" * 64, room.visit("Ben").csrf, room.visit("Anna").csrf, anna.csrf.upper()):
        answer = anna.ask("POST", f"/api/items/{item}/nothing", body, headers={"X-CSRF": csrf})
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    for site in ("cross-site", "same-site"):
        headers = {"Sec-Fetch-Site": site}
        assert anna.ask("POST", f"/api/items/{item}/nothing", body, headers=headers).status_code == 403
    assert anna.get(f"/api/items/{item}")["nothing"] is False


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{}", "text/plain", 415),
        (b'{"on": true}', "application/json", 422),  # an act without an id
        (b"a=1", "application/x-www-form-urlencoded", 415),
        (b"", "application/json", 422),
        (b"{", "application/json", 422),
        (b"[]", "application/json", 422),
        (b'{"op": NaN}', "application/json", 422),
        (b'{"op": "a", "op": "b"}', "application/json", 422),
        (b"\xff\xfe", "application/json", 422),
        (b"[" * 20_000, "application/json", 422),
        (b'{"op": "' + b"x" * 40_000 + b'"}', "application/json", 413),
    ],
)
def test_bodies_that_no_page_sends_are_refused(room, content, kind, status):
    anna = room.visit("Anna")
    item = anna.items()[0]
    answer = anna.ask("POST", f"/api/items/{item}/nothing", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert "Traceback" not in answer.text


def test_a_body_that_never_ends_is_given_up(room, monkeypatch):
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.05)
    anna, answers = room.visit("Anna"), []
    path = f"/api/items/{anna.items()[0]}/nothing"
    scope = anna.scope("POST", path, {"content-type": "application/json"})

    async def receive():
        await asyncio.sleep(1)
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def send(message):
        answers.append(message)

    asyncio.run(room.app(scope, receive, send))
    assert answers[0]["status"] == 408


def test_who_asks_too_often_waits_and_others_do_not(open_one):
    limits = Limits(RateLimit(0.001, 20.0), RateLimit(1e6, 1e6))
    room = open_one(3, limits=limits)
    anna = room.visit("Anna")
    answers = [anna.ask("GET", "/api/me") for _ in range(25)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 5
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert room.visit("Ben").get("/api/me")["name"] == "Ben"


def test_secrets_cannot_be_tried_for_long_and_right_ones_do_not_count(open_one):
    room = open_one(3, limits=Limits(open_limits().requests, RateLimit(0.001, 5.0)))
    for _ in range(10):
        room.visit("Anna")
    stranger = Visitor(room.app)
    codes = [stranger.ask("POST", "/api/enter", {"secret": f"guess {n}"}).status_code for n in range(8)]
    assert codes == [401] * 5 + [429] * 3


def test_a_broken_store_is_not_described_to_readers(room):
    anna = room.visit("Anna")
    item = anna.items()[0]
    with room.room.store.transaction() as database:
        database.execute("ALTER TABLE marks RENAME TO other")
    answer = anna.ask("GET", f"/api/items/{item}")
    assert answer.status_code == 503
    assert set(json.loads(answer.text)) == {"error", "code"}
    assert "sqlite" not in answer.text


def test_a_burst_and_then_the_rate():
    now = 0.0
    limit = RateLimit(2.0, 5.0, clock=lambda: now)
    for now, allowed in ((0.0, 5), (1.0, 2), (1000.0, 5)):  # noqa: B007
        for _ in range(allowed):
            limit.spend("Anna")
        with pytest.raises(TooOftenError) as caught:
            limit.spend("Anna")
    limit.spend("Ben")
    assert (caught.value.retry_after, caught.value.status) == (1, 429)


def test_buckets_do_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(gate, "LARGEST_COUNT", 10)
    limit = RateLimit(1.0, 1.0, clock=lambda: 0.0)
    for number in range(100):
        limit.spend(f"visitor {number}")
    assert len(limit._buckets) == 10


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
    whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    for head in (whole, b"GET / HT", b"", whole):
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
    monkeypatch.setattr(gate, "LARGEST_CROWD", 3)
    assert asyncio.run(crowd()) == 3


PAGE = Path(reading.__file__).with_name("page")


def write_page(folder, *, script="x();"):
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text('<script src="static/app.js"></script>')
    (folder / "app.js").write_text(script)
    return PageFiles(folder)


def test_files_are_kept_for_ever_and_the_page_is_asked_for(stranger):
    page = stranger.ask("GET", "/")
    assert page.headers["cache-control"] == "no-cache"
    again = stranger.ask("GET", "/", headers={"If-None-Match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    named = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert len(named) == len(list(PAGE.iterdir())) - 1
    for name in named:
        answer = stranger.ask("GET", f"/{name}")
        assert answer.status_code == 200
        assert answer.content == (PAGE / name.rpartition("/")[2]).read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"].startswith(("text/", "image/"))


def test_nothing_else_is_kept(room):
    """An answer that is somebody's, or a mistake, must not lie in a cache that others share."""
    anna = room.visit("Anna")
    (item, *_) = anna.items()
    for path in ("api/me", "api/worklist", f"api/items/{item}", "static/app.js", "static/0/app.js", "none"):
        assert anna.ask("GET", f"/{path}").headers["cache-control"] == "no-store"
    kept = anna.ask("GET", f"/api/items/{item}/pixels").headers["cache-control"]
    assert "private" in kept
    assert "public" not in kept


def test_a_changed_file_has_another_address(tmp_path):
    first = write_page(tmp_path / "page").place
    assert write_page(tmp_path / "page").place == first
    assert write_page(tmp_path / "page", script="y();").place != first
