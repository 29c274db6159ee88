"""``overread explain``: why a candidate has its score, and whether it is shown."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread._commands import (
    Flag,
    PixelSize,
    at_least_one,
    emit,
    find_image,
    open_detector,
    parse_spacing,
    print_plain,
)
from overread._terminal import make_console
from overread.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from overread.study import Detector, Explanation, OperatingPoint


# Columns before the text on a feature; and the least width of a line, on any terminal.
INDENT, NARROWEST = 10, 40


def explain(
    detector: Path,
    image: Path,
    candidate: str | None = None,
    *,
    mm_per_px: PixelSize = None,
    masks: Path | None = None,
    fp: float | None = None,
    top: int = 10,
    formulas: Flag = False,
    json: Flag = False,
) -> None:
    """Explain whether a candidate is shown, and what each feature adds to its score.

    Parameters
    ----------
    detector
        Detector file of a run (detector.json), or the run's folder.
    image
        The image file, or the id of an image of the run's study.
    candidate
        Id of the candidate in the table of `overread detect`, such as 0012 or 12; by default the one with the
        highest score.
    mm_per_px
        Size of a pixel where the file does not say: one number, or x,y.
    masks
        Folder of masks, named as their images, for a detector whose region comes from masks.
    fp
        Operating point: false positives per image of training + validation; default: the study's own, 0.5 unless it
        says otherwise.
    top
        Number of features to show.
    formulas
        Also print the formula of each feature.
    json
        Print everything as JSON.
    """
    at_least_one(top=top)
    model = open_detector(detector)
    # No threshold is locked if no score of the study reached one.
    point = None if fp is None and not model.operating_points else model.operating_point(fp)
    file = find_image(image, detector, mm_per_px=parse_spacing(mm_per_px))
    read = model.read_image(file.path, mm_per_px=file.mm_per_px, masks=masks)
    try:
        explained = model.explain(read, candidate)
    except InvalidInputError as error:
        raise InvalidInputError(f"{image}: {error}") from error
    ending = f"_{model.unit}"
    explained = replace(
        explained,
        candidate=explained.candidate.rename(lambda name: name.removesuffix(ending)),
        all_candidates=explained.all_candidates.rename(columns=lambda name: name.removesuffix(ending)),
    )
    shown = _find_shown(model, explained, point)

    def show(_: Any) -> None:
        _print_wrapped(_tell_shown(explained, point, shown))
        _print_wrapped(_tell_place(explained, model.unit))
        _print_contributions(model, explained.contributions, top, formulas=formulas)

    row, parts = explained.candidate, explained.contributions
    record = {
        "candidate_id": row["candidate_id"],
        "score": float(row["score"]),
        "shown": row["candidate_id"] in set(shown["candidate_id"]),
        "fp_target": None if point is None else point.fp_target,
        "threshold": None if point is None else point.threshold,
        "contributions": parts.astype(object).where(parts.notna(), None).to_dict("records"),
    }
    emit(record, show, as_json=json)


def _find_shown(model: Detector, explained: Explanation, point: OperatingPoint | None) -> pd.DataFrame:
    """Return the shown candidates of the image."""
    found = explained.all_candidates
    return found.iloc[:0] if point is None else found[model.shown(found, point.fp_target)]


def _tell_shown(explained: Explanation, point: OperatingPoint | None, shown: pd.DataFrame) -> str:
    """Say whether the candidate is shown, and why."""
    row = explained.candidate
    name, score = row["candidate_id"], row["score"]
    if point is None:
        return f"Candidate {name} is not shown: no threshold is locked, because no score of the study reached one."
    target = f"for {point.fp_target:g} false positive{'' if point.fp_target == 1 else 's'} per image"
    threshold = f"the threshold {point.threshold:.3f} {target}"
    if score < point.threshold:
        return f"Candidate {name} is not shown: its score {score:.3f} is below {threshold}."
    if name in set(shown["candidate_id"]):
        return f"Candidate {name} is shown: its score {score:.3f} reaches {threshold}."
    distance = ((shown["x"] - row["x"]) ** 2 + (shown["y"] - row["y"]) ** 2) ** 0.5
    strongest = shown.loc[distance < shown["radius"].clip(lower=row["radius"]), "candidate_id"].iloc[0]
    return (
        f"Candidate {name} is not shown, though its score {score:.3f} reaches {threshold}: it lies on a stronger one, "
        f"{strongest}."
    )


def _tell_place(explained: Explanation, unit: str) -> str:
    """Return probability, rank and position of the candidate."""
    from overread.tables import UNIT_WORDS

    length, row = UNIT_WORDS[unit], explained.candidate
    known = not math.isnan(row["probability"])
    certainty = f"Its probability is {row['probability']:.2f}, on the scale of soft labels. " if known else ""
    return (
        f"{certainty}Rank {row['rank']} of {len(explained.all_candidates)} candidates in the image; "
        f"x {row['x']:.1f} {length}, y {row['y']:.1f} {length}, radius {row['radius']:.1f} {length}."
    )


def _print_contributions(model: Detector, parts: pd.DataFrame, top: int, *, formulas: bool) -> None:
    """Print the largest contributions and the sum of the others; all add up to the score."""
    shown, average, hidden = parts.iloc[:-1].head(top), parts.iloc[-1], parts.iloc[top:-1]
    _print_wrapped("")
    _print_wrapped("Contributions to its score:")
    for name, value, mean, adds in shown.itertuples(index=False, name=None):
        formula, words = model.domain.describe_feature(name)
        _print_wrapped(words or name, before=f"{adds:>+8.3f}")
        _print_wrapped(f"{value:.4g} here, {mean:.4g} on average in training ({name})", before="")
        if formulas:
            _print_wrapped(f"= {formula}", before="")
    if len(hidden):
        rest = float(hidden["contribution"].sum())
        _print_wrapped(f"{len(hidden)} more features (all: --top {len(parts) - 1})", before=f"{rest:>+8.3f}")
    _print_wrapped("score of an average candidate in training", before=f"{average['contribution']:>+8.3f}")
    _print_wrapped("= the score", before=f"{parts['contribution'].sum():>8.3f}")


def _print_wrapped(text: str, *, before: str | None = None) -> None:
    """Print a text wrapped to the terminal's width, after a number or in its column."""
    from textwrap import TextWrapper

    wrapper = TextWrapper(
        max(make_console().width, NARROWEST), break_long_words=False, break_on_hyphens=False
    )
    if before is not None:
        wrapper.initial_indent, wrapper.subsequent_indent = before.ljust(INDENT), " " * INDENT
    print_plain(wrapper.fill(text))
