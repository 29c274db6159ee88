"""``overread import``: turn other tools' marks into the tables of a study.

For a spreadsheet it shows the interpretation and asks about anything ambiguous.
"""

from __future__ import annotations

import inspect
import math
import shlex
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import Flag, OutputPath, emit, parse_spacing, print_counts, print_plain, print_table
from overread._terminal import print_line
from overread._text import shell_word
from overread.errors import DataWarning, UsageError
from overread.marks import (
    FORMATS,
    MarkSet,
    Option,
    StudyImages,
    combine,
    detect_format,
    keep_labels,
    read_marks,
    with_ids_of_files,
    write_folder,
)
from overread.tables import likeness_of, visible_text

if TYPE_CHECKING:
    import pandas as pd

    from overread.marks import Layout, Spacings


FORMAT_HELP = "auto recognizes the content; or one of: " + ", ".join(
    f"{entry.name} ({entry.description})" for entry in FORMATS.values()
)


def import_marks(
    *files: Path,
    output: OutputPath,
    format: Annotated[str, Parameter(help=FORMAT_HELP)] = "auto",
    reader: Annotated[list[str] | None, Parameter(negative="")] = None,
    reader_names: str | None = None,
    mm_per_px: str | None = None,
    images: Path | None = None,
    scale: str | None = None,
    all_read_all: Flag = False,
    readers: str | None = None,
    readings: Path | None = None,
    label: Annotated[list[str] | None, Parameter(negative="")] = None,
    drop_unknown: Flag = False,
    yes: Flag = False,
    dry_run: Flag = False,
    parquet: Flag = False,
    overwrite: Flag = False,
    json: Flag = False,
    **of_format: Any,
) -> None:
    """Convert marks from a spreadsheet or an annotation tool into tables of marks, readings and images.

    If `overread init` made OUTPUT, its images.csv stays, and the marks get its image ids. For a spreadsheet,
    the command shows its interpretation and, on a terminal, asks you to confirm it.

    Parameters
    ----------
    files
        Files to read; several are combined.
    output
        Folder for the tables; created if it does not exist.
    format
        A format in `overread.marks.FORMATS`, or auto.
    reader
        NAME=FILE: a file with the marks of one reader (cvat, coco, sheet, ...). Repeat for each reader.
    reader_names
        OLD=NEW,...: new names for readers, such as 3=Ann,5=Bob for Label Studio's numbers.
    mm_per_px
        Pixel size in mm, X or X,Y, where the format does not state it; px: lengths stay in pixels.
    images
        Images table with mm_per_px_x and mm_per_px_y, if OUTPUT has none; the marks get its image ids.
    scale
        Factor from the file's pixels to the image's pixels, such as 0.5 or 1/3, if marks were drawn on copies
        of another size that the file does not state. 1: same size.
    all_read_all
        Every reader read every image, also those that they did not mark.
    readers
        A,B,C: these readers, and no others, read every image.
    readings
        Table of readings, with a column for the image and one for the reader.
    label
        Keep only marks with this label; readings stay. Repeat for more.
    drop_unknown
        Skip marks on images that the study does not have, instead of stopping.
    yes
        Accept the interpretation of a spreadsheet without asking.
    dry_run
        Show what would be imported without writing it.
    parquet
        Write Parquet instead of CSV.
    overwrite
        Replace existing tables.
    json
        Print a summary for machines.
    **of_format
        Options of single formats, as listed in `overread.marks.FORMATS`.
    """
    from overread._commands import print_warnings
    from overread._terminal import ProgressBar, count_steps
    from overread.tables import check_readings, raise_or_warn

    study, stays = _find_study(output, images)
    given = {**of_format, "mm_per_px": parse_spacing(mm_per_px), "scale": _parse_scale(scale)}
    options = {name: value for name, value in given.items() if value is not None and value is not False}
    if not files and not reader:
        raise UsageError("no file to import; try: overread import --help")
    rule = ReadingRule(
        readings, None if readers is None else _split_names(readers), all_read_all=all_read_all
    )
    with print_warnings():
        sources = _list_sources(files, reader or [], format)
        for source in sources:
            source.settle(options, study, rule, yes=yes, quiet=json)
        with ProgressBar():
            parts = [
                read_marks(
                    source.file, source.format, study=study, drop_unknown=drop_unknown, **source.options
                )
                for source in count_steps("reading: files", sources)
            ]
        if study is None and not any(source.format == "plain" for source in sources):
            # An image has the same id in all of them.
            parts = with_ids_of_files(parts)
        found = _rename_readers(combine(parts), reader_names)
        found = rule.apply(_select_labels(found, label), study)
        raise_or_warn(check_readings(found.readings))
    written = []
    if not dry_run:
        ending = "parquet" if parquet else "csv"
        written = write_folder(found, output, ending=ending, overwrite=overwrite, keep_images=stays)
    n_marked = len(found.marks[["image_id", "reader_id"]].drop_duplicates())
    counts = {
        "images": len(found.images),
        "readers": int(found.readings["reader_id"].nunique()),
        "readings": len(found.readings),
        "readings_without_marks": len(found.readings) - n_marked,
        "marks": len(found.marks),
    }
    emit(
        {**counts, "files": [str(path) for path in written]},
        lambda _: print_counts(counts, show_edge=False, right=slice(1, 2)),
        as_json=json,
    )
    if not json:
        for path in written:
            print_plain(f"wrote {path}")
        if study is not None:
            _say_what_is_unread(found, study, output)
        print_line(f"Next: {_next_step(output, written, has_images=stays)}")


