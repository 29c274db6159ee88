"""What the owner sees: who has read what, and nothing of an image that somebody is still to read."""

from __future__ import annotations

from statistics import median
from typing import Any

from overread.reading.adjudication import complete_images
from overread.reading.agreement import repeat_agreement
from overread.reading.room import Room
from overread.reading.tables import read_arm

__all__ = ["owner_overview"]


def owner_overview(room: Room) -> dict[str, Any]:
    """Return progress of each reader, complete images, agreement on those, and when tables were written."""
    total = room.store.rows("SELECT count(DISTINCT image_id) FROM items WHERE kind != 'training'")[0][0]
    return {
        "readers": reader_progress(room),
        "images": {"total": total, "complete": len(complete_images(room.store))},
        "agreement": room.agreement(),
        "repeats": repeat_agreement(read_arm(room.store, "unaided"), read_arm(room.store, "repeats")),
        "exported": room.store.setting("exported"),
    }


def reader_progress(room: Room) -> list[dict[str, Any]]:
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
