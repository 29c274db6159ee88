"""What a study's folder holds, read and checked, with readers and patients behind codes."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pandas as pd

from overread._text import shell_word
from overread.errors import DataWarning, InvalidInputError, TableError
from overread.files import KNOWN_NODULES_FILE, SIMULATION_FILE, digest_of_value, write_atomically
from overread.marks import find_path, find_table, read_found, read_hashed_folder
from overread.report import FoundFiles
from overread.study._settings import Settings
from overread.study.intake._columns import choose_subgroups, describe_columns
from overread.study.stages.stage import StageSource
from overread.tables import (
    Column,
    ColumnTable,
    HashedTable,
    Schema,
    check_candidates,
    check_sizes,
    convert_lengths,
    open_columns,
    pixel_sides,
    raise_for_errors,
    read_hashed_table,
    scan_file,
    table_bytes,
    unit_of,
)
from overread.truth import ADJUDICATION_FILE, read_adjudication


def read_found_files(folder: Path, listed: Iterable[str]) -> FoundFiles | None:
    """Count what was found; None in a folder that `init` has not been in."""
    reasons = read_found(folder)
    if reasons is None:
        return None
    now = set(listed)
    left_out = Counter(reason for name, reason in reasons.items() if reason and name not in now)
    return FoundFiles(
        n_found=len(reasons),
        left_out=dict(sorted(left_out.items(), key=lambda item: (-item[1], item[0]))),
        n_taken_out=sum(not reason and name not in now for name, reason in reasons.items()),
        n_added=len(now - reasons.keys()),
    )


CODES_FILE = "reader_codes.csv"
# Longer ones may be numbers of staff, which a report must not show.
OWN_CODE = re.compile("R[0-9]{1,3}")
CODES = Schema("reader codes", (Column("reader_id", "id"), Column("code", "id")), key=("reader_id",))
NODULES = Schema(
    "known nodules",
    (Column("image_id", "id"), *(Column(name, "length") for name in ("x", "y", "diameter"))),
    key=(),
)
PARTS = ("training", "validation", "test")


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """Tables of a study as the user wrote them, with lengths in the study's unit under plain names.

    Ids are the user's own; ``reader_codes`` (R1, R2, ...) are kept in the study's folder only. ``digests`` are of each
    table's file; ``subgroups`` give the value of each image by column. What a study does not have is None.
    """

    folder: Path
    marks: pd.DataFrame
    readings: pd.DataFrame
    images: pd.DataFrame
    candidates: pd.DataFrame | None
    features: ColumnTable | None
    adjudication: pd.DataFrame | None
    digests: dict[str, str]
    reader_codes: dict[str, str]
    subgroups: dict[str, dict[str, str]]
    found_files: FoundFiles | None
    known_nodules: pd.DataFrame | None

    @property
    def needs_images(self) -> bool:
        """Whether image files have to be opened."""
        return self.features is None

    def sources(self) -> dict[str, StageSource]:
        """Return what the stages of a run can read of the study, by name."""
        values: dict[str, tuple[object, object]] = {
            "marks": (self.marks, self.digests["marks"]),
            "readings": (self.readings, self.digests.get("readings")),
            "images": (self.images, self.digests.get("images")),
            "reader_codes": (self.reader_codes, self.reader_codes),
            "is_simulated": ((is_simulated := (self.folder / SIMULATION_FILE).is_file()), is_simulated),
            "subgroups": (self.subgroups, self.subgroups),
            "description": ((told := describe_columns(self.images)), asdict(told)),
            "found_files": (self.found_files, None if self.found_files is None else asdict(self.found_files)),
            "known_nodules": (self.known_nodules, self.digests.get("known_nodules")),
            "adjudication": (self.adjudication, self.digests.get("adjudication")),
            # The study may be moved; results do not depend on its place.
            "folder": (self.folder, None),
        }
        for kind in ("candidates", "features"):
            if kind in self.digests:
                values[kind] = (getattr(self, kind), self.digests[kind])
        return {
            f"input/{name}": StageSource(digest_of_value(key), value) for name, (value, key) in values.items()
        }


def read_inputs(folder: Path, settings: Settings) -> StudyInputs:
    """Read a study's tables and check that they fit together."""
    found = read_hashed_folder(folder, derive_readings=settings.inputs.derive_readings)
    tables, digests = found.tables, dict(found.digests)
    candidates, features = None, None
    own = settings.inputs
    if own.candidates is not None:
        path = folder / own.candidates
        table = read_hashed_table(path, "candidates")
        candidates = _fill_responses(table.frame, path)
        raise_for_errors(check_candidates(candidates, file=str(path)))
        _refuse_strangers(candidates["image_id"], tables.images, path)
        digests["candidates"] = table.sha256
    if own.features is not None:
        path = folder / own.features
        features = open_columns(path, "features")
        _refuse_strangers(features.keys["image_id"], tables.images, path)
        digests["features"] = features.sha256
    if features is not None and candidates is None:
        raise InvalidInputError(
            f"{folder / 'study.toml'}, [inputs] features: features need the candidates they belong to"
            " (give candidates = ... too)"
        )
    images = check_images(tables.images, folder, needs_paths=features is None)
    marks = choose_marks(tables.marks, settings.labels.groups, folder)
    if settings.labels.groups:
        digests["marks"] = digest_of_value([digests["marks"], settings.labels.groups])
    adjudication = _read_decisions(folder, own.adjudication, tables.images)
    if adjudication is not None:
        digests["adjudication"] = adjudication.sha256
    known_nodules = None
    nodules = read_known_nodules(folder)
    if nodules is not None:
        known_nodules, digests["known_nodules"] = nodules.frame, nodules.sha256
    read = StudyInputs(
        folder=folder,
        marks=marks,
        readings=tables.readings,
        images=images,
        candidates=candidates,
        features=features,
        adjudication=None if adjudication is None else adjudication.frame,
        digests=digests,
        reader_codes=_assign_codes(folder, tables.readings["reader_id"]),
        subgroups=choose_subgroups(images, settings.evaluation.subgroups, folder / "study.toml"),
        found_files=read_found_files(folder, images.get("path", ())),
        known_nodules=known_nodules,
    )
    return _convert_inputs(read, settings)


