"""Find problems of a study's images before any long work: duplicates, unexpected views, one patient under two ids.

Each finding names an image and can be cured by one command: ``overread init STUDY --drop IDS|KIND`` leaves images out,
``--same-patient A=B`` says that two images are of one patient. ``overread check`` lists them as problems.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from overread._terminal import count_steps
from overread._text import shell_word
from overread.domains import ChestDomain, Domain, domain_of, judge_view
from overread.errors import ImageError, InvalidInputError, UsageError
from overread.images import (
    MOST_LETTERS,
    DicomFacts,
    count_letters,
    facts_of,
    fingerprint_channels,
    is_directory,
    pixel_fingerprint,
    read_channels,
    read_source,
    rendered,
    sketch,
    sketch_channels,
)
from overread.marks import ImageNames, Spacings, StudyScan, find_path, find_table
from overread.study._inputs import code_patients
from overread.study._near_copies import compare_rows, compare_sketches, find_different
from overread.study._study_marks import read_settings_if_sound
from overread.tables import (
    SPACING,
    Problem,
    Severity,
    check_marks,
    open_columns,
    quote_cell,
    read_table,
    table_bytes,
)

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
GIVE_SPACING = (
    "give --mm-per-px (px: lengths are pixels, for images that are not chest radiographs), or --images TABLE"
)
DIRECTORY = "a DICOMDIR, the index of a medium, and no image"
# An identity that more patients than this share is the filler of an anonymizer.
MOST_NAMESAKES = 3


@dataclass(frozen=True)
class FoundImage:
    """A file that can be read: its path in the folder, spacing (x, y), size, and what header and picture say.

    Where no spacing is known, ``mm_per_px`` is None and ``problem`` says why. ``frontal`` is None where the header
    states the view, or nothing can be measured; ``has_lungs`` where nothing can be measured. A picture in colour has
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
    """A problem: its kind (a key of `KINDS`), the image, the image it is compared with, and words."""

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
    files: Sequence[Path], folder: Path, spacings: Spacings
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
    """Read one file."""
    try:
        source = read_source(path)
    except ImageError:
        return _look_at_colour(path, relative, mm_per_px)
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
        letters=MOST_LETTERS + 1
        if facts.burned_in == "YES"
        else count_letters((rendered(source).clip(0, 1) * 255).astype("uint8")),
        problem="" if spacing else f"{source.spacing.problem}; {GIVE_SPACING}",
        has_lungs=has_lungs,
        sketch=sketch(source.measured()),
    )


def _look_at_colour(path: Path, relative: str, mm_per_px: tuple[float, float] | None) -> FoundImage:
    """Look at an image that is not a radiograph but can be read in colour."""
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


def find_findings(
    images: Sequence[tuple[str, str, FoundImage]],
    *,
    domain: type[Domain] = ChestDomain,
    different: Container[tuple[str, str]] = (),
) -> list[Finding]:
    """All findings of images, given as (image id, patient id, what was found), in the order of the images.

    Unexpected views are reported if they matter to the domain. Pairs of images that are ``different`` are not copies.
    """
    order = {image_id: place for place, (image_id, _, _) in enumerate(images)}
    views = [one for one in _strange_views(images) if domain.findings is None or one.kind in domain.findings]
    found = [*_duplicates(images), *_near_copies(images, different), *_patients_with_two_ids(images), *views]
    return sorted(found, key=lambda finding: order[finding.image_id])


