"""Make a study out of a folder of image files.

Nothing that names a patient is written: a DICOM file's PatientID becomes a salted hash, its PatientName is only
compared with the file's name.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import shell_word
from overread.domains import Domain, get_domain, guess_domain
from overread.errors import InvalidInputError, StorageError, TableError, UsageError
from overread.files import no_folder, read_capped, unfinished_files, write_atomically, write_together
from overread.images import AGREEMENT, image_files
from overread.marks import (
    FOUND_FILE,
    UNLISTED,
    ImageNames,
    Spacings,
    find_table,
    ids_of_files,
    list_found_files,
    read_dropped,
    read_found,
    read_image_list,
    read_left_out,
    refuse_unfinished,
    scale_of_copy,
)
from overread.study._near_copies import find_different
from overread.study._settings import settings_template
from overread.study.intake._columns import suggest_import
from overread.study.intake._issues import (
    Finding,
    FoundImage,
    choose_dropped,
    drop_rows,
    find_findings,
    find_unread,
    look_at_files,
    merge_patients,
    note_different,
)
from overread.tables import SPACING, images_in_pixels, read_table, table_bytes

Patients = Literal["hashed", "raw", "none"]

SIZE = ("width_px", "height_px")
SALT_FILE = ".patient_salt"
SALT, LARGEST_SALT, PRIVATE = re.compile(rb"[0-9a-f]{64}"), 64, 0o600
NO_SALT = (
    "is not the secret that init wrote, 64 hexadecimal digits: with another one, every patient gets another id (put the"
    " old file back; or take it away, and images.csv too, to begin again)"
)
# What init itself writes: stopped in the middle, it may be given again.
OWN_FILES = {
    FOUND_FILE,
    "images.csv",
    "images.parquet",
    "study.toml",
    *(f"left_out_{kind}.csv" for kind in ("marks", "readings")),
}


@dataclass(frozen=True)
class MadeStudy:
    """Result of `make_study`: files made, steps left (``notes``), and the fate of every other file.

    By path: why files cannot be used (``unreadable``), or were left out on request before and still are (``stay_out``);
    ``unlisted`` files go by no row of a table that was there. By id: why images were ``dropped`` on request, with
    ``n_dropped_marks`` marks.
    """

    n_images: int
    n_patients: int
    unreadable: dict[str, str]
    written: list[Path]
    unlisted: list[str]
    notes: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    n_dropped_marks: int = 0
    stay_out: dict[str, str] = field(default_factory=dict)


def make_study(
    folder: Path,
    *,
    mm_per_px: float | tuple[float, float] | None = None,
    ids: Literal["name", "hash"] | None = None,
    patients: Patients = "hashed",
    patient_pattern: str | None = None,
    drop: Sequence[str] = (),
    same_patient: Sequence[tuple[str, str]] = (),
    different: Sequence[tuple[str, str]] = (),
    overwrite: bool = False,
    in_pixels: bool = False,
    region: str | None = None,
    images_table: Path | None = None,
    preset: str = "",
) -> MadeStudy:
    """Write ``images.csv`` and a commented ``study.toml`` for a folder of images.

    Where there is an images table already (say from ``overread import``), its ids and spacings are kept and the files
    are found by the ids. Files that could not be used before are looked at again, and come in where they can be.
    """
    if not folder.is_dir():
        raise UsageError(no_folder(folder))
    if preset and not overwrite and (folder / "study.toml").exists():
        raise UsageError(
            f'{folder / "study.toml"}: already exists (write preset = "{preset}" at its top, or replace it with'
            " --overwrite)"
        )
    pattern = _compiled(patient_pattern)
    if not {*unfinished_files(folder)} <= OWN_FILES:
        refuse_unfinished(folder)
    given = (mm_per_px, mm_per_px) if isinstance(mm_per_px, float | int) else mm_per_px
    if region is not None:
        get_domain(region)  # refuses one that there is not, before any image is opened
    looked = _look(folder, given, images_table, overwrite=overwrite, in_pixels=in_pixels, region=region)
    salt = _salt_of(folder)
    target = folder / "images.csv" if looked.is_fresh or looked.table is None else looked.table
    if looked.is_fresh and looked.table not in (None, target):
        raise UsageError(f"{looked.table}: already exists; remove it first")
    listed = _list_images(looked, ids, salt, unsaid=("sex",) if patients == "none" else (), drop=drop)
    images = _with_patients(listed.images, looked.found, patients, pattern, salt)
    images = note_different(merge_patients(images, same_patient), different)
    dropped = choose_dropped(drop, images, looked.find_findings(images), find_unread(folder, images))
    plan = _plan(looked, replace(listed, images=images), dropped | listed.missing)
    settings = None
    if overwrite or not (folder / "study.toml").exists():
        settings = _propose(folder, looked, plan.images, region, preset)
    written, n_dropped_marks = _write(folder, target, plan, settings)
    findings = looked.find_findings(plan.images)
    return MadeStudy(
        n_images=len(plan.images),
        n_patients=int(plan.images["patient_id"].loc[lambda ids: ids != ""].nunique()),
        unreadable=plan.unreadable,
        written=written,
        unlisted=plan.unlisted,
        notes=notes(folder, plan.images, findings, looked.domain),
        findings=findings,
        dropped=plan.dropped,
        n_dropped_marks=n_dropped_marks,
        stay_out=plan.stay_out,
    )


@dataclass(frozen=True)
class _Looked:
    """What there is: the folder's images table, usable files, why the others are not, and what the pictures show.

    Where the table is made again (``is_fresh``), files without a size of a pixel are not usable.
    """

    table: Path | None
    found: list[FoundImage]
    unreadable: dict[str, str]
    domain: type[Domain]
    is_fresh: bool

    def find_findings(self, images: pd.DataFrame) -> list[Finding]:
        """Find problems of the images of a table."""
        by_path = {image.path: image for image in self.found}
        columns = zip(images["image_id"], images["patient_id"], images["path"], strict=True)
        listed = [(image_id, patient, by_path[path]) for image_id, patient, path in columns]
        return find_findings(listed, domain=self.domain, different=find_different(images))


@dataclass(frozen=True, eq=False)
class _Listed:
    """An images table; reasons for rows without a file, for files left out before, and for unusable new files."""

    images: pd.DataFrame
    missing: dict[str, str] = field(default_factory=dict)
    taken_out: dict[str, str] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is to be written: the images table, and what became of every other file (as in `MadeStudy`)."""

    images: pd.DataFrame
    dropped: dict[str, str]
    stay_out: dict[str, str]
    on_request: dict[str, str]
    unreadable: dict[str, str]
    unlisted: list[str]


