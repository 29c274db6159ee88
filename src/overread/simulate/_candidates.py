"""A cohort without pixels: lesions, what readers mark, and what a candidate detector would give.

Lesions and look-alikes have a conspicuity; candidates lie on them and elsewhere; a part of the features follows what a
candidate lies on, the others are noise of the same kind.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.simulate._readers import ReaderModel, SeenObject, draw_readings, marks_of_image, reader_panel

# Enough consensus objects to fit and test on; chosen, not measured.
SIZE_MM = 350.0
LESIONS_PER_IMAGE = 0.6
LOOKALIKES_PER_IMAGE = 0.6
MOST_OBJECTS = 100
CANDIDATES_PER_OBJECT = 1.5
CANDIDATES_ELSEWHERE = 15
NOISE_FACTORS = 6


@short_repr()
@dataclass(frozen=True)
class CandidateCohort:
    """Tables of a study (see the docs on tables), with the true lesions and the look-alikes."""

    images: pd.DataFrame
    readings: pd.DataFrame
    marks: pd.DataFrame
    candidates: pd.DataFrame
    features: pd.DataFrame
    lesions: pd.DataFrame
    lookalikes: pd.DataFrame


def candidate_cohort(
    n_images: int = 600,
    *,
    n_readers: int = 8,
    n_features: int = 120,
    n_informative: int = 12,
    lookalikes_per_image: float = LOOKALIKES_PER_IMAGE,
    seed: int = 0,
) -> CandidateCohort:
    """Draw a cohort; the same arguments give the same tables.

    Parameters
    ----------
    n_images, n_readers
        Images, one a patient, each read by 4 to 6 of the readers.
    n_features, n_informative
        Features of a candidate, and how many of them say anything about what it lies on.
    lookalikes_per_image : float, default=LOOKALIKES_PER_IMAGE
        Mean number of structures that are not lesions but are marked like faint ones.
    seed : int, default=0
        Source of everything random.
    """
    if n_images < 1 or n_readers < 1 or not 0 <= n_informative <= n_features or n_features < 1 or seed < 0:
        raise InvalidInputError(
            "a cohort needs n_images, n_readers, n_features >= 1, 0 <= n_informative <= n_features and seed >= 0"
        )
    if not 0 <= lookalikes_per_image <= MOST_OBJECTS:
        raise InvalidInputError(
            f"lookalikes_per_image={lookalikes_per_image!r} must be between 0 and {MOST_OBJECTS}"
        )
    random = np.random.default_rng(seed)
    image_ids = [f"img{i:05d}" for i in range(n_images)]
    images = pd.DataFrame({"image_id": image_ids, "patient_id": [f"pat{i:05d}" for i in range(n_images)]})
    lesions = _objects(image_ids, LESIONS_PER_IMAGE, (0.8, 3.0), random)
    lookalikes = _objects(image_ids, lookalikes_per_image, (0.5, 1.2), random)
    model = ReaderModel(reader_panel(n_readers), place_jitter=0.12, size_jitter=0.12, shape_jitter=0.1)
    readings = draw_readings(image_ids, model, random)
    objects = pd.concat([lesions.assign(is_lesion=1.0), lookalikes.assign(is_lesion=0.35)], ignore_index=True)
    marks = _marks(objects, readings, model, random)
    candidates, latent = _candidates(image_ids, objects, random)
    features = _features(candidates, latent, n_features, n_informative, random)
    return CandidateCohort(images, readings, marks, candidates, features, lesions, lookalikes)


def _objects(
    image_ids: list[str], rate: float, conspicuity: tuple[float, float], random: np.random.Generator
) -> pd.DataFrame:
    owners = np.repeat(image_ids, random.poisson(rate, len(image_ids)))
    n = len(owners)
    return pd.DataFrame(
        {
            "image_id": owners,
            "x_mm": random.uniform(0.12, 0.88, n) * SIZE_MM,
            "y_mm": random.uniform(0.12, 0.88, n) * SIZE_MM,
            "diameter_mm": np.exp(random.uniform(np.log(6), np.log(30), n)),
            "conspicuity": random.uniform(*conspicuity, n),
        }
    )


def _marks(
    objects: pd.DataFrame, readings: pd.DataFrame, model: ReaderModel, random: np.random.Generator
) -> pd.DataFrame:
    """Table of marks; false ones lie anywhere but near the border."""
    seen: dict[str, list[SeenObject]] = {}
    columns = ["image_id", "x_mm", "y_mm", "diameter_mm", "conspicuity"]
    for image_id, x, y, diameter, conspicuity in objects[columns].itertuples(index=False, name=None):
        level = model.nodule_level(conspicuity, diameter, random)
        seen.setdefault(image_id, []).append(SeenObject("", x, y, diameter, level))

    def place(generator: np.random.Generator) -> tuple[float, float]:
        x, y = generator.uniform(0.1, 0.9, 2) * SIZE_MM
        return float(x), float(y)

    rows = [
        {"image_id": image_id, **asdict(mark)}
        for image_id, readers in readings.groupby("image_id", sort=False)["reader_id"]
        for mark in marks_of_image(seen.get(str(image_id), []), list(readers), model, place, random)
    ]
    marks = pd.DataFrame(rows).drop(columns="object_id")
    marks.insert(2, "mark_id", [f"m{i:05d}" for i in range(len(marks))])
    return marks


def _candidates(
    image_ids: list[str], objects: pd.DataFrame, random: np.random.Generator
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Table of candidates, and how much each looks like a lesion."""
    on = objects.loc[np.repeat(objects.index, 1 + random.poisson(CANDIDATES_PER_OBJECT - 1, len(objects)))]
    radius = on["diameter_mm"].to_numpy() / 2
    near = pd.DataFrame(
        {
            "image_id": on["image_id"].to_numpy(),
            "x_mm": on["x_mm"].to_numpy() + random.normal(0, 0.35, len(on)) * radius,
            "y_mm": on["y_mm"].to_numpy() + random.normal(0, 0.35, len(on)) * radius,
            "radius_mm": radius * np.exp(random.normal(0, 0.2, len(on))),
            "latent": on["is_lesion"] * (1.2 + np.log(on["conspicuity"] / 1.5))
            + random.normal(0, 0.3, len(on)),
        }
    )
    owners = np.repeat(image_ids, random.poisson(CANDIDATES_ELSEWHERE, len(image_ids)))
    elsewhere = pd.DataFrame(
        {
            "image_id": owners,
            "x_mm": random.uniform(0.05, 0.95, len(owners)) * SIZE_MM,
            "y_mm": random.uniform(0.05, 0.95, len(owners)) * SIZE_MM,
            "radius_mm": np.exp(random.uniform(np.log(3), np.log(12), len(owners))),
            "latent": random.normal(-0.4, 0.5, len(owners)),
        }
    )
    table = pd.concat([near, elsewhere]).sort_values(["image_id", "x_mm"], ignore_index=True)
    table.insert(1, "candidate_id", [f"c{i:06d}" for i in range(len(table))])
    table["response"] = table["latent"] + random.normal(0, 0.8, len(table))
    return table.drop(columns="latent"), table["latent"].to_numpy()


def _features(
    candidates: pd.DataFrame,
    latent: NDArray[np.float64],
    n_features: int,
    n_informative: int,
    random: np.random.Generator,
) -> pd.DataFrame:
    """Float32 features: correlated noise, plus the latent in the informative ones."""
    n = len(candidates)
    mixing = random.normal(0, 0.5, (NOISE_FACTORS, n_features))
    values = random.normal(size=(n, NOISE_FACTORS)) @ mixing + random.normal(size=(n, n_features))
    values[:, :n_informative] += np.outer(latent, random.uniform(0.6, 1.4, n_informative))
    names = [f"informative_{j + 1:02d}" for j in range(n_informative)]
    names += [f"noise_{j + 1:03d}" for j in range(n_features - n_informative)]
    table = pd.DataFrame(values.astype(np.float32), columns=names)
    return pd.concat([candidates[["image_id", "candidate_id"]], table], axis=1)
