"""`overread show`: anatomy or region, and candidates, drawn over one image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from overread._commands import Flag, OutputPath, at_least_one, emit, open_recipe
from overread._terminal import print_line
from overread.domains import DEFAULT_FINDER, DEFAULT_LIMIT
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
    finder: str = DEFAULT_FINDER,
    study: Path | None = None,
    group: str | None = None,
    mm_per_px: str | None = None,
    json: Flag = False,
) -> None:
    """Draw lungs, ribs, clavicles and candidates over a radiograph; of another picture its region and candidates.

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
        Most candidates to draw; default: 60, or as study.toml says.
    finder
        How they are found in a chest: curvature, or log to compare with.
    study
        Study of other pictures than chests: this one is searched as its study.toml says.
    group
        Group of labels of that study, where it has several.
    mm_per_px
        Size of a pixel, X or X,Y, where the file does not state it.
    json
        Print quality and candidates as JSON.
    """
    from overread._commands import parse_spacing
    from overread._plots import figure_kind, save_figure
    from overread.domains import find_anatomy, find_candidates, overlay_figure
    from overread.files import real_path
    from overread.images import read_image
    from overread.marks import without_ending

    figure_kind(output)
    if real_path(output) == real_path(image):
        raise UsageError(f"{output}: is the image to read; give the picture another name")
    at_least_one(limit=limit)
    if study is not None:
        picture = Picture(image, output, image_id, parse_spacing(mm_per_px))
        _show_picture(picture, study, group, limit, candidates, as_json=json)
        return
    limit = limit or DEFAULT_LIMIT
    radiograph = read_image(image, mm_per_px=parse_spacing(mm_per_px))
    found = find_anatomy(radiograph)
    if candidates is None:
        table = find_candidates(radiograph, anatomy=found, finder=finder, limit=limit)
    else:
        table = _read_candidates_of(candidates, image_id or image.as_posix()).head(limit)
    title = image_id or without_ending(image.name)
    save_figure(overlay_figure(radiograph, found, table, title=title), output)
    quality = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.quality.items())
    emit(
        {"quality": found.quality, "candidates": table.to_dict(orient="records"), "output": str(output)},
        lambda _: print_line(f"Wrote {output}: {len(table)} candidates; {quality}"),
        as_json=json,
    )


@dataclass(frozen=True)
class Picture:
    """A picture to draw: its file, where the drawing goes, its id if one is given, and the size of a pixel."""

    path: Path
    output: Path
    image_id: str | None
    mm_per_px: tuple[float, float] | None


def _show_picture(
    picture: Picture,
    study: Path,
    group: str | None,
    limit: int | None,
    candidates: Path | None,
    *,
    as_json: bool,
) -> None:
    """Draw a picture as its study sees it, and say what was drawn."""
    from overread._plots import save_figure
    from overread.domains import picture_figure
    from overread.marks import without_ending
    from overread.report import UNIT_WORDS

    of_study = open_recipe(study, group)
    if of_study is None:
        raise UsageError(f"--study {study}: its study.toml is missing, or its images are chests")
    name = picture.image_id or without_ending(picture.path.name)
    field = of_study.read(name, picture.path, picture.mm_per_px)
    if candidates is None:
        table = of_study.recipe.who_finds(field, limit=limit or of_study.limit)
    else:
        own = _read_candidates_of(candidates, picture.image_id or picture.path.as_posix())
        table = of_study.from_tables(own, field, picture.mm_per_px).head(limit or of_study.limit)
    unit = UNIT_WORDS[of_study.recipe.unit]
    save_figure(picture_figure(field, table, unit=unit, title=name), picture.output)
    share = float(field.region.mean())
    drawn = f"Wrote {picture.output}: {len(table)} candidates"
    emit(
        {
            "region_share": share,
            "unit": of_study.recipe.unit,
            "candidates": table.to_dict(orient="records"),
            "output": str(picture.output),
        },
        lambda _: print_line(f"{drawn}; the region fills {100 * share:.0f} % of the picture"),
        as_json=as_json,
    )


def _read_candidates_of(path: Path, image_id: str) -> pd.DataFrame:
    """Candidates of one image, by falling response; in the order of the table where it has none."""
    from overread.marks import ImageNames
    from overread.tables import read_table

    table = read_table(path, "candidates")
    names = ImageNames(dict.fromkeys(table["image_id"], ""), str(path))
    rows = table[table["image_id"] == names.find(image_id)]
    if rows.empty:
        raise UsageError(f"{path}: no candidates of image {image_id!r} (name another with --image-id)")
    if "response" not in rows:
        return rows.assign(response=0.0).reset_index(drop=True)
    return rows.sort_values("response", ascending=False, kind="stable", ignore_index=True)
