"""`overread show`: anatomy and candidates drawn over one radiograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread.candidates import DEFAULT_FINDER, DEFAULT_LIMIT
from overread.errors import UsageError
from overread.screen import print_json, print_line

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["show"]


def show(
    image: Path,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    candidates: Path | None = None,
    image_id: str | None = None,
    limit: int = DEFAULT_LIMIT,
    finder: str = DEFAULT_FINDER,
    mm_per_px: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Draw lungs, ribs, clavicles and candidates over a radiograph.

    Parameters
    ----------
    image
        A DICOM, PNG, TIFF or JPEG file.
    output
        Write the picture here (PNG, SVG or PDF).
    candidates
        Draw the candidates of this table instead of finding them; their response is what is written, 0 without one.
    image_id
        Id of the image in that table; by default the one that goes by the file's name.
    limit
        Most candidates to draw.
    finder
        How they are found: curvature, or log to compare with.
    mm_per_px
        Size of a pixel, X or X,Y, where the file does not state it.
    json
        Print quality and candidates as JSON.
    """
    from overread.anatomy import find_anatomy
    from overread.candidates import find_candidates
    from overread.candidates.plots import overlay_figure
    from overread.cli.image_folder import parse_spacing
    from overread.files.regular import real_path
    from overread.images import read_image
    from overread.marks.file_names import without_ending
    from overread.plots import figure_kind, save_figure

    figure_kind(output)
    if real_path(output) == real_path(image):
        raise UsageError(f"{output}: is the image to read; give the picture another name")
    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    radiograph = read_image(image, mm_per_px=parse_spacing(mm_per_px))
    found = find_anatomy(radiograph)
    if candidates is None:
        table = find_candidates(radiograph, anatomy=found, finder=finder, limit=limit)
    else:
        table = read_candidates_of(candidates, image_id or image.as_posix()).head(limit)
    title = image_id or without_ending(image.name)
    save_figure(overlay_figure(radiograph, found, table, title=title), output)
    if json:
        from overread.files.strict_json import json_text

        report = {
            "quality": found.quality,
            "candidates": table.to_dict(orient="records"),
            "output": str(output),
        }
        print_json(json_text(report))
    else:
        quality = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.quality.items())
        print_line(f"Wrote {output}: {len(table)} candidates; {quality}")


def read_candidates_of(path: Path, image_id: str) -> pd.DataFrame:
    """Candidates of one image, by falling response; in the order of the table where it has none."""
    from overread.marks.file_names import ImageNames
    from overread.tables.table_files import read_table

    table = read_table(path, "candidates")
    names = ImageNames(dict.fromkeys(table["image_id"], ""), str(path))
    rows = table[table["image_id"] == names.find(image_id)]
    if rows.empty:
        raise UsageError(f"{path}: no candidates of image {image_id!r} (name another with --image-id)")
    if "response" not in rows:
        return rows.assign(response=0.0).reset_index(drop=True)
    return rows.sort_values("response", ascending=False, kind="stable", ignore_index=True)
