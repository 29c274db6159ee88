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


def owner_overview(room: Room) -> dict[str, Any]:
    """Return progress of each reader, complete images, agreement on those, and when tables were written."""
    total = room.store.rows("SELECT count(DISTINCT image_id) FROM items WHERE kind != 'training'")[0][0]
    return {
        "readers": _reader_progress(room),
        "images": {"total": total, "complete": len(complete_images(room.store))},
        "agreement": room.agreement(),
        "repeats": repeat_agreement(read_arm(room.store, "unaided"), read_arm(room.store, "repeats")),
        "exported": room.store.setting("exported"),
    }


def _reader_progress(room: Room) -> list[dict[str, Any]]:
    """How far each reader has come, and the median time that a finished image took."""
    items: dict[str, list[Any]] = {}
    for row in room.store.rows("SELECT * FROM items WHERE kind = 'reading'"):
        items.setdefault(row["person"], []).append(row)
    people = room.store.rows(
        "SELECT person, secret FROM people WHERE role = 'reader' ORDER BY created, person"
    )
    found = []
    for person in people:
        own = items.get(person["person"], [])
        done = [row for row in own if row["phase"] == "done"]
        begun = [row for row in own if row["phase"] != "done" and row["opened"] is not None]
        times = [(row["active_ms"] + row["aided_active_ms"]) / 1000.0 for row in done]
        found.append(
            {
                "name": person["person"],
                "done": len(done),
                "total": len(own),
                "begun": len(begun),
                "median_seconds": median(times) if times else None,
                "revoked": person["secret"] is None,
            }
        )
    return found


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


def worklist(call: Call) -> list[dict[str, Any]]:
    """Items of a reader, in their order."""
    return call.room.items.worklist(call.person.name)


def item(call: Call) -> dict[str, Any]:
    """One item, as far as the reader may know it now; a page that fetches ahead has not shown it."""
    if "ahead" not in call.request.query_params:
        call.room.items.open(call.person.name, call.path["item"])
    return call.room.describe_item(call.person.name, call.path["item"])


def _item_pixels(call: Call) -> Response:
    """Pixels of an item on the reader's own list."""
    row = call.room.items.find(call.person.name, call.path["item"])
    return _pixel_answer(
        call, "training" if row["kind"] == "training" else "reading", row["image_id"], row["item"]
    )


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
    return StreamingResponse(send_in_blocks(content), headers=headers, media_type="application/octet-stream")


async def send_in_blocks(content: bytes) -> AsyncIterator[bytes]:
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


def _with_state(call: Call, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do an act; if the item has moved on, the refusal tells how it is now."""
    try:
        return work()
    except RefusalError as error:
        if error.status != 409:
            raise
        present = call.room.describe_item(call.person.name, call.path["item"])
        raise RefusalError(str(error), error.code, 409, {"item": present}) from None


def _put_mark(call: Call) -> dict[str, Any]:
    """Draw or change a mark."""
    name, items = call.path["item"], call.room.items
    row = items.find(call.person.name, name)
    facts = call.room.pictures.facts(row["kind"], row["image_id"])
    size = (facts["width"], facts["height"])
    act = call.act("mark", name, mark=call.path["mark"])
    return _with_state(call, lambda: items.put_mark(act, call.path["mark"], size))


def _delete_mark(call: Call) -> dict[str, Any]:
    """Delete a mark."""
    act = call.act("delete", call.path["item"], mark=call.path["mark"])
    return _with_state(call, lambda: call.room.items.delete_mark(act, call.path["mark"]))


def _say_nothing(call: Call) -> dict[str, Any]:
    """Note that there is nothing suspicious, or take it back."""
    return _with_state(call, lambda: call.room.items.say_nothing(call.act("nothing", call.path["item"])))


def _put_comment(call: Call) -> dict[str, Any]:
    """Keep a comment on an image."""
    return _with_state(call, lambda: call.room.items.put_comment(call.act("comment", call.path["item"])))


def _add_time(call: Call) -> dict[str, Any]:
    """Add the time that was spent on an image."""
    return call.room.items.add_time(call.act("time", call.path["item"]))


def lock(call: Call) -> dict[str, Any]:
    """End the unaided reading of an image."""
    _with_state(call, lambda: call.room.items.lock(call.act("lock", call.path["item"])))
    return call.room.describe_item(call.person.name, call.path["item"])


def decide(call: Call) -> dict[str, Any]:
    """Accept or dismiss one of the detector's marks."""
    act = call.act("decide", call.path["item"], detection=call.path["detection"])
    answer = _with_state(call, lambda: call.room.items.decide(act, call.path["detection"]))
    state = call.room.items.describe(call.person.name, call.path["item"])
    return {**answer, "marks": state["marks"]}


def finish(call: Call) -> dict[str, Any]:
    """End the aided reading of an image."""
    _with_state(call, lambda: call.room.items.finish(call.act("finish", call.path["item"])))
    return call.room.describe_item(call.person.name, call.path["item"])


def _disputes(call: Call) -> list[dict[str, Any]]:
    """Objects that a chair decides on."""
    return call.room.adjudication.worklist(call.person.name)


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
    act = call.act("adjudicate", call.path["object"])
    return call.room.adjudication.decide(act, call.room.labels)


def _overview(call: Call) -> dict[str, Any]:
    """Who has read what, and how well the readers agree where all have finished."""
    return owner_overview(call.room)


def export(call: Call) -> dict[str, Any]:
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
    ("GET", "/api/worklist", worklist, ("reader",)),
    ("GET", "/api/items/{item}", item, ("reader",)),
    ("GET", "/api/items/{item}/pixels", _item_pixels, ("reader",)),
    ("PUT", "/api/items/{item}/marks/{mark}", _put_mark, ("reader",)),
    ("DELETE", "/api/items/{item}/marks/{mark}", _delete_mark, ("reader",)),
    ("POST", "/api/items/{item}/nothing", _say_nothing, ("reader",)),
    ("POST", "/api/items/{item}/comment", _put_comment, ("reader",)),
    ("POST", "/api/items/{item}/time", _add_time, ("reader",)),
    ("POST", "/api/items/{item}/lock", lock, ("reader",)),
    ("POST", "/api/items/{item}/decisions/{detection}", decide, ("reader",)),
    ("POST", "/api/items/{item}/finish", finish, ("reader",)),
    ("GET", "/api/adjudication", _disputes, ("chair",)),
    ("GET", "/api/adjudication/{object}", _dispute, ("chair",)),
    ("GET", "/api/adjudication/{object}/pixels", _dispute_pixels, ("chair",)),
    ("PUT", "/api/adjudication/{object}/decision", _decide_dispute, ("chair",)),
    ("GET", "/api/owner", _overview, ("owner",)),
    ("POST", "/api/owner/export", export, ("owner",)),
)


def room_routes(keeper: Doorkeeper) -> list[Route]:
    """Routes of all endpoints, behind the doorkeeper."""
    return [
        Route(path, keeper.admit(work, *roles), methods=[method]) for method, path, work, roles in ENDPOINTS
    ]
