"""The second reader: a detector's marks at its locked operating point, computed before anybody reads."""

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
    """Compute and keep the marks of a detector for each image that has none yet.

    Without ``fp`` the detector works where the room has it already, else at its own operating point.
    Return the reason by image for which there are none.
    """
    place = detector / "detector.json" if detector.is_dir() else detector
    if not place.is_file():
        raise UsageError(
            f"{place}: there is no such file (--detector takes detector.json, or a table of detections)"
        )
    digest, kept, is_table = digest_of_file(place), store.setting("detector"), place.suffix in TABLE_ENDINGS
    if kept is not None and (kept[0] != digest or not (is_table or fp in (None, kept[1]))):
        raise UsageError(f"{place}: the room has another detector, or another --fp; one room keeps to one")
    done, sizes = images_detected(store), store.spacings()
    todo = {image: files[image] for image in files if image in sizes and image not in done}
    if is_table:
        tables = read_detections(place, files, dropped)
        store.set_setting("detector", kept or [digest, fp])
        store.set_setting("without_row", len(set(files) - set(tables)))
        for image in todo:
            _insert_detections(store, image, tables.get(image), sizes[image])
        return {}
    # Late, because most rooms have no detector, and everybody waits for what it imports.
    from overread.study import Detector, Request

    model = Detector.read(place)
    point = model.operating_point(fp if kept is None else kept[1])
    store.set_setting("detector", [digest, point.fp_target])
    store.set_setting("locked_at", point.record())
    return _detect_all(store, Request(model, point.fp_target), todo, sizes)


def images_detected(store: Store) -> set[str]:
    """Images that the room's detector has seen."""
    return {image for (image,) in store.rows("SELECT image_id FROM detected")}


def _detect_all(
    store: Store, request: Request, files: Mapping[str, ShownFile], sizes: Mapping[str, tuple[float, float]]
) -> dict[str, str]:
    """Run a detector on images, and keep what it shows of each."""
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
            f"the detector was trained on {len(trained)} of these images, so what it adds there does not show what it "
            "adds in new ones (train it on one study and let another be read with it)",
            DataWarning,
            stacklevel=2,
        )
    return bad


def trained_on(store: Store) -> set[str]:
    """Images of the room that its detector was trained on, as far as it says."""
    return set(store.setting("trained_on") or ())


def rate_marks(store: Store) -> MarkRate | None:
    """Count the marks that the room's detector makes here; None where it has none."""
    if store.setting("detector") is None:
        return None
    n_images, n_marks = (len(store.rows(f"SELECT 1 FROM {table}")) for table in ("detected", "detections"))
    without_row = store.setting("without_row") or 0
    return MarkRate(store.setting("locked_at") or {}, n_images, n_marks, without_row)


def read_detections(
    path: Path, images: Collection[str], dropped: Collection[str] = ()
) -> dict[str, pd.DataFrame]:
    """Shown detections of each image that a table names; it may name no others than these and those left out."""
    table = read_table(path, "candidates")
    if "score" not in table:
        raise TableError(f"{path}: has no column score (overread detect writes it)")
    listed = set(table["image_id"].astype(str))
    foreign = sorted(listed - {*images, *dropped})
    if foreign:
        raise TableError(
            f"{path}: has detections of {len(foreign)} images that the study has not, such as {foreign[0]!r}; the "
            f"study has {next(iter(images), 'no image')!r}, ... (use the image_id of images.csv)"
        )
    unused = listed - set(images)
    if unused:
        warnings.warn(
            f"{path}: has detections of images that were left out of the study ({len(unused)}); they are not used",
            DataWarning,
            stacklevel=2,
        )
    table = table[table["image_id"].astype(str).isin(list(images))]
    shown = table["shown"] if "shown" in table else pd.Series(data=True, index=table.index)
    return {str(image): rows[shown[rows.index]] for image, rows in table.groupby("image_id")}


def _insert_detections(
    store: Store, image: str, found: pd.DataFrame | None, mm_per_px: tuple[float, float]
) -> None:
    """Keep the detections of an image, as ellipses in its pixels, and that it is done."""
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
    """Detector's marks on an image with what the reader decided of each; for the aided phase only."""
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