def _read_decisions(folder: Path, name: str | None, images: pd.DataFrame) -> HashedTable | None:
    """Read a chair's decisions; where the study has some that the settings do not name, say that they are not used."""
    if name is None:
        if (folder / ADJUDICATION_FILE).is_file():
            warnings.warn(
                f"{folder / ADJUDICATION_FILE} exists but is not used (to use a chair's decisions, set"
                f' adjudication = "{ADJUDICATION_FILE}" under [inputs] in study.toml)',
                DataWarning,
                stacklevel=2,
            )
        return None
    decisions = read_adjudication(folder / name)
    _refuse_strangers(decisions.frame["image_id"], images, folder / name)
    return decisions


def choose_marks(marks: pd.DataFrame, groups: Mapping[str, Sequence[str]], folder: Path) -> pd.DataFrame:
    """Take the marks whose labels are in a group; within it labels no longer matter. Without groups take all."""
    if not groups:
        return marks
    wanted = [label for labels in groups.values() for label in labels]
    known = sorted(set(marks["label"])) if "label" in marks else []
    for label in wanted:
        if label not in known:
            raise InvalidInputError(
                f"{folder / 'study.toml'}, [labels] groups: no mark has the label {label!r}; there are"
                f" {', '.join(known) or 'none: marks have no column label'}"
            )
    return marks[marks["label"].isin(wanted)].drop(columns="label").reset_index(drop=True)


def _convert_inputs(read: StudyInputs, settings: Settings) -> StudyInputs:
    """Convert every length of a study to its unit, under plain names."""
    images, unit, digests = read.images, settings.units.unit, dict(read.digests)
    own = settings.inputs.candidates
    files = {
        "marks": find_path(read.folder, "marks"),
        "candidates": read.folder / (own or ""),
        "known_nodules": read.folder / KNOWN_NODULES_FILE,
    }
    tables = {}
    for name, file in files.items():
        table = getattr(read, name)
        if table is None:
            continue
        tables[name] = convert_lengths(table, images, unit, str(file))
        if unit_of(table.columns) != unit:
            # A length in a new unit depends on the images table, too.
            digests[name] = digest_of_value([digests[name], unit, digests.get("images")])
    if unit != "mm":
        check_sizes(images, find_path(read.folder, "images"))
        side = pixel_sides(images, unit)
        images = images.assign(mm_per_px_x=side, mm_per_px_y=side)
        digests["images"] = digest_of_value([digests.get("images"), unit])
    return replace(read, images=images, digests=digests, **tables)  # type: ignore[arg-type]


def read_known_nodules(folder: Path) -> HashedTable | None:
    """Read the nodules that were put into a simulated study; None where there are none."""
    path = folder / KNOWN_NODULES_FILE
    return read_hashed_table(path, NODULES) if path.is_file() else None


def _refuse_strangers(image_ids: pd.Series[str], images: pd.DataFrame, path: Path) -> None:
    """Refuse rows of images that are not in the study."""
    said = "is not in the images table (add the image, or take the row out)"
    _refuse_cells(image_ids, ~image_ids.isin(images["image_id"]), path, said)


