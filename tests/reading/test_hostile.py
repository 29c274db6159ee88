"""Hostile requests: each is refused, tells nothing, and changes nothing.

Other readers' ids, other roles and other sites: test_app.py and test_access.py.
"""

import pytest

from reading_room import OpenRoom, Visitor, make_study, new_id, write_detections

SQL = "' OR '1'='1' --"
ITEM, BEN, MARK = "{own}", "{ben}", "{mark}"
GOOD = {"x": 20, "y": 20, "rx": 5, "ry": 5, "angle": 0}
HUGE = 10**400


def request(method, path, body=None, *, who="Anna", headers=None, content=None):
    return (method, path, body, who, headers or {}, content)


HOSTILE = [
    # Nobody.
    *[
        request("GET", path, who=None)
        for path in ("/api/me", "/api/worklist", "/api/owner", f"/api/items/{BEN}")
    ],
    request("GET", f"/api/items/{BEN}/pixels", who=None),
    request("PUT", f"/api/items/{BEN}/marks/{MARK}", GOOD, who=None),
    request("POST", "/api/enter", {"secret": SQL}, who=None),
    request("POST", "/api/enter", {"secret": ["a"]}, who=None),
    request("POST", "/api/enter", {"secret": "x" * 5000}, who=None),
    request("POST", "/api/enter", {}, who=None),
    request("POST", "/api/enter", {"secret": "%"}, who=None, headers={"Sec-Fetch-Site": "cross-site"}),
    # Forged sessions.
    *[
        request("GET", "/api/me", who=None, headers={"Cookie": f"{{cookie}}={value}"})
        for value in ("", "x", SQL, "A" * 4000)
    ],
    request("GET", "/api/me", who=None, headers={"Cookie": "{cookie}={secret}"}),
    request("GET", "/api/me", who=None, headers={"Authorization": "Bearer {secret}"}),
    # Paths and SQL.
    request("GET", f"/api/items/{SQL}"),
    request("GET", "/api/items/..%2f..%2froom.sqlite/pixels"),
    request("GET", "/static/../../../../etc/passwd"),
    request("GET", "/static/%2e%2e/%2e%2e/store.py"),
    request("GET", "/reading/room.sqlite"),
    request("GET", "/images/case0.png"),
    request("GET", "//evil.example/api/me", headers={"Host": "evil.example"}),
    request("PUT", f"/api/items/{ITEM}/marks/{SQL}", GOOD),
    request("POST", f"/api/items/{ITEM}/decisions/{SQL}", {"decision": "accept"}),
    request("POST", f"/api/items/{ITEM}/nothing", {"on": True, "op": SQL}),
    request("POST", f"/api/items/{ITEM}/nothing", {"on": True, "version": SQL}),
    request("POST", "/api/leave", {}, headers={"X-CSRF": ""}),
    # Values.
    request("PUT", f"/api/items/{ITEM}/marks/{MARK}", {**GOOD, "x": HUGE}),
    request("PUT", f"/api/items/{ITEM}/marks/{MARK}", {**GOOD, "rx": -5}),
    request("PUT", f"/api/items/{ITEM}/marks/{MARK}", {**GOOD, "label": "<script>"}),
    request("PUT", f"/api/items/{ITEM}/marks/{MARK}", {**GOOD, "x": {"$ne": 1}}),
    # What comes too early or in another way.
    request("POST", f"/api/items/{ITEM}/decisions/D1", {"decision": "accept"}),
    request("POST", f"/api/items/{ITEM}/finish", {}),
    request("POST", f"/api/items/{ITEM}/lock", {}),
    request("TRACE", "/api/me"),
    request("POST", "/api/me", {}),
    request("GET", f"/api/items/{ITEM}/lock"),
    request("GET", f"/api/items/{ITEM}/nothing?_method=POST&on=true"),
    request("POST", f"/api/items/{ITEM}/time", {"active_ms": -5, "paused_ms": 10**12}),
]


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    make_study(folder / "study", 3)
    detector = write_detections(folder / "d.csv", [(f"case{i}", 30, 30) for i in range(3)])
    opened = OpenRoom(folder / "study", detector=detector, design="sequential")
    ben = opened.visit("Ben")
    opened.own, opened.ben = opened.visit("Anna").items()[0], ben.items()[0]
    opened.mark = ben.draw(opened.ben, 21.125, 22.375, comment="BenSaid")
    yield opened
    opened.room.store.close()


def stored(room):
    tables = ("items", "marks", "decisions", "adjudications", "people", "settings")
    return {name: [tuple(row) for row in room.room.store.rows(f"SELECT * FROM {name}")] for name in tables}


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda h: f"{h[3]} {h[0]} {h[1][:40]}")
def test_a_hostile_request_gets_and_does_nothing(room, hostile):
    method, path, body, who, headers, content = hostile
    visitor = Visitor(room.app) if who is None else room.visit(who)
    ids = {"{own}": room.own, "{ben}": room.ben, "{mark}": room.mark, "{secret}": room.secrets["Ben"]}
    ids["{cookie}"] = next(iter(room.visit("Ben").cookies))

    def fill(text):
        for name, value in ids.items():
            text = text.replace(name, value)
        return text

    before = stored(room)
    if isinstance(body, dict):
        body = {"op": new_id(), **body}
    answer = visitor.ask(
        method, fill(path), body, headers={k: fill(v) for k, v in headers.items()}, content=content
    )
    assert 400 <= answer.status_code < 500
    for secret in ("BenSaid", "21.125", "case0", "sqlite", "Traceback", room.secrets["Ben"], "root:"):
        assert secret not in answer.text
    assert len(answer.content) < 3000
    assert stored(room) == before


def test_a_replayed_act_after_the_end_changes_nothing(room):
    anna = room.visit("Anna")
    item, mark, body = anna.items()[1], new_id(), {"op": new_id(), **GOOD}
    assert anna.ask("PUT", f"/api/items/{item}/marks/{mark}", body).status_code == 200
    before = stored(room)
    for _ in range(3):
        anna.ask("PUT", f"/api/items/{item}/marks/{mark}", body)
    other = anna.ask("PUT", f"/api/items/{anna.items()[2]}/marks/{mark}", body)
    assert other.json()["code"] == "op"
    assert room.visit("Ben").ask("PUT", f"/api/items/{item}/marks/{mark}", body).status_code == 404
    assert stored(room) == before
