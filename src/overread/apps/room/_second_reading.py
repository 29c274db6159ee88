"""The second reader: a detector's marks at its locked operating point, computed before the readings."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from overread._terminal import count_steps
from overread.apps.room._pixels import ShownFile
from overread.apps.room._store import ELLIPSE, Store
from overread.apps.room._tables import ellipses_in_pixels
from overread.errors import DataWarning, OverreadError, TableError, UsageError
from overread.files import digest_of_file
from overread.study import MarkRate
from overread.tables import named, plain, read_table

if TYPE_CHECKING:
    from overread.study import Request


TABLE_ENDINGS = (".csv", ".parquet")


def keep_detections(
    store: Store,
    detector: Path,
    fp: float | None,
    files: Mapping[str, ShownFile],
    dropped: Collection[str] = (),
) -> dict[str, str]:
    """Compute and store a detector's marks for each image that was not processed yet.

    Without ``fp`` the room's operating point is used, or the detector's if the room has none. Return the reasons of
    images without marks.
    """
    place = detector / "detector.json" if detector.is_dir() else detector
    if not place.is_file():
        raise UsageError(f"{place}: no such file. Give --detector a detector.json or a table of detections.")
    digest, kept, is_table = digest_of_file(place), store.setting("detector"), place.suffix in TABLE_ENDINGS
    if kept is not None and (kept[0] != digest or not (is_table or fp in (None, kept[1]))):
        raise UsageError(
            f"{place}: the room has another detector or another --fp. A room keeps its first one."
        )
    done, sizes = images_detected(store), store.spacings()
    todo = {image: files[image] for image in files if image in sizes and image not in done}
    if is_table:
        tables = read_detections(place, files, dropped)
        store.set_setting("detector", kept or [digest, fp])
        store.set_setting("without_row", len(set(files) - set(tables)))
        for image in todo:
            _insert_detections(store, image, tables.get(image), sizes[image])
        return {}
    # Imported late, because most rooms have no detector, and the import is slow.
    from overread.study import Detector, Request

    model = Detector.read(place)
    point = model.operating_point(fp if kept is None else kept[1])
    store.set_setting("detector", [digest, point.fp_target])
    store.set_setting("locked_at", point.record())
    return _detect_all(store, Request(model, point.fp_target), todo, sizes)


def images_detected(store: Store) -> set[str]:
    """Images that the room's detector has processed."""
    return {image for (image,) in store.rows("SELECT image_id FROM detected")}


def _detect_all(
    store: Store, request: Request, files: Mapping[str, ShownFile], sizes: Mapping[str, tuple[float, float]]
) -> dict[str, str]:
    """Run a detector on images, and store its shown detections."""
    from overread.study import detect_image

    bad: dict[str, str] = {}
    trained = trained_on(store)
    for image in count_steps("images through the detector", list(files)):
        try:
            radiograph, found, _ = detect_image(request, files[image].path, files[image].mm_per_px)
        except OverreadError as error:
            bad[image] = str(error)
            continue
        if request.detector.was_trained_on(radiograph):
            trained.add(image)
            store.set_setting("trained_on", sorted(trained))
        shown = named(found[found["shown"]], request.detector.unit)
        _insert_detections(store, image, shown, sizes[image])
    if trained:
        warnings.warn(
            f"the detector was trained on {len(trained)} of these images, so its benefit there does not show its "
            "benefit on new images (train it on another study)",
            DataWarning,
            stacklevel=2,
        )
    return bad


def trained_on(store: Store) -> set[str]:
    """Images of the room on which its detector was trained, as far as recorded."""
    return set(store.setting("trained_on") or ())


def rate_marks(store: Store) -> MarkRate | None:
    """Count the detector's marks per image; None if the room has no detector."""
    if store.setting("detector") is None:
        return None
    n_images, n_marks = (len(store.rows(f"SELECT 1 FROM {table}")) for table in ("detected", "detections"))
    without_row = store.setting("without_row") or 0
    return MarkRate(store.setting("locked_at") or {}, n_images, n_marks, without_row)


def read_detections(
    path: Path, images: Collection[str], dropped: Collection[str] = ()
) -> dict[str, pd.DataFrame]:
    """Shown detections by image of a table, which may name only these images and skipped ones."""
    table = read_table(path, "candidates")
    if "score" not in table:
        raise TableError(f"{path}: has no column score. Use a table of overread detect.")
    listed = set(table["image_id"].astype(str))
    foreign = sorted(listed - {*images, *dropped})
    if foreign:
        raise TableError(
            f"{path}: has detections of {len(foreign)} images not in the study, such as {foreign[0]!r}. The "
            f"study has {next(iter(images), 'no image')!r}, ... Use the image_id of images.csv."
        )
    unused = listed - set(images)
    if unused:
        warnings.warn(
            f"{path}: has detections of {len(unused)} images that are skipped in the study; they are not used",
            DataWarning,
            stacklevel=2,
        )
    table = table[table["image_id"].astype(str).isin(list(images))]
    shown = table["shown"] if "shown" in table else pd.Series(data=True, index=table.index)
    return {str(image): rows[shown[rows.index]] for image, rows in table.groupby("image_id")}


def _insert_detections(
    store: Store, image: str, found: pd.DataFrame | None, mm_per_px: tuple[float, float]
) -> None:
    """Store the detections of an image, as ellipses in its pixels, and that it was processed."""
    if found is not None and len(found):
        lengths, unit = plain(found)
        radius = lengths["radius"]
        circles = lengths.assign(semi_major=radius, semi_minor=radius, angle_deg=0.0)
        pixels = ellipses_in_pixels(named(circles, unit), mm_per_px)
        rows = pd.DataFrame(pixels, columns=list(ELLIPSE))
        rows.insert(0, "image_id", image)
        rows.insert(1, "detection", [f"D{number + 1}" for number in range(len(rows))])
        rows["score"] = found["score"].to_numpy(float)
        # SQLite keeps NaN as NULL.
        rows["probability"] = found["probability"].to_numpy(float) if "probability" in found else np.nan
        kept: list[Any] = rows.to_dict("records")
        store.insert("detections", kept)
    store.insert("detected", [{"image_id": image}])


def shown_detections(store: Store, item: str, image: str) -> list[dict[str, Any]]:
    """Detector's marks on an image with the reader's decision on each; for the aided phase only."""
    rows = store.rows(
        "SELECT detections.*, decision, reason FROM detections LEFT JOIN decisions ON "
        "decisions.detection = detections.detection AND decisions.item = ? WHERE image_id = ? ORDER BY score DESC",
        (item, image),
    )
    names = (*ELLIPSE, "score", "probability", "decision")
    return [
        {"id": row["detection"], **{name: row[name] for name in names}, "reason": row["reason"] or ""}
        for row in rows
    ]
