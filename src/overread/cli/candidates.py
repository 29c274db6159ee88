"""`overread candidates`: the candidates of every image in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overread._commands import ImageTableOptions, at_least_one, open_domain, write_image_table

if TYPE_CHECKING:
    import pandas as pd

    from overread._commands import ImageFile
    from overread.domains import DomainImage


def candidates(
    options: ImageTableOptions,
    *,
    limit: int | None = None,
    finder: str | None = None,
    group: str | None = None,
) -> int:
    """Find the candidates of every image in a folder.

    The study.toml of a study that is not of chests defines the search.

    Parameters
    ----------
    limit
        Largest number of candidates per image; by default 60 in a chest, otherwise the value in study.toml.
    finder
        Finder for chests: curvature (the default), or log for comparison.
    group
        Group of labels, if the study has several.
    """
    from overread.tables import name_lengths, named

    options.check_output()
    at_least_one(limit=limit)
    of_study = open_domain(options.folder, group, finder)
    domain = of_study.domain

    def work(file: ImageFile, image: DomainImage) -> pd.DataFrame:
        return named(domain.find(image, None, limit=limit or of_study.limit), domain.unit)

    names = name_lengths(("x", "y", "radius"), domain.unit)
    columns = {"candidate_id": "str"} | dict.fromkeys((*names, "response"), "float64")
    return write_image_table(
        options, options.list_images(), work, columns, title="Candidates", of_study=of_study
    )
