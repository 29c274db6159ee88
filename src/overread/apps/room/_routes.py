"""The endpoints of the room, one function each, for a person with a session.

The owner sees who has read what, and nothing about an image that is still to be read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable
from statistics import median
from typing import Any

from starlette.responses import Response, StreamingResponse

from overread.apps.room._adjudication import complete_images
from overread.apps.room._agreement import repeat_agreement
from overread.apps.room._gate import Call
from overread.apps.room._store import RefusalError, digest_text, log_event
from overread.apps.room._tables import read_arm
from overread.errors import OverreadError

BLOCK = 256 << 10
# Pixels of an item never change; a browser may keep them, a proxy may not.
PIXEL_CACHE = "private, max-age=3600, immutable"


def _me(call: Call) -> dict[str, Any]:
    """Return the person, and the facts on the study that the page needs."""
    room = call.room
    study = {"study": room.name, "labels": list(room.labels), "phase_design": room.plan.design}
    return {**vars(call.person), **study}


def _item(call: Call) -> dict[str, Any]:
    """One item in the state that its reader may see; a prefetch does not count as opening it."""
    if "ahead" not in call.request.query_params:
        call.room.items.open(call.person.name, call.path["item"])
    return call.room.describe_item(call.person.name, call.path["item"])


def _item_pixels(call: Call) -> Response:
    """Pixels of an item on the reader's list."""
    row = call.room.items.find(call.person.name, call.path["item"])
    kind = "training" if row["kind"] == "training" else "reading"
    return _pixel_answer(call, kind, row["image_id"], row["item"])


def _pixel_answer(call: Call, kind: str, image: str, name: str) -> Response:
    """Pixels of an image; the tag depends on file and presentation, so that it does not reveal a repeated image."""
    pictures = call.room.pictures
    tag = f'"{digest_text(name + pictures.row(kind, image)["signature"])[:24]}"'
    headers = {"Cache-Control": PIXEL_CACHE, "ETag": tag, "Vary": "Accept-Encoding"}
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    zipped = _wants_gzip(call)
    if zipped:
        headers["Content-Encoding"] = "gzip"
    content = pictures.content(kind, image, zipped=zipped)
    headers["Content-Length"] = str(len(content))
    return StreamingResponse(_send_in_blocks(content), headers=headers, media_type="application/octet-stream")


async def _send_in_blocks(content: bytes) -> AsyncIterator[bytes]:
    """Send block by block: a whole image would be copied for each request."""
    for start in range(0, len(content), BLOCK):
        yield content[start : start + BLOCK]


def _wants_gzip(call: Call) -> bool:
    """Whether to compress: if the browser accepts it and is not on this machine, where copying is faster."""
    client = call.request.client
    try:
        near = client is not None and ipaddress.ip_address(client.host).is_loopback
    except ValueError:
        near = False
    offered = call.request.headers.get("accept-encoding", "").split(",")
    return not near and "gzip" in [part.partition(";")[0].strip() for part in offered]


def _act(what: str) -> Callable[[Call], dict[str, Any]]:
    """Make the endpoint of an act on an item; if the item changed elsewhere, the refusal contains its state."""

    def endpoint(call: Call) -> dict[str, Any]:
        place = dict(call.path)
        name, person, room = place.pop("item"), call.person.name, call.room
        try:
            answer = room.items.do(call.act(what, name, **place))
        except RefusalError as error:
            if error.status == 409:
                error.more["item"] = room.describe_item(person, name)
            raise
        if what in ("lock", "finish"):
            return room.describe_item(person, name)
        if what == "decide":
            return {**answer, "marks": room.items.describe(person, name)["marks"]}
        return answer

    return endpoint


def _dispute(call: Call) -> dict[str, Any]:
    """One object with its marks, without names."""
    room, name = call.room, call.path["object"]
    facts = room.pictures.facts("reading", room.adjudication.image_of(name))
    found = room.adjudication.describe(call.person.name, name, tuple(facts["mm_per_px"].values()))
    return {**facts, **found, "labels": list(room.labels)}


def _dispute_pixels(call: Call) -> Response:
    """Pixels of an object's image."""
    name = call.path["object"]
    return _pixel_answer(call, "reading", call.room.adjudication.image_of(name), name)


def _decide_dispute(call: Call) -> dict[str, Any]:
    """Store a chair's decision."""
    return call.room.adjudication.decide(call.act("adjudicate", call.path["object"]), call.room.labels)


def _overview(call: Call) -> dict[str, Any]:
    """Progress of each reader, complete images and their agreement, and the time of the last export."""
    room, store = call.room, call.room.store
    ((total,),) = store.rows("SELECT count(DISTINCT image_id) FROM items WHERE kind != 'training'")
    people = store.rows("SELECT person, secret FROM people WHERE role = 'reader' ORDER BY created, person")
    readers = []
    for name, secret in people:
        own = store.rows("SELECT * FROM items WHERE kind = 'reading' AND person = ?", (name,))
        done = [row for row in own if row["phase"] == "done"]
        times = [(row["active_ms"] + row["aided_active_ms"]) / 1000.0 for row in done]
        begun = sum(row["phase"] != "done" and row["opened"] is not None for row in own)
        progress = {"done": len(done), "total": len(own), "begun": begun}
        seconds = median(times) if times else None
        readers.append({"name": name, **progress, "median_seconds": seconds, "revoked": secret is None})
    return {
        "readers": readers,
        "images": {"total": total, "complete": len(complete_images(store))},
        "agreement": room.agreement(),
        "repeats": repeat_agreement(read_arm(store, "unaided"), read_arm(store, "repeats")),
        "exported": store.setting("exported"),
    }


def _export(call: Call) -> dict[str, Any]:
    """Write the tables into the study."""
    store = call.room.store
    with store.transaction() as database:
        log_event(database, "export", call.person.name)
    try:
        written = call.room.export()
    except OverreadError as error:
        raise RefusalError(str(error), "export") from error
    names = [path.relative_to(call.room.folder).as_posix() for path in written]
    return {"written": names, "exported": store.setting("exported")}


ROLES = ("reader", "chair", "owner")
ENDPOINTS: list[tuple[str, str, Callable[[Call], Any], tuple[str, ...]]] = [
    ("GET", "/api/me", _me, ROLES),
    ("GET", "/api/worklist", lambda call: call.room.items.worklist(call.person.name), ("reader",)),
    ("GET", "/api/items/{item}", _item, ("reader",)),
    ("GET", "/api/items/{item}/pixels", _item_pixels, ("reader",)),
    ("PUT", "/api/items/{item}/marks/{mark}", _act("mark"), ("reader",)),
    ("DELETE", "/api/items/{item}/marks/{mark}", _act("delete"), ("reader",)),
    ("POST", "/api/items/{item}/decisions/{detection}", _act("decide"), ("reader",)),
    *(
        ("POST", f"/api/items/{{item}}/{what}", _act(what), ("reader",))
        for what in ("nothing", "comment", "time", "lock", "finish")
    ),
    ("GET", "/api/adjudication", lambda call: call.room.adjudication.worklist(call.person.name), ("chair",)),
    ("GET", "/api/adjudication/{object}", _dispute, ("chair",)),
    ("GET", "/api/adjudication/{object}/pixels", _dispute_pixels, ("chair",)),
    ("PUT", "/api/adjudication/{object}/decision", _decide_dispute, ("chair",)),
    ("GET", "/api/owner", _overview, ("owner",)),
    ("POST", "/api/owner/export", _export, ("owner",)),
]
