"""What the endpoints answer, and above all what they do not: no reader learns of another, whatever they ask."""

import asyncio
import itertools
import json
from unittest.mock import AsyncMock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.apps.room._app import Address
from overread.apps.room._routes import ENDPOINTS
from overread.errors import UsageError
from reading_room import HEIGHT, WIDTH, OpenRoom, Visitor, make_study, new_id, write_detections


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


def test_a_proxy_may_leave_the_path_or_take_it_off_and_foreign_names_are_refused(open_one):
    room = open_one(2, url="https://example.org/reading")
    stranger = Visitor(room.app, url="https://example.org")
    entered = stranger.ask("POST", "/reading/api/enter", {"secret": room.secrets["Anna"]})
    cookie = entered.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Secure", "Path=/reading", room.room.store.setting("room")):
        assert part in cookie
    assert room.secrets["Anna"] not in cookie
    for path in ("/reading/api/me", "/api/me"):
        assert stranger.ask("GET", path).json()["name"] == "Anna"
    for host in ("evil.example", "127.0.0.1.evil.example", "", "example.org.evil.example:443"):
        answer = stranger.ask("GET", "/", headers={"Host": host})
        assert answer.status_code == 421
        assert "evil" not in answer.text


def test_leaving_ends_one_session(open_one):
    room = open_one(2)
    anna, elsewhere = room.visit("Anna"), room.visit("Anna")
    assert anna.ask("POST", "/api/leave", {}, headers={"X-CSRF": "wrong"}).status_code == 403
    kept = dict(anna.cookies)
    assert anna.ask("POST", "/api/leave", {}).status_code == 200
    again = Visitor(room.app)
    again.cookies.update(kept)
    answer = again.ask("GET", "/api/me")
    assert (answer.status_code, answer.json()["code"]) == (401, "session")
    assert elsewhere.get("/api/me")["name"] == "Anna"


def test_a_websocket_is_turned_away(open_one):
    room = open_one(2)
    receive, send = AsyncMock(return_value={"type": "websocket.connect"}), AsyncMock()
    scope = {"type": "websocket", "path": "/api/me", "headers": [], "query_string": b""}
    asyncio.run(room.app(scope, receive, send))
    assert [call.args[0]["type"] for call in send.await_args_list] == ["websocket.close"]


def test_addresses():
    address = Address("https://example.org:8443/reading/")
    for host in ("example.org", "EXAMPLE.org:8443", "127.0.0.1:8765", "localhost", "[::1]:1"):
        assert address.knows(host)
    # What follows the # never leaves the browser.
    assert address.link("abc") == "https://example.org:8443/reading/#s=abc"
    assert (address.base, address.secure, address.host) == ("/reading", True, "example.org")
    for url in ("", "example.org", "ftp://example.org", "http://", "http://a/?b=1", "http://a/#c"):
        with pytest.raises(UsageError, match="--url"):
            Address(url)


READER_PATHS = [(method, path) for method, path, _, roles in ENDPOINTS if "reader" in roles]
OTHER_PATHS = [(method, path) for method, path, _, roles in ENDPOINTS if "reader" not in roles]


@pytest.fixture
def room(open_one):
    return open_one(4)


