"""``overread explain``: why a candidate has its score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["explain"]


def explain(
    detector: Path,
    image: Path,
    candidate: str | None = None,
    *,
    mm_per_px: Annotated[str | None, Parameter(name="--mm-per-px")] = None,
    top: int = 15,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show what each feature adds to a candidate's score.

    Parameters
    ----------
    detector
        Detector file of a run (detector.json), or the run's folder.
    image
        The image file, or the id of an image of the run's study.
    candidate
        Id of the candidate in `overread detect`'s table; default: the one with the highest score.
    mm_per_px
        Size of a pixel where the file does not say: one number, or x,y.
    top
        How many features to show.
    json
        Print all of it for machines.
    """
    from json import dumps

    from overread.cli.conventions import open_detector
    from overread.cli.image_folder import find_image, parse_spacing
    from overread.images import read_image

    if top < 1:
        raise UsageError(f"--top {top}: show at least one feature")
    model = open_detector(detector)
    file = find_image(image, detector, mm_per_px=parse_spacing(mm_per_px))
    radiograph = read_image(file.path, mm_per_px=file.mm_per_px, grid_mm=model.grid_mm)
    try:
        explained = model.explain(radiograph, candidate)
    except InvalidInputError as error:
        raise InvalidInputError(f"{image}: {error}") from error
    row, parts = explained.candidate, explained.contributions
    if json:
        records = parts.astype(object).where(parts.notna(), None).to_dict("records")
        told = {"candidate_id": row["candidate_id"], "score": float(row["score"]), "contributions": records}
        print(dumps(told))
    else:
        print_contributions(row, parts, top)


def print_contributions(candidate: pd.Series[Any], parts: pd.DataFrame, top: int) -> None:
    """Print the largest contributions as a table, and what the others add together."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Column, Table

    from overread.features import CATALOGUE

    console = Console(highlight=False)
    console.print(
        f"{candidate['candidate_id']}: score {candidate['score']:.3f}, probability {candidate['probability']:.3f}, "
        f"at x {candidate['x_mm']:.1f} mm, y {candidate['y_mm']:.1f} mm, radius {candidate['radius_mm']:.1f} mm",
        markup=False,
    )
    table = Table(Column("feature", no_wrap=True), "value", "mean", "adds", "what it is")
    for name, value, mean, adds in parts.iloc[:-1].head(top).itertuples(index=False, name=None):
        table.add_row(name, f"{value:.4g}", f"{mean:.4g}", f"{adds:+.3f}", escape(CATALOGUE[name].formula))
    constant = parts.iloc[-1]
    table.add_row(str(constant["feature"]), "", "", f"{constant['contribution']:+.3f}", "")
    console.print(table)
    hidden = parts.iloc[top:-1]
    if len(hidden):
        rest = float(hidden["contribution"].sum())
        console.print(
            f"{len(hidden)} more features add {rest:+.3f}; all of them: --json, or --top {len(parts)}"
        )
