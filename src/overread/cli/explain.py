"""``overread explain``: why a candidate has its score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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
        The image.
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

    from rich.console import Console
    from rich.table import Table

    from overread.cli.detect import read_spacing
    from overread.features import CATALOGUE
    from overread.images import read_image
    from overread.study.detector import Detector

    model = Detector.read(detector / "detector.json" if detector.is_dir() else detector)
    radiograph = read_image(image, mm_per_px=read_spacing(mm_per_px), grid_mm=model.grid_mm)
    found = model.detect(radiograph)
    chosen = candidate if candidate is not None else str(found["candidate_id"].iloc[0])
    parts = model.explain(radiograph, chosen)
    row = found[found["candidate_id"] == chosen].iloc[0]
    if json:
        records = parts.astype(object).where(parts.notna(), None).to_dict("records")
        print(dumps({"candidate_id": chosen, "score": float(row["score"]), "contributions": records}))
        return
    console = Console()
    console.print(
        f"{chosen}: score {row['score']:.3f}, probability {row['probability']:.3f}, at x {row['x_mm']:.1f} mm, "
        f"y {row['y_mm']:.1f} mm, radius {row['radius_mm']:.1f} mm",
        markup=False,
        highlight=False,
    )
    meaning = {feature.name: feature.formula for feature in CATALOGUE.values()}
    table = Table("feature", "value", "mean", "adds", "what it is")
    for number, part in enumerate(parts.itertuples()):
        last = number == len(parts) - 1
        if number < top or last:
            values = ("", "") if last else (f"{part.value:.4g}", f"{part.mean:.4g}")
            table.add_row(
                str(part.feature), *values, f"{part.contribution:+.3f}", meaning.get(str(part.feature), "")
            )
    console.print(table)
    hidden = len(parts) - 1 - top
    if hidden > 0:
        rest = float(parts["contribution"].iloc[top:-1].sum())
        console.print(f"{hidden} more features add {rest:+.3f}; all of them: --json, or --top {len(parts)}")