def _look(
    folder: Path,
    mm_per_px: tuple[float, float] | None,
    images_table: Path | None,
    *,
    overwrite: bool,
    in_pixels: bool,
    region: str | None,
) -> _Looked:
    """Read every image file once, and decide what the images are."""
    table = find_table(folder, "images")
    files = image_files(folder)
    if not files:
        raise InvalidInputError(
            f"{folder}: no DICOM, PNG, TIFF or JPEG files in it or its subfolders{_tell_other_files(folder)}"
        )
    spacings = Spacings.of(mm_per_px, None if images_table is None else read_image_list(images_table))
    found, unreadable = look_at_files(files, folder, spacings)
    if images_table is not None:
        _check_listed(found, spacings, images_table)
    by_table = [] if table is None else images_in_pixels(read_table(table, "images"))
    domain = guess_domain(found, in_pixels=in_pixels or bool(by_table), kind=region)
    is_fresh = table is None or overwrite
    if "px" in domain.units and is_fresh and find_table(folder, "marks") is None:
        # Nothing has a length yet, so that they can be counted in pixels.
        found = [image if image.mm_per_px else replace(image, mm_per_px=(1.0, 1.0)) for image in found]
    if is_fresh:
        unreadable = {image.path: image.problem for image in found if image.mm_per_px is None} | unreadable
        found = [image for image in found if image.mm_per_px is not None]
    if not found:
        first = next(iter(unreadable.items()))
        raise InvalidInputError(f"{folder}: no image can be read; {first[0]}: {first[1]}")
    return _Looked(table, found, unreadable, domain, is_fresh)