def _parse_scale(text: str | None) -> float | None:
    """Read a factor from "0.5" or "1/3"."""
    if text is None:
        return None
    try:
        factor = float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        factor = 0.0
    if not 0 < factor < math.inf:
        raise UsageError(f"--scale {text!r}: give a positive number such as 0.5 or 1/3")
    return factor


def _find_study(out: Path, images: Path | None) -> tuple[StudyImages | None, bool]:
    """Return the images of the target study, and whether its table stays: it does if its files exist."""
    from overread.marks import find_table

    own = find_table(out, "images") if out.is_dir() else None
    if own is not None:
        study = StudyImages.read(own)
        paths: list[str] = study.table["path"].tolist() if "path" in study.table else []
        if any(path and (out / path).is_file() for path in paths):
            if images is not None and images.resolve() != own.resolve():
                raise UsageError(f"{own}: already lists the images of the study. Remove --images.")
            return study, True
    return (None if images is None else StudyImages.read(images)), False


@dataclass(frozen=True)
class ReadingRule:
    """The readings as given by options; without any, the files decide."""

    table: Path | None
    readers: list[str] | None
    all_read_all: bool

    def __post_init__(self) -> None:
        if (self.table is not None) + (self.readers is not None) + self.all_read_all > 1:
            raise UsageError("give one of --all-read-all, --readers and --readings")

    @property
    def is_told(self) -> bool:
        """Whether any option was given."""
        return self.table is not None or self.readers is not None or self.all_read_all

    def apply(self, found: MarkSet, study: StudyImages | None) -> MarkSet:
        """Replace the readings of the files by the given ones."""
        from overread.marks import ImageNames, cross_readings, read_readings, replace_readings

        if not self.is_told:
            return found
        images = found.images if study is None else study.table
        if self.table is not None:
            names = study.names if study else ImageNames(dict.fromkeys(images["image_id"], ""))
            readings: pd.DataFrame = read_readings(self.table, names)
            images = images[images["image_id"].isin(readings["image_id"])].reset_index(drop=True)
        else:
            if study is None:
                warnings.warn(
                    f"every image means the {len(images)} images in the files; images without marks may be "
                    "missing. To include it, put the image files in the folder and run overread init first.",
                    DataWarning,
                    stacklevel=2,
                )
            readings = cross_readings(found, images["image_id"].tolist(), self.readers)
        told = replace_readings(found, readings, str(self.table or "the readings"))
        return replace(told, images=images)


