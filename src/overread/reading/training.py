"""Training images: marked like all others, and answered with what was there to find."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.marks.mark_set import find_table, read_folder
from overread.marks.pixels import rescale_ellipses
from overread.tables.table_files import read_table
from overread.truth import candidate_hits, merge_marks

__all__ = ["TrainingSet"]


class TrainingSet:
    """Known objects of a folder of training images.

    Parameters
    ----------
    folder
        A study: its truth table where it has one, else what at least two readers of its marks agree on.
    """

    def __init__(self, folder: Path) -> None:
        path = find_table(folder, "truth")
        if path is not None:
            truth = read_table(path, "truth")
        else:
            study = read_folder(folder)
            truth = merge_marks(study.marks, study.readings)
        self._objects = truth[truth["golden"]]

    def feedback(
        self, image: str, marks: Sequence[dict[str, Any]], mm_per_px: tuple[float, float]
    ) -> dict[str, Any]:
        """Return the objects of an image, whether the marks hit each, and the marks that hit none.

        Parameters
        ----------
        image
            Its id.
        marks
            As the page has them, in pixels.
        mm_per_px
            Size of a pixel.
        """
        objects = self._objects[self._objects["image_id"] == image]
        x, y = mm_per_px
        drawn = pd.DataFrame(
            {
                "image_id": image,
                "x_mm": [mark["x"] * x for mark in marks],
                "y_mm": [mark["y"] * y for mark in marks],
            }
        ).astype({"x_mm": "float64", "y_mm": "float64"})
        hits = candidate_hits(drawn, objects)
        found, useful = set(hits["truth_row"]), set(hits["candidate_row"])
        ellipses = objects[list(ELLIPSE_COLUMNS)].to_numpy(np.float64)
        rows = rescale_ellipses(ellipses, 1.0 / x, 1.0 / y).tolist() if len(ellipses) else []
        return {
            "objects": [
                {**dict(zip(("x", "y", "rx", "ry", "angle"), row, strict=True)), "found": number in found}
                for number, row in enumerate(rows)
            ],
            "false_marks": [mark["id"] for number, mark in enumerate(marks) if number not in useful],
        }
