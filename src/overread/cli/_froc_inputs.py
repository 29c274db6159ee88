"""Detections, ground truth and images as `overread froc` and `overread compare` read them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from cyclopts import Parameter

from overread._terminal import print_line
from overread.errors import TableError, UsageError
from overread.froc import Counting
from overread.truth import HIT_RULES, RuleParameter, hit_rule_parameters, make_hit_rule

if TYPE_CHECKING:
    import pandas as pd

    from overread.froc import Detections, ForeignTruth, Matching, Spacing


# More than any study has; a slip of the keyboard would else fill the memory with names.
MAX_IMAGES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How the files are read.

    Parameters
    ----------
    images
        Table of every image that was read, found or not: image_id, and patient_id where known.
    n_images
        Number of images that were read, instead of a table of them.
    split
        Keep only the images whose column split of the images table has this value; repeat for more.
    candidates
        Table of positions, where the scores have only image_id and candidate_id.
    mm_per_px
        Spacing of all images, by which positions in px become mm; else mm_per_px_x and mm_per_px_y of the images
        table. Without either they stay in px, and lengths of the hit rule are in px.
    score
        Score column of the detections; repeat for more. Without it: score, or else every column left.
    format
        Format of detections in JSON, where it should not be recognized.
    box_mode
        How MONAI boxes are written.
    units
        Unit of MONAI boxes.
    category
        Category (label) to keep in JSON files that have several; all mixes them.
    """

    images: Path | None = None
    n_images: int | None = None
    split: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    candidates: Path | None = None
    mm_per_px: float | None = None
    score: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    format: Literal["coco", "monai", "nndetection"] | None = None
    box_mode: Literal["xyxy", "xxyy", "xywh", "ccwh"] | None = None
    units: Literal["px", "mm"] | None = None
    category: str | None = None


def counting_fields() -> list[tuple[str, Any, Any]]:
    """Options of the commands: the rules by name, the parameters of all rules, the other choices of Counting."""
    hints = get_type_hints(Counting)
    rules = "; ".join(f"{name}: {rule.sentence}" for name, rule in HIT_RULES.items())
    options: list[tuple[str, Any, Any]] = [("rule", Literal[tuple(HIT_RULES)], ("hit", f"{rules}."))]
    for name, (rule_names, parameter) in _rule_options().items():
        told = f"{parameter.description} Of --rule {' and '.join(rule_names)}."
        options.append((name, float | None, (None, told)))
    for one in fields(Counting):
        if one.name != "rule":
            options.append((one.name, hints[one.name], (one.default, one.metadata["description"])))
    return [
        (name, Annotated[kind, Parameter(help=told)], field(default=default))
        for name, kind, (default, told) in options
    ]


def _rule_options() -> dict[str, tuple[list[str], RuleParameter]]:
    """Every parameter of any rule: the rules that have it, and what it is."""
    found: dict[str, tuple[list[str], RuleParameter]] = {}
    for rule, parameters in hit_rule_parameters().items():
        for parameter in parameters:
            found.setdefault(parameter.name, ([], parameter))[0].append(rule)
    return found


if TYPE_CHECKING:

    class CountingOptions:
        """A rule's name, the parameters of all rules, and the choices of `Counting`."""

else:
    # Without a module of its own it would pass for a built-in type, whose fields are not shown.
    CountingOptions = make_dataclass(
        "CountingOptions",
        counting_fields(),
        frozen=True,
        kw_only=True,
        namespace={"__module__": __name__},
    )


def make_counting(options: CountingOptions | None) -> Counting:
    """Make the counting convention that a command line asks for.

    Raises
    ------
    UsageError
        For a parameter that the chosen rule does not have.
    """
    if options is None:
        return Counting()
    given = vars(options)
    rule, parameters = given["rule"], {name: given[name] for name in _rule_options()}
    for name, (rules, _) in _rule_options().items():
        if parameters[name] is not None and rule not in rules:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} has no effect with --rule {rule}; it belongs to --rule {' or '.join(rules)}"
            )
    own = {name: value for name, value in parameters.items() if rule in _rule_options()[name][0]}
    return Counting(rule=make_hit_rule(rule, **own), **{name: given[name] for name in Counting.choices()})


@dataclass(frozen=True, eq=False)
class ScoredModel:
    """One model: its candidates with a column ``score``."""

    name: str
    candidates: pd.DataFrame


@dataclass(frozen=True, eq=False)
class FrocEvaluation:
    """Everything that the commands need; ``images_from`` says where the list of images came from."""

    models: tuple[ScoredModel, ...]
    truth: pd.DataFrame
    images: pd.DataFrame
    images_from: str
    counting: Counting

    def matching(self, model: ScoredModel) -> Matching:
        """Match one model's candidates to the truth."""
        from overread.froc import match_detections

        return match_detections(model.candidates, self.truth, self.images, counting=self.counting)


