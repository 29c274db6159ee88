"""Check the tables of a study: all problems at once, each with its row, column and remedy.

``check_*`` return every problem; `raise_for_errors` combines them into one error with the first few.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.tables._cells import quote_cell
from overread.tables._files import duplicated_rows
from overread.tables._problems import Problem, Severity
from overread.tables._schemas import schema_of
from overread.tables._spelling import likeness_of, same_name, visible_text
from overread.tables._units import ENDINGS, SPACING, LengthUnit, pixel_sides, plain, unit_of

SMALLEST_AXIS_MM = 1e-3
# The largest detectors are 43 cm wide: few marks are as large.
USUAL_AXIS_MM = 215.0
# A mark larger than this share of its image's shorter side is drawn or scaled wrongly; set by judgement.
LARGEST_SHARE = 0.6
# The largest detectors of projection radiography have sides of 430 mm: no object is longer than this.
LARGEST_AXIS_MM = 500.0
# Limit for any image: pixels of the finest detectors read as mm stay below it.
LARGEST_PLACE: dict[LengthUnit, float] = {"mm": 10_000.0, "px": 1e6, "percent": 10_000.0}
# The same as in images/_spacing.py, which this package does not import.
SMALLEST_MM, LARGEST_MM = 0.01, 10.0
ONE_READER = (
    "for one reader, use one spelling (overread import --reader-names OLD=NEW); for two, give them names that differ "
    "in more than their spelling"
)
SIZES = ("width_px", "height_px")
UNITS = "check the units: were percent exported as pixels, or pixels as mm?"


def check_study(
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    images: pd.DataFrame | None = None,
    *,
    files: tuple[str, str, str] = ("marks", "readings", "images"),
    spelling: bool = True,
) -> list[Problem]:
    """List all problems of the three tables, separately and together; see `check_readings` for spelling."""
    return [
        *(check_images(images, file=files[2]) if images is not None else []),
        *check_readings(readings, images, file=files[1], spelling=spelling),
        *check_marks(marks, readings, images, file=files[0]),
    ]


def check_images(images: pd.DataFrame, *, file: str = "images") -> list[Problem]:
    """List the problems of an images table: repeated ids, bad spacings and sizes, patients in two splits."""
    problems = [*_missing_columns(images, "images", file)]
    if problems:
        return problems
    problems += duplicated_rows(images, schema_of("images"), file)
    problems += _coded_twice(images["image_id"], file)
    numbers = {
        name: images[name].to_numpy(float) if name in images else np.full(len(images), np.nan)
        for name in (*SPACING, *SIZES)
    }
    for name, values in numbers.items():
        bad = ~np.isnan(values) & ~(np.isfinite(values) & (values > 0))
        unit = "mm per pixel, such as 0.143" if name in SPACING else "the number of pixels"
        remedy = f"give {unit}, or leave the cell empty"
        problems += _at_rows(bad, values, file, name, remedy, note="not a positive number")
    problems += _strange_spacing([numbers[name] for name in SPACING], file)
    return [*problems, *_patients_in_two_splits(images, file)]


def _strange_spacing(spacing: list[NDArray[np.float64]], file: str) -> Iterator[Problem]:
    """Find pixel sizes in one direction only, and those that no radiograph has, such as 143 instead of 0.143."""
    known = [~np.isnan(values) for values in spacing]
    message, remedy = "the pixel size in one direction is missing", "give both or neither"
    for row in np.flatnonzero(known[0] != known[1]):
        yield Problem(file, int(row) + 2, SPACING[int(known[0][row])], message, remedy)
    for name, values in zip(SPACING, spacing, strict=True):
        strange = np.isfinite(values) & (values > 0) & ((values < SMALLEST_MM) | (values > LARGEST_MM))
        rows = np.flatnonzero(strange)
        if len(rows):
            also = f" ({len(rows)} rows)" if len(rows) > 1 else ""
            message = f"{values[rows[0]]:g} mm per pixel{also} is outside {SMALLEST_MM:g} to {LARGEST_MM:g}"
            remedy = "give mm per pixel, such as 0.143"
            yield Problem(file, int(rows[0]) + 2, name, message, remedy, "warning")


def _patients_in_two_splits(images: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Find patients with images in two splits: the score on one would be learnt from the other."""
    if "patient_id" not in images or "split" not in images:
        return
    first: dict[str, str] = {}
    for row, (patient, split) in enumerate(zip(images["patient_id"], images["split"], strict=True)):
        if not (isinstance(patient, str) and patient and isinstance(split, str) and split):
            continue
        if split != first.setdefault(patient, split):
            splits = f"{quote_cell(split)} and in {quote_cell(first[patient])}"
            message = f"patient {quote_cell(patient)} is in split {splits}"
            yield Problem(file, row + 2, "split", message, "keep a patient in one split", "leakage")


