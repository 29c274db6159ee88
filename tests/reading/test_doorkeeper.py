from __future__ import annotations

import asyncio
import json

import pytest

from overread.apps.room import _gate as doorkeeper
from overread.apps.room._gate import Limits, RateLimit
from reading_room import Visitor, new_id, open_limits


@pytest.fixture
def room(open_one):
    return open_one(3)


def test_without_a_session_there_is_nothing(room):
    stranger = Visitor(room.app)
    for path in ("/api/me", "/api/worklist", "/api/items/x", "/api/owner", "/api/adjudication"):
        answer = stranger.ask("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (401, "session")


def test_a_change_needs_the_proof_that_it_comes_from_the_page(room):
    anna = room.visit("Anna")
    item = anna.items()[0]
    body = {"op": new_id(), "on": True}
    for csrf in ("", "x" * 64, room.visit("Ben").csrf, anna.csrf.upper()):
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


def test_an_act_without_an_id_is_refused(room):
    anna = room.visit("Anna")
    answer = anna.ask("POST", f"/api/items/{anna.items()[0]}/nothing", {"on": True})
    assert answer.status_code == 422
    assert "op" in answer.json()["error"]


def test_a_body_that_never_ends_is_given_up(room, monkeypatch):
    monkeypatch.setattr(doorkeeper, "BODY_SECONDS", 0.05)
    anna = room.visit("Anna")
    sent = []

    async def receive():
        await asyncio.sleep(1)
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def send(message):
        sent.append(message)

    cookie = "; ".join(f"{name}={value}" for name, value in anna.cookies.items())
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/api/items/{anna.items()[0]}/nothing",
        "query_string": b"",
        "headers": [
            (b"host", b"127.0.0.1:8765"),
            (b"cookie", cookie.encode()),
            (b"x-csrf", anna.csrf.encode()),
            (b"content-type", b"application/json"),
        ],
    }
    asyncio.run(room.app(scope, receive, send))
    assert sent[0]["status"] == 408


def test_who_asks_too_often_waits_and_others_do_not(open_one):
    limits = Limits(RateLimit(0.001, 20.0), RateLimit(1e6, 1e6))
    room = open_one(3, limits=limits)
    anna = room.visit("Anna")
    answers = [anna.ask("GET", "/api/me") for _ in range(25)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 5
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert room.visit("Ben").get("/api/me")["name"] == "Ben"


def test_secrets_cannot_be_tried_for_long(open_one):
    limits = Limits(open_limits().requests, RateLimit(0.001, 5.0))
    room = open_one(3, limits=limits)
    stranger = Visitor(room.app)
    codes = [stranger.ask("POST", "/api/enter", {"secret": f"guess {n}"}).status_code for n in range(8)]
    assert codes == [401] * 5 + [429] * 3


def test_right_secrets_from_one_address_do_not_count(open_one):
    limits = Limits(open_limits().requests, RateLimit(0.001, 3.0))
    room = open_one(3, limits=limits)
    for _ in range(10):
        room.visit("Anna")


def test_a_broken_store_is_not_described_to_readers(room):
    anna = room.visit("Anna")
    item = anna.items()[0]
    with room.room.store.transaction() as database:
        database.execute("ALTER TABLE marks RENAME TO other")
    answer = anna.ask("GET", f"/api/items/{item}")
    assert answer.status_code == 503
    assert set(json.loads(answer.text)) == {"error", "code"}
    assert "sqlite" not in answer.text