def check_before_work(figure: Path | None, *, n_shifts: int = 0) -> None:
    """Refuse what would only fail after the work was done."""
    from overread._plots import figure_kind

    if figure is not None:
        figure_kind(figure)
    if n_shifts < 0:
        raise UsageError(f"--n-shifts {n_shifts}: 0 or more")


def load_evaluation(
    scores: tuple[Path, ...], truth: Path, reading: ReadingOptions, counting: Counting
) -> FrocEvaluation:
    """Read detections, truth and images, and check that they speak of the same images.

    Raises
    ------
    UsageError
        If nothing says how many images were read.
    """
    from overread.froc import read_foreign_truth
    from overread.tables import unit_of

    _check_reading(reading, scores)
    table = None if reading.images is None else _image_table(reading.images, reading.split)
    if table is None and reading.split:
        raise UsageError("--split needs --images, a table with the column split")
    spacing = reading.mm_per_px if table is None or reading.mm_per_px is not None else _table_spacing(table)
    found_truth = read_foreign_truth(truth, spacing=spacing, category=reading.category)
    found = [_read_scores(path, reading, spacing) for path in scores]
    units = {part.unit for part in found if len(part.candidates)} | {unit_of(found_truth.truth.columns)}
    if len(units - {None}) > 1:
        raise UsageError(
            f"positions are in {' and '.join(sorted(filter(None, units)))}: give the spacing (--mm-per-px, or "
            "mm_per_px_x and mm_per_px_y of the images table), or tables in one unit"
        )
    if reading.mm_per_px is not None and not (found_truth.in_px or any(part.in_px for part in found)):
        raise UsageError("--mm-per-px has no effect: every position is in mm; leave it out")
    found_truth, found = _with_one_id(table, found_truth, found)
    models = tuple(
        model for path, part in zip(scores, found, strict=True) for model in _models_of(part, path, scores)
    )
    for model in models:
        _warn_about_strangers(model, found_truth.truth)
    images, images_from = _list_images(table, found_truth, found, models, reading)
    kept = set(images["image_id"]) if reading.split else None
    return FrocEvaluation(
        models=tuple(ScoredModel(model.name, _rows_in(model.candidates, kept)) for model in models),
        truth=_rows_in(found_truth.truth, kept),
        images=images,
        images_from=images_from,
        counting=counting,
    )


def _with_one_id(
    table: pd.DataFrame | None, truth: ForeignTruth, found: list[Detections]
) -> tuple[ForeignTruth, list[Detections]]:
    """Give every image the id that the images table has for it, or without one the truth."""
    from overread.marks import ImageNames

    if table is None:
        names = ImageNames(dict.fromkeys([*truth.truth["image_id"], *(truth.images or ())], ""), "the truth")
    else:
        paths = table["path"] if "path" in table else [""] * len(table)
        names = ImageNames(dict(zip(table["image_id"], paths, strict=True)))
        truth = truth.renamed(names.find_all(truth.named_images()))
    return truth, [part.renamed(names.find_all(part.named_images())) for part in found]


def _warn_about_strangers(model: ScoredModel, truth: pd.DataFrame) -> None:
    """Say so where not one image has both a detection and a GT: most likely the ids are written differently."""
    detected, marked = model.candidates["image_id"], truth["image_id"]
    if len(detected) and len(marked) and not detected.isin(marked).any():
        print_line(
            f"overread: warning: no image of the truth has a detection of {model.name}; the ids look like "
            f"{detected.iloc[0]!r} there and {marked.iloc[0]!r} in the truth",
            stderr=True,
        )


def _check_reading(reading: ReadingOptions, scores: tuple[Path, ...]) -> None:
    """Refuse options of a kind of file that is not there."""
    tables = [path.suffix.lower() in (".csv", ".parquet") for path in scores]
    if reading.score and not any(tables):
        raise UsageError("--score has no effect: JSON detections have one score each; leave it out")
    for option, value in (
        ("--format", reading.format),
        ("--box-mode", reading.box_mode),
        ("--units", reading.units),
    ):
        if value is not None and all(tables):
            raise UsageError(f"{option} has no effect: it is for detections in JSON; leave it out")


