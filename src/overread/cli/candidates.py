"""`overread candidates`: the suspicious regions of every image of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overread.candidates import DEFAULT_FINDER, DEFAULT_LIMIT
from overread.cli.image_tables import ImageTableOptions, write_image_table
from overread.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.cli.image_folder import ImageFile
    from overread.images import Radiograph

__all__ = ["candidates"]

COLUMNS = {"candidate_id": "str"} | dict.fromkeys(("x_mm", "y_mm", "radius_mm", "response"), "float64")


def candidates(
    options: ImageTableOptions, *, limit: int = DEFAULT_LIMIT, finder: str = DEFAULT_FINDER
) -> int:
    """Find the suspicious regions of every image of a folder.

    Parameters
    ----------
    limit
        Most candidates of an image.
    finder
        How they are found: curvature, or log to compare with.
    """
    from overread.candidates import find_candidates, load_finder

    options.check_output()
    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    chosen = load_finder(finder)

    def work(_: ImageFile, radiograph: Radiograph) -> pd.DataFrame:
        return find_candidates(radiograph, finder=chosen, limit=limit)

    return write_image_table(options, options.list_images(), work, COLUMNS, title="Candidates")