def check_readings(
    readings: pd.DataFrame,
    images: pd.DataFrame | None = None,
    *,
    file: str = "readings",
    spelling: bool = True,
) -> list[Problem]:
    """List the problems of a readings table: repeated readings, unknown images, images without a reading.

    ``spelling`` also looks for two spellings of one reader; callers that may rename readers check later.
    """
    problems = [*_missing_columns(readings, "readings", file)]
    if problems:
        return problems
    problems += duplicated_rows(readings, schema_of("readings"), file)
    if spelling:
        problems += _spelled_twice(readings["reader_id"], file)
    if images is None or "image_id" not in images:
        return problems
    problems += _unknown_images(readings, _absent(readings["image_id"], images["image_id"]), file)
    unread = images.loc[_absent(images["image_id"], readings["image_id"]), "image_id"]
    remedy = "add them, or remove the image"
    for image in unread.drop_duplicates():
        message = f"image {quote_cell(image)} has 0 readings"
        problems.append(Problem(file, None, "image_id", message, remedy))
    return problems


def _coded_twice(ids: pd.Series[str], file: str) -> Iterator[Problem]:
    """Find ids that look equal: other codes of accents, invisible characters."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(ids):
        if isinstance(name, str) and (other := first.setdefault(visible_text(name), name)) != name:
            yield Problem(file, None, "image_id", f"{other!a} and {name!a} look the same", "keep one")


def _spelled_twice(readers: pd.Series[str], file: str) -> Iterator[Problem]:
    """Find two spellings of one reader (an error, for the user to decide), and readers with similar names."""
    alike: dict[str, list[str]] = {}
    for name in sorted({name for name in readers if isinstance(name, str)}):
        alike.setdefault(likeness_of(name), []).append(name)
    for names in alike.values():
        if len(names) < 2:
            continue
        is_one = len({same_name(name) for name in names}) < len(names)
        shown = " and ".join(map(quote_cell if "".join(names).isascii() else ascii, names))
        words = "are the same name" if is_one else "look alike"
        message = f"{shown} {words}, and count as {len(names)} readers"
        yield Problem(file, None, "reader_id", message, ONE_READER, "error" if is_one else "warning")


def check_marks(
    marks: pd.DataFrame,
    readings: pd.DataFrame | None = None,
    images: pd.DataFrame | None = None,
    *,
    file: str = "marks",
) -> list[Problem]:
    """List the problems of a marks table: bad shapes, readers without a reading, marks outside the image.

    Lengths beyond any radiograph are reported if lengths are in mm and the images table has no pixels of 1 x 1 mm, by
    which earlier versions said that lengths are in pixels.
    """
    problems = [*_missing_columns(marks, "marks", file)]
    if problems:
        return problems
    unit = unit_of(marks.columns, file)
    problems += duplicated_rows(marks, schema_of("marks"), file)
    problems += _bad_shapes(marks, file)
    problems += _copied_marks(marks, file)
    problems += _angles_like_radians(marks, file)
    if unit == "mm":
        problems += _odd_lengths(marks, images, file)
    if readings is not None and {"image_id", "reader_id"} <= set(readings.columns):
        problems += _marks_without_reading(marks, readings, file)
    if images is not None and "image_id" in images:
        problems += _unknown_images(marks, _absent(marks["image_id"], images["image_id"]), file)
        problems += outside_the_image(marks, images, file)
        problems += _in_the_first_pixel(marks, images, file)
    return problems


def _copied_marks(marks: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Find marks that repeat another of the same reader: same image, position, size and label."""
    keys = ["image_id", "reader_id", *(name for name in marks if name in ENDINGS), "angle_deg"]
    keys += ["label"] if "label" in marks else []
    for row in np.flatnonzero(marks.duplicated(keys).to_numpy()):
        message = f"reader {quote_cell(marks['reader_id'].iloc[row])} has this mark twice"
        yield Problem(file, int(row) + 2, "mark_id", message, "keep one of the two rows", "warning")


