"""Recipes: what makes image number i of a cohort. Small, sent to every worker, and the same everywhere.

Every image has its own random stream from (seed, number), so that neither the order nor the number of workers plays
any part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.images import GRID_MM, write_dicom, write_png16
from overread.simulate.backgrounds import BackgroundFile, file_background, phantom_background
from overread.simulate.benchmarks.frozen import FrozenCohort, frozen_cohort
from overread.simulate.benchmarks.nih import nih_background, nih_files
from overread.simulate.cases import Background, CaseLaw, draw_case, pixels_with_nodules
from overread.simulate.folder_tables import CHEST_LAYOUT, FolderLayout
from overread.simulate.nodules import Nodule, nodule_mask
from overread.simulate.phantom import Phantom, phantom
from overread.simulate.reader_fit import nodule_counts
from overread.simulate.readers import draw_readings
from overread.simulate.tables import distractor_rows, mark_rows, nodule_rows, nodules_by_image
from overread.simulate.varied import VariedLaw, vary_pixels

__all__ = [
    "FileRecipe",
    "Format",
    "FrozenPhantomRecipe",
    "MadeImage",
    "NihRecipe",
    "PhantomRecipe",
    "Recipe",
    "Rows",
    "label_image",
]

Format = Literal["dicom", "png"]

# From the lowest bit on, as docs/explanation/simulate.md tells.
ANATOMY_BITS = ("left_lung", "right_lung", "ribs", "clavicles", "heart", "mediastinum")
PHANTOM_NAME = "phantom "
PHANTOM_GRID_MM = 0.7
Rows = list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class MadeImage:
    """One image of a cohort with all that is known of it.

    Attributes
    ----------
    image_id, patient_id, background
        Names; `background` says what is behind the nodules.
    pixels, mm_per_px
        16 bits; what absorbs more is brighter.
    nodule_labels
        0 outside, k in nodule Nk.
    anatomy
        Bits of a phantom's masks, in the order of `ANATOMY_BITS` from the lowest; None for files.
    nodules, distractors, readings, marks
        Rows of the tables.
    """

    image_id: str
    patient_id: str
    background: str
    pixels: NDArray[np.uint16]
    mm_per_px: float
    nodule_labels: NDArray[np.uint16]
    anatomy: NDArray[np.uint16] | None
    nodules: Rows
    distractors: Rows
    readings: Rows
    marks: Rows

    @property
    def is_phantom(self) -> bool:
        """Whether no patient is behind the nodules; phantoms alone have an anatomy."""
        return self.anatomy is not None

    def write_files(self, folder: Path, format: Format) -> tuple[str, ...]:
        """Write the image, then the masks; return their paths in this order."""
        image = f"images/{self.image_id}.{'dcm' if format == 'dicom' else 'png'}"
        if format == "dicom":
            write_dicom(
                folder / image,
                self.pixels,
                self.mm_per_px,
                patient_id=self.patient_id,
                image_id=self.image_id,
                state_anonymous=self.is_phantom,
            )
        else:
            write_png16(folder / image, self.pixels)
        known = {f"known/masks/{self.image_id}.png": self.nodule_labels}
        if self.anatomy is not None:
            known[f"known/anatomy/{self.image_id}.png"] = self.anatomy
        for name, pixels in known.items():
            write_png16(folder / name, pixels)
        return image, *known

    def entry(self) -> dict[str, Any]:
        """All that the tables need of it beside its path."""
        return {
            "image_id": self.image_id,
            "patient_id": self.patient_id,
            "background": self.background,
            "mm_per_px": self.mm_per_px,
            "nodules": self.nodules,
            "distractors": self.distractors,
            "readings": self.readings,
            "marks": self.marks,
        }


class StudyImage(Protocol):
    """An image that can be written into a study folder."""

    def write_files(self, folder: Path, format: Format) -> tuple[str, ...]:
        """Write its files; return their paths in the folder, that of the image first."""

    def entry(self) -> dict[str, Any]:
        """All that the tables of the folder need of it beside its path."""


class Recipe(Protocol):
    """What makes the images of a cohort."""

    @property
    def n_images(self) -> int:
        """Number of images."""

    def settings(self) -> dict[str, Any]:
        """Everything the images depend on, to tell one cohort from another."""

    @property
    def layout(self) -> FolderLayout:
        """Tables and settings of the study's folder."""

    def make(self, number: int) -> StudyImage:
        """Make image ``number``, from 0."""


@dataclass(frozen=True)
class PhantomRecipe:
    """Phantoms, each with its own patient."""

    n_images: int
    law: CaseLaw
    seed: int
    grid_mm: float = GRID_MM

    layout: ClassVar[FolderLayout] = CHEST_LAYOUT

    def settings(self) -> dict[str, Any]:
        """See `Recipe`."""
        return {"kind": "phantom", **asdict(self)}

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        state = np.random.SeedSequence([self.seed, 3, number]).generate_state(1)
        image = phantom(seed=int(state[0]), mm_per_px=self.grid_mm)
        name = f"case{number + 1:05d}"
        background = phantom_background(image)
        return draw_image(
            name,
            f"P{number + 1:05d}",
            f"{PHANTOM_NAME}{int(state[0])}",
            background,
            self,
            number,
            anatomy_bits(image),
        )


