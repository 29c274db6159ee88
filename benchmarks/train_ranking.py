"""Make the weights of the candidates' ranking anew.

Usage: python -m benchmarks.train_ranking ../shared/data/nih [-o ranking.json]

Nodules are inserted, by the law of the frozen benchmark but with other seeds, into the radiographs of the folder
that have a finding. The frozen benchmark uses those without one: no background and no patient is in both. A
logistic regression on the detectors' responses tells places on golden nodules (strict hit) from places on no
nodule; every nodule counts as one place, however many are on it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.freeze_nih import LAW
from overread.candidates.curvature import SCALES_MM
from overread.candidates.generating import PLACES_PER_SCALE, search_region
from overread.candidates.lungs import lung_fields
from overread.candidates.ranking import MIDDLE_SCALE_MM, PARAMETERS
from overread.candidates.responses import RESPONSES, Places, find_places
from overread.images import from_array
from overread.simulate.backgrounds import BackgroundFile
from overread.simulate.benchmarks.nih import NIH_GRID_MM, nih_background
from overread.simulate.cases import Case, draw_case, inserted_pixels
from overread.simulate.readers import draw_readings
from overread.storage import write_atomically

SEED = 41
INSERTIONS = 12
INVERSE_PENALTY = 0.1
DIGITS = 6
SHIPPED = Path(__file__).parents[1] / "src" / "overread" / "candidates" / PARAMETERS


@dataclass(frozen=True, eq=False)
class Examples:
    """Places of one image that are surely a nodule or surely none, with weights that sum to 1 a nodule."""

    scale: NDArray[np.int64]
    responses: NDArray[np.float64]
    on_nodule: NDArray[np.bool_]
    weight: NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    examples = [
        example
        for number, file in enumerate(files_with_finding(arguments.folder))
        for example in examples_in(number, file)
    ]
    content = json.dumps(weights(examples), indent=1) + "\n"
    write_atomically(arguments.output, content.encode())
    print(f"{arguments.output}: from {sum(e.weight[e.on_nodule].sum() for e in examples):.0f} golden nodules")


def files_with_finding(folder: Path) -> list[BackgroundFile]:
    table = pd.read_csv(folder / "images.csv", dtype={"file": str, "patient": str})
    rows = table[table["finding_labels"] != "No Finding"].itertuples()
    return [
        BackgroundFile(folder / "images" / row.file, row.patient, (row.mm_per_px_x, row.mm_per_px_y))
        for row in rows
    ]


def examples_in(number: int, file: BackgroundFile) -> list[Examples]:
    """Examples of all insertions into one radiograph."""
    clean = nih_background(file).pixels
    fields = lung_fields(from_array(clean.astype(np.float32), NIH_GRID_MM))
    background = nih_background(file, fields.left | fields.right)
    examples = []
    for insertion in range(INSERTIONS):
        random = np.random.default_rng([SEED, number, insertion])
        readers = list(draw_readings(["image"], LAW.readers, random)["reader_id"])
        case = draw_case(background, readers, LAW, random)
        image = inserted_pixels(background, case.nodules)
        radiograph = from_array(image.astype(np.float32), NIH_GRID_MM)
        region = search_region(radiograph, None)
        places = find_places(radiograph.pixels, region, radiograph.mm_per_px, per_scale=PLACES_PER_SCALE)
        examples.append(examples_of(places, case))
    return examples


def examples_of(places: Places, case: Case) -> Examples:
    """Tell places strictly on golden nodules from those on nothing, and leave the others out."""
    readers = Counter(object_id for object_id, _ in {(m.object_id, m.reader_id) for m in case.marks})
    on_any, on_golden = np.zeros((2, len(places.x_mm)), dtype=bool)
    weight = np.ones(len(places.x_mm))
    for k, nodule in enumerate(case.nodules, start=1):
        distance = np.hypot(places.x_mm - nodule.x_mm, places.y_mm - nodule.y_mm)
        on_any |= distance <= max(nodule.diameter_mm / 2, 5.0)
        strict = distance <= max(nodule.diameter_mm / 4, 4.0)
        if readers[f"N{k}"] >= 2:
            on_golden |= strict
            weight[strict] = 1 / max(int(strict.sum()), 1)
    kept = on_golden | ~on_any
    return Examples(places.scale[kept], places.responses[kept], on_golden[kept], weight[kept])


def weights(examples: list[Examples]) -> dict[str, object]:
    """Fit the logistic regression and name its weights, on the scale of the responses."""
    scale = np.concatenate([e.scale for e in examples])
    responses = np.vstack([e.responses for e in examples])
    size = np.log(np.asarray(SCALES_MM) / MIDDLE_SCALE_MM)[scale, None]
    inputs = np.hstack([responses, responses * size, responses**2, np.eye(len(SCALES_MM))[scale]])
    spread = inputs.std(axis=0)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=2000)
    standardized = (inputs - inputs.mean(axis=0)) / spread
    labels = np.concatenate([e.on_nodule for e in examples])
    model.fit(standardized, labels, sample_weight=np.concatenate([e.weight for e in examples]))
    slope, tilt, bend, offset = np.split(
        np.round(model.coef_[0] / spread, DIGITS), np.arange(1, 4) * len(RESPONSES)
    )
    return {
        "offset_by_scale_mm": {str(mm): value for mm, value in zip(SCALES_MM, offset.tolist(), strict=True)},
        "responses": {
            name: {"slope": float(slope[j]), "tilt": float(tilt[j]), "bend": float(bend[j])}
            for j, name in enumerate(RESPONSES)
        },
    }


if __name__ == "__main__":
    main()