def _read_scores(path: Path, reading: ReadingOptions, spacing: Spacing | None) -> Detections:
    """Read detections with their positions, from one file or from scores and candidates."""
    from overread.froc import Detections, read_detections, read_positions

    found = read_detections(
        path,
        spacing=spacing,
        format=reading.format,
        box_mode=reading.box_mode,
        units=reading.units,
        category=reading.category,
        score_columns=reading.score or None,
    )
    if reading.candidates is None:
        if not found.has_positions:
            raise TableError(
                f"{path}: no positions; give x_mm and y_mm (or _px, _percent), or boxes, "
                "or the table that has them: --candidates"
            )
        return found
    placed = read_positions(reading.candidates, spacing=spacing)
    positions = placed.candidates
    keys = ["image_id", "candidate_id"]
    joined = found.scores[keys].merge(positions, on=keys, how="left", indicator=True)
    absent = joined["_merge"] != "both"
    if absent.any():
        row = int(absent.to_numpy().nonzero()[0][0])
        raise TableError(
            f"{path}, row {row + 2}: image {joined['image_id'][row]!r}, "
            f"candidate {joined['candidate_id'][row]!r} is not in {reading.candidates}"
        )
    return Detections(
        joined.drop(columns="_merge"), found.scores, found.images, in_px=found.in_px or placed.in_px
    )


def _models_of(found: Detections, path: Path, files: tuple[Path, ...]) -> list[ScoredModel]:
    """Models of a file; a file with one model among several files is named by its file."""
    several = len(files) > 1
    names = [path.stem if len(found.models) == 1 else f"{path.stem}: {name}" for name in found.models]
    return [
        ScoredModel(
            name if several else column, found.candidates.assign(score=found.scores[column].to_numpy())
        )
        for name, column in zip(names, found.models, strict=True)
    ]


def _image_table(path: Path, splits: tuple[str, ...]) -> pd.DataFrame:
    """Images table, of some splits where asked; patient ids are all there or not at all."""
    from overread.tables import read_table

    table = read_table(path, "images")
    if splits:
        if "split" not in table.columns:
            raise TableError(f"{path}: no column split, which --split needs")
        for split in splits:
            if split not in set(table["split"]):
                raise TableError(
                    f"{path}: no image has split {split!r}; there are {sorted(set(table['split']))}"
                )
        table = table[table["split"].isin(splits)].reset_index(drop=True)
    if "patient_id" in table.columns:
        empty = (table["patient_id"] == "").to_numpy()
        if empty.all():
            return table.drop(columns="patient_id")
        if empty.any():
            row = int(empty.nonzero()[0][0])
            raise TableError(
                f"{path}, image {table['image_id'][row]!r}: patient_id is empty; fill it, or drop the column"
            )
    return table


def _table_spacing(table: pd.DataFrame) -> Spacing | None:
    """Spacing of each image, where the images table has it."""
    if "mm_per_px_x" not in table or "mm_per_px_y" not in table or table["mm_per_px_x"].isna().all():
        return None
    return {
        image: (float(x), float(y))
        for image, x, y in zip(table["image_id"], table["mm_per_px_x"], table["mm_per_px_y"], strict=True)
    }


def _list_images(
    table: pd.DataFrame | None,
    truth: ForeignTruth,
    found: list[Detections],
    models: tuple[ScoredModel, ...],
    reading: ReadingOptions,
) -> tuple[pd.DataFrame, str]:
    """Every image that was read, and where the list came from; never guessed from what was found."""
    import pandas as pd

    if table is not None:
        if reading.n_images is not None:
            raise UsageError("give --images or --n-images, not both")
        return table, f"{reading.images}"
    named = set(truth.truth["image_id"]).union(*(model.candidates["image_id"] for model in models))
    if reading.n_images is not None:
        if reading.n_images > MAX_IMAGES:
            raise UsageError(f"--n-images {reading.n_images}: more than {MAX_IMAGES:,} images")
        if reading.n_images < len(named):
            raise UsageError(f"--n-images {reading.n_images}: the files name {len(named)} images already")
        unnamed = [f"(unnamed image {i + 1})" for i in range(reading.n_images - len(named))]
        return pd.DataFrame({"image_id": [*sorted(named), *unnamed]}), "--n-images"
    listed = (
        truth.images
        if truth.images is not None
        else next((part.images for part in found if part.images), None)
    )
    if listed is None:
        raise UsageError(
            f"how many images were read? The files name {len(named)}, but images with neither detections "
            "nor truth are in none of them, and FP per image would come out too high. Give --images (a table "
            "with image_id) or --n-images"
        )
    return pd.DataFrame({"image_id": list(listed)}), "the ground truth" if truth.images else "the detections"


def _rows_in(table: pd.DataFrame, images: set[str] | None) -> pd.DataFrame:
    """Rows of the images of a split; all rows where no split was asked for."""
    return table if images is None else table[table["image_id"].isin(images)].reset_index(drop=True)
