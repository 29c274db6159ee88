"""`overread features`: list and explain the catalogue, compute features of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from overread._commands import ImageTableOptions, fold_cells, open_domain, write_image_table
from overread._terminal import make_console, print_json
from overread.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from overread._commands import ImageFile
    from overread.domains import DomainImage
    from overread.features import Feature


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
    pictures: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """List the features.

    Parameters
    ----------
    family
        Only this family, for example convergence.
    search
        Only features whose name, formula or reference has these words.
    pictures
        The generic features of other pictures than chests.
    json
        Print JSON instead of a table.
    """
    from overread.features import CATALOGUE

    if pictures:
        _print_generic(search or "", family, as_json=json)
        return
    found = CATALOGUE.search(search or "")
    if family is not None:
        members = CATALOGUE.family(family)
        found = tuple(feature for feature in found if feature in members)
    if json:
        _print_records(found)
    elif family is None and search is None:
        _print_families()
    else:
        _print_features(found)


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
    from rich.table import Table

    from overread.features import CATALOGUE

    feature = CATALOGUE[CATALOGUE.check_names([name])[0]]
    if json:
        _print_records([feature])
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for what in ("name", "kind", "family", "unit", "formula", "reference"):
        table.add_row(what, getattr(feature, what))
    console = make_console(markup=False)
    console.print(fold_cells(table))
    console.print(NOTATION)


@features.command(
    help_epilogue="Example: overread features extract my_study --candidates candidates.csv -o features.parquet"
)
def extract(
    options: ImageTableOptions,
    *,
    candidates: Path,
    feature: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    threads: int | None = None,
    group: str | None = None,
) -> int:
    """Compute the features of candidates, also of your own detector's.

    Parameters
    ----------
    candidates
        Table of candidates: image_id, candidate_id, x_mm, y_mm, radius_mm.
    feature
        A feature to compute; repeat for more. All without it.
    threads
        Threads; all processors by default.
    group
        Group of labels of a study of other pictures than chests that has several.
    """
    from overread.tables import read_table

    options.check_output([candidates])
    of_study = open_domain(options.folder, group)
    domain = of_study.domain
    names = domain.check_names(feature)
    table = read_table(candidates, "candidates")
    images = options.list_images()
    groups = _group_by_image(table, images, candidates)

    def work(file: ImageFile, image: DomainImage) -> pd.DataFrame:
        own = of_study.from_tables(groups[file.image_id], image, file.mm_per_px)
        return domain.extract(image, own, domain.find_regions(image), names, n_threads=threads)

    columns = {"candidate_id": "str"} | dict.fromkeys(names, "float32")
    wanted = [image for image in images if image.image_id in groups]
    return write_image_table(options, wanted, work, columns, title="Features", of_study=of_study)


def _print_generic(search: str, family: str | None, *, as_json: bool) -> None:
    """Print the generic features with their meaning, for people or for machines."""
    from json import dumps

    from rich.table import Table
    from rich.text import Text

    from overread.domains import GENERIC_FEATURES

    found = {
        name: meaning
        for name, meaning in GENERIC_FEATURES.items()
        if all(word.lower() in f"{name} {meaning}".lower() for word in search.split())
        and family in (None, name.partition(".")[0])
    }
    if as_json:
        records = [{"name": name, "formula": meaning} for name, meaning in found.items()]
        print_json(dumps(records, ensure_ascii=False))
        return
    table = Table("name", "what it is")
    for name, meaning in found.items():
        table.add_row(Text(name), Text(meaning))
    console = make_console()
    console.print(fold_cells(table))
    console.print(f"{len(found)} features")


def _group_by_image(table: pd.DataFrame, images: Sequence[ImageFile], path: Path) -> dict[str, pd.DataFrame]:
    """Candidates by the id of their image, whatever the table calls it; one that the folder has not is refused."""
    from overread.marks import ImageNames

    names = ImageNames({image.image_id: str(image.path) for image in images}, "the folder")
    ids = names.find_all(table["image_id"])
    unknown = sorted(set(table["image_id"]) - ids.keys())
    if unknown:
        raise InvalidInputError(
            f"{path}: {len(unknown)} image ids are not in the folder, the first: {unknown[0]!r} "
            "(ids, file names or paths of its images)"
        )
    return {ids[str(name)]: rows for name, rows in table.groupby("image_id", sort=False)}


def _print_records(found: Sequence[Feature]) -> None:
    """Print features as a JSON list."""
    from dataclasses import asdict
    from json import dumps

    print_json(dumps([asdict(feature) for feature in found], ensure_ascii=False))


def _print_families() -> None:
    """Print the families with their counts, and how to see more."""
    from rich.table import Table

    from overread.features import CATALOGUE

    table = Table("family", "kind", "features", "an example")
    for family in CATALOGUE.families:
        members = CATALOGUE.family(family)
        table.add_row(family, members[0].kind, str(len(members)), members[0].name)
    table.add_section()
    table.add_row("all", "", str(len(CATALOGUE)), "")
    console = make_console()
    console.print(fold_cells(table))
    console.print("overread features --family NAME, --search WORDS or --json lists features;")
    console.print("overread features explain NAME gives a feature's formula and reference.")


def _print_features(found: Sequence[Feature]) -> None:
    """Print features with unit and formula."""
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "unit", "formula")
    for feature in found:
        table.add_row(Text(feature.name), feature.unit, Text(feature.formula))
    console = make_console()
    console.print(fold_cells(table))
    console.print(f"{len(found)} features")
