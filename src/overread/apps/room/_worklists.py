"""Worklists: all images for each reader, or each image for k of n readers; training first, blind repeats later.

Training images are read like others; after locking one, the reader sees its known objects.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from overread.apps.room._adjudication import merge_as_study
from overread.apps.room._store import ELLIPSE, Store, log_event
from overread.apps.room._tables import ellipses_in_pixels, hit_rule
from overread.errors import UsageError
from overread.marks import find_table, read_folder
from overread.tables import read_table, unit_of
from overread.truth import candidate_hits, merge_marks

Design = Literal["unaided", "sequential", "independent"]
ASSIGNMENT = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True)
class Plan:
    """How the images are given to the readers.

    Attributes
    ----------
    fewest, most
        Fewest and most readers of an image; 0: all readers.
    repeats
        Number of images that each reader sees twice without knowing it.
    design
        ``"unaided"``; ``"sequential"``: with the detector right after the unaided reading is locked; ``"independent"``:
        with the detector in a separate later session.
    seed
        Seed of assignment and order.
    """

    fewest: int = 0
    most: int = 0
    repeats: int = 0
    design: Design = "unaided"
    seed: int = 0


def parse_assignment(text: str) -> tuple[int, int]:
    """Parse the readers of an image: ``all``, ``4``, or ``4-5``."""
    if text == "all":
        return 0, 0
    found = ASSIGNMENT.fullmatch(text)
    fewest = int(found[1]) if found else 0
    most = int(found[2]) if found and found[2] else fewest
    if not 1 <= fewest <= most:
        raise UsageError(f"--assign {text!r}: give all, a number of readers per image, or two such as 4-5")
    return fewest, most


def _generator(*parts: object) -> np.random.Generator:
    """Random generator that depends only on these words."""
    text = "\0".join(str(part) for part in parts)
    return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))


def assign_images(
    images: Sequence[str], readers: Sequence[str], given: Mapping[str, Sequence[str]], plan: Plan
) -> dict[str, list[str]]:
    """Choose the readers that each image still needs; their numbers of images differ by at most one."""
    chosen: dict[str, list[str]] = {reader: [] for reader in readers}
    if plan.fewest == 0:
        for reader in readers:
            chosen[reader] = [image for image in images if reader not in given.get(image, ())]
        return chosen
    random = _generator("assign", plan.seed, len(given))
    load = Counter(reader for names in given.values() for reader in names)
    for place in random.permutation(len(images)):
        image = images[place]
        have = given.get(image, ())
        wanted = int(_generator("number", plan.seed, image).integers(plan.fewest, plan.most + 1))
        free = [reader for reader in readers if reader not in have]
        ties = random.permutation(len(free))
        order = sorted(range(len(free)), key=lambda i: (load[free[i]], ties[i]))
        for i in order[: max(0, wanted - len(have))]:
            chosen[free[i]].append(image)
            load[free[i]] += 1
    return chosen


def order_presentations(images: Sequence[str], reader: str, plan: Plan) -> list[tuple[str, int]]:
    """Shuffle a reader's images, with blind repeats: images of the first half come again in the second.

    Each image comes with 0 the first time and 1 the second.
    """
    random = _generator("order", plan.seed, reader, len(images))
    order = [(images[i], 0) for i in random.permutation(len(images))]
    half = len(order) // 2
    again = random.permutation(half)[: min(plan.repeats, half)]
    for place in again:
        at = int(random.integers(len(images) - half, len(order) + 1))
        order.insert(max(at, half), (order[place][0], 1))
    return order


def fill_worklists(
    store: Store, images: Sequence[str], training: Sequence[str], readers: Sequence[str], plan: Plan
) -> dict[str, int]:
    """Extend the worklists to the plan; existing presentations stay. Return the number of new ones."""
    given: defaultdict[str, list[str]] = defaultdict(list)
    trained: set[str] = set()
    # Unread images of a reader whose link was revoked are assigned to others.
    rows = store.rows(
        "SELECT DISTINCT person, image_id, kind FROM items JOIN people USING (person) WHERE presentation = 0 AND "
        "(secret IS NOT NULL OR locked IS NOT NULL OR phase = 'done')"
    )
    for person, image, kind in rows:
        if kind == "training":
            trained.add(person)
        else:
            given[image].append(person)
    added: dict[str, int] = {}
    for reader, own in assign_images(images, readers, given, plan).items():
        new = [] if reader in trained else [(image, 0, "training", "unaided") for image in training]
        order = order_presentations(own, reader, plan)
        first = "sequential" if plan.design == "sequential" else "unaided"
        new += [(image, presentation, "reading", first) for image, presentation in order]
        if plan.design == "independent":
            # The second session has its own order and no repeats.
            again = [*_read_once(store, reader, images), *own]
            later = order_presentations(again, f"{reader}, with the detector", Plan(seed=plan.seed))
            new += [(image, presentation, "reading", "aided") for image, presentation in later]
        _append_items(store, reader, new)
        added[reader] = len(new)
    return added


def _read_once(store: Store, reader: str, images: Sequence[str]) -> list[str]:
    """Images on a reader's worklist without a second session, because there was no detector before."""
    rows = store.rows(
        "SELECT image_id FROM items WHERE person = ? AND kind = 'reading' AND presentation = 0 "
        "GROUP BY image_id HAVING sum(mode = 'aided') = 0",
        (reader,),
    )
    once = {image for (image,) in rows}
    return [image for image in images if image in once]


