"""Squares to train the learned features on: inserted nodules, and what the finder finds on normal radiographs.

Several nodules are inserted into a background at once, and squares are cut around their centres, moved as the finder's
centres are: far cheaper than a search for candidates on every insertion. What is no nodule are the candidates of the
radiograph as it was.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.freeze_nih import LAW
from benchmarks.reader_share import expected_share
from overread.domains import find_anatomy, find_candidates
from overread.features import Anatomy, ImageMaps
from overread.features._learned import cut_squares
from overread.files import write_atomically
from overread.images import from_array
from overread.simulate import NoduleDistribution
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._cases import Background, pixels_with_nodules, with_conspicuity
from overread.simulate._frozen import NIH_GRID_MM, nih_background
from overread.simulate._nodules import draw_nodules

__all__ = ["LOOKS", "Examples", "make_examples", "read_examples"]

SEED = 97
# Rounds of insertions into one background, and nodules in a round.
ROUNDS = 16
NODULES = 8
CANDIDATES = 100
# How often a candidate is looked at, each time a little off, so that others are as many and as varied as nodules.
LOOKS = 3
# The finder's centre is off by this share of the diameter, in x and in y: measured on nih-240x3, 0.08 to 0.13.
OFF_CENTRE = 0.1
# Every fourth round has nodules of a wider law, larger and less regular than the benchmark's. Set by judgement.
WIDE_EVERY = 4
WIDE = NoduleDistribution(
    diameter_mm=(5.0, 45.0),
    exponent=(0.4, 2.0),
    axis_ratio=(0.5, 1.0),
    conspicuity=LAW.nodules.conspicuity,
    spiculated=0.5,
    with_spicules=0.5,
    texture=0.3,
)


@dataclass(frozen=True, eq=False)
class Examples:
    """Squares of one radiograph, or of many.

    Parameters
    ----------
    squares
        What the network sees: (place, band, side, side), float16.
    share
        Share of the readers who are expected to mark the place; 0 on what is no nodule.
    diameter_mm
        Of the nodule; 0 where there is none.
    """

    squares: NDArray[np.float16]
    share: NDArray[np.float32]
    diameter_mm: NDArray[np.float32]


def make_examples(file: BackgroundFile, place: Path) -> None:
    """Write the examples of one radiograph, unless they are there."""
    if place.exists():
        return
    cv2.setNumThreads(1)
    clean = nih_background(file).pixels
    radiograph = from_array(clean.astype(np.float32), NIH_GRID_MM)
    anatomy = find_anatomy(radiograph)
    background = nih_background(file, anatomy.lungs)
    found = find_candidates(radiograph, anatomy=anatomy, limit=CANDIDATES)
    others = np.random.default_rng([SEED, int(file.patient_id), ROUNDS])
    parts = [look_at_others(found, clean, anatomy, others)]
    for turn in range(ROUNDS):
        random = np.random.default_rng([SEED, int(file.patient_id), turn])
        law = WIDE if turn % WIDE_EVERY == WIDE_EVERY - 1 else LAW.nodules
        parts.append(insert_round(background, anatomy, law, random))
    content = io.BytesIO()
    np.savez(content, **vars(join(parts)))
    write_atomically(place, content.getvalue())


def look_at_others(
    found: pd.DataFrame, pixels: NDArray[np.generic], anatomy: Anatomy, random: np.random.Generator
) -> Examples:
    """Look at candidates that are no nodules, first at their centres, then a little off."""
    diameter = 2.0 * found["radius_mm"].to_numpy()
    off = [np.zeros((2, len(found)))]
    off += [random.normal(0, OFF_CENTRE, (2, len(found))) * diameter for _ in range(LOOKS - 1)]
    x, y = found[["x_mm", "y_mm"]].to_numpy().T[:, None] + np.stack(off, axis=1)
    squares = look_at(pixels, anatomy, x.ravel(), y.ravel())
    return Examples(squares, *np.zeros((2, x.size), np.float32))


def insert_round(
    background: Background, anatomy: Anatomy, law: NoduleDistribution, random: np.random.Generator
) -> Examples:
    """Insert nodules at once and look at each."""
    drawn = draw_nodules(
        NODULES, background.lungs, NIH_GRID_MM, law=law, blur_mm=background.blur_mm, random=random
    )
    nodules = [
        with_conspicuity(one, background.pixels, background.quiet, NIH_GRID_MM, white=background.white)
        for one in drawn
    ]
    diameter = np.array([one.diameter_mm for one in nodules])
    x, y = (
        np.array([getattr(one, name) for one in nodules])
        + random.normal(0, OFF_CENTRE, len(nodules)) * diameter
        for name in ("x_mm", "y_mm")
    )
    squares = look_at(pixels_with_nodules(background, nodules), anatomy, x, y)
    share = np.array([expected_share(one) for one in nodules])
    return Examples(squares, share.astype(np.float32), diameter.astype(np.float32))


def look_at(
    pixels: NDArray[np.generic], anatomy: Anatomy, x_mm: NDArray[np.float64], y_mm: NDArray[np.float64]
) -> NDArray[np.float16]:
    """Cut the squares around places of an image."""
    radiograph = from_array(pixels.astype(np.float32), NIH_GRID_MM)
    bands = ImageMaps(radiograph, anatomy).bands
    squares = cut_squares(bands, radiograph.to_pixels(x_mm), radiograph.to_pixels(y_mm))
    return squares.astype(np.float16)


def join(parts: list[Examples]) -> Examples:
    """Put examples together."""
    return Examples(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Examples))
    )


def read_examples(places: list[Path]) -> Examples:
    """Read the examples of many radiographs."""
    parts = []
    for place in places:
        with np.load(place, allow_pickle=False) as stored:
            parts.append(Examples(*(stored[field.name] for field in fields(Examples))))
    return join(parts)
