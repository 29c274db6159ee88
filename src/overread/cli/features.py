"""`overread features`: list and explain the catalogue, compute features of candidates."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from overread.cli.exit_codes import WITH_BAD_IMAGES
from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.cli.image_folder import ImageFile
    from overread.features import Feature

__all__ = ["explain", "extract", "features", "list_features"]

NOTATION = (
    "R: the candidate's radius; rho: distance from its centre / R; grey: 0 and 1 are the 1st and 99th percentile of "
    "the radiograph."
)

features = App(
    name="features",
    help="List and explain the features; compute them for candidates.",
    help_format="plaintext",
    help_epilogue="Example: overread features --family convergence",
)


@features.default
def list_features(
    *,
    family: str | None = None,
    search: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """List the features.

    Parameters
    ----------
    family
        Only this family, for example convergence.
    search
        Only features whose name, formula or reference has these words.
    json
        Print JSON instead of a table.
    """
    from overread.features import CATALOGUE

    found = CATALOGUE.search(search or "")
    if family is not None:
        members = CATALOGUE.family(family)
        found = tuple(feature for feature in found if feature in members)
    if json:
        print_json(found)
    elif family is None and search is None:
        print_families()
    else:
        print_features(found)


@features.command(help_epilogue="Example: overread features explain profile.opposite_min")
def explain(name: str, *, json: Annotated[bool, Parameter(negative=())] = False) -> None:
    """Explain one feature: formula, unit, reference.

    Parameters
    ----------
    name
        The feature's name.
    json
        Print JSON.
    """
    from rich.console import Console
    from rich.table import Table

    from overread.features import CATALOGUE

    feature = CATALOGUE[CATALOGUE.check_names([name])[0]]
    if json:
        print_json([feature])
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for what in ("name", "kind", "family", "unit", "formula", "reference"):
        table.add_row(what, getattr(feature, what))
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(NOTATION)


@features.command(
    help_epilogue="Example: overread features extract my_study --candidates candidates.csv -o features.parquet"
)
def extract(
    folder: Path,
    *,
    candidates: Path,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    feature: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    mm_per_px: str | None = None,
    threads: int | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Compute the features of candidates, also of your own detector's.

    Parameters
    ----------
    folder
        A study with images.csv, or a folder of images, also in folders within it, whose paths in it are the image ids.
    candidates
        Table of candidates: image_id, candidate_id, x_mm, y_mm, radius_mm.
    output
        Write the features here, Parquet or CSV by the ending.
    feature
        A feature to compute; repeat for more. All without it.
    mm_per_px
        Size of a pixel, X or X,Y, where neither the file nor the study states it.
    threads
        Threads; all processors by default.
    json
        Print the summary as JSON.
    """
    from overread.cli.image_folder import images_of, spacing
    from overread.cli.outputs import refuse_to_overwrite
    from overread.features import CATALOGUE
    from overread.tables.table_files import read_table, write_table

    if output.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"{output}: a table ends in .csv or .parquet")
    refuse_to_overwrite([candidates, folder / f"images{output.suffix}"], [output])
    names = CATALOGUE.check_names(feature) or tuple(CATALOGUE)
    table = read_table(candidates, "candidates")
    images = with_candidates(images_of(folder, mm_per_px=spacing(mm_per_px)), table, candidates)
    frames, problems = extracted(images, table, names, threads)
    write_table(joined(frames, names), output)
    print_summary(frames, problems, output, as_json=json)
    return WITH_BAD_IMAGES if problems else 0


def with_candidates(images: Sequence[ImageFile], table: pd.DataFrame, path: Path) -> list[ImageFile]:
    """Images that have candidates; refuses candidates of an image that the folder has not."""
    wanted = set(table["image_id"])
    unknown = sorted(wanted - {image.image_id for image in images})
    if unknown:
        raise InvalidInputError(
            f"{path}: {len(unknown)} image ids are not in the folder, the first: {unknown[0]!r} "
            "(ids are those of images.csv, or the paths of the files in the folder where there is none)"
        )
    return [image for image in images if image.image_id in wanted]


def extracted(
    images: Sequence[ImageFile], table: pd.DataFrame, names: Sequence[str], threads: int | None
) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Features image by image, and what was wrong with the images that have none."""
    from rich.console import Console
    from rich.progress import track

    from overread.features import extract as extract_features
    from overread.images import read_image

    frames: list[pd.DataFrame] = []
    problems: dict[str, str] = {}
    groups = dict(tuple(table.groupby("image_id", sort=False)))
    console = Console(stderr=True)
    for image in track(images, "Features", console=console, transient=True, disable=not console.is_terminal):
        try:
            radiograph = read_image(image.path, mm_per_px=image.mm_per_px)
            frame = extract_features(radiograph, groups[image.image_id], features=names, n_threads=threads)
        except InvalidInputError as error:
            problems[image.image_id] = str(error)
            print(f"overread: skipped {image.image_id}: {error}", file=sys.stderr)
            continue
        frame.insert(0, "image_id", image.image_id)
        frames.append(frame)
    return frames, problems


def joined(frames: Sequence[pd.DataFrame], names: Sequence[str]) -> pd.DataFrame:
    """Join the images' features into one table, which has its columns even without rows."""
    import pandas as pd

    if frames:
        return pd.concat(frames, ignore_index=True)
    ids = {name: pd.Series(dtype="str") for name in ("image_id", "candidate_id")}
    return pd.DataFrame(ids | {name: pd.Series(dtype="float32") for name in names})


def print_summary(
    frames: Sequence[pd.DataFrame], problems: dict[str, str], output: Path, *, as_json: bool
) -> None:
    """Say what was computed and what was skipped."""
    from json import dumps

    summary = {
        "images": len(frames),
        "candidates": sum(len(frame) for frame in frames),
        "skipped": problems,
        "output": str(output),
    }
    if as_json:
        print(dumps(summary, ensure_ascii=False))
    else:
        skipped = f", {len(problems)} skipped" if problems else ""
        print(f"Wrote {output}: {summary['candidates']:,} candidates of {len(frames):,} images{skipped}")


def print_json(found: Sequence[Feature]) -> None:
    """Print features as a JSON list."""
    from dataclasses import asdict
    from json import dumps

    print(dumps([asdict(feature) for feature in found], ensure_ascii=False))


def print_families() -> None:
    """Print the families with their counts, and how to see more."""
    from rich.console import Console
    from rich.table import Table

    from overread.features import CATALOGUE

    table = Table("family", "kind", "features", "an example")
    for family in CATALOGUE.families:
        members = CATALOGUE.family(family)
        table.add_row(family, members[0].kind, str(len(members)), members[0].name)
    table.add_section()
    table.add_row("all", "", str(len(CATALOGUE)), "")
    console = Console(highlight=False)
    console.print(table)
    console.print("overread features --family NAME, --search WORDS or --json lists features;")
    console.print("overread features explain NAME gives a feature's formula and reference.")


def print_features(found: Sequence[Feature]) -> None:
    """Print features with unit and formula."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "unit", "formula")
    for feature in found:
        table.add_row(Text(feature.name), feature.unit, Text(feature.formula))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{len(found)} features")
