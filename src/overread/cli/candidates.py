"""`overread candidates`: the suspicious regions of every image of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overread._commands import ImageTableOptions, at_least_one, open_recipe, write_image_table
from overread.domains import DEFAULT_FINDER, DEFAULT_LIMIT
from overread.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread._commands import ImageFile
    from overread.domains import PictureImage
    from overread.images import Radiograph
    from overread.study import StudyRecipe


COLUMNS = {"candidate_id": "str"} | dict.fromkeys(("x_mm", "y_mm", "radius_mm", "response"), "float64")


def candidates(
    options: ImageTableOptions,
    *,
    limit: int | None = None,
    finder: str | None = None,
    group: str | None = None,
) -> int:
    """Find the suspicious regions of every image of a folder.

    A study of other pictures than chests says in study.toml how it is searched.

    Parameters
    ----------
    limit
        Most candidates of an image; default: 60 of a chest, else as study.toml says.
    finder
        How they are found in a chest: curvature (the default), or log to compare with.
    group
        Group of labels of a study of other pictures that has several.
    """
    from overread.domains import find_candidates, load_finder

    options.check_output()
    at_least_one(limit=limit)
    of_study = open_recipe(options.folder, group)
    if of_study is not None:
        if finder is not None:
            raise UsageError("--finder: is of chests; study.toml names the finder of other pictures")
        return _write_candidates_of_pictures(options, of_study, limit or of_study.limit)
    chosen = load_finder(finder or DEFAULT_FINDER)

    def work(_: ImageFile, radiograph: Radiograph) -> pd.DataFrame:
        return find_candidates(radiograph, finder=chosen, limit=limit or DEFAULT_LIMIT)

    return write_image_table(options, options.list_images(), work, COLUMNS, title="Candidates")


def _write_candidates_of_pictures(options: ImageTableOptions, of_study: StudyRecipe, limit: int) -> int:
    """Find the candidates of a study's pictures, in the unit of its tables."""

    def read(image: ImageFile) -> PictureImage:
        return of_study.read(image.image_id, image.path, image.mm_per_px)

    def work(image: ImageFile, field: PictureImage) -> pd.DataFrame:
        found = of_study.recipe.who_finds(field, limit=limit)
        return of_study.to_tables(found, field, image.mm_per_px)

    return write_image_table(options, options.list_images(), work, COLUMNS, title="Candidates", read=read)