def _refuse_cells(cells: pd.Series[str], wrong: pd.Series[bool], path: Path, said: str) -> None:
    """Refuse the first invalid cell of a column; the message has row and value."""
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise TableError(f"{path}, row {row + 2}, column {cells.name}: {cells.iloc[row]!r} {said}")


def _fill_responses(candidates: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Give candidates without the column response one of 0; refuse a column with empty cells."""
    if "response" not in candidates:
        return candidates.assign(response=0.0)
    empty = candidates["response"].isna()
    if empty.any():
        row = int(empty.to_numpy().argmax())
        raise TableError(
            f"{path}, row {row + 2}, column response: is empty (fill every row, or take the column out)"
        )
    return candidates


def check_images(images: pd.DataFrame, folder: Path, *, needs_paths: bool) -> pd.DataFrame:
    """Refuse images without a path where files have to be opened, and splits that do not exist."""
    place = find_table(folder, "images") or folder / "images.csv"
    if needs_paths:
        missing = images["path"].to_numpy(object) == "" if "path" in images else [True] * len(images)
        if any(missing):
            row = list(missing).index(True)
            raise TableError(
                f"{place}, row {row + 2}, column path: there is no image file (give its path relative to the"
                f" folder, or make the table with: overread init {shell_word(folder)})"
            )
    if "split" in images and (images["split"] != "").any():
        said = "(use training, validation or test in every row, or leave the whole column empty)"
        _refuse_cells(images["split"], ~images["split"].isin(PARTS), place, said)
    return images.reset_index(drop=True)


def _assign_codes(folder: Path, reader_ids: pd.Series[str]) -> dict[str, str]:
    """Give codes to the readers, kept in the study's folder so that a reader keeps a code when others join.

    No code is the id of another reader: a reader whose id looks like a code keeps it, the others get what is nobody's
    id. Codes of the file that break this are given again, with a warning.
    """
    path = folder / CODES_FILE
    kept: dict[str, str] = {}
    if path.is_file():
        scan = scan_file(path, CODES)
        raise_for_errors(scan.problems)
        check_codes(scan.frame["code"], path)
        kept = dict(zip(scan.frame["reader_id"], scan.frame["code"], strict=True))
    ids = sorted({*reader_ids, *kept})
    names = {name.casefold() for name in ids}
    codes = {reader: code for reader, code in kept.items() if code.casefold() not in names}
    codes |= {name: name for name in ids if OWN_CODE.fullmatch(name)}
    taken = names | {code.casefold() for code in codes.values()}
    free = (code for number in itertools.count(1) if (code := f"R{number}").casefold() not in taken)
    codes |= {name: next(free) for name in ids if name not in codes}
    changed = sorted(reader for reader, code in kept.items() if codes[reader] != code)
    if changed:
        warnings.warn(
            f"{path}: new codes for {', '.join(changed)} (the old codes are ids of readers, or their ids are codes"
            " already; earlier reports of this study show the old codes)",
            DataWarning,
            stacklevel=2,
        )
    if codes != kept:
        table = pd.DataFrame({"reader_id": list(codes), "code": list(codes.values())}, dtype="str")
        write_atomically(path, table_bytes(table, path), within=folder)
    return codes


def check_codes(codes: pd.Series[str], path: Path) -> None:
    """Refuse a code that is not R and a number, or that two readers have: they would become one."""
    wrong = ~codes.str.fullmatch(r"R[0-9]+") | codes.duplicated()
    _refuse_cells(codes, wrong, path, "(give each reader a code of its own: R1, R2, ...)")


def code_marks(marks: pd.DataFrame, codes: dict[str, str]) -> pd.DataFrame:
    """Put codes into the marks; a mark's own id, which may hold a name, becomes ``R1.1``, ``R1.2``, ...

    Numbers count the marks of a reader in an image, in the order of their ids.
    """
    ordered = marks.assign(reader_id=marks["reader_id"].map(codes).astype("str"))
    ordered = ordered.sort_values(["image_id", "reader_id", "mark_id"], kind="stable", ignore_index=True)
    number = ordered.groupby(["image_id", "reader_id"]).cumcount() + 1
    return ordered.assign(
        original=ordered["mark_id"], mark_id=ordered["reader_id"] + "." + number.astype("str")
    )


def code_patients(images: pd.DataFrame) -> pd.Series[str]:
    """Give codes to the patients in the order of their ids; an image without a patient is its own."""
    own = "image " + images["image_id"].astype("str")
    if "patient_id" in images:
        known = images["patient_id"].fillna("").astype("str")
        own = ("patient " + known).where(known != "", own)
    order = {name: number + 1 for number, name in enumerate(sorted(set(own)))}
    return own.map(lambda name: f"P{order[name]:05d}").astype("str")
