"""Recipes: what makes image number i of a cohort. Small, sent to every worker, and the same everywhere.

Every image has its own random stream from (seed, number), so that neither the order nor the number of workers plays
any part. Lengths of pictures are in pixels, also where a field is called mm here; their tables end in ``_px``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.images import GRID_MM, write_dicom, write_png16, write_png_colour
from overread.simulate._backgrounds import BackgroundFile, file_background, phantom_background
from overread.simulate._cases import Background, CaseDistribution, draw_case, pixels_with_nodules
from overread.simulate._frozen import frozen_cohort, nih_background, nih_files
from overread.simulate._laws import nodule_counts
from overread.simulate._nodules import (
    Nodule,
    NoduleDistribution,
    VariedDistribution,
    nodule_mask,
    vary_pixels,
)
from overread.simulate._readers import ReaderModel, draw_readings, field_readers, mark_field
from overread.simulate._tables import (
    CHEST_LAYOUT,
    ELLIPSE,
    NODULE,
    FolderLayout,
    TableFile,
    distractor_rows,
    mark_rows,
    nodule_rows,
    nodules_by_image,
)
from overread.simulate.chest._patient import draw_patient
from overread.simulate.chest._render import Phantom, phantom
from overread.simulate.picture._lesions import (
    Cluster,
    ClusterLaw,
    Label,
    draw_clusters,
    draw_lookalikes,
    insert_lesions,
)
from overread.simulate.picture._phantom import SHAPE, PicturePhantom, develop, picture_phantom

Format = Literal["dicom", "png"]

# From the lowest bit on, see docs/explanation/simulate.md.
ANATOMY_BITS = ("left_lung", "right_lung", "ribs", "clavicles", "heart", "mediastinum")
PHANTOM_NAME = "phantom "
PHANTOM_GRID_MM = 0.7
Rows = list[dict[str, Any]]
# Kinds of rows of a chest.
ROWS = ("nodules", "distractors", "readings", "marks")


@dataclass(frozen=True, eq=False)
class MadeImage:
    """One image of a cohort with all that is known of it."""

    image_id: str
    patient_id: str
    facts: dict[str, Any]  # More columns of the table of images
    # 16 bits, what absorbs more is brighter; of a colour picture 8 bits x 3.
    pixels: NDArray[np.uint16] | NDArray[np.uint8]
    labels: NDArray[np.uint16]  # 0 outside, k in nodule or lesion number k
    anatomy: NDArray[np.uint16] | None  # Bits of a phantom's masks, from the lowest on; None for files
    rows: dict[str, Rows]  # Rows of the tables, by their kind

    def write_files(self, folder: Path, format: Format) -> tuple[str, ...]:
        """Write the image, then the masks; return their paths in this order."""
        image = f"images/{self.image_id}.{'dcm' if format == 'dicom' else 'png'}"
        if self.pixels.ndim == 3:
            write_png_colour(folder / image, self.pixels.astype(np.uint8, copy=False))
        elif format == "dicom":
            write_dicom(
                folder / image,
                self.pixels,
                self.facts["mm_per_px"],
                patient_id=self.patient_id,
                image_id=self.image_id,
                # Phantoms alone have an anatomy: no patient is behind their nodules.
                state_anonymous=self.anatomy is not None,
            )
        else:
            write_png16(folder / image, self.pixels.astype(np.uint16, copy=False))
        known = {f"known/masks/{self.image_id}.png": self.labels}
        if self.anatomy is not None:
            known[f"known/anatomy/{self.image_id}.png"] = self.anatomy
        for name, pixels in known.items():
            write_png16(folder / name, pixels)
        return image, *known

    def entry(self) -> dict[str, Any]:
        """Values for the tables, without the path."""
        return {"image_id": self.image_id, "patient_id": self.patient_id, **self.facts, **self.rows}


class Recipe(Protocol):
    """What makes the images of a cohort."""

    @property
    def n_images(self) -> int:
        """Number of images."""

    def settings(self) -> dict[str, Any]:
        """Everything the images depend on, to distinguish cohorts."""

    @property
    def layout(self) -> FolderLayout:
        """Tables and settings of the study's folder."""

    def make(self, number: int) -> MadeImage:
        """Make image ``number``, from 0."""


