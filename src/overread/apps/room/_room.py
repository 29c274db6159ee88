"""A study's reading room: its store, images and plan, and its preparation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from overread.apps.room._adjudication import (
    Adjudication,
    complete_images,
    complete_readings,
    prepare_agreement,
    study_name,
)
from overread.apps.room._agreement import describe_agreement
from overread.apps.room._items import Items
from overread.apps.room._people import LONGEST_NAME, list_people
from overread.apps.room._pixels import ViewerPictures, list_images
from overread.apps.room._second_reading import images_detected, keep_detections, shown_detections
from overread.apps.room._store import ROOM_FILE, Store
from overread.apps.room._tables import export_tables
from overread.apps.room._worklists import Design, Plan, TrainingSet, fill_worklists
from overread.errors import StorageError, UsageError
from overread.files import no_folder
from overread.marks import ids_of_dropped
from overread.truth import ADJUDICATION_FILE


class Room:
    """A study's reading room."""

    def __init__(self, folder: Path, store: Store, training: Path | None = None) -> None:
        self.folder, self.store = folder, store
        self.images = list_images(folder)
        kept = store.setting("training")
        self.training_folder = training or (kept and folder / kept)
        self.training_images = {} if self.training_folder is None else list_images(self.training_folder)
        self.pictures = ViewerPictures(store, {"reading": self.images, "training": self.training_images})
        self.labels = tuple(store.setting("labels") or ())
        self.items = Items(store, self.pictures, self.labels)
        self.adjudication = Adjudication(store, folder)
        self._find_agreement = lru_cache(maxsize=1)(self._compute_agreement)

    @cached_property
    def name(self) -> str:
        """Name of the study."""
        return study_name(self.folder)

    @property
    def plan(self) -> Plan:
        """The reading plan: how images are assigned to readers."""
        return Plan(**(self.store.setting("plan") or {}))

    @cached_property
    def training(self) -> TrainingSet | None:
        """Known objects of the training images."""
        return None if self.training_folder is None else TrainingSet(self.training_folder)

    def change_plan(self, **wanted: Any) -> None:
        """Change the given parts of the plan; None keeps a part."""
        plan = replace(self.plan, **{name: value for name, value in wanted.items() if value is not None})
        if plan.design not in get_args(Design):
            raise UsageError(f"--design {plan.design!r}: give one of {', '.join(get_args(Design))}")
        if plan.repeats < 0:
            raise UsageError(f"--repeats {plan.repeats}: give a number from 0")
        if plan == self.plan:
            return
        # A second session may be added after the first: a detector may be trained on the first.
        adds_session = plan == replace(self.plan, design="independent") and self.plan.design == "unaided"
        if self.has_worklists and not adds_session:
            raise UsageError(
                "the worklists exist; --assign, --repeats, --design and --seed cannot change any more. (A second "
                "session with a detector can still be added: --design independent.)"
            )
        self.store.set_setting("plan", vars(plan))

    @property
    def has_worklists(self) -> bool:
        """Whether any reader has images to read."""
        return bool(self.store.rows("SELECT 1 FROM items WHERE kind = 'reading' LIMIT 1"))

    def change_labels(self, labels: Sequence[str]) -> None:
        """Store the labels that a mark may have."""
        for label in labels:
            if not label.isprintable() or label != label.strip() or not 0 < len(label) <= LONGEST_NAME:
                raise UsageError(f"--labels: {label!r} is not a label of 1 to {LONGEST_NAME} characters")
        self.store.set_setting("labels", list(labels))
        self.labels = tuple(labels)
        self.items = Items(self.store, self.pictures, self.labels)

    def with_training(self, folder: Path) -> Room:
        """Store the folder of training images, which must be a study with marks or truth; return the changed room."""
        TrainingSet(folder)
        room = Room(self.folder, self.store, folder)
        room.prepare_pictures()
        self.store.set_setting("training", os.path.relpath(folder.resolve(), self.folder.resolve()))
        return room

    def prepare_pictures(self) -> dict[str, str]:
        """Read each image's metadata once; return the reasons of images that cannot be read."""
        bad = self.pictures.prepare("reading")
        bad |= {f"training {image}": reason for image, reason in self.pictures.prepare("training").items()}
        # Feedback on a training image that is also read would show the marks of others.
        if both := self.pictures.of_both_kinds():
            trained, read = both[0]
            raise UsageError(
                f"{self.training_images[trained].path}: is image {read!r}, which is on the readers' worklists "
                f"({len(both)} such images). Give --training other images."
            )
        return bad

    def keep_detector(self, detector: Path, fp: float | None = None) -> dict[str, str]:
        """Compute a detector's marks and plan a reading with them; return the reasons of images without marks."""
        bad = keep_detections(self.store, detector, fp, self.images, ids_of_dropped(self.folder))
        if self.plan.design == "unaided":
            self.change_plan(design="independent" if self.has_worklists else "sequential")
        return bad

    def prepare(
        self, detector: Path | None = None, fp: float | None = None
    ) -> tuple[dict[str, str], dict[str, int]]:
        """Prepare the room: metadata of the images, the detector's marks, worklists of the readers.

        Return the reasons of skipped images, and the number of new presentations by reader.
        """
        bad = self.prepare_pictures()
        if detector is not None:
            bad |= self.keep_detector(detector, fp)
        if self.plan.design != "unaided":
            self._refuse_undetected(bad)
        usable = [image for image in self.images if image not in bad]
        if not usable:
            raise UsageError(
                f"{self.folder}: no image can be read. The first error: {next(iter(bad.values()))}"
            )
        readers = self.active_readers()
        if readers and len(readers) < self.plan.fewest:
            raise UsageError(
                f"each image needs {self.plan.fewest} readers, and there are {len(readers)}. "
                "Add readers with --add-reader NAME."
            )
        trained = [image for image in self.training_images if f"training {image}" not in bad]
        added = fill_worklists(self.store, usable, trained, readers, self.plan)
        self.store.checkpoint()
        return bad, added

    def _refuse_undetected(self, bad: dict[str, str]) -> None:
        """Refuse images added after the detector ran: it would seem to have found nothing there."""
        if self.store.setting("detector") is None:
            raise UsageError(f"--design {self.plan.design} needs --detector")
        done = images_detected(self.store)
        new = [image for image in self.images if image not in done and image not in bad]
        if new:
            raise UsageError(
                f"image {new[0]!r} is new to the detector ({len(new)} such images). Give --detector again."
            )

    def active_readers(self) -> list[str]:
        """Names of the readers with a link."""
        return list_people(self.store, "reader", "secret IS NOT NULL")

    def describe_item(self, person: str, item: str) -> dict[str, Any]:
        """Return the state of an item for its reader; detections only after the unaided reading is locked."""
        row = self.items.find(person, item)
        state = {**self.items.state(row), **self.pictures.facts(row["kind"], row["image_id"])}
        state["labels"] = list(self.labels)
        if row["mode"] != "unaided" and row["phase"] != "unaided":
            state["detections"] = shown_detections(self.store, item, row["image_id"])
        if row["kind"] == "training" and row["phase"] == "done" and self.training is not None:
            size = tuple(state["mm_per_px"].values())
            state["feedback"] = self.training.feedback(row["image_id"], state["marks"], size)
        return state

    def agreement(self) -> dict[str, Any] | None:
        """Describe the readers' agreement on complete images; computed again when there are more."""
        return self._find_agreement(tuple(complete_images(self.store)))

    def _compute_agreement(self, images: tuple[str, ...]) -> dict[str, Any] | None:
        return describe_agreement(*prepare_agreement(self.folder, complete_readings(self.store)))

    def export(self) -> list[Path]:
        """Write the tables into the study."""
        decided = self.store.rows("SELECT 1 FROM adjudications LIMIT 1")
        decisions = self.adjudication.table() if decided else pd.DataFrame()
        return export_tables(
            self.store, self.folder, {} if decisions.empty else {ADJUDICATION_FILE: decisions}
        )


def open_room(folder: Path) -> Room:
    """Open a study's room, creating it if needed."""
    if not folder.is_dir():
        raise UsageError(no_folder(folder))
    list_images(folder)
    place = folder / ROOM_FILE
    try:
        place.parent.mkdir(exist_ok=True)
        place.parent.chmod(0o700)
        store = Store(place)
        for file in place.parent.glob(f"{place.name}*"):
            file.chmod(0o600)
    except OSError as error:
        raise StorageError(f"{place.parent}: cannot be made private: {error.strerror or error}") from error
    try:
        return Room(folder, store)
    except BaseException:
        # An open file would look as if its last acts were lost.
        store.close()
        raise
