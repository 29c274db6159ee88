"""Make the parameter file of the lung model again from radiographs without outlines.

Usage: python -m benchmarks.train_lungs ../shared/data/nih [-o lung_model.npz]

The folder holds images.csv (file, mm_per_px_x, mm_per_px_y) and images/. Masks come from the rule of
`lung_teacher`; the networks learn from them, answer for all images, and learn once more from their own plausible
answers, so that what the rule never saw (lungs that reach the border, dense lungs) is learnt as well.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.lung_teacher import alike, teach
from benchmarks.networks import fitted_network
from overread.domains.chest._lungs import (
    PARAMETERS,
    SMOOTHING_MM,
    LungModel,
    Network,
    blur_mm,
    choose_lung,
    coarsen,
    describe_appearance,
    describe_context,
    mirror,
    predict_probability,
)
from overread.features import Map, Quality
from overread.files import write_atomically
from overread.images import Radiograph, read_image

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]

HIDDEN_UNITS = 24
PIXELS_PER_LUNG = 500
EPOCHS = 12
SEED = 0
SHIPPED = Path(__file__).parents[1] / "src" / "overread" / "domains" / "chest" / PARAMETERS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    arguments = parser.parse_args()
    images = [coarsen(radiograph) for radiograph in radiographs(arguments.folder)]
    taught = [teach(image) for image in images]
    print(f"{sum(masks is not None for masks in taught)} of {len(images)} images taught by the rule")
    model = train(images, taught)
    learnt = [plausible(model, image) for image in images]
    print(f"{sum(masks is not None for masks in learnt)} plausible answers learnt from in the second round")
    save(train(images, learnt), arguments.output)


def radiographs(folder: Path) -> Iterator[Radiograph]:
    table = pd.read_csv(folder / "images.csv")
    for row in table.itertuples():
        yield read_image(folder / "images" / row.file, mm_per_px=(row.mm_per_px_x, row.mm_per_px_y))


def train(images: list[Map], taught: list[Masks | None]) -> LungModel:
    """Fit the first network, then the second on the first one's answers."""
    rng = np.random.default_rng(SEED)
    views = [
        view
        for image, masks in zip(images, taught, strict=True)
        if masks
        for view in both_views(image, masks)
    ]
    chosen = [sample(mask, rng) for _, mask in views]
    labels = np.concatenate([mask[where] for (_, mask), where in zip(views, chosen, strict=True)])
    looks = [describe_appearance(view)[:, where].T for (view, _), where in zip(views, chosen, strict=True)]
    first = fitted(np.vstack(looks), labels)
    contexts = []
    for (view, _), where in zip(views, chosen, strict=True):
        own = predict_probability(first, describe_appearance(view))
        other = mirror(predict_probability(first, describe_appearance(mirror(view))))
        contexts.append(describe_context(own, other)[:, where].T)
    return LungModel(first, fitted(np.hstack([np.vstack(looks), np.vstack(contexts)]), labels))


def both_views(image: Map, masks: Masks) -> list[tuple[Map, NDArray[np.bool_]]]:
    """Image with its left lung, and mirrored image with what is its left lung then."""
    return [(image, masks[0]), (mirror(image), mirror(masks[1]))]


def sample(mask: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Pixels to learn from: half anywhere, half within 20 mm of the outline."""
    near = cv2.dilate(mask.astype(np.uint8), np.ones((11, 11))) != cv2.erode(
        mask.astype(np.uint8), np.ones((11, 11))
    )
    where = np.zeros(mask.shape, dtype=bool)
    for pool in (np.arange(mask.size), np.flatnonzero(near)):
        where.flat[rng.choice(pool, PIXELS_PER_LUNG // 2, replace=False)] = True
    return where


def fitted(features: NDArray[np.float32], labels: NDArray[np.bool_]) -> Network:
    """Network fitted to standardized features, with the standardization taken into its weights."""
    mean, scale = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    standardized = ((features - mean) / scale).astype(np.float32)
    network = fitted_network(
        standardized, labels, hidden_units=HIDDEN_UNITS, penalty=1e-3, epochs=EPOCHS, seed=SEED
    )
    weights = network.coefs_[0] / scale[:, None]
    offsets = network.intercepts_[0] - mean @ weights
    output = np.append(network.coefs_[1][:, 0], network.intercepts_[1])
    return Network(*(part.astype(np.float32) for part in (weights, offsets, output)))


def plausible(model: LungModel, image: Map) -> Masks | None:
    """Answer of the model where both lungs are good and alike."""
    left, right = (blur_mm(chance, SMOOTHING_MM) for chance in model.probabilities(image))
    (left_mask, left_quality), (right_mask, right_quality) = (
        choose_lung(left, right),
        choose_lung(right, left),
    )
    good = left_quality is right_quality is Quality.FOUND and alike(left_mask, right_mask)
    return (left_mask, right_mask) if good else None


def save(model: LungModel, path: Path) -> None:
    """Write the weights as float16: their rounding changes no mask visibly."""
    content = io.BytesIO()
    np.savez_compressed(content, **model.first.to_arrays("first"), **model.second.to_arrays("second"))
    write_atomically(path, content.getvalue())
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