@dataclass(frozen=True)
class ChestRecipe:
    """Phantoms, each with its own patient; or files of real radiographs, in turn until there are enough images."""

    n_images: int
    law: CaseDistribution
    seed: int
    grid_mm: float = GRID_MM
    files: tuple[BackgroundFile, ...] | None = None

    layout: ClassVar[FolderLayout] = CHEST_LAYOUT

    def settings(self) -> dict[str, Any]:
        """See `Recipe`; files count by name, so that a folder may move."""
        settings = asdict(self)
        del settings["files"]
        if self.files is None:
            return {"kind": "phantom", **settings}
        files = [(file.path.name, file.patient_id, file.mm_per_px) for file in self.files]
        return {"kind": "files", **settings, "files": files}

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        law, image_id = self.law, f"case{number + 1:05d}"
        is_varied, anatomy = isinstance(law.nodules, VariedDistribution), None
        if self.files is None:
            seed = int(np.random.SeedSequence([self.seed, 3, number]).generate_state(1)[0])
            patient_id, name = f"P{number + 1:05d}", f"{PHANTOM_NAME}{seed}"
            background, anatomy = _draw_phantom(seed, self.grid_mm, law.thickest_breast_mm)
        else:
            file = self.files[number % len(self.files)]
            patient_id, name = file.patient_id, file.path.name
            background = file_background(file, grid_mm=self.grid_mm, behind_heart=is_varied)
        random = np.random.default_rng([self.seed, 4, number])
        if isinstance(law.nodules, VariedDistribution):
            pixels = vary_pixels(
                background.pixels, background.lungs, background.mm_per_px, law=law.nodules, random=random
            )
            background = replace(background, pixels=pixels)
        n_nodules = int(nodule_counts(self.n_images, law.nodules, self.seed)[number])
        readings = draw_readings([image_id], law.readers, random)
        case = draw_case(background, list(readings["reader_id"]), law, random, n_nodules=n_nodules)
        rows = {
            "nodules": nodule_rows(image_id, case.nodules),
            "distractors": distractor_rows(image_id, case),
            "readings": records(readings),
            "marks": mark_rows(image_id, case),
        }
        return _assemble(image_id, patient_id, name, background, case.nodules, anatomy, rows)


def _draw_phantom(
    seed: int, grid_mm: float, thickest_breast_mm: float = np.inf
) -> tuple[Background, NDArray[np.uint16]]:
    """Phantom as a background, and the bits of its masks."""
    patient = draw_patient(seed)
    patient = replace(patient, breast_mm=min(patient.breast_mm, thickest_breast_mm))
    image = phantom(seed=seed, mm_per_px=grid_mm, patient=patient)
    return phantom_background(image), _mask_bits(image, ANATOMY_BITS)


@dataclass(frozen=True)
class FrozenRecipe:
    """A frozen benchmark: all but the backgrounds comes from the package; phantoms where there is no folder of them."""

    name: str
    folder: Path | None = None
    images_csv: Path | None = None

    layout: ClassVar[FolderLayout] = CHEST_LAYOUT

    @property
    def n_images(self) -> int:
        """See `Recipe`."""
        return len(frozen_cohort(self.name).images)

    def settings(self) -> dict[str, Any]:
        """See `Recipe`."""
        return {"kind": "benchmark", "name": self.name}

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        cohort = frozen_cohort(self.name)
        row = cohort.images.iloc[number]
        image_id, name = str(row["image_id"]), str(row["background"])
        patient_id, anatomy = f"P{number + 1:05d}", None
        if self.folder is None or self.images_csv is None:
            background, anatomy = _draw_phantom(int(name.removeprefix(PHANTOM_NAME)), PHANTOM_GRID_MM)
        else:
            file = nih_files(cohort, self.folder, self.images_csv)[name]
            patient_id, background = file.patient_id, nih_background(file)
        tables = {kind: getattr(cohort, kind) for kind in ROWS}
        own = {kind: table[table["image_id"] == image_id] for kind, table in tables.items()}
        nodules = nodules_by_image(own["nodules"]).get(image_id, [])
        rows = {kind: records(table) for kind, table in own.items()}
        return _assemble(image_id, patient_id, name, background, nodules, anatomy, rows)