def _angles_like_radians(marks: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Warn about angles of ellipses that are all within 2 pi and not whole numbers."""
    angles = marks["angle_deg"].to_numpy(float)
    lengths, _ = plain(marks)
    turned = (angles != 0) & (lengths["semi_major"] != lengths["semi_minor"]).to_numpy()
    # Angles drawn at random are three times within 2 pi in one table of 20,000.
    if len(np.unique(angles[turned])) >= 3 and look_like_radians(angles[turned]):
        row = int(np.flatnonzero(turned)[0])
        message = f"all {int(turned.sum())} angles are within 2 pi, such as {angles[row]:g}: radians?"
        yield Problem(file, row + 2, "angle_deg", message, "give degrees", "warning")


def look_like_radians(angles: NDArray[np.float64]) -> bool:
    """Whether all angles are within 2 pi and not all are whole numbers."""
    return bool(len(angles) and (np.abs(angles) <= 2 * np.pi).all() and (angles % 1 != 0).any())


def _in_the_first_pixel(marks: pd.DataFrame, images: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Refuse marks that all lie within the first pixel of their image: fractions read as pixels."""
    lengths, unit = plain(marks)
    x, y = (lengths["image_id"].map(side).to_numpy(float) for side in _pixel_sides(images, unit))
    if marks.empty:
        return
    sizes = ((lengths["x"], x), (lengths["y"], y), (lengths["semi_major"], np.maximum(x, y)))
    if all(((length >= 0) & (length < pixel)).all() for length, pixel in sizes):
        message = f"all {len(marks):,} marks lie within the first pixel of their image"
        remedy = "if these are fractions of the image, multiply them by its width and height"
        yield Problem(file, None, None, message, remedy)


def _bad_shapes(marks: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Centres and angles that are not finite; semi-axes that are not positive, or longer than any image."""
    for name in (*_names(marks, "x", "y"), "angle_deg"):
        values = marks[name].to_numpy(float)
        wrong = ~np.isfinite(values)
        yield from _at_rows(wrong, values, file, name, "give a finite number", note="not finite")
    yield from _far_places(marks, file)
    for name in _names(marks, "semi_major", "semi_minor"):
        values = marks[name].to_numpy(float)
        good = np.isfinite(values) & (values > 0)
        remedy = "give a positive length, or remove the mark"
        yield from _at_rows(~good, values, file, name, remedy, note="not a positive length")
        endless = good & (values > LARGEST_PLACE[ENDINGS[name][1]])
        yield from _at_rows(endless, values, file, name, UNITS, note="longer than any image")


def _odd_lengths(marks: pd.DataFrame, images: pd.DataFrame | None, file: str) -> Iterator[Problem]:
    """Semi-axes in mm that are longer than a detector, or too small."""
    mm = ~marks["image_id"].isin(images_in_pixels(images)).to_numpy(bool)
    for name in ("semi_major_mm", "semi_minor_mm"):
        values = marks[name].to_numpy(float)
        good = mm & np.isfinite(values) & (values > 0) & (values <= LARGEST_PLACE["mm"])
        long = good & (values > LARGEST_AXIS_MM)
        yield from _at_rows(long, values, file, name, UNITS, note=f"more than {LARGEST_AXIS_MM:g} mm")
        tiny = good & (values < SMALLEST_AXIS_MM)
        yield from _at_rows(tiny, values, file, name, "is the unit mm?", "warning", note="under 0.001 mm")
        huge = good & (values > USUAL_AXIS_MM) & ~long
        yield from _at_rows(huge, values, file, name, UNITS, "warning", note="larger than any radiograph")


def images_in_pixels(images: pd.DataFrame | None) -> list[str]:
    """List the images whose pixels are 1 x 1, so that lengths in them are pixels."""
    if images is None or not {"image_id", *SPACING} <= set(images.columns):
        return []
    return list(images.loc[(images[list(SPACING)] == 1).all(axis=1), "image_id"])


def _far_places(table: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Finite centres outside an image of any size."""
    for name in _names(table, "x", "y"):
        values = table[name].to_numpy(float)
        far = np.isfinite(values) & (np.abs(values) > LARGEST_PLACE[ENDINGS[name][1]])
        yield from _at_rows(far, values, file, name, UNITS, note="outside an image of any size")


def check_candidates(candidates: pd.DataFrame, *, file: str = "candidates") -> list[Problem]:
    """List the problems of a candidates table: impossible positions, radii and responses."""
    problems: list[Problem] = []
    for name in (*_names(candidates, "x", "y"), *(["response"] if "response" in candidates else [])):
        values = candidates[name].to_numpy(float)
        wrong = ~np.isfinite(values)
        problems += _at_rows(wrong, values, file, name, "give a finite number", note="not finite")
    problems += _far_places(candidates, file)
    (name,) = _names(candidates, "radius")
    unit = ENDINGS[name][1]
    largest = LARGEST_AXIS_MM if unit == "mm" else LARGEST_PLACE[unit]
    radius = candidates[name].to_numpy(float)
    wrong = ~((radius > 0) & (radius <= largest))
    note = f"not a radius above 0 and at most {largest:g} {unit}"
    return [*problems, *_at_rows(wrong, radius, file, name, UNITS, note=note)]


def _marks_without_reading(marks: pd.DataFrame, readings: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Find marks by a reader who has no reading of that image."""
    known = pd.MultiIndex.from_frame(readings[["image_id", "reader_id"]])
    drawn = pd.MultiIndex.from_frame(marks[["image_id", "reader_id"]])
    for row in np.flatnonzero(~drawn.isin(known)):
        image, reader = marks["image_id"].iloc[row], marks["reader_id"].iloc[row]
        message = f"reader {quote_cell(reader)} marked image {quote_cell(image)} without a reading"
        yield Problem(file, int(row) + 2, "reader_id", message, "add the reading, or correct the reader")


def _unknown_images(table: pd.DataFrame, unknown: NDArray[np.bool_], file: str) -> Iterator[Problem]:
    """Rows of images that the images table does not list."""
    for row in np.flatnonzero(unknown):
        message = f"image {quote_cell(table['image_id'].iloc[row])} is not in the images table"
        yield Problem(file, int(row) + 2, "image_id", message, "add the image, or correct the id")


def outside_the_image(marks: pd.DataFrame, images: pd.DataFrame, file: str) -> Iterator[Problem]:
    """Centres outside the image (a warning), or outside by a whole image (an error); marks larger than most of it."""
    unit = unit_of(marks.columns, file) or "mm"
    extents = []
    listed = images.drop_duplicates("image_id").set_index("image_id")
    for name, size, side in zip(("x", "y"), SIZES, _pixel_sides(images, unit), strict=True):
        pixels = listed[size] if size in listed else pd.Series(np.nan, index=listed.index)
        extent = marks["image_id"].map(pixels * side).to_numpy(float)
        extents.append(extent)
        centre = f"{name}_{unit}"
        place = marks[centre].to_numpy(float)
        beyond = np.maximum(-place, place - extent)
        far = beyond >= extent
        yield from _at_rows(far, place, file, centre, UNITS, note="outside its image by a whole image")
        near = (beyond > 0) & ~far
        yield from _at_rows(near, place, file, centre, UNITS, "warning", note="outside its image")
    if (name := f"semi_major_{unit}") in marks:
        axis = marks[name].to_numpy(float)
        large = 2 * axis > LARGEST_SHARE * np.minimum(*extents)
        note = f"more than {LARGEST_SHARE:.0%} of its image as a full axis"
        yield from _at_rows(large, axis, file, name, UNITS, "warning", note=note)


def _pixel_sides(images: pd.DataFrame, unit: LengthUnit) -> Iterator[pd.Series[float]]:
    """Pixel size (width, height) in a unit by image id; NaN if the images table does not state it."""
    listed = images.drop_duplicates("image_id").set_index("image_id")
    for name in SPACING:
        unknown = pd.Series(np.nan, index=listed.index)
        yield listed.get(name, unknown) if unit == "mm" else unknown.fillna(1.0) * pixel_sides(listed, unit)


def _names(table: pd.DataFrame, *names: str) -> list[str]:
    """Names of lengths in the table, with their unit."""
    unit = unit_of(table.columns) or "mm"
    return [f"{name}_{unit}" for name in names]


def _at_rows(
    bad: NDArray[np.bool_],
    values: NDArray[np.float64],
    file: str,
    column: str,
    remedy: str,
    severity: Severity = "error",
    *,
    note: str,
) -> Iterator[Problem]:
    """One problem for each bad row of a column of numbers."""
    for row in np.flatnonzero(bad):
        message = "the cell is empty" if np.isnan(values[row]) else f"{values[row]:.6g} is {note}"
        yield Problem(file, int(row) + 2, column, message, remedy, severity)


def _missing_columns(table: pd.DataFrame, kind: str, file: str) -> Iterator[Problem]:
    """Find required columns that a data frame lacks, and columns of lengths that are not numbers."""
    schema = schema_of(kind).of_header(table.columns, file)
    for column in schema.columns:
        if column.name not in table:
            if column.required:
                yield Problem(file, None, column.name, "the column is missing", f"the {kind} table needs it")
        elif column.type == "number" and table[column.name].dtype.kind not in "fiu":
            yield Problem(file, None, column.name, "the column does not hold numbers", "convert it to float")
        elif column.type == "id":
            ids = table[column.name]
            # one comparison for a column of strings: it costs more to visit 100,000 ids than to merge their marks
            if isinstance(ids.dtype, pd.StringDtype) and not (ids.isna() | (ids == "")).any():
                continue
            for row, value in enumerate(ids.to_numpy(object), start=2):
                if not isinstance(value, str) or not value:
                    message, remedy = f"{value!r} is not an id", "give every row an id, as text"
                    yield Problem(file, row, column.name, message, remedy)


def _absent(ids: pd.Series[str], among: pd.Series[str]) -> NDArray[np.bool_]:
    """Whether each id is not among others (``isin`` of pandas' text columns is many times slower)."""
    known = set(among.to_numpy(object))
    return np.array([value not in known for value in ids.to_numpy(object)], bool)