def _list_images(
    looked: _Looked, ids: str | None, salt: str, *, unsaid: Sequence[str], drop: Sequence[str]
) -> _Listed:
    """Make the images table again, or find the files of the existing one and add new files."""
    found, table = looked.found, looked.table
    if looked.is_fresh or table is None:
        return _Listed(_with_description(_new_table(found, ids, salt), found, unsaid))
    folder = table.parent
    images, missing = _with_files(read_table(table, "images"), found, table, drop=drop)
    images = _with_description(images, found, unsaid)
    taken_out = read_dropped(folder)
    waiting = {path for path, why in read_left_out(folder).items() if why != UNLISTED} - {*taken_out}
    if (known_before := read_found(folder)) is not None:
        waiting |= {image.path for image in found} - {*known_before}
    new = [image for image in found if image.path in waiting - {*images["path"]}]
    unusable = {image.path: image.problem for image in new if image.mm_per_px is None}
    return _Listed(_add_rows(images, new, ids, salt, unsaid), missing, taken_out, unusable)


def _plan(looked: _Looked, listed: _Listed, dropped: dict[str, str]) -> _Plan:
    """Take the dropped images out of the table, and say of every file what becomes of it."""
    images = listed.images
    paths = dict(zip(images["image_id"], images["path"], strict=True))
    images = images[~images["image_id"].isin(list(dropped))].reset_index(drop=True)
    if images.empty:
        raise UsageError("--drop: no image would be left")
    if looked.table is not None and find_table(looked.table.parent, "marks") is not None:
        _refuse_other_sizes(read_table(looked.table, "images"), images, looked.table)
    kept = set(images["path"])
    stay_out = {path: why for path, why in listed.taken_out.items() if path not in kept}
    on_request = stay_out | {paths.get(image, image): reason for image, reason in dropped.items()}
    unreadable = looked.unreadable | listed.unusable
    unreadable = {path: why for path, why in unreadable.items() if path not in on_request}
    unlisted = sorted({image.path for image in looked.found} - kept - {*unreadable, *on_request})
    return _Plan(images, dropped, stay_out, on_request, unreadable, unlisted)


def _propose(folder: Path, looked: _Looked, images: pd.DataFrame, region: str | None, preset: str) -> str:
    """Return the text of study.toml, with what the domain of the images suggests."""
    marks = find_table(folder, "marks")
    table = None if marks is None else read_table(marks, "marks")
    proposed = looked.domain.suggest(folder, images, table, kind=region)
    if preset:
        proposed.pop("merging", None)
    return settings_template(proposed, preset=preset)


def _write(folder: Path, target: Path, plan: _Plan, settings: str | None) -> tuple[list[Path], int]:
    """Write all tables together, and the settings; return the files, and how many marks were moved out."""
    moved, n_marks = drop_rows(folder, list(plan.dropped)) if plan.dropped else ({}, 0)
    left_out = plan.unreadable | dict.fromkeys(plan.unlisted, UNLISTED)
    files = list_found_files(set(plan.images["path"]), left_out, plan.on_request)
    new = {
        **{name: (content,) for name, content in moved.items()},
        FOUND_FILE: (table_bytes(files, folder / FOUND_FILE),),
        target.name: (table_bytes(plan.images, target),),
    }
    if settings is not None:
        new["study.toml"] = (settings.encode(),)
    return write_together(folder, new), n_marks


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    """Regular expression of the user, with a group."""
    if pattern is None:
        return None
    try:
        made = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--patient-pattern {pattern!r}: {error}") from None
    if not made.groups:
        raise UsageError(f"--patient-pattern {pattern!r}: put the patient into a group, such as ([0-9]+)_.*")
    return made


