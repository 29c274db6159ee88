"""`overread merge`: marks and readings -> the truth table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import Flag, MarkTables, OutputPath, emit, print_counts, print_plain, print_table
from overread.errors import DataWarning, ImageError, InvalidInputError, UsageError
from overread.truth import LabelOptions, MergeOptions

if TYPE_CHECKING:
    import pandas as pd

    from overread.marks import MarkSet
    from overread.tables import LengthUnit
    from overread.truth import ThresholdCurve


DRAWN_MM = 0.35
"""Pixel size in mm of the drawn image: 1000 pixels across a chest, more than a page shows."""
WORDS = {"golden": "consensus objects (marked by two or more readers)"}


def merge(
    tables: MarkTables | None = None,
    *,
    adjudication: Path | None = None,
    output: OutputPath | None = None,
    figure: Path | None = None,
    image: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    pixels: Path | None = None,
    mm_per_px: float | None = None,
    json: Flag = False,
    options: Annotated[MergeOptions | None, Parameter(name="*", group="Merging")] = None,
    labels: Annotated[LabelOptions | None, Parameter(name="*", group="Soft labels")] = None,
) -> None:
    """Merge the readers' marks into objects with soft labels.

    Parameters
    ----------
    tables
        Marks and readings.
    adjudication
        Table of a chair's decisions on objects, from the reading room: lesions become consensus objects, the
        other objects are removed.
    output
        File for the truth table; its ending (.csv or .parquet) chooses the format.
    figure
        Draw the marks and the merged objects side by side (PNG, SVG or PDF), over the image if the study has
        its file.
    image
        Image to draw; repeat for more. By default the two images with the most marks.
    pixels
        Pixels of the one image to draw, if the study does not have its file: a DICOM, PNG, TIFF or JPEG file,
        or a 2-D NumPy file (.npy).
    mm_per_px
        Pixel size in mm of --pixels, if the file does not state it.
    json
        Print JSON instead of tables.
    options
        How marks are merged.
    labels
        How a score becomes a probability.
    """
    from overread._commands import print_warnings, refuse_to_overwrite
    from overread._plots import figure_kind, save_figure
    from overread.tables import write_table
    from overread.truth import apply_adjudication, merge_marks, read_adjudication, threshold_curve

    source = tables or MarkTables()
    if figure is not None:
        figure_kind(figure)
    elif image or pixels is not None or mm_per_px is not None:
        raise UsageError("--image, --pixels and --mm-per-px are for a figure. Give --figure too.")
    refuse_to_overwrite([*source.files(), pixels, adjudication], [output, figure])
    found = source.load(options, labels)
    marks, readings = found.tables.marks, found.tables.readings
    with print_warnings():
        truth = merge_marks(marks, readings, options=found.options, labels=found.labels, unit=found.unit)
    if adjudication is not None:
        truth = apply_adjudication(truth, read_adjudication(adjudication).frame)
    if output is not None:
        write_table(truth, output)
    if figure is not None:
        with print_warnings():
            drawn = _draw_images(found.tables, truth, source.study, image, pixels, mm_per_px, unit=found.unit)
            save_figure(drawn, figure)
    of_golden = truth[truth["golden"]]
    summary = {
        "images": int(readings["image_id"].nunique()),
        "readers": int(readings["reader_id"].nunique()),
        "readings": len(readings),
        "marks": len(marks),
        "objects": len(truth),
        "golden": len(of_golden),
        "images_with_objects": int(truth["image_id"].nunique()),
        "images_with_golden": int(of_golden["image_id"].nunique()),
        "objects_marked_twice_by_a_reader": _count_marked_twice(marks, truth),
    }
    curve = threshold_curve(marks, readings, options=found.options, unit=found.unit)
    thresholds = curve and {
        "option": curve.option,
        "chosen": curve.chosen,
        "curve": curve.table.to_dict("records"),
    }
    emit(
        {"summary": summary, "thresholds": thresholds, "truth": truth.to_dict(orient="records")},
        lambda _: _show(summary, truth, curve, [path for path in (output, figure) if path is not None]),
        as_json=json,
    )


def _draw_images(
    tables: MarkSet,
    truth: pd.DataFrame,
    study: Path | None,
    image: tuple[str, ...],
    pixels: Path | None,
    mm_per_px: float | None,
    *,
    unit: LengthUnit,
) -> Any:
    """Draw the given images, or the two with the most marks, over their pixels where known."""
    from overread.truth import marks_figure

    counts = tables.marks["image_id"].value_counts(sort=False).sort_index()
    chosen = image or tuple(counts.sort_values(ascending=False, kind="stable").index[:2])
    for name in chosen:
        if name not in counts:
            others = ", ".join(map(repr, counts.index[:3]))
            raise InvalidInputError(f"image {name!r} has no marks to draw. Images with marks: {others}, ...")
    if pixels is not None:
        pictures = {chosen[0]: _read_pixels(pixels, mm_per_px, chosen)}
    else:
        pictures = {} if study is None else _pictures_of(tables.images, study, chosen, unit)
    return marks_figure(tables.marks, truth, chosen, pictures=pictures, unit=unit)


def _pictures_of(
    images: pd.DataFrame, study: Path, chosen: tuple[str, ...], unit: LengthUnit
) -> dict[str, Any]:
    """Read the pixels of the chosen images of a study; warn about those that cannot be read."""
    from overread.images import display_image
    from overread.truth import MarkedPicture

    pictures: dict[str, Any] = {}
    if not {"path", "mm_per_px_x", "mm_per_px_y"} <= set(images.columns):
        return pictures
    for row in images[images["image_id"].isin(chosen) & (images["path"] != "")].to_dict("records"):
        try:
            spacing = (row["mm_per_px_x"], row["mm_per_px_y"])
            side = DRAWN_MM if unit == "mm" else min(spacing)
            grey = display_image(study / row["path"], mm_per_px=spacing, grid_mm=side)
        except ImageError as error:
            warnings.warn(f"drawn without pixels: {error}", DataWarning, stacklevel=2)
            continue
        pictures[row["image_id"]] = MarkedPicture(grey, side, side)
    return pictures


def _read_pixels(path: Path, mm_per_px: float | None, images: tuple[str, ...]) -> Any:
    """Read the pixels of the one image to draw."""
    from overread.images import display_image
    from overread.truth import MarkedPicture

    if len(images) != 1:
        raise UsageError("--pixels needs exactly one --image")
    if mm_per_px is not None and not 0.0 < mm_per_px < float("inf"):
        raise UsageError("--mm-per-px must be above 0")
    if path.suffix.lower() != ".npy":
        grey = display_image(path, mm_per_px=mm_per_px, grid_mm=DRAWN_MM)
        return MarkedPicture(grey, DRAWN_MM, DRAWN_MM)
    if mm_per_px is None:
        raise UsageError("--pixels with a NumPy file needs --mm-per-px")
    return MarkedPicture(_read_array(path), mm_per_px, mm_per_px)


def _read_array(path: Path) -> Any:
    """Read a 2-D array from a NumPy file (.npy); its header is checked first."""
    import numpy as np
    from numpy.lib import format as npy

    from overread.errors import FormatError
    from overread.files import open_regular
    from overread.images import check_shape

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with open_regular(path) as file:
        try:
            shape, _, dtype = headers[npy.read_magic(file)](file)
            if len(shape) != 2 or min(shape) < 1 or dtype.kind not in "biuf":
                raise FormatError(f"an image is a 2-D array of numbers, not {dtype} of shape {shape}")
            check_shape(*shape)
            file.seek(0)
            return np.load(file, allow_pickle=False)
        except InvalidInputError as error:
            raise FormatError(f"{path}: {error}") from None
        except Exception as error:  # a header is Python text, and fails in many ways
            raise FormatError(f"{path}: cannot be read as a NumPy file (.npy)") from error


def _count_marked_twice(marks: pd.DataFrame, truth: pd.DataFrame) -> int:
    """Count the objects on which a reader drew two or more marks."""
    members = truth[["image_id", "truth_id", "mark_ids"]].explode("mark_ids")
    members = members.rename(columns={"mark_ids": "mark_id"})
    known = members.astype("str").merge(marks[["image_id", "mark_id", "reader_id"]].astype("str"))
    return int(known[known.duplicated(["truth_id", "reader_id"])]["truth_id"].nunique())


def _show(
    summary: dict[str, int], truth: pd.DataFrame, curve: ThresholdCurve | None, written: list[Path]
) -> None:
    """Print the summary, the objects by number of readers, and the thresholds that held-out readers support."""
    print_counts(summary, words=WORDS)
    rows = (
        (n_readers, f"{len(rows):,}", f"{rows['probability'].mean():.3g}")
        for n_readers, rows in truth.groupby("n_readers")
    )
    title = "Objects by the number of readers who marked them"
    print_table(("readers", "objects", "mean probability"), rows, title=title)
    if curve is not None:
        _show_thresholds(curve)
    for path in written:
        print_plain(f"Wrote {path}")


def _show_thresholds(curve: ThresholdCurve) -> None:
    """Print how well held-out readers agree with the objects of the others, by threshold."""
    rows = (
        (
            f"{row['threshold']:g}{' (used)' if row['threshold'] == curve.used else ''}",
            f"{row['objects_per_image']:.2f}",
            "" if row["unchanged"] != row["unchanged"] else f"{row['unchanged']:.0%}",
            f"{row['agreement']:.3f}",
            f"{row['shortfall']:.3f} ± {row['standard_error']:.3f}",
        )
        for row in curve.table.to_dict("records")
    )
    header = (curve.option, "objects per image", "unchanged at the next", "agreement", "below the best")
    print_table(header, rows, title="Thresholds by agreement with held-out readers")
    print_plain(f"The held-out readers support {curve.option} = {curve.chosen:g}.")
