"""Commands that make one table of all images of a folder: their shared options, and the loop over the images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread.cli.conventions import WITH_BAD_IMAGES
from overread.errors import InvalidInputError, UsageError
from overread.screen import print_json, print_line

if TYPE_CHECKING:
    import pandas as pd

    from overread.cli.image_folder import ImageFile
    from overread.fields import FieldImage
    from overread.images import Radiograph

__all__ = ["ImageTableOptions", "write_image_table"]


@Parameter(name="*")
@dataclass(frozen=True)
class ImageTableOptions:
    """Where the images are and where the table goes.

    Parameters
    ----------
    folder
        A study with images.csv, or a folder of images, also in folders within it, whose names are the image ids.
    output
        Write the table here, CSV or Parquet by the ending.
    mm_per_px
        Size of a pixel, X or X,Y, where neither the file nor the study states it.
    json
        Print the summary as JSON.
    """

    folder: Path
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = field(kw_only=True)
    mm_per_px: str | None = field(default=None, kw_only=True)
    json: Annotated[bool, Parameter(negative=())] = field(default=False, kw_only=True)

    def check_output(self, inputs: Sequence[Path] = ()) -> None:
        """Refuse an output that is no table, or a file to read."""
        from overread.cli.conventions import refuse_to_overwrite

        if self.output.suffix.lower() not in (".csv", ".parquet"):
            raise UsageError(f"{self.output}: a table ends in .csv or .parquet")
        refuse_to_overwrite([*inputs, self.folder / f"images{self.output.suffix}"], [self.output])

    def list_images(self) -> list[ImageFile]:
        """List the images; refuses an output that would replace one."""
        from overread.cli.image_folder import list_images, parse_spacing

        images = list_images(self.folder, mm_per_px=parse_spacing(self.mm_per_px))
        self.check_output([image.path for image in images])
        return images


def write_image_table(
    options: ImageTableOptions,
    images: Sequence[ImageFile],
    work: Callable[[ImageFile, Any], pd.DataFrame],
    columns: Mapping[str, str],
    *,
    title: str,
    read: Callable[[ImageFile], Radiograph | FieldImage] | None = None,
) -> int:
    """Do the work on every image, write one table of all, and return the exit code.

    An image that cannot be used is named and skipped.

    Parameters
    ----------
    options
        Where the table goes.
    images
        The images, in the order of the table.
    work
        Makes the rows of one image, one a candidate.
    columns
        Type of each column beside image_id: a table without rows has them too.
    title
        What is done, for who waits.
    read
        Reads one image; None: as a radiograph.
    """
    from overread.tables.table_files import write_table

    frames, problems = _collect(images, work, title, read or _read_radiograph)
    write_table(_join(frames, columns), options.output)
    _print_summary(frames, problems, options)
    return WITH_BAD_IMAGES if problems else 0


def _read_radiograph(image: ImageFile) -> Radiograph:
    from overread.images import read_image

    return read_image(image.path, mm_per_px=image.mm_per_px)


def _collect(
    images: Sequence[ImageFile],
    work: Callable[[ImageFile, Any], pd.DataFrame],
    title: str,
    read: Callable[[ImageFile], Radiograph | FieldImage],
) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Rows image by image, and what was wrong with the images that have none."""
    from overread.progress import ProgressBar, count_steps

    frames: list[pd.DataFrame] = []
    problems: dict[str, str] = {}
    with ProgressBar():
        for image in count_steps(f"{title}: images", images):
            try:
                frame = work(image, read(image))
            except InvalidInputError as error:
                problems[image.image_id] = str(error)
                print_line(f"overread: skipped {image.image_id}: {error}", stderr=True)
                continue
            frame.insert(0, "image_id", image.image_id)
            frames.append(frame)
    return frames, problems


def _join(frames: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """One table of all images, which has its columns even without rows."""
    import pandas as pd

    if frames:
        return pd.concat(frames, ignore_index=True)
    types = {"image_id": "str", **columns}
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})


def _print_summary(
    frames: Sequence[pd.DataFrame], problems: dict[str, str], options: ImageTableOptions
) -> None:
    """Say how many candidates of how many images are in the table, and which images were skipped."""
    from json import dumps

    n_images, n_rows = len(frames), sum(len(frame) for frame in frames)
    if options.json:
        summary = {
            "images": n_images, "candidates": n_rows, "skipped": problems, "output": str(options.output)
        }  # fmt: skip
        print_json(dumps(summary, ensure_ascii=False))
    else:
        skipped = f", {len(problems)} skipped" if problems else ""
        print_line(f"Wrote {options.output}: {n_rows:,} candidates of {n_images:,} images{skipped}")
