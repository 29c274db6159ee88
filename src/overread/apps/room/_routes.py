"""What the page may ask of the room: one function an endpoint, each for a person who was let in.

What the owner sees: who has read what, and nothing of an image that somebody is still to read.
"""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable
from statistics import median
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from overread.apps.room._adjudication import complete_images
from overread.apps.room._agreement import repeat_agreement
from overread.apps.room._gate import Call, Doorkeeper
from overread.apps.room._room import Room
from overread.apps.room._store import RefusalError, digest_text
from overread.apps.room._tables import read_arm
from overread.errors import OverreadError

BLOCK = 256 << 10
# Pixels of an item never change; a browser may keep them, a proxy may not.
PIXEL_CACHE = "private, max-age=3600, immutable"


def _me(call: Call) -> dict[str, Any]:
    """Who has entered, and what the page has to know of the study."""
    person, room = call.person, call.room
    return {
        "name": person.name,
        "role": person.role,
        "study": room.name,
        "csrf": person.csrf,
        "labels": list(room.labels),
        "unit": "mm",
        "phase_design": room.plan.design,
        "progress": room.items.progress(person.name),
    }


def _item(call: Call) -> dict[str, Any]:
    """One item, as far as the reader may know it now; a page that fetches ahead has not shown it."""
    if "ahead" not in call.request.query_params:
        call.room.items.open(call.person.name, call.path["item"])
    return call.room.describe_item(call.person.name, call.path["item"])


def _item_pixels(call: Call) -> Response:
    """Pixels of an item on the reader's own list."""
    row = call.room.items.find(call.person.name, call.path["item"])
    kind = "training" if row["kind"] == "training" else "reading"
    return _pixel_answer(call, kind, row["image_id"], row["item"])


def _pixel_answer(call: Call, kind: str, image: str, name: str) -> Response:
    """Pixels of an image; the tag is of file and presentation, so that a repeated image is not known by it."""
    facts = call.room.pictures.facts(kind, image)
    tag = f'"{digest_text(name + call.room.pictures.row(kind, image)["signature"])[:24]}"'
    headers = {
        "Cache-Control": PIXEL_CACHE,
        "ETag": tag,
        "Vary": "Accept-Encoding",
        "X-Width": str(facts["width"]),
        "X-Height": str(facts["height"]),
        "X-Channels": str(facts["channels"]),
    }
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    zipped = _wants_gzip(call)
    if zipped:
        headers["Content-Encoding"] = "gzip"
    content = call.room.pictures.content(kind, image, zipped=zipped)
    headers["Content-Length"] = str(len(content))
    return StreamingResponse(_send_in_blocks(content), headers=headers, media_type="application/octet-stream")


async def _send_in_blocks(content: bytes) -> AsyncIterator[bytes]:
    """Hand out a block when the last one is on its way: a whole image would be copied for each who asks for it."""
    for start in range(0, len(content), BLOCK):
        yield content[start : start + BLOCK]


def _wants_gzip(call: Call) -> bool:
    """Whether to compress: where the browser takes it and is not on this machine, where copying is faster."""
    client = call.request.client
    try:
        near = client is not None and ipaddress.ip_address(client.host).is_loopback
    except ValueError:
        near = False
    offered = {
        part.partition(";")[0].strip() for part in call.request.headers.get("accept-encoding", "").split(",")
    }
    return "gzip" in offered and not near


def _act(what: str) -> Callable[[Call], dict[str, Any]]:
    """Make the endpoint of an act on an item; if the item has moved on, the refusal tells how it is now."""

    def endpoint(call: Call) -> dict[str, Any]:
        place = dict(call.path)
        name, person, room = place.pop("item"), call.person.name, call.room
        try:
            answer = room.items.do(call.act(what, name, **place))
        except RefusalError as error:
            if error.status != 409:
                raise
            present = room.describe_item(person, name)
            raise RefusalError(str(error), error.code, 409, {"item": present}) from None
        if what in ("lock", "finish"):
            return room.describe_item(person, name)
        if what == "decide":
            return {**answer, "marks": room.items.describe(person, name)["marks"]}
        return answer

    return endpoint


