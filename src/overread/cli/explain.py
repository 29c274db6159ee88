"""``overread explain``: why a candidate has its score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread.errors import InvalidInputError, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.study.detector import Detector

__all__ = ["explain"]

# Columns before the names of the features.
INDENT = 32


def explain(
    detector: Path,
    image: Path,
    candidate: str | None = None,
    *,
    mm_per_px: Annotated[str | None, Parameter(name="--mm-per-px")] = None,
    masks: Path | None = None,
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
    masks
        Folder of masks, named as their images, for a detector whose region comes from masks.
    top
        How many features to show.
    json
        Print all of it for machines.
    """
    from json import dumps

    from overread.cli.conventions import open_detector
    from overread.cli.image_folder import find_image, parse_spacing

    if top < 1:
        raise UsageError(f"--top {top}: show at least one feature")
    model = open_detector(detector)
    file = find_image(image, detector, mm_per_px=parse_spacing(mm_per_px))
    read = model.read_image(file.path, mm_per_px=file.mm_per_px, masks=masks)
    try:
        explained = model.explain(read, candidate)
    except InvalidInputError as error:
        raise InvalidInputError(f"{image}: {error}") from error
    row, parts = explained.candidate, explained.contributions
    if json:
        records = parts.astype(object).where(parts.notna(), None).to_dict("records")
        told = {"candidate_id": row["candidate_id"], "score": float(row["score"]), "contributions": records}
        print(dumps(told))
    else:
        print_contributions(model, row, parts, top)


def tell_certainty(candidate: pd.Series[Any]) -> str:
    """Write the probability of a candidate; its rank in the image where it has none."""
    probability = candidate["probability"]
    return f"rank {candidate['rank']}" if probability != probability else f"probability {probability:.3f}"


def print_contributions(model: Detector, candidate: pd.Series[Any], parts: pd.DataFrame, top: int) -> None:
    """Print the largest contributions, each over its formula, and what the others add together."""
    from rich.console import Console

    from overread.cli.conventions import print_plain
    from overread.report.lengths import UNIT_WORDS

    width, unit = Console().width, UNIT_WORDS[model.unit]
    print_plain(
        f"{candidate['candidate_id']}: score {candidate['score']:.3f}, {tell_certainty(candidate)}\n"
        f"at x {candidate['x_mm']:.1f} {unit}, y {candidate['y_mm']:.1f} {unit}, radius {candidate['radius_mm']:.1f} "
        f"{unit}\n"
    )
    shown, constant, hidden = parts.iloc[:-1].head(top), parts.iloc[-1], parts.iloc[top:-1]
    print_plain(f"{'adds':>8} {'value':>10} {'mean':>10}  feature, and what it is")
    for name, value, mean, adds in shown.itertuples(index=False, name=None):
        print_plain(f"{adds:>+8.3f} {value:>10.4g} {mean:>10.4g}  {name}")
        print_plain(indent_text(model.tell_feature(name), width))
    print_plain(f"{constant['contribution']:>+8.3f} {'':>10} {'':>10}  {constant['feature']}")
    if len(hidden):
        rest = float(hidden["contribution"].sum())
        print_plain(
            f"{rest:>+8.3f} {'':>10} {'':>10}  {len(hidden)} more features (all: --json, or --top {len(parts)})"
        )


def indent_text(text: str, width: int) -> str:
    """Break a text into lines under the names of the features; none is cut, and no word is broken."""
    from textwrap import fill

    left = " " * INDENT
    return fill(
        text, max(width, INDENT + 20), initial_indent=left, subsequent_indent=left, break_long_words=False
    )