def _salt_of(folder: Path) -> str:
    """Secret of the study, by which hashes cannot be guessed; kept in the folder so that they stay the same."""
    path = folder / SALT_FILE
    if not path.exists():
        with suppress(FileExistsError):
            write_atomically(
                path, secrets.token_hex(32).encode(), exclusive=True, mode=PRIVATE, within=folder
            )
    try:
        salt = read_capped(path, LARGEST_SALT, lambda _: InvalidInputError(f"{path}: {NO_SALT}"))
        if path.stat().st_mode & ~PRIVATE & 0o777:
            path.chmod(PRIVATE)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error
    if not SALT.fullmatch(salt):
        raise InvalidInputError(f"{path}: {NO_SALT}")
    return salt.decode("ascii")


def hashed(text: str, salt: str) -> str:
    """Sixteen hexadecimal digits that stand for a text."""
    return hashlib.sha256(f"{salt}:{text}".encode()).hexdigest()[:16]


def _new_table(found: Sequence[FoundImage], ids: str | None, salt: str) -> pd.DataFrame:
    """Images table of files."""
    if ids == "hash":
        names = [hashed(image.path, salt) for image in found]
    else:
        names = ids_of_files([image.path for image in found])
        if ids is None:
            _refuse_names(found, names)
    spacing = np.array([image.mm_per_px for image in found], dtype=np.float64)
    return _with_sizes(pd.DataFrame({"image_id": names}, dtype="str"), found, spacing)


def _refuse_names(found: Sequence[FoundImage], names: Sequence[str]) -> None:
    """Refuse ids that hold their patient's name or id: ids are shown in results."""
    for image, name in zip(found, names, strict=True):
        parts = [*re.split(r"[^\w]+|_", image.facts.name), image.facts.patient_id]
        if any(len(part) > 2 and part.casefold() in name.casefold() for part in parts):
            raise UsageError(
                "the name of a file or of its folder holds the patient's name or id of its own header; ids of images"
                " are shown in results (give --ids hash, or --ids name to use it all the same)"
            )


def _with_sizes(
    images: pd.DataFrame, found: Sequence[FoundImage], spacing: NDArray[np.float64]
) -> pd.DataFrame:
    """Add path, spacing and size, row by row."""
    return images.assign(
        path=[image.path for image in found],
        mm_per_px_x=spacing[:, 0],
        mm_per_px_y=spacing[:, 1],
        width_px=[float(image.shape[1]) for image in found],
        height_px=[float(image.shape[0]) for image in found],
    )


def _refuse_other_sizes(stated: pd.DataFrame, actual: pd.DataFrame, place: Path) -> None:
    """Refuse a table whose images have other sizes than their files: its marks were drawn on other pictures."""
    files = actual.set_index("image_id").reindex(stated["image_id"])
    sizes = [one.reindex(columns=list(SIZE)).to_numpy(np.float64) for one in (stated, files)]
    for row, (width, height, across, down) in enumerate(np.hstack(sizes).tolist()):
        if np.isnan([width, height, across, down]).any() or (width, height) == (across, down):
            continue
        is_copy = scale_of_copy((width, height), (across, down)) is not None
        drawn_on = "a copy at another scale" if is_copy else "another picture"
        remedy = "which scales them" if is_copy else "in pixels of these images"
        raise TableError(
            f"{place}, row {row + 2}, column width_px: {width:g} x {height:g} px in the table, but {across:g} x"
            f" {down:g} by {files['path'].iloc[row]}: the marks were drawn on {drawn_on} and would lie elsewhere (take"
            f" the tables of images, marks and readings out of {place.parent}, run overread init, and import again,"
            f" {remedy})"
        )