@dataclass
class MarkSource:
    """A file to read, with its reader if given, its format and the options of the format."""

    file: Path
    reader: str | None
    format: str
    options: dict[str, Any] = field(default_factory=dict)

    def settle(
        self, given: dict[str, Any], study: StudyImages | None, rule: ReadingRule, *, yes: bool, quiet: bool
    ) -> None:
        """Collect the options: those given, its reader, its readings if given, and the meaning of its columns."""
        from overread.marks import Spacings

        self.options = {**given, "reader": self.reader} if self.reader else dict(given)
        entry = FORMATS.get(self.format)
        if rule.is_told and entry is not None and "derive_readings" in {one.name for one in entry.options}:
            self.options["derive_readings"] = True
        if self.format == "sheet":
            spacings = Spacings.of(given.get("mm_per_px"), None if study is None else study.table)
            self.options |= settle_sheet(
                self.file,
                given,
                spacings,
                has_reader=self.reader is not None,
                readings_told=rule.is_told or "derive_readings" in given,
                yes=yes,
                quiet=quiet,
            )


def _list_sources(files: tuple[Path, ...], readers: list[str], format_: str) -> list[MarkSource]:
    """List the files with their formats, those of one reader last."""
    named = [*((file, None) for file in files), *map(_parse_reader, readers)]
    return [
        MarkSource(file, reader, detect_format(file) if format_ == "auto" else format_)
        for file, reader in named
    ]


def _next_step(out: Path, written: list[Path], *, has_images: bool) -> str:
    """Return the next step after an import."""
    place = shlex.quote(str(out))
    if not written:
        return "run the same command without --dry-run"
    return (
        f"overread run {place}"
        if has_images
        else f"put the image files into {place}, then: overread init {place}"
    )


def _split_names(text: str) -> list[str]:
    """Split a list of names; each may occur once."""
    names = [visible_text(name).strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(f"--readers {text!r}: write different names, separated by commas")
    return names


def _rename_readers(found: MarkSet, text: str | None) -> MarkSet:
    """Rename readers; refuse to merge two, unless they are spellings of the same name."""
    if text is None:
        return found
    pairs = [visible_text(part).partition("=") for part in text.split(",")]
    names = {old.strip(): new.strip() for old, _, new in pairs}
    present = list(dict.fromkeys(found.readings["reader_id"]))
    if not all(names.values()):
        raise UsageError(f"--reader-names {text!r}: write OLD=NEW,OLD=NEW")
    absent = [name for name in names if name not in present]
    if absent:
        raise UsageError(
            f"--reader-names: there is no reader {absent[0]!r}. The readers are {', '.join(present)}."
        )
    spellings: dict[str, set[str]] = {}
    for name in present:
        spellings.setdefault(names.get(name, name), set()).add(likeness_of(name))
    if any(len(alike) > 1 for alike in spellings.values()):
        raise UsageError(
            f"--reader-names {text!r}: two readers would become one. Give each a different name."
        )
    marks, readings = (
        table.assign(reader_id=table["reader_id"].replace(names)) for table in (found.marks, found.readings)
    )
    left_out = frozenset((image, names.get(name, name)) for image, name in found.left_out)
    readings = readings.drop_duplicates(["image_id", "reader_id"], ignore_index=True)
    return MarkSet(marks, readings, found.images, left_out)


def _say_what_is_unread(found: MarkSet, study: StudyImages, out: Path) -> None:
    """Warn about images without a reading; a run needs a reading of each."""
    read = set(found.readings["image_id"])
    unread = [image for image in study.table["image_id"] if image not in read]
    if unread:
        print_line(
            f"overread: warning: {len(unread)} of {len(study.table)} images have no reading, such as "
            f"{unread[0]!r}. Give their readers (--all-read-all, --readers), or drop them: "
            f"overread init {shell_word(out)} --drop unread",
            stderr=True,
        )


def _offer_options_of_formats(command: Callable[..., None]) -> None:
    """Add the options of all formats to the command's signature, each once."""
    owners: dict[Option, list[str]] = {}
    for entry in FORMATS.values():
        for option in entry.options:
            owners.setdefault(option, []).append(entry.name)
    offered = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option.type is bool else None,
            annotation=Annotated[
                option.type if option.type is bool else option.type | None,
                Parameter(help=f"{', '.join(names)}: {option.help}", negative=""),
            ],
        )
        for option, names in owners.items()
    ]
    own = inspect.signature(command)
    named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    command.__signature__ = own.replace(parameters=[*named, *offered])  # type: ignore[attr-defined]


