"""Someone else's detections and ground truth, as the tables that :func:`overread.froc.match_detections` takes.

Positions come as points, circles, boxes or ellipses, in mm, px or per cent of the width; those in px become mm where a
spacing is given. A box becomes the ellipse
inscribed in it; a detection keeps that ellipse's centre and the radius of the circle of the same area,
sqrt(width * height) / 2. Pixel (0, 0) covers [0, 1] x [0, 1] px.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import FormatError, InvalidInputError, TableError
from overread.marks import (
    ELLIPSE_COLUMNS,
    Box,
    BoxFile,
    BoxMode,
    ImageNames,
    JsonFormat,
    read_box_file,
    rescale_ellipses,
)
from overread.tables import (
    Column,
    LengthUnit,
    Schema,
    TableScan,
    duplicated_rows,
    name_lengths,
    named,
    raise_for_errors,
    scan_file,
    unit_of,
)

FloatArray = NDArray[np.float64]
Spacing = float | Mapping[str, tuple[float, float]]
"""mm per px of all images, or (x, y) of each image by its id."""

UNITS: tuple[LengthUnit, ...] = get_args(LengthUnit)
POSITIONS = {
    **{f"ellipse in {unit}": tuple(name_lengths(ELLIPSE_COLUMNS, unit)) for unit in UNITS},
    **{f"circle in {unit}": tuple(name_lengths(("x", "y", "radius"), unit)) for unit in UNITS},
    "box in mm": ("x_min_mm", "y_min_mm", "x_max_mm", "y_max_mm"),
    "box in px": ("x_min", "y_min", "x_max", "y_max"),
    **{f"point in {unit}": tuple(name_lengths(("x", "y"), unit)) for unit in UNITS},
}
OPTIONAL = (
    *(Column(name, "number", required=False) for name in dict.fromkeys(sum(POSITIONS.values(), ()))),
    Column("response", "number", required=False),
    Column("n_readers", "count", required=False),
    Column("golden", "flag", required=False),
)
IDS = (
    Column("image_id", "id"),
    *(Column(name, "text", required=False) for name in ("candidate_id", "truth_id", "patient_id")),
)
DETECTIONS = Schema("detections", (*IDS, *OPTIONAL), ("image_id", "candidate_id"), others="any")
TRUTH = Schema("ground truth", (*IDS, *OPTIONAL), ("image_id", "truth_id"), others="any")
NOT_SCORES = {"label", *(column.name for column in (*IDS, *OPTIONAL))}


class _Tables:
    """Tables of a file, by the names of their attributes, and the images that it lists."""

    __slots__ = ()
    NAMES: ClassVar[tuple[str, ...]]
    images: tuple[str, ...] | None

    def named_images(self) -> list[str]:
        """Images that the file speaks of."""
        return [*dict.fromkeys(getattr(self, self.NAMES[0])["image_id"]), *(self.images or ())]

    def renamed(self, ids: Mapping[str, str]) -> Self:
        """Return the same tables under other ids of images; images that are not listed keep theirs."""
        renamed: dict[str, Any] = {}
        for name in self.NAMES:
            table = getattr(self, name)
            given = [ids.get(image, image) for image in table["image_id"]]
            renamed[name] = table.assign(image_id=pd.Series(given, table.index, dtype="str"))
        images = None if self.images is None else tuple(ids.get(image, image) for image in self.images)
        return replace(self, images=images, **renamed)  # type: ignore[type-var]


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class Detections(_Tables):
    """Detections as tables of the same rows, and the images that were read, where the file says so.

    A point has radius 0. ``in_px`` says whether positions were in px; where a spacing was given they are in mm now.
    """

    NAMES = ("candidates", "scores")
    candidates: pd.DataFrame
    scores: pd.DataFrame
    images: tuple[str, ...] | None
    in_px: bool = False

    @property
    def models(self) -> list[str]:
        """Names of the score columns."""
        return [name for name in self.scores.columns if name not in ("image_id", "candidate_id")]

    @property
    def unit(self) -> LengthUnit | None:
        """Unit of the positions; None if the detections have no positions."""
        return unit_of(self.candidates.columns, "detections")


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class ForeignTruth(_Tables):
    """Ground truth as a table with the representative ellipse, and the images where the file lists them.

    ``in_px`` says whether positions were in px; where a spacing was given they are in mm now.
    """

    NAMES = ("truth",)
    truth: pd.DataFrame
    images: tuple[str, ...] | None
    in_px: bool = False


def read_detections(
    path: str | Path,
    *,
    spacing: Spacing | None = None,
    format: JsonFormat | None = None,
    box_mode: BoxMode | None = None,
    units: Literal["px", "mm"] | None = None,
    category: str | None = None,
    score_columns: Sequence[str] | None = None,
    model: str | None = None,
) -> Detections:
    """Read detections from CSV, Parquet, or the JSON of COCO, MONAI or nnDetection.

    Parameters
    ----------
    path : str or Path
        Tables end in .csv or .parquet, everything else is read as JSON. A table has image_id, scores, and
        positions as x_mm, y_mm and maybe radius_mm (or _px, _percent in place of _mm); or a box x_min, y_min, x_max,
        y_max in px (x_min_mm and so on in mm); candidate_id may be left out.
    spacing : Spacing, optional
        mm per px; positions in px become mm by it, and stay in px without it.
    format, box_mode, units, category
        Of JSON: see :mod:`overread.marks.formats.coco`. MONAI needs ``box_mode`` and ``units``; COCO and
        nnDetection are in px. A file with several categories (labels) needs the one to keep, or "all".
    score_columns : sequence of str, optional
        Score columns of a table; default: ``score`` where there is one, else every column left.
    model : str, optional
        Name of the score column of a JSON file; default "score".

    Raises
    ------
    FormatError, TableError
        Naming file, place and remedy; a score that is NaN or infinite is refused.
    """
    file = Path(path)
    if _is_table(file):
        table = _read_by_schema(file, DETECTIONS)
        chosen = list(score_columns or _default_score_columns(table, file))
        columns = {name: _score_values(table, name, file) for name in chosen}
        return _assemble_detections(_place(table, file, spacing), columns)
    boxes = _chosen_category(read_box_file(file, format, box_mode=box_mode), category)
    placed = _place(_box_frame(boxes, units), file, spacing)
    if missing := [box.place for box in boxes.boxes if box.score is None]:
        raise FormatError(f"{missing[0]}: no score; is this a file of ground truth?")
    scores = np.array([box.score for box in boxes.boxes], dtype=np.float64)
    return _assemble_detections(placed, {model or "score": scores}, boxes.images)


def read_positions(path: str | Path, *, spacing: Spacing | None = None) -> Detections:
    """Read ids and positions of a table of candidates, without scores."""
    file = Path(path)
    if not _is_table(file):
        raise TableError(f"{file}: a table of candidates ends in .csv or .parquet")
    frame = _read_by_schema(file, DETECTIONS)
    if _position_kind(frame) is None:
        raise TableError(f"{file}: no positions; give x_mm and y_mm (or _px, _percent), or boxes")
    return _assemble_detections(_place(frame, file, spacing), {})


def read_foreign_truth(
    path: str | Path,
    *,
    spacing: Spacing | None = None,
    category: str | None = None,
) -> ForeignTruth:
    """Read ground truth from a table (ellipses, circles or boxes) or from a COCO ground-truth file.

    A table may have ``truth_id``, ``golden`` or ``n_readers``, and any other columns, which are kept for
    strata. Without ``golden`` and ``n_readers`` every object is a target. Points are refused: they have
    no size.
    """
    file = Path(path)
    if _is_table(file):
        table = _read_by_schema(file, TRUTH)
        if (_position_kind(table) or "point").startswith("point"):
            sized = (", ".join(names) for kind, names in POSITIONS.items() if not kind.startswith("point"))
            raise TableError(
                f"{file}: ground truth needs a place and a size; columns of one of: {'; '.join(sized)}"
            )
        frame, in_px = _place(table, file, spacing)
        return ForeignTruth(frame, None, in_px=in_px)
    boxes = _chosen_category(read_box_file(file, "coco"), category)
    if boxes.images is None:
        raise FormatError(f"{file}: COCO results, not ground truth: no 'images' and 'annotations'")
    unknown = sorted({box.image_id for box in boxes.boxes} - set(boxes.images))
    if unknown:
        raise FormatError(f"{file}: image {unknown[0]!r} has annotations and is not under 'images'")
    frame, _ = _place(_box_frame(boxes, "px"), file, spacing)
    return ForeignTruth(_add_ids(frame, "truth_id"), boxes.images, in_px=True)


def _is_table(file: Path) -> bool:
    return file.suffix.lower() in (".csv", ".parquet")


def _read_by_schema(path: Path, schema: Schema) -> pd.DataFrame:
    """Table whose id column may be missing: rows are then numbered."""
    scan: TableScan = scan_file(path, schema)
    raise_for_errors(scan.problems)
    frame = _add_ids(scan.frame, schema.key[1])
    raise_for_errors(duplicated_rows(frame, schema, str(path)))
    return frame


def _add_ids(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Frame whose rows have an id; where the column is missing, their number."""
    if column in frame.columns:
        return frame
    return frame.assign(**{column: [str(row + 1) for row in range(len(frame))]}).astype({column: "str"})