def _dispute(call: Call) -> dict[str, Any]:
    """One object with its marks, without names."""
    name = call.path["object"]
    facts = call.room.pictures.facts("reading", call.room.adjudication.image_of(name))
    size = facts["mm_per_px"]
    told = call.room.adjudication.describe(call.person.name, name, (size["x"], size["y"]))
    return {**facts, **told, "labels": list(call.room.labels)}


def _dispute_pixels(call: Call) -> Response:
    """Pixels of an object's image."""
    name = call.path["object"]
    return _pixel_answer(call, "reading", call.room.adjudication.image_of(name), name)


def _decide_dispute(call: Call) -> dict[str, Any]:
    """Keep a chair's decision."""
    return call.room.adjudication.decide(call.act("adjudicate", call.path["object"]), call.room.labels)


def _overview(call: Call) -> dict[str, Any]:
    """Progress of each reader, complete images, agreement on those, and when tables were written."""
    room, store = call.room, call.room.store
    total = store.rows("SELECT count(DISTINCT image_id) FROM items WHERE kind != 'training'")[0][0]
    people = store.rows("SELECT person, secret FROM people WHERE role = 'reader' ORDER BY created, person")
    return {
        "readers": [
            {"name": name, **_progress(room, name), "revoked": secret is None} for name, secret in people
        ],
        "images": {"total": total, "complete": len(complete_images(store))},
        "agreement": room.agreement(),
        "repeats": repeat_agreement(read_arm(store, "unaided"), read_arm(store, "repeats")),
        "exported": store.setting("exported"),
    }


def _progress(room: Room, name: str) -> dict[str, Any]:
    """How far a reader has come, and the median time that a finished image took."""
    own = room.store.rows("SELECT * FROM items WHERE kind = 'reading' AND person = ?", (name,))
    times = [(row["active_ms"] + row["aided_active_ms"]) / 1000.0 for row in own if row["phase"] == "done"]
    return {
        "done": len(times),
        "total": len(own),
        "begun": sum(row["phase"] != "done" and row["opened"] is not None for row in own),
        "median_seconds": median(times) if times else None,
    }


def _export(call: Call) -> dict[str, Any]:
    """Write the tables into the study."""
    call.room.store.note(call.person.name, "export")
    try:
        written = call.room.export()
    except OverreadError as error:
        raise RefusalError(str(error), "export") from error
    names = [path.relative_to(call.room.folder).as_posix() for path in written]
    return {"written": names, "exported": call.room.store.setting("exported")}


ENDPOINTS: tuple[tuple[str, str, Callable[[Call], Any], tuple[str, ...]], ...] = (
    ("GET", "/api/me", _me, ("reader", "chair", "owner")),
    ("GET", "/api/worklist", lambda call: call.room.items.worklist(call.person.name), ("reader",)),
    ("GET", "/api/items/{item}", _item, ("reader",)),
    ("GET", "/api/items/{item}/pixels", _item_pixels, ("reader",)),
    ("PUT", "/api/items/{item}/marks/{mark}", _act("mark"), ("reader",)),
    ("DELETE", "/api/items/{item}/marks/{mark}", _act("delete"), ("reader",)),
    ("POST", "/api/items/{item}/nothing", _act("nothing"), ("reader",)),
    ("POST", "/api/items/{item}/comment", _act("comment"), ("reader",)),
    ("POST", "/api/items/{item}/time", _act("time"), ("reader",)),
    ("POST", "/api/items/{item}/lock", _act("lock"), ("reader",)),
    ("POST", "/api/items/{item}/decisions/{detection}", _act("decide"), ("reader",)),
    ("POST", "/api/items/{item}/finish", _act("finish"), ("reader",)),
    ("GET", "/api/adjudication", lambda call: call.room.adjudication.worklist(call.person.name), ("chair",)),
    ("GET", "/api/adjudication/{object}", _dispute, ("chair",)),
    ("GET", "/api/adjudication/{object}/pixels", _dispute_pixels, ("chair",)),
    ("PUT", "/api/adjudication/{object}/decision", _decide_dispute, ("chair",)),
    ("GET", "/api/owner", _overview, ("owner",)),
    ("POST", "/api/owner/export", _export, ("owner",)),
)


def room_routes(keeper: Doorkeeper) -> list[Route]:
    """Routes of all endpoints, behind the doorkeeper."""
    return [
        Route(path, keeper.admit(work, *roles), methods=[method]) for method, path, work, roles in ENDPOINTS
    ]
