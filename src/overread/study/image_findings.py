"""What is wrong with the images of a study before any long work: repeats, strange views, one patient under two ids.

Each finding names an image and can be cured by one command: ``overread init STUDY --drop IDS|KIND`` leaves images out,
``--same-patient A=B`` says that two images are of one patient.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from overread.anatomy.frontal import looks_frontal
from overread.anatomy.lungs import find_lungs
from overread.anatomy.structures import Quality
from overread.errors import ImageError, InvalidInputError
from overread.images import (
    fingerprint_channels,
    pixel_fingerprint,
    read_channels,
    read_source,
    sketch_channels,
)
from overread.images.dicom_facts import DicomFacts, facts_of, is_directory
from overread.images.display import rendered
from overread.images.gridding import radiograph
from overread.images.lettering import MOST_LETTERS, count_letters
from overread.images.sketch import sketch
from overread.images.source import SourceImage
from overread.images.spacing import choose_spacing
from overread.marks.formats.building import Spacings
from overread.progress import count_steps
from overread.study.near_copies import compare_sketches
from overread.tables.cell_types import quote_cell
from overread.words import shell_word

__all__ = ["KINDS", "Finding", "FoundImage", "find_findings", "look_at", "look_at_files", "shows_chests"]

KINDS = {
    "duplicate": "the same pixels as an image before it",
    "copy": "nearly the same picture as an image of another patient",
    "patient": "one patient under two ids",
    "lateral": "a lateral view by its DICOM tags",
    "ap": "an AP view by its DICOM tags",
    "non-chest": "no chest radiograph by its DICOM tags",
    "not-frontal": "no two lungs side by side in the picture: a lateral view, or no chest?",
    "text": "text burned into the picture, which may name the patient",
}
GIVE_SPACING = "give --mm-per-px (px: lengths are pixels, for pictures that are no chests), or --images TABLE"
DIRECTORY = "a DICOMDIR, the index of a medium, and no image"
# An identity that more patients than this share is the filler of an anonymizer.
MOST_NAMESAKES = 3


@dataclass(frozen=True)
class FoundImage:
    """A file that can be read: its path in the folder, spacing (x, y), size, and what header and picture say.

    Where no spacing is known, ``mm_per_px`` is None and ``problem`` says why. ``frontal`` is None where the header
    tells the view, or nothing can be measured; ``has_lungs`` where nothing can be measured. A picture in colour has
    none.
    """

    path: str
    mm_per_px: tuple[float, float] | None
    shape: tuple[int, int]
    facts: DicomFacts
    fingerprint: str
    frontal: bool | None = None
    letters: int = 0
    problem: str = ""
    has_lungs: bool | None = None
    sketch: str = ""


@dataclass(frozen=True)
class Finding:
    """Something strange: its kind (a key of `KINDS`), the image, the image it is compared with, and words."""

    kind: str
    image_id: str
    other: str = ""
    detail: str = ""

    def __str__(self) -> str:
        beside = f" ({quote_cell(self.other)})" if self.other else ""
        return f"{KINDS[self.kind]}{beside}{f': {self.detail}' if self.detail else ''}"

    def cure(self, folder: Path) -> str:
        """Command that cures it."""
        start = f"overread init {shell_word(folder)}"
        if self.kind == "patient":
            return f"{start} --same-patient {shell_word(f'{self.other}={self.image_id}')}"
        sign = "=" if self.image_id.startswith("-") else " "
        drop = f"--drop{sign}{shell_word(self.image_id)}"
        if self.kind == "copy":
            joined = shell_word(f"{self.other}={self.image_id}")
            return (
                f"{start} --same-patient {joined}, or leave it out: {drop}, or say that it is of another patient: "
                f"--different {joined}"
            )
        return f"{start} {drop}, or all such: --drop {self.kind}"


def look_at_files(
    files: Sequence[Path],
    folder: Path,
    spacings: Spacings,
) -> tuple[list[FoundImage], dict[str, str]]:
    """Read every file once: what can be used, and why the others cannot."""
    found, unreadable = [], {}
    for path in count_steps("images", files):
        relative = path.relative_to(folder).as_posix()
        try:
            if is_directory(path):
                unreadable[relative] = DIRECTORY
            else:
                found.append(look_at(path, relative, spacings.find(relative)))
        except ImageError as error:
            unreadable[relative] = str(error).removeprefix(f"{path}: ")
    return found, unreadable


def look_at(path: Path, relative: str, mm_per_px: tuple[float, float] | None) -> FoundImage:
    """Read one file.

    Raises
    ------
    ImageError
        If it cannot be read.
    """
    try:
        source = read_source(path)
    except ImageError:
        return look_at_colour(path, relative, mm_per_px)
    stated = source.spacing.spacing
    spacing = mm_per_px if stated is None else (stated.x, stated.y)
    facts = facts_of(path)
    rows, columns = source.shape
    frontal, has_lungs = judge_view(source, spacing)
    return FoundImage(
        relative,
        spacing,
        (rows, columns),
        facts,
        pixel_fingerprint(source),
        frontal=None if facts.view or facts.is_other_than_chest else frontal,
        letters=MOST_LETTERS + 1 if facts.burned_in == "YES" else count_letters_in(source),
        problem="" if spacing else f"{source.spacing.problem}; {GIVE_SPACING}",
        has_lungs=has_lungs,
        sketch=sketch(source.measured()),
    )


def look_at_colour(path: Path, relative: str, mm_per_px: tuple[float, float] | None) -> FoundImage:
    """Look at a picture that is no radiograph, but can be read in colour.

    Raises
    ------
    ImageError
        Of the reader of radiographs, if it has no colours.
    """
    channels = read_channels(path)
    if channels.shape[2] == 1:
        read_source(path)
    return FoundImage(
        relative,
        mm_per_px,
        (channels.shape[0], channels.shape[1]),
        facts_of(path),
        fingerprint_channels(channels),
        letters=count_letters((channels.mean(axis=2) * 255).astype("uint8")),
        problem="" if mm_per_px else f"a picture in colour states no size of a pixel; {GIVE_SPACING}",
        has_lungs=False,
        sketch=sketch_channels(channels),
    )


def judge_view(source: SourceImage, spacing: tuple[float, float] | None) -> tuple[bool | None, bool | None]:
    """Whether the picture shows two lungs side by side, and whether both are seen; None where nothing is measured."""
    if spacing is None:
        return None, None
    try:
        lungs = find_lungs(radiograph(source, choose_spacing(source.spacing, spacing)))
    except InvalidInputError:
        return None, None
    seen = Quality.FALLBACK not in (lungs.left_quality, lungs.right_quality)
    return looks_frontal(lungs), seen


def count_letters_in(source: SourceImage) -> int:
    """Letters in a corner of the picture as it is shown."""
    return count_letters((rendered(source).clip(0, 1) * 255).astype("uint8"))


def shows_chests(found: Sequence[FoundImage]) -> bool:
    """Whether the images may be chests: not where most of those that can be measured have no pair of lungs."""
    judged = [image.has_lungs for image in found if image.has_lungs is not None]
    return 2 * judged.count(False) <= len(judged)


def find_findings(
    images: Sequence[tuple[str, str, FoundImage]],
    *,
    is_chest: bool = True,
    different: Container[tuple[str, str]] = (),
) -> list[Finding]:
    """All findings of images, given as (image id, patient id, what was found), in the order of the images.

    Views are those of a chest: of other pictures only text is told. Pairs of images that are ``different`` are not
    copies.
    """
    order = {image_id: place for place, (image_id, _, _) in enumerate(images)}
    views = [one for one in strange_views(images) if is_chest or one.kind == "text"]
    found = [*duplicates(images), *near_copies(images, different), *patients_with_two_ids(images), *views]
    return sorted(found, key=lambda finding: order[finding.image_id])


def duplicates(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
    """Images whose pixels an earlier one has."""
    first: dict[str, tuple[str, str]] = {}
    for image_id, patient, found in images:
        other, owner = first.setdefault(found.fingerprint, (image_id, patient))
        if other != image_id:
            yield Finding("duplicate", image_id, other, "under another patient" if owner != patient else "")


def near_copies(
    images: Sequence[tuple[str, str, FoundImage]], different: Container[tuple[str, str]] = ()
) -> Iterator[Finding]:
    """Images that show what one of another patient does, in pixels that are not the same."""
    owners = [f"patient {patient}" if patient else f"image {image_id}" for image_id, patient, _ in images]
    named: set[int] = set()
    for one, other in compare_sketches([found.sketch for _, _, found in images], owners):
        said = (images[one][0], images[other][0]) in different
        if not said and other not in named and images[one][2].fingerprint != images[other][2].fingerprint:
            named.add(other)
            yield Finding("copy", images[other][0], images[one][0])


def patients_with_two_ids(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
    """Images of one study, instance, or name and birth date that go by two patients' ids."""
    identities: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for image_id, patient, found in images:
        facts = found.facts
        for kind, parts in (
            ("StudyInstanceUID", (facts.study,)),
            ("SOPInstanceUID", (facts.instance,)),
            ("name and birth date", (facts.name, facts.birth_date)),
        ):
            if patient and all(parts):
                identities[kind, *parts].setdefault(patient, image_id)
    told: set[tuple[str, str]] = set()
    for (kind, *_), by_patient in identities.items():
        first, *others = by_patient.values()
        if kind == "name and birth date" and len(by_patient) > MOST_NAMESAKES:
            continue
        for other in others:
            if (first, other) not in told:
                told.add((first, other))
                yield Finding("patient", other, first, f"the same {kind}")


def strange_views(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
    """Images that are no frontal PA chest, or show text."""
    for image_id, _, found in images:
        facts = found.facts
        if facts.is_other_than_chest:
            yield Finding("non-chest", image_id, detail=f"{facts.modality} {facts.body_part}".strip())
        elif facts.view in ("lateral", "ap"):
            yield Finding(facts.view, image_id)
        elif found.frontal is False:
            yield Finding("not-frontal", image_id)
        if found.letters > MOST_LETTERS:
            tag = "BurnedInAnnotation is YES" if facts.burned_in == "YES" else "letters in a corner"
            yield Finding("text", image_id, detail=tag)