def _default_score_columns(frame: pd.DataFrame, path: Path) -> list[str]:
    """``score`` where there is one, else every column that is nothing else, without a run's out-of-fold scores."""
    names = list(frame.columns)
    if "score" in names:
        return ["score"]
    found = [name for name in names if name not in NOT_SCORES and not out_of_fold(name, names)]
    if not found:
        raise TableError(f"{path}: no score column; add one called score, or one per model")
    return found


def out_of_fold(name: str, names: Sequence[str]) -> bool:
    """Whether a column holds a run's out-of-fold scores, which the test set does not have, beside its scores."""
    return name.endswith("_out_of_fold") and name.removesuffix("_out_of_fold") in names


def _score_values(frame: pd.DataFrame, name: str, path: Path) -> FloatArray:
    """Finite scores of a column."""
    if name not in frame.columns:
        raise TableError(f"{path}: no column {name!r}; it has {', '.join(map(repr, frame.columns))}")
    values = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(wrong[0])
        raise TableError(
            f"{path}, row {row + 2}, column {name}: {frame[name].iloc[row]!r:.40} is not a finite score "
            "(where the column holds no scores, name the score columns: --score)"
        )
    return values


def _position_kind(frame: pd.DataFrame) -> str | None:
    """First kind of position whose columns are all there."""
    return next((kind for kind, names in POSITIONS.items() if set(names) <= set(frame.columns)), None)


