"""Recipe of a cohort of fields: what makes picture number i, and how its folder looks.

A pixel is the unit of length: columns that end in ``_mm`` hold pixels, as ``[units] unit = "px"`` in study.toml says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from overread.images import write_png16, write_png_colour
from overread.simulate.field.field_phantom import SHAPE, FieldPhantom, develop, field_phantom
from overread.simulate.field.field_readers import field_readers, mark_field
from overread.simulate.field.lesions import (
    Cluster,
    ClusterLaw,
    Label,
    draw_clusters,
    draw_lookalikes,
    insert_lesions,
)
from overread.simulate.folder_tables import ELLIPSE, NODULE, FolderLayout, TableFile
from overread.simulate.nodules import Nodule, NoduleLaw
from overread.simulate.readers import ReaderModel
from overread.simulate.recipes import Format, Rows, label_image
from overread.simulate.tables import nodule_rows

__all__ = ["FIELD_LAYOUT", "FieldLaw", "FieldRecipe", "MadeField"]

# From the lowest bit on, as docs/explanation/simulate.md tells.
ANATOMY_BITS = ("field", "vessels", "disc")
LABELS: tuple[Label, ...] = ("bright", "dark")

FIELD_SETTINGS = """\
# A simulated study of fields: colour pictures without a scale. images.csv, readings.csv and marks.csv are its tables,
# as of any study; known/ holds what no real study has. Lengths are pixels.

# Seed of everything random in a run.
seed = 0

[units]
unit = "px"

[region]
kind = "field_of_view"

[labels]
groups = {bright = ["bright"], dark = ["dark"]}

[merging]
nested = "votes"

