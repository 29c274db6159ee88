"""`overread candidates`: the suspicious regions of every image of a folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread.cli.conventions import WITH_BAD_IMAGES
from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.cli.image_folder import ImageFile

__all__ = ["candidates"]


def candidates(
    folder: Path,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    limit: int = 100,
    mm_per_px: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Find the suspicious regions of every image of a folder.

    Parameters
    ----------
    folder
        A study with images.csv, or a folder of images, also in folders within it, whose paths in it are the image ids.
    output
        Write the candidates here, CSV or Parquet by the ending.
    limit
        Most candidates of an image.
    mm_per_px
        Size of a pixel, X or X,Y, where neither the file nor the study states it.
    json
        Print the summary as JSON.
    """
    from overread.cli.conventions import refuse_to_overwrite
    from overread.cli.image_folder import images_of, spacing
    from overread.tables.table_files import write_table

    if output.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"{output}: a table ends in .csv or .parquet")
    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    images = images_of(folder, mm_per_px=spacing(mm_per_px))
    refuse_to_overwrite([*(image.path for image in images), folder / f"images{output.suffix}"], [output])
    frames, problems = found_in(images, limit)
    write_table(joined(frames), output)
    print_summary(frames, problems, output, as_json=json)
    return WITH_BAD_IMAGES if problems else 0


def found_in(images: Sequence[ImageFile], limit: int) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Candidates image by image, and what was wrong with the images that have none."""
    from rich.console import Console
    from rich.progress import track

    from overread.candidates import generate
    from overread.images import read_image

    frames: list[pd.DataFrame] = []
    problems: dict[str, str] = {}
    console = Console(stderr=True)
    for image in track(
        images, "Candidates", console=console, transient=True, disable=not console.is_terminal
    ):
        try:
            found = generate(read_image(image.path, mm_per_px=image.mm_per_px), limit=limit)
        except InvalidInputError as error:
            problems[image.image_id] = str(error)
            print(f"overread: skipped {image.image_id}: {error}", file=sys.stderr)
            continue
        found.insert(0, "image_id", image.image_id)
        frames.append(found)
    return frames, problems


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One table of all images, which has its columns even without rows."""
    import pandas as pd

    if frames:
        return pd.concat(frames, ignore_index=True)
    ids = {name: pd.Series(dtype="str") for name in ("image_id", "candidate_id")}
    numbers = ("x_mm", "y_mm", "radius_mm", "response")
    return pd.DataFrame(ids | {name: pd.Series(dtype="float64") for name in numbers})


def print_summary(
    frames: Sequence[pd.DataFrame], problems: dict[str, str], output: Path, *, as_json: bool
) -> None:
    """Say how many candidates were found and which images were skipped."""
    from json import dumps

    total = sum(len(frame) for frame in frames)
    if as_json:
        summary = {"images": len(frames), "candidates": total, "skipped": problems, "output": str(output)}
        print(dumps(summary, ensure_ascii=False))
    else:
        skipped = f", {len(problems)} skipped" if problems else ""
        print(f"Wrote {output}: {total:,} candidates of {len(frames):,} images{skipped}")