def _place(frame: pd.DataFrame, place: Path, spacing: Spacing | None) -> tuple[pd.DataFrame, bool]:
    """Frame with centre, radius and ellipse, whatever it was given with, and whether that was in px.

    px become mm where the spacing is given; a frame without positions is returned as it is.
    """
    kind = _position_kind(frame)
    if kind is None:
        return frame, False
    names = POSITIONS[kind]
    values = frame[list(names)].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(values))[0])
        raise TableError(
            f"{place}, row {row + 2}, column {names[column]}: {values[row, column]} is not a place"
        )
    unit, scale = next(unit for unit in UNITS if kind.endswith(unit)), np.ones((len(frame), 2))
    if unit == "px" and spacing is not None:
        unit, scale = "mm", _spacings(frame["image_id"], spacing, place)
    x, y, a, b, angle = _ellipses(kind, values, scale, place)
    swap = b > a
    lengths = {"x": x, "y": y, "radius": np.sqrt(a * b)}
    lengths |= {"semi_major": np.where(swap, b, a), "semi_minor": np.where(swap, a, b)}
    others = frame.drop(columns=list(names))
    columns = dict(named(pd.DataFrame(lengths, index=others.index), unit))
    turned = np.where(swap, (angle + 90) % 180, angle)
    return others.assign(**columns, angle_deg=turned), kind.endswith("px")