def _duplicates(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
    """Images whose pixels an earlier one has."""
    first: dict[str, tuple[str, str]] = {}
    for image_id, patient, found in images:
        other, owner = first.setdefault(found.fingerprint, (image_id, patient))
        if other != image_id:
            yield Finding("duplicate", image_id, other, "under another patient" if owner != patient else "")


def _near_copies(
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


def _patients_with_two_ids(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
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


def _strange_views(images: Sequence[tuple[str, str, FoundImage]]) -> Iterator[Finding]:
    """List images that are not frontal PA chest radiographs, or show text."""
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


def _sizeless(images: pd.DataFrame, by_path: dict[str, FoundImage], file: str) -> Iterator[Problem]:
    """Tell of images of whose pixels neither table nor file tells the size: a run in mm gives them up."""
    listed = images.reindex(columns=[*SPACING]).notna().all(axis=1)
    for row, (path, known) in enumerate(zip(images["path"], listed, strict=True)):
        found = by_path.get(Path(path).as_posix())
        if found is not None and found.problem and not known:
            reason = found.problem.partition("; ")[0]
            remedy = "give mm_per_px_x and mm_per_px_y, or count in pixels ([units] unit)"
            yield Problem(file, row + 2, SPACING[0], reason, remedy, "warning")


def check_pictures(scan: StudyScan, folder: Path) -> list[Problem]:
    """Open every image file and list problems: pixels or patients in two parts are leakage."""
    images, settings = scan.images, read_settings_if_sound(folder)
    if images is None or "path" not in images or "image_id" not in images:
        return []
    file = str(find_path(folder, "images"))
    files = [folder / path for path in images["path"] if path and (folder / path).is_file()]
    found, unreadable = look_at_files(files, folder, Spacings(find_common_spacing(images)))
    by_path = {image.path: image for image in found}
    rows = {Path(path).as_posix(): row for row, path in enumerate(images["path"])}
    problems = [
        Problem(
            file,
            rows[path] + 2,
            "path",
            reason,
            f"overread init {shell_word(folder)} --drop missing",
            "warning",
        )
        for path, reason in unreadable.items()
    ]
    if settings.units.unit == "mm" and settings.inputs.features is None:
        problems += _sizeless(images, by_path, file)
    patients = images["patient_id"] if "patient_id" in images else [""] * len(images)
    listed = [
        (image_id, patient, by_path[path])
        for image_id, patient, path in zip(images["image_id"], patients, images["path"], strict=True)
        if path in by_path
    ]
    domain = domain_of(settings.to_plain())
    problems += _findings_as_problems(
        find_findings(listed, domain=domain, different=find_different(images)), images, folder, file
    )
    if doubt := domain.doubt(found):
        problems.append(Problem(str(folder / "study.toml"), None, None, *doubt, "warning"))
    if scan.marks is not None:
        problems += _marks_beyond_measured(scan.marks, images, by_path, str(find_path(folder, "marks")))
    return problems


def check_feature_rows(scan: StudyScan, folder: Path) -> list[Problem]:
    """Find images of two patients whose candidates have identical features, for features supplied by the study.

    A table that cannot be read is left to `run`, which says why.
    """
    own = read_settings_if_sound(folder).inputs.features
    if own is None or scan.images is None or "image_id" not in scan.images:
        return []
    images = scan.images
    patients = code_patients(images)
    try:
        table = open_columns(folder / own, "features")
        pairs = compare_rows(table, dict(zip(images["image_id"], patients, strict=True)))
    except InvalidInputError:
        return []
    different = find_different(images)
    copies = [Finding("copy", other, one) for one, other in pairs or () if (one, other) not in different]
    problems = _findings_as_problems(copies, images, folder, str(find_path(folder, "images")))
    told = "image {!r}: the same features of candidates as image {!r} of another patient"
    return [
        replace(problem, column="image_id", message=told.format(copy.image_id, copy.other))
        for copy, problem in zip(copies, problems, strict=True)
    ]


def find_common_spacing(images: pd.DataFrame) -> tuple[float, float] | None:
    """Return the pixel size that all images have in the table, as given to `init`; None if they differ or have none."""
    if not {"mm_per_px_x", "mm_per_px_y"} <= set(images.columns):
        return None
    told = images[["mm_per_px_x", "mm_per_px_y"]].drop_duplicates()
    width, height = (float(value) for value in told.iloc[0])
    return (width, height) if len(told) == 1 and not math.isnan(width + height) else None


def _findings_as_problems(
    findings: list[Finding], images: pd.DataFrame, folder: Path, file: str
) -> Iterator[Problem]:
    """Give findings the row of their image; pixels or patients in two splits are leakage."""
    splits = dict(zip(images["image_id"], images["split"], strict=True)) if "split" in images else {}
    rows = {image: row for row, image in enumerate(images["image_id"])}
    for finding in findings:
        own, other = splits.get(finding.image_id, ""), splits.get(finding.other, "")
        leaks = finding.kind in ("duplicate", "copy", "patient") and own != other
        also = f", and in another split ({other} and {own})" if leaks else ""
        severity: Severity = "leakage" if leaks else "warning"
        message = f"image {finding.image_id!r}: {finding}{also}"
        yield Problem(file, rows[finding.image_id] + 2, "path", message, finding.cure(folder), severity)


def _marks_beyond_measured(
    marks: pd.DataFrame, images: pd.DataFrame, by_path: dict[str, FoundImage], file: str
) -> list[Problem]:
    """Find marks outside images whose size the table lacks, by the size of the file."""
    measured = []
    for row in images.to_dict("records"):
        found = by_path.get(row["path"])
        own = [
            float(row.get(name, math.nan)) for name in ("width_px", "height_px", "mm_per_px_x", "mm_per_px_y")
        ]
        if found is None or not any(math.isnan(value) for value in own):
            continue
        told = [float(found.shape[1]), float(found.shape[0]), *(found.mm_per_px or (math.nan, math.nan))]
        sizes = [theirs if math.isnan(mine) else mine for mine, theirs in zip(own, told, strict=True)]
        measured.append((row["image_id"], *sizes))
    if not measured:
        return []
    names = ["image_id", "width_px", "height_px", "mm_per_px_x", "mm_per_px_y"]
    table = pd.DataFrame(measured, columns=names)
    here = marks["image_id"].isin(table["image_id"])
    problems = check_marks(marks[here].reset_index(drop=True), None, table, file=file)
    rows = marks.index[here].tolist()
    return [
        replace(problem, row=rows[problem.row - 2] + 2)
        for problem in problems
        if problem.row is not None and "its image" in problem.message
    ]


# Two ids of one patient are joined, not dropped.
DROPPED_KINDS = (*(kind for kind in KINDS if kind != "patient"), "unread", "missing")


def choose_dropped(
    drop: Sequence[str], images: pd.DataFrame, findings: Sequence[Finding], unread: Sequence[str]
) -> dict[str, str]:
    """Reason by id of the images that are to be left out."""
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    dropped: dict[str, str] = {}
    for wanted in drop:
        if wanted == "unread":
            dropped |= dict.fromkeys(unread, "no reader read it")
        elif wanted == "patient":
            raise UsageError(
                "--drop patient: say that the two ids are of one patient instead, by --same-patient A=B"
            )
        elif wanted in KINDS:
            dropped |= {finding.image_id: str(finding) for finding in findings if finding.kind == wanted}
        elif (image_id := names.find(wanted)) is not None:
            said = next((str(finding) for finding in findings if finding.image_id == image_id), "")
            dropped[image_id] = said or "taken out by hand"
        elif wanted != "missing":
            raise UsageError(
                f"--drop {wanted}: no such image, and no kind; kinds are {', '.join(DROPPED_KINDS)}"
            )
    return dropped


def find_unread(folder: Path, images: pd.DataFrame) -> list[str]:
    """Images without a reading; none where there are no readings yet."""
    path = find_table(folder, "readings")
    if path is None:
        return []
    read = set(read_table(path, "readings")["image_id"])
    return [image for image in images["image_id"] if image not in read]


def drop_rows(folder: Path, image_ids: Sequence[str]) -> tuple[dict[str, bytes], int]:
    """Move the marks and readings of images into tables of what was left out.

    Return the new content of the tables by name, to be written together, and how many marks were moved.
    """
    new: dict[str, bytes] = {}
    n_marks = 0
    for kind in ("readings", "marks"):
        path = find_table(folder, kind)
        if path is None:
            continue
        table = read_table(path, kind)
        gone = table["image_id"].isin(list(image_ids))
        if not gone.any():
            continue
        kept = folder / f"left_out_{kind}.csv"
        parts = [read_table(kept, kind)] if kept.is_file() else []
        joined = pd.concat([*parts, table[gone]], ignore_index=True)
        keys = [name for name in ("image_id", "reader_id", "mark_id") if name in joined]
        # Of a mark that was left out before and has come again, the later one counts.
        new[kept.name] = table_bytes(joined.drop_duplicates(keys, keep="last"), kept)
        new[path.name] = table_bytes(table[~gone].reset_index(drop=True), path)
        n_marks = int(gone.sum()) if kind == "marks" else n_marks
    return new, n_marks


def merge_patients(images: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Give all images of the second of each pair the patient of the first; each is an image or a patient's id."""
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    patients = images["patient_id"].copy()
    for pair in pairs:
        rows = []
        for name in pair:
            image_id = names.find(name)
            row = (images["image_id"] == image_id) if image_id else patients == name
            if not name or not row.any():
                raise UsageError(f"--same-patient {pair[0]}={pair[1]}: no image and no patient {name!r}")
            rows.append(row)
        first, second = (patients[row].iloc[0] for row in rows)
        kept = first or second or f"patient of {images.loc[rows[0], 'image_id'].iloc[0]}"
        joined = rows[0] | rows[1]
        for patient in (first, second):
            joined |= (patients == patient) & (patient != "")
        patients[joined] = kept
    return images.assign(patient_id=patients)


def note_different(images: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Note with the second image of each pair that the first is of another patient, though they look alike."""
    if not pairs:
        return images
    names = ImageNames(dict(zip(images["image_id"], images["path"], strict=True)))
    noted = images["different_from"].copy() if "different_from" in images else pd.Series("", images.index)
    for pair in pairs:
        one, other = (names.find(name) for name in pair)
        if one is None or other is None or one == other:
            raise UsageError(f"--different {pair[0]}={pair[1]}: name two images")
        row = images["image_id"] == other
        told = [text for text in noted[row].iloc[0].split(";") if text]
        noted[row] = ";".join(dict.fromkeys([*told, one]))
    return images.assign(different_from=noted)
