"""Readers of fields, of two habits: some draw a ring around a cluster, others mark each lesion in it.

A reader sees a lesion with probability Phi(level + skill - threshold), as everywhere in `overread.simulate.readers`;
a cluster that is ringed is seen as its clearest lesion is. With each mark goes a confidence in three steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from overread.simulate.field.lesions import Cluster, Label
from overread.simulate.nodules import Nodule
from overread.simulate.readers import Reader, ReaderModel, SeenObject, draw_ellipse, panel

__all__ = ["field_readers", "mark_field"]

Place = Callable[[np.random.Generator], tuple[float, float]]

# All of these are chosen by eye.
SPLITS = (0.9, 0.08)
RING_MARGIN = 1.12
FALSE_DIAMETER_PX = (6.0, 30.0)
# Confidence by the level above a reader's threshold, which he judges with this error.
CONFIDENCE_STEPS = (0.4, 1.4)
CONFIDENCES = (0.25, 0.6, 1.0)
CONFIDENCE_ERROR = 0.5


def field_readers(n_readers: int) -> ReaderModel:
    """Readers of whom every second one draws rings; lengths are pixels. All of them read every image."""
    readers = tuple(
        replace(reader, splits=SPLITS[place % 2])
        for place, reader in enumerate(panel(n_readers, thresholds=(-0.2, 0.2), sizes=(1.0, 1.35)))
    )
    return ReaderModel(
        readers,
        readings={n_readers: 1.0},
        conspicuity_half=1.3,
        size_half_mm=8.0,
        distractor_level=-1.3,
        false_marks=0.25,
        place_jitter=0.18,
        size_jitter=0.16,
        shape_jitter=0.07,
    )


def mark_field(
    clusters: Sequence[Cluster],
    lookalikes: Mapping[Label, Sequence[Nodule]],
    model: ReaderModel,
    place: Place,
    random: np.random.Generator,
) -> list[dict[str, Any]]:
    """Draw the marks of one field, reader by reader, as rows without image and id.

    Parameters
    ----------
    clusters
        Lesions that lie together.
    lookalikes
        By label: spots that readers may take for lesions.
    model
        The readers.
    place
        Gives the place (x, y in pixels) of a private false mark.
    random
        Source of randomness.
    """
    groups = [
        (cluster, see_lesions(cluster, number, model, random)) for number, cluster in enumerate(clusters)
    ]
    spots = [
        (label, see_nodule(f"D-{label}-{k + 1}", spot, model.draw_distractor_level(random)))
        for label, own in lookalikes.items()
        for k, spot in enumerate(own)
    ]
    rows = []
    for reader in model.readers:
        for cluster, lesions in groups:
            for seen in choose_objects(cluster, lesions, reader, random):
                rows += try_mark(seen, cluster.label, reader, model, random)
        for label, seen in spots:
            rows += try_mark(seen, label, reader, model, random)
        for _ in range(random.poisson(model.false_marks * np.exp(-reader.threshold))):
            diameter = float(np.exp(random.uniform(*np.log(FALSE_DIAMETER_PX))))
            nothing = SeenObject("", *place(random), diameter, reader.threshold - reader.skill)
            rows.append(draw_mark(nothing, str(random.choice(("bright", "dark"))), reader, model, random))
    return rows


def see_lesions(
    cluster: Cluster, number: int, model: ReaderModel, random: np.random.Generator
) -> list[SeenObject]:
    """Return the lesions of a cluster with the level that all readers share."""
    return [
        see_nodule(
            f"C{number + 1}-{k + 1}",
            lesion,
            model.nodule_level(lesion.conspicuity, lesion.diameter_mm, random),
        )
        for k, lesion in enumerate(cluster.lesions)
    ]


def see_nodule(object_id: str, nodule: Nodule, level: float) -> SeenObject:
    """Return what readers see of a spot."""
    return SeenObject(object_id, nodule.x_mm, nodule.y_mm, nodule.diameter_mm, level)


def choose_objects(
    cluster: Cluster, lesions: Sequence[SeenObject], reader: Reader, random: np.random.Generator
) -> Sequence[SeenObject]:
    """Return what a reader looks at: the lesions one by one, or a ring around them all."""
    if len(lesions) == 1 or random.random() < reader.splits:
        return lesions
    x, y, diameter = cluster.ring
    clearest = max(lesion.level for lesion in lesions)
    name = lesions[0].object_id.partition("-")[0]
    return [SeenObject(name, x, y, RING_MARGIN * diameter, clearest)]


def try_mark(
    seen: SeenObject, label: str, reader: Reader, model: ReaderModel, random: np.random.Generator
) -> list[dict[str, Any]]:
    """One mark if the reader sees the object, else none."""
    if random.random() >= ndtr(seen.level + reader.skill - reader.threshold):
        return []
    return [draw_mark(seen, label, reader, model, random)]


def draw_mark(
    seen: SeenObject, label: str, reader: Reader, model: ReaderModel, random: np.random.Generator
) -> dict[str, Any]:
    """Row of a mark: the ellipse, what was meant, label and confidence."""
    sure = seen.level + reader.skill - reader.threshold + random.normal(0, CONFIDENCE_ERROR)
    confidence = CONFIDENCES[int(np.searchsorted(CONFIDENCE_STEPS, sure))]
    return {**asdict(draw_ellipse(seen, reader, model, random)), "label": label, "confidence": confidence}