def _ellipses(kind: str, values: FloatArray, scale: FloatArray, place: Path) -> tuple[FloatArray, ...]:
    """Centre, the two semi-axes and the angle of the first one, scaled."""
    zeros = np.zeros(len(values))
    if kind.startswith("ellipse"):
        sound = (values[:, 2:4] > 0).all() and not (scale == 1).all()
        x, y, a, b, angle = (rescale_ellipses(values, *scale.T) if sound else values).T
    elif kind.startswith("box"):
        low, high = values[:, :2] * scale, values[:, 2:] * scale
        x, y, a, b, angle = *((low + high) / 2).T, *((high - low) / 2).T, zeros
    else:
        radii = values[:, 2:] if kind.startswith("circle") else zeros[:, None]
        x, y, a, b, angle = *(values[:, :2] * scale).T, *(radii * scale).T, zeros
    if not kind.startswith("point") and not np.all((a > 0) & (b > 0)):
        row = int(np.flatnonzero(~((a > 0) & (b > 0)))[0])
        raise TableError(
            f"{place}, row {row + 2}: the {kind} has no size (its sides or axes must be above 0)"
        )
    return x, y, a, b, angle % 180


def _spacings(image_ids: pd.Series[str], spacing: Spacing, place: Path) -> FloatArray:
    """Mm per px in x and y of each row."""
    if isinstance(spacing, Mapping):
        known = ImageNames(dict.fromkeys(spacing, "")).find_all(image_ids)
        missing = sorted(set(image_ids) - set(known))
        if missing:
            raise InvalidInputError(f"{place}: image {missing[0]!r} has no spacing ({len(missing)} in all)")
        found = np.array([spacing[known[image]] for image in image_ids], dtype=np.float64).reshape(-1, 2)
    else:
        found = np.full((len(image_ids), 2), spacing, dtype=np.float64)
    if not np.all(np.isfinite(found) & (found > 0)):
        raise InvalidInputError(f"{place}: the spacing must be finite and above 0 mm per px")
    return found


def _box_frame(boxes: BoxFile, units: Literal["px", "mm"] | None) -> pd.DataFrame:
    """Boxes as a frame with the columns of their unit."""
    if boxes.format == "monai" and units is None:
        raise FormatError(f"{boxes.path}: a MONAI file does not say its unit; give units: px or mm")
    if boxes.format != "monai" and units == "mm":
        raise FormatError(f"{boxes.path}: boxes of {boxes.format} are in px")
    names = POSITIONS["box in mm" if units == "mm" else "box in px"]
    corners = np.array([box.corners for box in boxes.boxes], dtype=np.float64).reshape(-1, 4)
    frame = pd.DataFrame(corners, columns=list(names))
    frame.insert(0, "image_id", pd.Series([box.image_id for box in boxes.boxes], dtype="str"))
    return frame.assign(label=pd.Series([box.label for box in boxes.boxes], dtype="str"))


def _chosen_category(boxes: BoxFile, category: str | None) -> BoxFile:
    """Boxes of one category; several without a choice are refused."""
    present = sorted({box.label for box in boxes.boxes})
    if category == "all" or (category is None and len(present) <= 1):
        return boxes
    if category is None:
        raise FormatError(
            f"{boxes.path}: {len(present)} categories ({', '.join(present[:8])}); "
            "choose one, or 'all' to mix them"
        )
    kept: tuple[Box, ...] = tuple(box for box in boxes.boxes if box.label == category)
    if boxes.boxes and not kept:
        raise FormatError(
            f"{boxes.path}: no box of category {category!r}; there are {', '.join(present[:8])}"
        )
    return BoxFile(boxes.path, boxes.format, kept, boxes.images)


def _assemble_detections(
    placed: tuple[pd.DataFrame, bool],
    scores: Mapping[str, FloatArray],
    images: tuple[str, ...] | None = None,
) -> Detections:
    """Tables of candidates and scores with the same rows, from what :func:`_place` gives."""
    frame, in_px = placed
    rows = _add_ids(frame, "candidate_id")
    keys = rows[["image_id", "candidate_id"]]
    unit = unit_of(rows.columns) or "mm"
    where = [name for name in name_lengths(("x", "y", "radius"), unit) if name in rows.columns]
    candidates = pd.concat([keys, rows[where]], axis=1)
    return Detections(candidates, keys.assign(**scores), images, in_px=in_px)