def _assemble(
    image_id: str,
    patient_id: str,
    name: str,
    background: Background,
    nodules: Sequence[Nodule],
    anatomy: NDArray[np.uint16] | None,
    rows: dict[str, Rows],
) -> MadeImage:
    """Put nodules on a background."""
    return MadeImage(
        image_id,
        patient_id,
        {"background": name, "mm_per_px": background.mm_per_px},
        pixels_with_nodules(background, nodules),
        label_image(nodules, background.pixels.shape, background.mm_per_px),
        anatomy,
        rows,
    )


def label_image(nodules: Sequence[Nodule], shape: tuple[int, ...], mm_per_px: float) -> NDArray[np.uint16]:
    """Image of the nodules' numbers."""
    image = np.zeros(shape, dtype=np.uint16)
    for number, nodule in enumerate(nodules, start=1):
        image[nodule_mask(nodule, shape, mm_per_px)] = number
    return image


def _mask_bits(image: Phantom | PicturePhantom, names: Sequence[str]) -> NDArray[np.uint16]:
    """Masks of a phantom, a bit each."""
    bits = np.zeros(image.shape, dtype=np.uint16)
    for place, name in enumerate(names):
        bits |= getattr(image, name).astype(np.uint16) << place
    return bits


def records(table: pd.DataFrame) -> Rows:
    """Rows as dictionaries of plain numbers and text."""
    return [{str(k): v for k, v in row.items()} for row in table.to_dict(orient="records")]


# From the lowest bit on, see docs/explanation/simulate.md.
PICTURE_ANATOMY_BITS = ("field", "vessels", "disc")
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

SPOT = ("object_id", "label", "x_mm", "y_mm", "diameter_mm", "conspicuity")
FIELD_LAYOUT = FolderLayout(
    (
        TableFile("images.csv", ("image_id", "patient_id", "path", "width_px", "height_px"), None),
        TableFile("readings.csv", ("image_id", "reader_id"), "readings"),
        TableFile(
            "marks.csv", ("image_id", "reader_id", "mark_id", *ELLIPSE, "confidence", "label"), "marks"
        ),
        TableFile(
            "known/lesions.csv",
            ("image_id", "nodule_id", "object_id", "label", *(name for name in NODULE if name != "contrast")),
            "lesions",
        ),
        TableFile("known/distractors.csv", ("image_id", *SPOT), "distractors"),
        TableFile("known/marks.csv", ("image_id", "mark_id", "object_id"), "marks"),
    ),
    FIELD_SETTINGS,
    unit="px",
)

# Lesions of an image. The median diameter of dark marks becomes 10 px of the phantom's 560, as 27 of 1,500 are on the
# training images of DIARETDB1 (red lesions); everything else is set by judgement.
DARK = ClusterLaw(
    clusters=5.0,
    sizes=(0.55, 0.15, 0.12, 0.1, 0.08),
    spread_px=10.0,
    shape=NoduleDistribution(
        diameter_mm=(4.0, 12.0), exponent=(0.5, 1.2), axis_ratio=(0.6, 1.0), conspicuity=(0.7, 3.2)
    ),
    lookalikes=2.0,
)
BRIGHT = ClusterLaw(
    clusters=3.0,
    sizes=(0.3, 0.1, 0.15, 0.15, 0.1, 0.1, 0.1),
    spread_px=6.0,
    shape=NoduleDistribution(
        diameter_mm=(4.0, 11.0), exponent=(0.3, 0.8), axis_ratio=(0.6, 1.0), conspicuity=(0.7, 3.2)
    ),
    lookalikes=2.0,
)


