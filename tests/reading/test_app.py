from __future__ import annotations

import asyncio

import pytest

from overread.apps.room._app import Address, _room_id, make_link
from overread.errors import UsageError
from reading_room import Visitor


def test_every_answer_forbids_the_browser_everything_else(open_one):
    room = open_one(2)
    anna = room.visit("Anna")
    for path in ("/api/me", "/api/nothing", "/static/none.js", f"/api/items/{anna.items()[0]}/pixels", "/"):
        headers = anna.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert anna.ask("GET", "/api/me").headers["cache-control"] == "no-store"


def test_the_page_and_its_files_are_there_and_nothing_beside_them(open_one):
    room = open_one(2)
    stranger = Visitor(room.app)
    page = stranger.ask("GET", "/")
    assert page.status_code == 200
    assert "text/html" in page.headers["content-type"]
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/", "/app.py"):
        assert stranger.ask("GET", path).status_code == 404


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(open_one):
    room = open_one(2, url="https://example.org/reading")
    stranger = Visitor(room.app, url="https://example.org")
    answer = stranger.ask("POST", "/reading/api/enter", {"secret": room.secrets["Anna"]})
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Secure", "Path=/reading"):
        assert part in cookie
    assert _room_id(room.room.store) in cookie
    assert room.secrets["Anna"] not in cookie


@pytest.mark.parametrize("path", ["/reading/api/me", "/api/me"])
def test_a_proxy_may_leave_the_path_or_take_it_off(open_one, path):
    room = open_one(2, url="https://example.org/reading")
    stranger = Visitor(room.app, url="https://example.org")
    entered = stranger.ask("POST", "/api/enter", {"secret": room.secrets["Anna"]})
    name, value = entered.headers["set-cookie"].split(";")[0].split("=", 1)
    answer = stranger.ask("GET", path, headers={"Cookie": f"{name}={value}"})
    assert answer.json()["name"] == "Anna"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "example.org.evil.example:443"]
)
def test_a_foreign_name_that_leads_here_is_refused(open_one, host):
    room = open_one(2, url="https://example.org/reading")
    answer = Visitor(room.app, url="https://example.org").ask("GET", "/", headers={"Host": host})
    assert answer.status_code == 421
    assert "evil" not in answer.text


def test_leaving_ends_the_session(open_one):
    room = open_one(2)
    anna = room.visit("Anna")
    assert anna.ask("POST", "/api/leave", {}, headers={"X-CSRF": "wrong"}).status_code == 403
    kept = dict(anna.cookies)
    assert anna.ask("POST", "/api/leave", {}).status_code == 200
    again = Visitor(room.app)
    again.cookies.update(kept)
    assert again.ask("GET", "/api/me").status_code == 401


def test_a_websocket_is_turned_away(open_one):
    room = open_one(2)
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    scope = {"type": "websocket", "path": "/api/me", "headers": [], "query_string": b""}
    asyncio.run(room.app(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


@pytest.mark.parametrize(
    "host", ["example.org", "EXAMPLE.org:8443", "127.0.0.1:8765", "localhost", "[::1]:1"]
)
def test_its_own_names_lead_to_the_room_with_any_port(host):
    assert Address("https://example.org:8443/reading").knows(host)


def test_links_hide_the_secret_behind_the_fragment():
    address = Address("https://example.org/reading/")
    assert make_link(address, "abc") == "https://example.org/reading/#s=abc"
    assert (address.base, address.secure, address.host) == ("/reading", True, "example.org")


@pytest.mark.parametrize(
    "url", ["", "example.org", "ftp://example.org", "http://", "http://a/?b=1", "http://a/#c"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UsageError, match="--url"):
        Address(url)
