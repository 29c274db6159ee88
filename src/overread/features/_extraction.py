"""Candidates on a radiograph -> a table of features.

Works for anybody's candidates: it needs x_mm, y_mm and radius_mm, and finds the anatomy and the outlines itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd

from overread.domains import find_anatomy
from overread.errors import InvalidInputError, TableError
from overread.features._anatomy import Anatomy
from overread.features._arrays import F32, F64
from overread.features._catalogue import CATALOGUE, Catalogue
from overread.features._family import Family
from overread.features._outlines import draw_outlines, patch_side
from overread.features.context._context import Context
from overread.features.context._maps import ImageMaps
from overread.images import Radiograph
from overread.tables import plain

# Raised whenever any feature's value may change for the same image and candidate.
FEATURE_VERSION = "1"

# Candidates computed together: always the same batches, so that threads do not change a bit of the result. Chosen by
# eye: the patches and levels of a batch take 10 MB.
BATCH = 50
# A nodule is up to 30 mm across, a mass may be more; below 2 pixels there is no shape. Set by judgement.
RADIUS_LIMITS_MM = (1.5, 40.0)


def extract_features(
    radiograph: Radiograph,
    candidates: pd.DataFrame,
    anatomy: Anatomy | None = None,
    *,
    features: Iterable[str] | None = None,
    n_threads: int | None = None,
    catalogue: Catalogue = CATALOGUE,
) -> pd.DataFrame:
    """Compute the features of candidates (the paper's section 5).

    Parameters
    ----------
    radiograph : Radiograph
        Image on the isotropic grid.
    candidates : DataFrame
        One row a candidate: x_mm, y_mm, radius_mm, and candidate_id (without it the row's number, as text). Radii
        are cut to 1.5..40 mm.
    anatomy : Anatomy, optional
        Anatomy of the radiograph; found here if not given.
    features : iterable of str, optional
        Names of the features wanted, in the order wanted; all of the catalogue by default. Only the families they
        belong to are computed.
    n_threads : int, optional
        Threads; all processors by default. The result does not depend on it.
    catalogue : Catalogue, default=CATALOGUE
        Where the features are from; one of your own may have more families.

    Returns
    -------
    candidate_id and one float32 column per feature, all finite, in the order of the candidates.

    Raises
    ------
    TableError
        If a column is missing, a number is not finite, a radius is not above 0, or a centre is outside the image.
    InvalidInputError
        If a name is not a feature.
    """
    if n_threads is not None and n_threads < 1:
        raise InvalidInputError(f"n_threads is {n_threads}; it must be at least 1")
    wanted = catalogue.check_names(catalogue if features is None else features)
    places = find_places(radiograph, candidates)
    families = catalogue.families_with(wanted)
    anatomy = find_anatomy(radiograph) if anatomy is None else anatomy
    maps = ImageMaps(radiograph, anatomy)
    batches = [places[:, start : start + BATCH] for start in range(0, places.shape[1], BATCH)]
    with ThreadPoolExecutor(os.cpu_count() if n_threads is None else n_threads) as pool:
        blocks = list(pool.map(lambda batch: _compute_families(families, maps, batch), batches))
    names = [feature.name for family in families for feature in family.features]
    values = np.concatenate(blocks) if blocks else np.empty((0, len(names)), dtype=np.float32)
    table = pd.DataFrame(values, columns=names)[list(wanted)]
    table.insert(0, "candidate_id", _candidate_ids(candidates))
    return table


def _candidate_ids(candidates: pd.DataFrame) -> list[str]:
    """Identify the candidates as the table does, else by their row numbers."""
    if "candidate_id" in candidates:
        return [str(value) for value in candidates["candidate_id"]]
    return [str(number) for number in range(len(candidates))]


def find_places(radiograph: Radiograph, candidates: pd.DataFrame) -> F64:
    """Give column, row and radius of each candidate in pixels, (3, candidates), or say which is wrong."""
    lengths, _ = plain(candidates, "mm", "candidates")
    for name in ("x", "y", "radius"):
        if name not in lengths:
            raise TableError(f"candidates have no column {name}_mm; they need x_mm, y_mm and radius_mm")
    try:
        x, y, radius = (lengths[name].to_numpy(dtype=np.float64) for name in ("x", "y", "radius"))
    except (TypeError, ValueError) as error:
        raise TableError(f"candidates: x_mm, y_mm and radius_mm must be numbers: {error}") from error
    width, height = radiograph.size_mm
    checks = (
        (
            np.isfinite(x) & np.isfinite(y) & np.isfinite(radius),
            "x_mm, y_mm or radius_mm is not a finite number",
        ),
        (radius > 0.0, "radius_mm is not above 0"),
        (
            (x >= 0.0) & (x <= width) & (y >= 0.0) & (y <= height),
            f"lies outside the image of {width:g} x {height:g} mm",
        ),
    )
    for good, problem in checks:
        if not good.all():
            first = int(np.flatnonzero(~good)[0])
            raise TableError(
                f"candidate {_candidate_ids(candidates)[first]!r} (row {first}): {problem}: "
                f"x_mm {x[first]:g}, y_mm {y[first]:g}, radius_mm {radius[first]:g}"
            )
    column, row = radiograph.to_pixels(x), radiograph.to_pixels(y)
    return np.stack([column, row, np.clip(radius, *RADIUS_LIMITS_MM) / radiograph.mm_per_px])


def _compute_families(families: Sequence[Family], maps: ImageMaps, places: F64) -> F32:
    """Outline one batch of candidates, and compute all their columns; the batches share the radiograph's maps."""
    column, row, radius = (np.ascontiguousarray(part) for part in places)
    outline = draw_outlines(maps.base, maps.lungs, column, row, radius, side=patch_side(radius))
    context = Context(maps, column, row, radius, outline)
    nothing = np.empty((column.size, 0), dtype=np.float32)
    return np.concatenate([nothing, *(family.compute(context) for family in families)], axis=1)