def _check_listed(found: Sequence[FoundImage], spacings: Spacings, place: Path) -> None:
    """Refuse a table of spacings that lists no file, or contradicts what a file states."""
    listed = [(image, row) for image in found if (row := spacings.row(image.path))]
    if not listed:
        raise TableError(f"{place}: lists none of the {len(found)} image files that can be read")
    for image, row in listed:
        for name, own in zip(SPACING, image.mm_per_px or (), strict=False):
            told = row.get(name, np.nan)
            if abs(told - own) > AGREEMENT * own:
                raise TableError(
                    f"{place}, column {name}: {told:g} for {image.path}, which states {own:g} (correct the one that is"
                    " wrong, or take the row out)"
                )


def _add_rows(
    images: pd.DataFrame, found: Sequence[FoundImage], ids: str | None, salt: str, unsaid: Sequence[str]
) -> pd.DataFrame:
    """Add rows of files that can be used now, by the kind of ids that the table has; its own rows stay as they are."""
    usable = [image for image in found if image.mm_per_px is not None]
    if not usable:
        return images
    if ids is None and any(
        image_id == hashed(path, salt)
        for image_id, path in zip(images["image_id"], images["path"], strict=True)
    ):
        ids = "hash"
    new = _with_description(_new_table(usable, ids, salt), usable, unsaid)
    taken = new["image_id"].isin(images["image_id"])
    new["image_id"] = new["image_id"].where(~taken, new["path"])
    joined = pd.concat([images, new], ignore_index=True)
    texts = [name for name in joined if not pd.api.types.is_numeric_dtype(joined[name])]
    return joined.assign(**{str(name): joined[name].fillna("").astype("str") for name in texts})