@dataclass(frozen=True)
class PictureDistribution:
    """Laws of lesions and readers, and the part of the images that have lesions at all, by label."""

    readers: ReaderModel = field(default_factory=lambda: field_readers(4))
    bright: ClusterLaw = BRIGHT
    dark: ClusterLaw = DARK
    bright_images: float = 0.6
    dark_images: float = 0.8

    def of_label(self, label: Label) -> tuple[ClusterLaw, float]:
        """Return the law of a label, and the part of the images that have such lesions."""
        return (self.bright, self.bright_images) if label == "bright" else (self.dark, self.dark_images)


@dataclass(frozen=True)
class PictureRecipe:
    """Fields, each of its own patient."""

    n_images: int
    law: PictureDistribution
    seed: int
    shape: tuple[int, int] = SHAPE

    layout: ClassVar[FolderLayout] = FIELD_LAYOUT

    def settings(self) -> dict[str, Any]:
        """See `Recipe`."""
        return {"kind": "field", **asdict(self)}

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        seed = int(np.random.SeedSequence([self.seed, 5, number]).generate_state(1)[0])
        phantom = picture_phantom(seed=seed, shape=self.shape)
        random = np.random.default_rng([self.seed, 6, number])
        clusters, lookalikes, light = _fill_field(phantom, self.law, random)
        image_id, model = f"field{number + 1:05d}", self.law.readers
        places = np.flatnonzero(phantom.field)

        def place(generator: np.random.Generator) -> tuple[float, float]:
            row, column = divmod(int(places[generator.integers(len(places))]), phantom.shape[1])
            return column + 0.5, row + 0.5

        marks = mark_field(clusters, lookalikes, model, place, random)
        lesions = [lesion for cluster in clusters for lesion in cluster.lesions]
        # The ids of objects are those of the marks.
        meant = [
            {"object_id": f"C{number + 1}-{k + 1}", "label": cluster.label}
            for number, cluster in enumerate(clusters)
            for k in range(len(cluster.lesions))
        ]
        spots = [
            {"object_id": f"D-{label}-{k + 1}", "label": label, **asdict(spot)}
            for label, own in lookalikes.items()
            for k, spot in enumerate(own)
        ]
        rows: dict[str, Rows] = {
            "lesions": [a | b for a, b in zip(nodule_rows(image_id, lesions), meant, strict=True)],
            "distractors": [{name: spot[name] for name in SPOT} for spot in spots],
            "readings": [{"reader_id": reader.reader_id} for reader in model.readers],
            "marks": [{"mark_id": f"{image_id}-m{k + 1:03d}", **row} for k, row in enumerate(marks)],
        }
        return MadeImage(
            image_id,
            f"P{number + 1:05d}",
            {"width_px": phantom.shape[1], "height_px": phantom.shape[0]},
            develop(phantom, light),
            label_image(lesions, phantom.shape, 1.0),
            _mask_bits(phantom, PICTURE_ANATOMY_BITS),
            {kind: [{"image_id": image_id, **row} for row in own] for kind, own in rows.items()},
        )


def _fill_field(
    phantom: PicturePhantom, law: PictureDistribution, random: np.random.Generator
) -> tuple[list[Cluster], dict[Label, list[Nodule]], NDArray[np.float32]]:
    """Put lesions and lookalikes of both labels into a field; return them and the light that comes back."""
    clusters: list[Cluster] = []
    lookalikes: dict[Label, list[Nodule]] = {}
    there: list[Nodule] = []
    light = phantom.light
    for label in LABELS:
        own, share = law.of_label(label)
        drawn = draw_clusters(phantom, label, own, there, random) if random.random() < share else []
        lesions = [lesion for cluster in drawn for lesion in cluster.lesions]
        lookalikes[label] = draw_lookalikes(phantom, own, [*there, *lesions], random)
        spots = [*lesions, *lookalikes[label]]
        light = insert_lesions(phantom, light, spots, label)
        there += spots
        clusters += drawn
    return clusters, lookalikes, light
