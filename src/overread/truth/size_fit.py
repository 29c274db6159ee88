"""Whether the marks fit the reference size of the merging threshold.

The threshold T = min(T0, T0 D / full_size) grows with the size D of a mark up to the full size, 20 mm in the paper.
Where a length has no unit of its own, as in photographs, or pixels have the wrong size, all marks may lie at one end:
then nearly everything that touches is one object (T near 0), or only near copies are (T = T0).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.truth.options import MergeOptions
from overread.truth.pairs import mark_sizes

__all__ = ["tell_misfit"]

# Median size of the marks over the full size, and what it does to the number of golden objects
# (docs/explanation/merging.md): from 0.1 to 0.4 seven sets of marks stay within 16 % of their best number; at 0.05
# the worst of them has lost 24 %, at 1 30 %. The paper's chests and nih-240x3, at 0.7, lose 1 to 4 %.
FITTING = (0.05, 1.0)
# Every set is within 5 % of its best number of golden objects here.
ADVISED = 0.2
# Fewer marks have no median to speak of; chosen by eye.
LEAST_MARKS = 10


def tell_misfit(marks: pd.DataFrame, options: MergeOptions, unit: str = "mm") -> tuple[str, str] | None:
    """Say that the marks are too small or too large for the full size, and the cure; None where they fit.

    Parameters
    ----------
    marks
        Marks, as `merge_marks` takes them.
    options
        How they are to be merged.
    unit
        Of the lengths.
    """
    if (
        options.threshold != "adaptive"
        or options.method not in ("star", "components")
        or len(marks) < LEAST_MARKS
    ):
        return None
    median = float(np.median(mark_sizes(marks[list(ELLIPSE_COLUMNS)].to_numpy(np.float64), options)))
    ratio = median / options.full_size_mm
    low, high = FITTING
    if low <= ratio <= high:
        return None
    message = (
        f"the median mark has a size of {median:.3g} {unit}, {ratio:.2g} of full_size_mm = {options.full_size_mm:.4g} "
        f"({low:g} to {high:g} fits): "
    )
    if ratio < low:
        message += "marks that hardly overlap become one object"
    else:
        message += "only marks that nearly coincide become one object"
    remedy = (
        "correct the size of a pixel if marks are not of this size; else full_size_mm = "
        f"{float(f'{median / ADVISED:.2g}'):g} "
        "([merging] in study.toml, merge --full-size-mm; docs/explanation/merging.md)"
    )
    return message, remedy