def _with_files(
    images: pd.DataFrame, found: Sequence[FoundImage], place: Path, *, drop: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Find the file of every image of a table; rows without one are dropped where that was asked for."""
    by_id = dict(zip(ids_of_files([image.path for image in found]), found, strict=True))
    names = ImageNames(
        {image_id: image.path for image_id, image in by_id.items()}, f"the files in {place.parent}"
    )
    chosen: list[FoundImage | None] = []
    problems: list[str] = []
    owners: dict[str, str] = {}
    paths = images["path"] if "path" in images else pd.Series("", index=images.index)
    for row, (image_id, path) in enumerate(zip(images["image_id"], paths, strict=True)):
        where = f"{place}, row {row + 2}, column path"
        try:
            name = (names.find(path) if path else None) or names.find(image_id)
        except TableError as error:
            raise TableError(f"{where}: {error}") from None
        chosen.append(None if name is None else by_id[name])
        if name is None:
            if "missing" not in drop and image_id not in drop:
                problems.append(f"{where}: no readable image file goes by the id {image_id!r}")
        elif (owner := owners.setdefault(name, image_id)) != image_id:
            problems.append(f"{where}: {by_id[name].path} goes by the id {image_id!r} and by {owner!r}")
    if problems:
        more = f"; and {len(problems) - 1} more rows" if len(problems) > 1 else ""
        raise TableError(
            f"{problems[0]}{more} (put the image files into {place.parent}, write their paths into the column path,"
            " or take the rows out: --drop missing)"
        )
    there = [image is not None for image in chosen]
    gone = dict.fromkeys(images["image_id"][[not one for one in there]], "no readable image file")
    images = images[there].reset_index(drop=True)
    kept = [image for image in chosen if image is not None]
    return _with_sizes(images, kept, _kept_spacing(images, kept, place)), gone


def _kept_spacing(images: pd.DataFrame, found: Sequence[FoundImage], place: Path) -> NDArray[np.float64]:
    """Spacing that a table states, and where it states none that of the files; they must not contradict."""
    measured = np.array([image.mm_per_px or (np.nan, np.nan) for image in found], dtype=np.float64)
    own = images.reindex(columns=list(SPACING)).to_numpy(np.float64)
    spacing = np.where(np.isnan(own), measured, own)
    for row, column in np.argwhere(np.isnan(spacing)):
        raise TableError(
            f"{place}, row {row + 2}, column {SPACING[column]}: is empty, and {found[row].path} does not help:"
            f" {found[row].problem}"
        )
    for row, column in np.argwhere(np.abs(measured - own) > AGREEMENT * own):
        raise TableError(
            f"{place}, row {row + 2}, column {SPACING[column]}: {own[row, column]:g} in the table, but"
            f" {measured[row, column]:g} by {found[row].path}, --mm-per-px or --images (correct the one that is wrong)"
        )
    return spacing


def _with_patients(
    images: pd.DataFrame,
    found: Sequence[FoundImage],
    patients: Patients,
    pattern: re.Pattern[str] | None,
    salt: str,
) -> pd.DataFrame:
    """Fill the patients of images whose table does not name them."""
    by_path = {image.path: image for image in found}
    known = images["patient_id"] if "patient_id" in images else pd.Series("", index=images.index)
    filled = []
    for path, own in zip(images["path"], known, strict=True):
        raw = "" if patients == "none" else by_path[path].facts.patient_id
        match = None if pattern is None else pattern.search(Path(path).name)
        if not raw and match is not None:
            raw = match.group(1) or ""
        filled.append(own or (raw if patients == "raw" or not raw else hashed(raw, salt)))
    images = images.drop(columns="patient_id", errors="ignore")
    images.insert(1, "patient_id", pd.Series(filled, index=images.index, dtype="str"))
    return images


def _with_description(
    images: pd.DataFrame, found: Sequence[FoundImage], without: Sequence[str] = ()
) -> pd.DataFrame:
    """Add what headers state (`DicomFacts.description`), unless the table has such a column."""
    by_path = {image.path: image.facts.description for image in found}
    names = sorted(
        {name for image in found for name in image.facts.description} - {*images.columns, *without}
    )
    texts = {name: [by_path[path].get(name, "") for path in images["path"]] for name in names}
    return images.assign(
        **{name: pd.Series(text, index=images.index, dtype="str") for name, text in texts.items()}
    )


def _tell_other_files(folder: Path) -> str:
    """Name the most frequent ending of a folder without images, which may be that of images to be converted."""
    endings = Counter(path.suffix.lower() for path in folder.rglob("*.*") if path.is_file())
    if not endings:
        return ""
    ending, number = endings.most_common(1)[0]
    return f"; {number} of its files end in {ending}: if those are images, convert them to PNG or TIFF"


def notes(folder: Path, images: pd.DataFrame, findings: Sequence[Finding], domain: type[Domain]) -> list[str]:
    """List the steps left before the study can run."""
    has_marks = find_table(folder, "marks") is not None
    said, last = domain.advise(folder, {finding.kind for finding in findings}, has_marks=has_marks)
    alone = int((images["patient_id"] == "").sum())
    if alone:
        said.append(
            f"{alone} images have no patient: each counts as its own. If a patient has several images, fill patient_id"
            " in images.csv, or give --patient-pattern; else results come out too good."
        )
    absent = [kind for kind in ("marks", "readings") if find_table(folder, kind) is None]
    if absent:
        said.append(
            f"There is no table of {' and '.join(absent)}. Next: {suggest_import(folder, images)}; "
            f"or let readers mark the images in the browser: overread read {shell_word(folder)} --add-reader NAME"
        )
    for kind in ("marks", "readings"):
        path = find_table(folder, kind)
        if path is None:
            continue
        table = read_table(path, kind)
        unknown = table.loc[~table["image_id"].isin(images["image_id"]), "image_id"]
        if len(unknown):
            said.append(
                f"{path.name}: {unknown.nunique()} image ids are not in images.csv, such as {unknown.iloc[0]!r};"
                " make them the same."
            )
    return [*said, *last]