def test_the_page_is_told_all_it_needs(room):
    anna = room.visit("Anna")
    told = anna.get("/api/me")
    names = ("name", "role", "study", "labels", "phase_design")
    assert [told[name] for name in names] == ["Anna", "reader", "study", ["nodule", "mass"], "unaided"]
    item = anna.items()[0]
    told = anna.get(f"/api/items/{item}")
    assert (told["width"], told["height"], told["bits"], told["channels"]) == (WIDTH, HEIGHT, 16, 1)
    answer = anna.ask("GET", f"/api/items/{item}/pixels")
    assert np.frombuffer(answer.content, "<u2").size == WIDTH * HEIGHT
    assert "private" in answer.headers["cache-control"]
    tag = answer.headers["etag"]
    again = anna.ask("GET", f"/api/items/{item}/pixels", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


def test_a_repeated_image_is_not_known_by_its_id_or_tag(open_one):
    room = open_one(4, repeats=1, readers=("Anna",))
    anna = room.visit("Anna")
    twice = room.room.store.rows("SELECT image_id FROM items WHERE presentation = 1")[0]["image_id"]
    items = [item for item in anna.items() if room.image_of(item) == twice]
    assert len(items) == 2
    answers = [anna.ask("GET", f"/api/items/{item}/pixels") for item in items]
    assert answers[0].content == answers[1].content
    assert answers[0].headers["etag"] != answers[1].headers["etag"]
    told = [anna.get(f"/api/items/{item}") for item in items]
    first, second = ({**one, "item": None} for one in told)
    assert first == second
    assert len(anna.items()) == 5


def test_answers_name_no_image_file_or_patient(room):
    anna = room.visit("Anna")
    texts = [anna.ask("GET", path).text for path in ("/api/me", "/api/worklist")]
    for item in anna.items():
        answer = anna.ask("GET", f"/api/items/{item}")
        texts += [answer.text, json.dumps(dict(anna.ask("GET", f"/api/items/{item}/pixels").headers))]
    for text, word in itertools.product(texts, ("case", "images/", ".png", "P0", "P1")):
        assert word not in text


def fill(path, **ids):
    for name, value in ids.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def ask(visitor, method, path):
    """Ask with a body that has all that any endpoint wants."""
    body = {"op": new_id(), "x": 20, "y": 20, "rx": 5, "ry": 5, "angle": 0, "on": True, "comment": ""}
    body |= {"active_ms": 1, "paused_ms": 0, "decision": "accept"}
    return visitor.ask(method, path, None if method == "GET" else body)


def test_every_endpoint_with_anothers_ids_is_as_if_they_were_nobodys(room):
    """The same status and the same words for another's item and for one that never was."""
    anna, ben = room.visit("Anna"), room.visit("Ben")
    item = ben.items()[0]
    mark = ben.draw(item, 20, 20)
    before = ben.get(f"/api/items/{item}")
    tried = 0
    for method, path in READER_PATHS:
        if "{item}" not in path:
            continue
        foreign = ask(anna, method, fill(path, item=item, mark=mark, detection="D1"))
        unknown = ask(anna, method, fill(path, item="AAAAAAAAAAAAAAAA", mark=new_id(), detection="D1"))
        assert (foreign.status_code, foreign.text) == (unknown.status_code, unknown.text)
        assert foreign.status_code == 404
        tried += 1
    assert tried == 10
    assert ben.get(f"/api/items/{item}") == before


def test_readers_cannot_ask_what_chairs_and_owners_can(room):
    anna = room.visit("Anna")
    for method, path in OTHER_PATHS:
        assert ask(anna, method, fill(path, object="T1")).status_code == 403
    for name in ("Chair", "owner"):
        visitor = room.visit(name)
        for method, path in READER_PATHS:
            if path != "/api/me":
                assert ask(visitor, method, fill(path, item="x", mark="y", detection="z")).status_code == 403


WHAT = ["draw", "nothing", "comment", "time", "lock", "accept", "dismiss", "finish", "delete"]
ACT = st.tuples(
    st.sampled_from(["Anna", "Ben"]), st.integers(0, 3), st.sampled_from(WHAT), st.integers(1, 79)
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blind")
    make_study(folder / "study", 4)
    detector = write_detections(folder / "d.csv", [(f"case{i}", 33.25, 44.75) for i in range(4)])
    opened = OpenRoom(folder / "study", detector=detector, design="sequential")
    yield opened
    opened.room.store.close()


@settings(max_examples=15)
@given(st.lists(ACT, max_size=25))
def test_whatever_readers_do_no_answer_holds_what_another_said(shared, acts):
    """Every act leaves a word of its own; over all endpoints, a reader's answers have no word of another's."""
    visitors = {name: shared.visit(name) for name in ("Anna", "Ben")}
    word = {"Anna": "AnnaSaid", "Ben": "BenSaid"}
    own_ids = {name: set(visitor.items()) for name, visitor in visitors.items()}
    marks: dict[str, list[str]] = {"Anna": [], "Ben": []}
    for name, number, what, x in acts:
        visitor = visitors[name]
        item = visitor.items()[number]
        if what == "draw":
            marks[name].append(new_id())
            body = {"op": new_id(), "x": x, "y": 20, "rx": 5, "ry": 5, "angle": 0, "comment": word[name]}
            visitor.ask("PUT", f"/api/items/{item}/marks/{marks[name][-1]}", body)
        elif what == "delete" and marks[name]:
            visitor.ask("DELETE", f"/api/items/{item}/marks/{marks[name][-1]}", {"op": new_id()})
        elif what in ("accept", "dismiss"):
            body = {"op": new_id(), "decision": what, "reason": word[name]}
            visitor.ask("POST", f"/api/items/{item}/decisions/D1", body)
        elif what in ("nothing", "comment", "time", "lock", "finish"):
            body = {"op": new_id(), "on": True, "comment": word[name], "active_ms": 5, "paused_ms": 1}
            visitor.ask("POST", f"/api/items/{item}/{what}", body)
    for name, other in (("Anna", "Ben"), ("Ben", "Anna")):
        answers = collect(visitors[name])
        forbidden = [word[other], other, *own_ids[other], *marks[other]]
        for text, secret in itertools.product(answers, forbidden):
            assert secret not in text
        for item in visitors[name].items():
            told = visitors[name].get(f"/api/items/{item}")
            assert ("detections" in told) == (told["phase"] != "unaided")


def collect(visitor: Visitor) -> list[str]:
    """Everything that the endpoints tell a reader."""
    texts = []
    for method, path in READER_PATHS + OTHER_PATHS:
        for item in visitor.items() if "{item}" in path else [""]:
            if path.endswith("/pixels") or method != "GET":
                continue
            answer = ask(visitor, method, fill(path, item=item, object="T1"))
            texts += [answer.text, str(dict(answer.headers))]
    return texts


def test_the_owner_is_told_why_no_tables_are_written(room):
    refused = room.visit("owner").ask("POST", "/api/owner/export", {"op": new_id()})
    assert (refused.status_code, refused.json()["code"]) == (422, "export")
