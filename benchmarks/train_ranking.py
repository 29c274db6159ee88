"""Make the weights of the candidates' ranking again.

Usage: python -m benchmarks.train_ranking ../shared/data/nih [-o ranking.npz] [--workers 2]

Nodules are inserted, by the law of the frozen benchmark but with other seeds, into normal radiographs of patients who
are in no benchmark and were never labelled Nodule or Mass, so that no real nodule is learnt as background. Networks
learn to tell places in the middle of golden nodules (strict hit), as many from each nodule, from others: from those
at the edge of a nodule, and from those on none, of which the most suspicious are taken and some of the rest. What is
suspicious is the curvature in a first round and the first round's answer in a second one. Several networks that
start from other weights answer together: the mean of their log-odds is again a network.
"""

from __future__ import annotations

import argparse
import io
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.freeze_nih import LAW
from benchmarks.networks import fitted_network
from benchmarks.normals import list_normals
from overread.domains import find_lungs, search_region
from overread.domains.chest._finders import PLACES_PER_SCALE
from overread.domains.chest._lungs import Network
from overread.domains.chest._ranking import (
    PARAMETERS,
    RESPONSES,
    Places,
    Ranking,
    find_places,
    make_ranking_inputs,
)
from overread.files import write_atomically
from overread.images import from_array
from overread.simulate._backgrounds import BackgroundFile
from overread.simulate._cases import Case, draw_case, pixels_with_nodules
from overread.simulate._frozen import NIH_GRID_MM, nih_background
from overread.simulate._readers import draw_readings

STRENGTH = [RESPONSES.index(name) for name in ("curvature_over_image", "curvature_over_neighbourhood")]
SEED = 41
# 100 radiographs with 5 insertions each did as well on radiographs held out (docs/reference/candidates.md).
BACKGROUNDS = 160
INSERTIONS = 8
PER_NODULE = 6
NEGATIVES = 150
MORE_NEGATIVES = 60
HIDDEN_UNITS = 16
NETWORKS = 6
PENALTY = 3.0
EPOCHS = 12
LARGEST_INPUT = 5.0
SHIPPED = Path(__file__).parents[1] / "src" / "overread" / "domains" / "chest" / PARAMETERS


@dataclass(frozen=True, eq=False)
class Examples:
    """All places of one image.

    Parameters
    ----------
    inputs
        What the networks see of them.
    positives
        Places in the middle of golden nodules, `PER_NODULE` of each, some of them more than once.
    edges
        Places on a nodule, but not in its middle.
    elsewhere
        Places on no nodule.
    """

    inputs: NDArray[np.float32]
    positives: NDArray[np.int64]
    edges: NDArray[np.int64]
    elsewhere: NDArray[np.int64]

    def chosen(self, suspicion: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.int64]:
        """Places to learn from that are no nodule: all edges, the most suspicious of the others, and some more."""
        ordered = self.elsewhere[np.argsort(-suspicion[self.elsewhere], kind="stable")]
        rest = ordered[NEGATIVES:]
        more = random.choice(rest, min(MORE_NEGATIVES, len(rest)), replace=False)
        return np.concatenate([self.edges, ordered[:NEGATIVES], more])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    files = list_normals(arguments.folder, per_patient=1)[:BACKGROUNDS]
    with ProcessPoolExecutor(arguments.workers) as pool:
        images = [image for part in pool.map(examples_in, range(len(files)), files) for image in part]
    first = trained(images, [image.inputs[:, STRENGTH].sum(axis=1) for image in images])
    second = trained(images, [first.answer(image.inputs) for image in images])
    save(second, arguments.output)
    nodules = sum(len(image.positives) for image in images) // PER_NODULE
    print(f"{arguments.output}: from {nodules} golden nodules on {len(images)} images")