@dataclass(frozen=True)
class FileRecipe:
    """Real radiographs, taken in turn until there are enough images."""

    files: tuple[BackgroundFile, ...]
    n_images: int
    law: CaseLaw
    seed: int
    grid_mm: float = GRID_MM

    layout: ClassVar[FolderLayout] = CHEST_LAYOUT

    def settings(self) -> dict[str, Any]:
        """See `Recipe`; files count by name, so that a folder may move."""
        files = [(file.path.name, file.patient_id, file.mm_per_px) for file in self.files]
        others = {
            "n_images": self.n_images,
            "law": asdict(self.law),
            "seed": self.seed,
            "grid_mm": self.grid_mm,
        }
        return {"kind": "files", "files": files, **others}

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        file = self.files[number % len(self.files)]
        name = f"case{number + 1:05d}"
        varied = isinstance(self.law.nodules, VariedLaw)
        background = file_background(file, grid_mm=self.grid_mm, behind_heart=varied)
        return draw_image(name, file.patient_id, file.path.name, background, self, number, None)


class FrozenRecipe:
    """A frozen benchmark: its tables come from the package."""

    name: ClassVar[str]
    layout: ClassVar[FolderLayout] = CHEST_LAYOUT

    @property
    def cohort(self) -> FrozenCohort:
        """The frozen tables."""
        return frozen_cohort(self.name)

    @property
    def n_images(self) -> int:
        """See `Recipe`."""
        return len(self.cohort.images)

    def settings(self) -> dict[str, Any]:
        """See `Recipe`."""
        return {"kind": "benchmark", "name": self.name}


@dataclass(frozen=True)
class NihRecipe(FrozenRecipe):
    """The frozen benchmark nih-240x3: everything but the backgrounds comes from the package."""

    name: ClassVar[str] = "nih-240x3"

    folder: Path
    images_csv: Path

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        cohort = self.cohort
        name = cohort.images["background"].iloc[number]
        file = nih_files(cohort, self.folder, self.images_csv)[name]
        return build_frozen_image(cohort, number, file.patient_id, nih_background(file), None)


@dataclass(frozen=True)
class FrozenPhantomRecipe(FrozenRecipe):
    """The frozen benchmark phantom-1978: the phantoms by their seeds, everything else from the package."""

    name: ClassVar[str] = "phantom-1978"

    def make(self, number: int) -> MadeImage:
        """See `Recipe`."""
        seed = int(self.cohort.images["background"].iloc[number].removeprefix(PHANTOM_NAME))
        image = phantom(seed=seed, mm_per_px=PHANTOM_GRID_MM)
        patient_id = f"P{number + 1:05d}"
        return build_frozen_image(
            self.cohort, number, patient_id, phantom_background(image), anatomy_bits(image)
        )


def build_frozen_image(
    cohort: FrozenCohort,
    number: int,
    patient_id: str,
    background: Background,
    anatomy: NDArray[np.uint16] | None,
) -> MadeImage:
    """Put what the tables of a frozen cohort say on a background."""
    row = cohort.images.iloc[number]
    image_id = str(row["image_id"])
    nodules = nodules_by_image(of_image(cohort.nodules, image_id)).get(image_id, [])
    return MadeImage(
        image_id,
        patient_id,
        str(row["background"]),
        pixels_with_nodules(background, nodules),
        background.mm_per_px,
        label_image(nodules, background.pixels.shape, background.mm_per_px),
        anatomy,
        *(records(of_image(table, image_id)) for table in (cohort.nodules, cohort.distractors)),
        *(records(of_image(table, image_id)) for table in (cohort.readings, cohort.marks)),
    )


def draw_image(
    image_id: str,
    patient_id: str,
    name: str,
    background: Background,
    recipe: PhantomRecipe | FileRecipe,
    number: int,
    anatomy: NDArray[np.uint16] | None,
) -> MadeImage:
    """Draw nodules, distractors, readings and marks on a background."""
    law = recipe.law
    random = np.random.default_rng([recipe.seed, 4, number])
    if isinstance(law.nodules, VariedLaw):
        pixels = vary_pixels(
            background.pixels, background.lungs, background.mm_per_px, law=law.nodules, random=random
        )
        background = replace(background, pixels=pixels)
    n_nodules = int(nodule_counts(recipe.n_images, law.nodules, recipe.seed)[number])
    readings = draw_readings([image_id], law.readers, random)
    case = draw_case(background, list(readings["reader_id"]), law, random, n_nodules=n_nodules)
    return MadeImage(
        image_id,
        patient_id,
        name,
        pixels_with_nodules(background, case.nodules),
        background.mm_per_px,
        label_image(case.nodules, background.pixels.shape, background.mm_per_px),
        anatomy,
        nodule_rows(image_id, case.nodules),
        distractor_rows(image_id, case),
        records(readings),
        mark_rows(image_id, case),
    )


def label_image(nodules: Sequence[Nodule], shape: tuple[int, ...], mm_per_px: float) -> NDArray[np.uint16]:
    """Image of the nodules' numbers."""
    image = np.zeros(shape, dtype=np.uint16)
    for number, nodule in enumerate(nodules, start=1):
        image[nodule_mask(nodule, (shape[0], shape[1]), mm_per_px)] = number
    return image


def anatomy_bits(image: Phantom) -> NDArray[np.uint16]:
    """Masks of a phantom, a bit each."""
    bits = np.zeros(image.shape, dtype=np.uint16)
    for place, name in enumerate(ANATOMY_BITS):
        bits |= getattr(image, name).astype(np.uint16) << place
    return bits


def of_image(table: pd.DataFrame, image_id: str) -> pd.DataFrame:
    """Rows of one image."""
    return table[table["image_id"] == image_id]


def records(table: pd.DataFrame) -> Rows:
    """Rows as dictionaries of plain numbers and text."""
    return [{str(k): v for k, v in row.items()} for row in table.to_dict(orient="records")]
