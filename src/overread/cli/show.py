"""`overread show`: draw anatomy or region, and candidates, over one image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from overread._commands import Flag, OutputPath, at_least_one, emit, open_domain
from overread._terminal import print_line
from overread.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


def show(
    image: Path,
    *,
    output: OutputPath,
    candidates: Path | None = None,
    image_id: str | None = None,
    limit: int | None = None,
    finder: str | None = None,
    study: Path | None = None,
    group: str | None = None,
    mm_per_px: str | None = None,
    json: Flag = False,
) -> None:
    """Draw lungs, ribs, clavicles and candidates over a radiograph, or region and candidates over another image.

    Parameters
    ----------
    image
        A DICOM, PNG, TIFF or JPEG file.
    output
        File for the picture (PNG, SVG or PDF).
    candidates
        Draw the candidates of this table instead of finding them. Their response is read from it, or 0 if it
        has none.
    image_id
        Id of the image in that table; by default derived from the file name.
    limit
        Largest number of candidates to draw; by default 60, or the value in study.toml.
    finder
        Finder for chests: curvature (the default), or log for comparison.
    study
        Study that is not of chests, whose study.toml defines the search.
    group
        Group of labels, if that study has several.
    mm_per_px
        Pixel size in mm, X or X,Y, where the file does not state it.
    json
        Print quality and candidates as JSON.
    """
    from overread._commands import parse_spacing
    from overread._plots import figure_kind, save_figure
    from overread.files import real_path
    from overread.marks import without_ending
    from overread.tables import named

    figure_kind(output)
    if real_path(output) == real_path(image):
        raise UsageError(f"{output}: is the input image. Give the picture another name.")
    at_least_one(limit=limit)
    of_study = open_domain(study, group, finder)
    if study is not None and not of_study.domain.depends_on_study:
        raise UsageError(
            f"--study {study}: its study.toml is missing, or its images are chests. For a chest, remove --study."
        )
    domain, limit, spacing = of_study.domain, limit or of_study.limit, parse_spacing(mm_per_px)
    name = image_id or without_ending(image.name)
    shown = of_study.read(name, image, spacing)
    regions = domain.find_regions(shown)
    if candidates is None:
        table = domain.find(shown, regions, limit=limit)
    else:
        own = _read_candidates_of(candidates, image_id or image.as_posix())
        table = of_study.from_table(own, shown, spacing).head(limit)
    save_figure(domain.draw(shown, regions, table, name), output)
    found, words = domain.describe_regions(shown, regions)
    emit(
        {**found, "candidates": named(table, domain.unit).to_dict(orient="records"), "output": str(output)},
        lambda _: print_line(f"Wrote {output}: {len(table)} candidates; {words}"),
        as_json=json,
    )


def _read_candidates_of(path: Path, image_id: str) -> pd.DataFrame:
    """Candidates of one image by decreasing response, or in the order of the table if it has no response."""
    from overread.marks import ImageNames
    from overread.tables import read_table

    table = read_table(path, "candidates")
    names = ImageNames(dict.fromkeys(table["image_id"], ""), str(path))
    rows = table[table["image_id"] == names.find(image_id)]
    if rows.empty:
        raise UsageError(
            f"{path}: has no candidates of image {image_id!r}. Choose another id with --image-id."
        )
    if "response" not in rows:
        return rows.assign(response=0.0).reset_index(drop=True)
    return rows.sort_values("response", ascending=False, kind="stable", ignore_index=True)