def examples_in(number: int, file: BackgroundFile) -> list[Examples]:
    """Examples of all insertions into one radiograph."""
    cv2.setNumThreads(1)
    clean = nih_background(file).pixels
    fields = find_lungs(from_array(clean.astype(np.float32), NIH_GRID_MM))
    background = nih_background(file, fields.left | fields.right)
    examples = []
    for insertion in range(INSERTIONS):
        random = np.random.default_rng([SEED, number, insertion])
        readers = list(draw_readings(["image"], LAW.readers, random)["reader_id"])
        case = draw_case(background, readers, LAW, random)
        image = pixels_with_nodules(background, case.nodules)
        radiograph = from_array(image.astype(np.float32), NIH_GRID_MM)
        region = search_region(radiograph, None)
        places = find_places(radiograph.pixels, region, radiograph.mm_per_px, per_scale=PLACES_PER_SCALE)
        examples.append(examples_of(places, case, random))
    return examples


def examples_of(places: Places, case: Case, random: np.random.Generator) -> Examples:
    """Tell the middle of golden nodules from their edges, other nodules and what is on none."""
    readers = Counter(object_id for object_id, _ in {(m.object_id, m.reader_id) for m in case.marks})
    on_any, on_golden = np.zeros((2, len(places.x_mm)), dtype=bool)
    positives = [np.empty(0, dtype=np.int64)]
    for k, nodule in enumerate(case.nodules, start=1):
        distance = np.hypot(places.x_mm - nodule.x_mm, places.y_mm - nodule.y_mm)
        on_any |= distance <= max(nodule.diameter_mm / 2, 5.0)
        middle = distance <= max(nodule.diameter_mm / 4, 4.0)
        if readers[f"N{k}"] >= 2 and middle.any():
            on_golden |= middle
            positives.append(random.choice(np.flatnonzero(middle), PER_NODULE))
    return Examples(
        make_ranking_inputs(places),
        np.concatenate(positives),
        np.flatnonzero(on_any & ~on_golden),
        np.flatnonzero(~on_any & ~on_golden),
    )


def trained(images: list[Examples], suspicion: list[NDArray[np.float64]]) -> Ranking:
    """Networks on standardized inputs, put together to one, with the standardization taken into its weights."""
    random = np.random.default_rng(SEED)
    negatives = [image.chosen(values, random) for image, values in zip(images, suspicion, strict=True)]
    parts = [image.inputs[image.positives] for image in images]
    on_nodule = np.repeat([True, False], [sum(map(len, parts)), sum(map(len, negatives))])
    parts += [image.inputs[rows] for image, rows in zip(images, negatives, strict=True)]
    inputs = np.vstack(parts)
    mean, scale = inputs.mean(axis=0, dtype=np.float64), inputs.std(axis=0, dtype=np.float64)
    lowest, highest = mean - LARGEST_INPUT * scale, mean + LARGEST_INPUT * scale
    # Single precision: half the time, and the networks keep no more.
    standardized = ((np.clip(inputs, lowest, highest) - mean) / scale).astype(np.float32)
    networks = [
        fitted_network(
            standardized, on_nodule, hidden_units=HIDDEN_UNITS, penalty=PENALTY, epochs=EPOCHS, seed=seed
        )
        for seed in range(NETWORKS)
    ]
    weights = np.hstack([network.coefs_[0] for network in networks]) / scale[:, None]
    offsets = np.concatenate([network.intercepts_[0] for network in networks]) - mean @ weights
    output = np.concatenate([network.coefs_[1][:, 0] for network in networks])
    last = np.sum([network.intercepts_[1] for network in networks])
    answer = np.append(output, last) / NETWORKS
    return Ranking(
        Network(*(part.astype(np.float32) for part in (weights, offsets, answer))),
        lowest.astype(np.float32),
        highest.astype(np.float32),
    )


def save(model: Ranking, path: Path) -> None:
    content = io.BytesIO()
    arrays = model.network.to_arrays("network") | {"lowest": model.lowest, "highest": model.highest}
    np.savez_compressed(content, **arrays)
    write_atomically(path, content.getvalue())


if __name__ == "__main__":
    main()
