"""`overread candidates`: the suspicious regions of every image of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overread._commands import ImageTableOptions, at_least_one, open_domain, write_image_table

if TYPE_CHECKING:
    import pandas as pd

    from overread._commands import ImageFile
    from overread.domains import DomainImage


COLUMNS = {"candidate_id": "str"} | dict.fromkeys(("x", "y", "radius", "response"), "float64")


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
    options.check_output()
    at_least_one(limit=limit)
    of_study = open_domain(options.folder, group, finder)

    def work(file: ImageFile, image: DomainImage) -> pd.DataFrame:
        found = of_study.domain.find(image, None, limit=limit or of_study.limit)
        return of_study.to_tables(found, image, file.mm_per_px)

    return write_image_table(
        options, options.list_images(), work, COLUMNS, title="Candidates", of_study=of_study
    )