_offer_options_of_formats(import_marks)


def _parse_reader(text: str) -> tuple[Path, str]:
    """Read file and reader from NAME=FILE."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise UsageError(f"--reader {text!r}: write NAME=FILE")
    return Path(file), name


def _select_labels(found: MarkSet, labels: list[str] | None) -> MarkSet:
    """Keep the marks of some labels; all if none is given."""
    if not labels:
        return found
    kept = keep_labels(found, labels)
    others = found.marks.loc[~found.marks["label"].isin(labels), "label"].value_counts()
    if len(others):
        listed = ", ".join(f"{label!r} {count}" for label, count in others.items())
        print_line(f"overread: skipped {others.sum()} marks with other labels: {listed}", stderr=True)
    return kept


EXAMPLES = 3
# "Yes" in English, German, French, Spanish and Italian.
YES = ("y", "yes", "j", "ja", "o", "s")
OPTIONS = ("columns", "xy", "unit", "angle", "decimal", "sheet", "radius_mm")


def settle_sheet(
    path: Path,
    given: dict[str, Any],
    spacings: Spacings,
    *,
    has_reader: bool,
    readings_told: bool,
    yes: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Show the interpretation, ask about open questions on a terminal, and return the complete options.

    Without a terminal, a UsageError names the option for each open question. `readings_told` is whether the
    readings are given; otherwise they are asked for too.
    """
    from overread.marks import WHO_READ, SheetOptions, understand_sheet

    options = SheetOptions(**{name: given[name] for name in OPTIONS if name in given})
    layout = understand_sheet(path, options, spacings, has_reader=has_reader)
    can_ask = sys.stdin.isatty() and sys.stdout.isatty() and not quiet
    while layout.questions and can_ask:
        answered: dict[str, Any] = {layout.questions[0].option: _ask_for(layout)}
        options = replace(options, **answered)
        layout = understand_sheet(path, options, spacings, has_reader=has_reader)
    if not quiet:
        _show_layout(path, layout)
    if layout.questions or not readings_told:
        open_ = [*map(str, layout.questions), *([] if readings_told else [WHO_READ])]
        raise UsageError(f"{path}: " + "\n".join(open_))
    if can_ask and not yes and input("Is this right? [y/N] ").strip().lower() not in YES:
        raise UsageError("nothing was imported. Name the columns with --columns, or see --help.")
    if layout.doubts and not yes and not can_ask:
        raise UsageError(
            f"{path}: " + "\n".join(layout.doubts) + "\nor accept the interpretation shown with --yes"
        )
    settled = replace(layout.options, columns=layout.columns_option())
    return {name: value for name in OPTIONS if (value := getattr(settled, name)) is not None}


def _ask_for(layout: Layout) -> str:
    """Ask a question until the answer is one of its choices."""
    question = layout.questions[0]
    while True:
        said = input(f"{question.text} [{'/'.join(question.choices)}] ").strip().lower()
        fits = [choice for choice in question.choices if said and choice.startswith(said)]
        if len(fits) == 1:
            return fits[0]


def _show_layout(path: Path, layout: Layout) -> None:
    """Print the interpretation of each column, with a few rows."""
    print_plain(f"{path}: {len(layout.sheet.rows)} rows, interpreted as")
    header = ("what", "column", *(f"row {row}" for row in layout.sheet.numbers[:EXAMPLES]))
    rows = [(role, name, *layout.sheet.column(name)[:EXAMPLES]) for role, name in layout.columns.items()]
    print_table(header, rows, show_edge=False)
    options = layout.options
    told = {
        "decimal commas": options.decimal == "comma",
        f"lengths in {options.unit}": options.unit,
        f"x and y are the {options.xy}": options.xy,
        f"angles {options.angle}": options.angle,
        f"not used: {', '.join(layout.unused)}": layout.unused,
    }
    print_plain("; ".join([*layout.sheet.notes, *(words for words, holds in told.items() if holds)]))