[candidates]
polarity = "both"
limit = 100
"""

FIELD_LAYOUT = FolderLayout(
    (
        TableFile(
            "images.csv", ("image_id", "patient_id", "path", "width_px", "height_px"), lambda entry: [entry]
        ),
        TableFile("readings.csv", ("image_id", "reader_id"), lambda entry: entry["readings"]),
        TableFile(
            "marks.csv",
            ("image_id", "reader_id", "mark_id", *ELLIPSE, "confidence", "label"),
            lambda entry: entry["marks"],
        ),
        TableFile(
            "known/lesions.csv",
            ("image_id", "nodule_id", "object_id", "label", *(name for name in NODULE if name != "contrast")),
            lambda entry: entry["lesions"],
        ),
        TableFile(
            "known/distractors.csv",
            ("image_id", "object_id", "label", "x_mm", "y_mm", "diameter_mm", "conspicuity"),
            lambda entry: entry["distractors"],
        ),
        TableFile("known/marks.csv", ("image_id", "mark_id", "object_id"), lambda entry: entry["marks"]),
    ),
    FIELD_SETTINGS,
)

# Lesions of an image. The median diameter of dark marks becomes 10 px of the phantom's 560, as 27 of 1,500 are on the
# training images of DIARETDB1 (red lesions); everything else is chosen by eye.
DARK = ClusterLaw(
    clusters=5.0,
    sizes=(0.55, 0.15, 0.12, 0.1, 0.08),
    spread_px=10.0,
    shape=NoduleLaw(
        diameter_mm=(4.0, 12.0), exponent=(0.5, 1.2), axis_ratio=(0.6, 1.0), conspicuity=(0.7, 3.2)
    ),
    lookalikes=2.0,
)
BRIGHT = ClusterLaw(
    clusters=3.0,
    sizes=(0.3, 0.1, 0.15, 0.15, 0.1, 0.1, 0.1),
    spread_px=6.0,
    shape=NoduleLaw(
        diameter_mm=(4.0, 11.0), exponent=(0.3, 0.8), axis_ratio=(0.6, 1.0), conspicuity=(0.7, 3.2)
    ),
    lookalikes=2.0,
)


@dataclass(frozen=True)
class FieldLaw:
    """Laws of lesions and readers, and the part of the images that have lesions at all, by label."""

    readers: ReaderModel = field(default_factory=lambda: field_readers(4))
    bright: ClusterLaw = BRIGHT
    dark: ClusterLaw = DARK
    bright_images: float = 0.6
    dark_images: float = 0.8

    def of_label(self, label: Label) -> tuple[ClusterLaw, float]:
        """Return the law of a label, and the part of the images that have such lesions."""
        return (self.bright, self.bright_images) if label == "bright" else (self.dark, self.dark_images)


@dataclass(frozen=True, eq=False)
class MadeField:
    """One picture of a cohort with all that is known of it; rows are those of the tables."""

    image_id: str
    patient_id: str
    pixels: NDArray[np.uint8]
    lesion_labels: NDArray[np.uint16]
    anatomy: NDArray[np.uint16]
    lesions: Rows
    distractors: Rows
    readings: Rows
    marks: Rows

    def write_files(self, folder: Path, format: Format) -> tuple[str, ...]:
        """Write the picture, then the masks; return their paths in this order."""
        image = f"images/{self.image_id}.png"
        write_png_colour(folder / image, self.pixels)
        known = {
            f"known/masks/{self.image_id}.png": self.lesion_labels,
            f"known/anatomy/{self.image_id}.png": self.anatomy,
        }
        for name, pixels in known.items():
            write_png16(folder / name, pixels)
        return image, *known

    def entry(self) -> dict[str, Any]:
        """All that the tables need."""
        return {
            "image_id": self.image_id,
            "patient_id": self.patient_id,
            "width_px": self.pixels.shape[1],
            "height_px": self.pixels.shape[0],
            "lesions": self.lesions,
            "distractors": self.distractors,
            "readings": self.readings,
            "marks": self.marks,
        }


@dataclass(frozen=True)
class FieldRecipe:
    """Fields, each of its own patient."""

    n_images: int
    law: FieldLaw
    seed: int
    shape: tuple[int, int] = SHAPE

    layout: ClassVar[FolderLayout] = FIELD_LAYOUT

    def settings(self) -> dict[str, Any]:
        """See `Recipe`."""
        return {"kind": "field", **asdict(self)}

    def make(self, number: int) -> MadeField:
        """See `Recipe`."""
        state = np.random.SeedSequence([self.seed, 5, number]).generate_state(1)
        phantom = field_phantom(seed=int(state[0]), shape=self.shape)
        random = np.random.default_rng([self.seed, 6, number])
        clusters, lookalikes, light = fill_field(phantom, self.law, random)
        image_id, model = f"field{number + 1:05d}", self.law.readers
        places = np.flatnonzero(phantom.field)

        def place(generator: np.random.Generator) -> tuple[float, float]:
            row, column = divmod(int(places[generator.integers(len(places))]), phantom.shape[1])
            return column + 0.5, row + 0.5

        marks = mark_field(clusters, lookalikes, model, place, random)
        lesions = [lesion for cluster in clusters for lesion in cluster.lesions]
        return MadeField(
            image_id,
            f"P{number + 1:05d}",
            develop(phantom, light),
            label_image(lesions, phantom.shape, 1.0),
            anatomy_bits(phantom),
            lesion_rows(image_id, clusters),
            distractor_rows(image_id, lookalikes),
            [{"image_id": image_id, "reader_id": reader.reader_id} for reader in model.readers],
            [
                {"image_id": image_id, "mark_id": f"{image_id}-m{k + 1:03d}", **row}
                for k, row in enumerate(marks)
            ],
        )


def fill_field(
    phantom: FieldPhantom, law: FieldLaw, random: np.random.Generator
) -> tuple[list[Cluster], dict[Label, list[Nodule]], NDArray[np.float32]]:
    """Put lesions and lookalikes of both labels into a field; return them and the light that comes back."""
    clusters: list[Cluster] = []
    lookalikes: dict[Label, list[Nodule]] = {}
    there: list[Nodule] = []
    light = phantom.light
    for label in LABELS:
        own, share = law.of_label(label)
        drawn = draw_clusters(phantom, label, own, there, random) if random.random() < share else []
        there += [lesion for cluster in drawn for lesion in cluster.lesions]
        lookalikes[label] = draw_lookalikes(phantom, own, there, random)
        there += lookalikes[label]
        spots = [*(lesion for cluster in drawn for lesion in cluster.lesions), *lookalikes[label]]
        light = insert_lesions(phantom, light, spots, label)
        clusters += drawn
    return clusters, lookalikes, light


def anatomy_bits(phantom: FieldPhantom) -> NDArray[np.uint16]:
    """Masks of a field, a bit each."""
    bits = np.zeros(phantom.shape, dtype=np.uint16)
    for place, name in enumerate(ANATOMY_BITS):
        bits |= getattr(phantom, name).astype(np.uint16) << place
    return bits


def lesion_rows(image_id: str, clusters: Sequence[Cluster]) -> Rows:
    """Rows of the lesions; `object_id` is that of the marks, and says which cluster a lesion belongs to."""
    meant = [
        {"object_id": f"C{number + 1}-{k + 1}", "label": cluster.label}
        for number, cluster in enumerate(clusters)
        for k in range(len(cluster.lesions))
    ]
    lesions = [lesion for cluster in clusters for lesion in cluster.lesions]
    return [{**row, **more} for row, more in zip(nodule_rows(image_id, lesions), meant, strict=True)]


def distractor_rows(image_id: str, lookalikes: dict[Label, list[Nodule]]) -> Rows:
    """Rows of the spots that are no lesions."""
    return [
        {
            "image_id": image_id,
            "object_id": f"D-{label}-{k + 1}",
            "label": label,
            "x_mm": spot.x_mm,
            "y_mm": spot.y_mm,
            "diameter_mm": spot.diameter_mm,
            "conspicuity": spot.conspicuity,
        }
        for label, own in lookalikes.items()
        for k, spot in enumerate(own)
    ]