def _append_items(store: Store, reader: str, new: Sequence[tuple[str, int, str, str]]) -> None:
    """Append presentations to a worklist, with random ids."""
    if not new:
        return
    with store.transaction() as database:
        query = "SELECT coalesce(max(position), 0) FROM items WHERE person = ?"
        (last,) = database.execute(query, (reader,)).fetchone()
        rows = []
        for position, (*one, mode) in enumerate(new, start=last + 1):
            phase = "aided" if mode == "aided" else "unaided"
            rows.append((secrets.token_urlsafe(12), reader, *one, mode, position, phase))
        database.executemany(
            "INSERT INTO items (item, person, image_id, presentation, kind, mode, position, phase) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        log_event(database, "worklist", reader, {"items": [row[0] for row in rows]})


class TrainingSet:
    """Known objects of a training study: its truth, or the consensus objects of its marks."""

    def __init__(self, folder: Path) -> None:
        path = find_table(folder, "truth")
        if path is not None:
            truth = read_table(path, "truth")
        else:
            study = read_folder(folder)
            in_mm = unit_of(study.marks.columns) in (None, "mm")
            truth = merge_marks(study.marks, study.readings) if in_mm else merge_as_study(folder, study)
        self._objects = truth[truth["golden"]]

    def feedback(
        self, image: str, marks: Sequence[dict[str, Any]], mm_per_px: tuple[float, float]
    ) -> dict[str, Any]:
        """Return the objects of an image, whether the marks hit each of them, and the marks that hit none."""
        objects = self._objects[self._objects["image_id"] == image]
        unit = unit_of(objects.columns) or "mm"
        x, y = mm_per_px if unit == "mm" else (1.0, 1.0)
        places = {"x": [mark["x"] * x for mark in marks], "y": [mark["y"] * y for mark in marks]}
        drawn = pd.DataFrame(places, dtype="float64").assign(image_id=image)
        hits = candidate_hits(drawn, objects, hit_rule(unit))
        found, useful = set(hits["truth_row"]), set(hits["candidate_row"])
        rows = ellipses_in_pixels(objects, mm_per_px).tolist()
        shown = [
            {**dict(zip(ELLIPSE, row, strict=True)), "found": number in found}
            for number, row in enumerate(rows)
        ]
        false = [mark["id"] for number, mark in enumerate(marks) if number not in useful]
        return {"objects": shown, "false_marks": false}
