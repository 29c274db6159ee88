"""`overread features`: list and explain the catalogue, compute features of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from overread._commands import Flag, ImageTableOptions, emit, open_domain, print_table, write_image_table
from overread._terminal import make_console
from overread.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from overread._commands import ImageFile
    from overread.domains import DomainImage


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
    *, family: str | None = None, search: str | None = None, pictures: Flag = False, json: Flag = False
) -> None:
    """List the features.

    Parameters
    ----------
    family
        List only this family, for example convergence.
    search
        List only features with these words in their name, formula or reference.
    pictures
        List the generic features, for images that are not chest radiographs.
    json
        Print JSON instead of a table.
    """
    from dataclasses import asdict

    from overread.domains import GENERIC_FEATURES
    from overread.features import CATALOGUE

    if pictures:
        words = (search or "").lower().split()
        generic = [
            {"name": name, "formula": meaning}
            for name, meaning in GENERIC_FEATURES.items()
            if all(word in f"{name} {meaning}".lower() for word in words)
            and family in (None, name.partition(".")[0])
        ]
        emit(generic, lambda rows: _show(("name", "what it is"), map(dict.values, rows)), as_json=json)
        return
    found = CATALOGUE.search(search or "")
    if family is not None:
        members = CATALOGUE.family(family)
        found = tuple(feature for feature in found if feature in members)
    if family is None and search is None and not json:
        _print_families()
        return
    rows = [(feature.name, feature.unit, feature.formula) for feature in found]
    emit(
        [asdict(feature) for feature in found],
        lambda _: _show(("name", "unit", "formula"), rows),
        as_json=json,
    )


def _show(header: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table of features and their number."""
    shown = list(rows)
    print_table(header, shown)
    make_console().print(f"{len(shown)} features")


@features.command(help_epilogue="Example: overread features explain profile.opposite_min")
def explain(name: str, *, json: Flag = False) -> None:
    """Explain one feature: formula, unit, reference.

    Parameters
    ----------
    name
        The feature's name.
    json
        Print JSON.
    """
    from dataclasses import asdict

    from overread.features import CATALOGUE

    feature = asdict(CATALOGUE[CATALOGUE.check_names([name])[0]])
    emit([feature], lambda _: _explain(feature), as_json=json)


def _explain(feature: dict[str, Any]) -> None:
    """Print the facts on a feature, line by line, and the symbols of its formula."""
    from rich.text import Text

    rows = [
        (Text(what, "bold"), feature[what])
        for what in ("name", "kind", "family", "unit", "formula", "reference")
    ]
    print_table(("", ""), rows, show_header=False, box=None, padding=(0, 2, 0, 0))
    make_console(markup=False).print(NOTATION)


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
    """Compute the features of candidates, including those of another detector.

    Parameters
    ----------
    candidates
        Table of candidates: image_id, candidate_id, x_mm, y_mm, radius_mm (or _px, _percent).
    feature
        Feature to compute; repeat for more. By default all.
    threads
        Number of threads; by default one per processor.
    group
        Group of labels, if the study has several.
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
        own = of_study.from_table(groups[file.image_id], image, file.mm_per_px)
        return domain.extract(image, own, domain.find_regions(image), names, n_threads=threads)

    columns = {"candidate_id": "str"} | dict.fromkeys(names, "float32")
    wanted = [image for image in images if image.image_id in groups]
    return write_image_table(options, wanted, work, columns, title="Features", of_study=of_study)


def _group_by_image(table: pd.DataFrame, images: Sequence[ImageFile], path: Path) -> dict[str, pd.DataFrame]:
    """Return the candidates by image id; refuse candidates of an image that is not in the folder."""
    from overread.marks import ImageNames

    names = ImageNames({image.image_id: str(image.path) for image in images}, "the folder")
    ids = names.find_all(table["image_id"])
    unknown = sorted(set(table["image_id"]) - ids.keys())
    if unknown:
        raise InvalidInputError(
            f"{path}: {len(unknown)} image ids are not in the folder, such as {unknown[0]!r}. "
            "Use ids, file names or paths of its images."
        )
    return {ids[str(name)]: rows for name, rows in table.groupby("image_id", sort=False)}


def _print_families() -> None:
    """Print the families with their counts, and the commands for more."""
    from overread._commands import make_table
    from overread.features import CATALOGUE

    families = {family: CATALOGUE.family(family) for family in CATALOGUE.families}
    table = make_table(
        ("family", "kind", "features", "an example"),
        ((name, members[0].kind, len(members), members[0].name) for name, members in families.items()),
    )
    table.add_section()
    table.add_row("all", "", str(len(CATALOGUE)), "")
    console = make_console()
    console.print(table)
    console.print("To list features: overread features --family NAME, --search WORDS or --json")
    console.print("For a feature's formula and reference: overread features explain NAME")
