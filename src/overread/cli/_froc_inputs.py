"""Detections, ground truth and images of `overread froc` and `overread compare`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from cyclopts import Parameter

from overread._commands import option_name
from overread._terminal import print_line
from overread.errors import TableError, UsageError
from overread.froc import Counting
from overread.truth import HIT_RULES, RuleParameter, hit_rule_parameters, make_hit_rule

if TYPE_CHECKING:
    import pandas as pd

    from overread.froc import Detections, ForeignTruth, Matching, Spacing


# More than any study has; without it a typing error would fill the memory with names.
MAX_IMAGES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How the files are read.

    Parameters
    ----------
    images
        Table of all images that the detector read, also those without detections: image_id, and patient_id if
        known.
    n_images
        Number of images that the detector read, instead of --images.
    split
        Keep only images with this value in the column split of --images; repeat for more.
    candidates
        Table of positions, if the scores have only image_id and candidate_id.
    mm_per_px
        Pixel size in mm of all images; positions in px are then converted to mm. By default mm_per_px_x and
        mm_per_px_y of --images. Without either, positions and the lengths of the hit rule stay in px.
    score
        Score column of the detections; repeat for more. By default score, or all remaining columns if there
        is none.
    format
        Format of detections in JSON; by default recognized from the file.
    box_mode
        Meaning of the numbers of MONAI boxes.
    units
        Unit of MONAI boxes.
    category
        Category (label) to keep in JSON files with several; all keeps every category.
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
    """Build the options of the hit rules: their names, the parameters of all rules, the other choices of Counting."""
    hints = get_type_hints(Counting)
    rules = "; ".join(f"{name}: {rule.sentence}" for name, rule in HIT_RULES.items())
    options: dict[str, tuple[Any, Any, str]] = {"rule": (Literal[tuple(HIT_RULES)], "hit", f"{rules}.")}
    for name, (rule_names, parameter) in _rule_options().items():
        told = f"{parameter.description} Only for --rule {' and '.join(rule_names)}."
        options[name] = (float | None, None, told)
    for one in fields(Counting):
        if one.name != "rule":
            options[one.name] = (hints[one.name], one.default, one.metadata["description"])
    return [
        (name, Annotated[kind, Parameter(help=told)], field(default=default))
        for name, (kind, default, told) in options.items()
    ]


def _rule_options() -> dict[str, tuple[list[str], RuleParameter]]:
    """Return every parameter of any rule, with the rules that have it."""
    found: dict[str, tuple[list[str], RuleParameter]] = {}
    for rule, parameters in hit_rule_parameters().items():
        for parameter in parameters:
            found.setdefault(parameter.name, ([], parameter))[0].append(rule)
    return found


if TYPE_CHECKING:

    class CountingOptions:
        """The name of a rule, the parameters of all rules, and the choices of `Counting`."""

else:
    # cyclopts does not show the fields of a class without a module.
    CountingOptions = make_dataclass(
        "CountingOptions", counting_fields(), frozen=True, kw_only=True, namespace={"__module__": __name__}
    )


def make_counting(options: CountingOptions | None) -> Counting:
    """Make the counting convention from the options; refuse a parameter that the rule does not have."""
    if options is None:
        return Counting()
    given = vars(options)
    rule, own = given["rule"], {}
    for name, (rules, _) in _rule_options().items():
        if rule in rules:
            own[name] = given[name]
        elif given[name] is not None:
            belongs = f"it belongs to --rule {' or '.join(rules)}"
            raise UsageError(f"{option_name(name)} has no effect with --rule {rule}; {belongs}")
    return Counting(rule=make_hit_rule(rule, **own), **{name: given[name] for name in Counting.choices()})


@dataclass(frozen=True, eq=False)
class FrocEvaluation:
    """Models, truth and images of a command.

    `models` are candidates with a column ``score``, by the name of the model; `images_from` names the source
    of the list of images.
    """

    models: dict[str, pd.DataFrame]
    truth: pd.DataFrame
    images: pd.DataFrame
    images_from: str
    counting: Counting

    def matchings(self) -> dict[str, Matching]:
        """Match each model's candidates to the truth."""
        from overread.froc import match_detections

        return {
            name: match_detections(candidates, self.truth, self.images, counting=self.counting)
            for name, candidates in self.models.items()
        }


def load_evaluation(
    scores: tuple[Path, ...], truth: Path, reading: ReadingOptions, counting: Counting
) -> FrocEvaluation:
    """Read detections, truth and images, and check that they name the same images."""
    from overread.froc import read_foreign_truth
    from overread.tables import unit_of

    _check_reading(reading, scores)
    table = None if reading.images is None else _image_table(reading.images, reading.split)
    if table is None and reading.split:
        raise UsageError("--split needs --images with a table that has the column split")
    spacing = reading.mm_per_px if table is None or reading.mm_per_px is not None else _table_spacing(table)
    found_truth = read_foreign_truth(truth, spacing=spacing, category=reading.category)
    found = [_read_scores(path, reading, spacing) for path in scores]
    units = {part.unit for part in found if len(part.candidates)} | {unit_of(found_truth.truth.columns)}
    if len(units - {None}) > 1:
        raise UsageError(
            f"positions are in {' and '.join(sorted(filter(None, units)))}: give the pixel size (--mm-per-px, or "
            "mm_per_px_x and mm_per_px_y in --images), or tables in one unit"
        )
    if reading.mm_per_px is not None and not (found_truth.in_px or any(part.in_px for part in found)):
        raise UsageError("--mm-per-px has no effect, because all positions are in mm. Remove it.")
    found_truth, found = _with_one_id(table, found_truth, found)
    models: dict[str, pd.DataFrame] = {}
    for path, part in zip(scores, found, strict=True):
        for column in part.models:
            name = _name_model(column, part, path, scores)
            if name in models:
                raise UsageError(f"both models have the name {name!r}. Rename one of the files.")
            models[name] = part.candidates.assign(score=part.scores[column].to_numpy())
            _warn_about_strangers(name, models[name], found_truth.truth)
    images, images_from = _list_images(table, found_truth, found, models, reading)
    kept = set(images["image_id"]) if reading.split else None
    return FrocEvaluation(
        models={name: _rows_in(candidates, kept) for name, candidates in models.items()},
        truth=_rows_in(found_truth.truth, kept),
        images=images,
        images_from=images_from,
        counting=counting,
    )


def _with_one_id(
    table: pd.DataFrame | None, truth: ForeignTruth, found: list[Detections]
) -> tuple[ForeignTruth, list[Detections]]:
    """Give every image its id in the images table, or in the truth if there is no such table."""
    from overread.marks import ImageNames

    if table is None:
        names = ImageNames(dict.fromkeys([*truth.truth["image_id"], *(truth.images or ())], ""), "the truth")
    else:
        paths = table["path"] if "path" in table else [""] * len(table)
        names = ImageNames(dict(zip(table["image_id"], paths, strict=True)))
        truth = truth.renamed(names.find_all(truth.named_images()))
    return truth, [part.renamed(names.find_all(part.named_images())) for part in found]


def _name_model(column: str, found: Detections, path: Path, files: tuple[Path, ...]) -> str:
    """Name a model by its score column; with several files by its file, and by the column if the file has several."""
    if len(files) == 1:
        return column
    return path.stem if len(found.models) == 1 else f"{path.stem}: {column}"


def _warn_about_strangers(model: str, candidates: pd.DataFrame, truth: pd.DataFrame) -> None:
    """Warn if no image has both a detection and an object: the ids are probably written differently."""
    detected, marked = candidates["image_id"], truth["image_id"]
    if len(detected) and len(marked) and not detected.isin(marked).any():
        print_line(
            f"overread: warning: {model} has no detection in any image of the truth. Check the ids, such as "
            f"{detected.iloc[0]!r} in the detections and {marked.iloc[0]!r} in the truth",
            stderr=True,
        )


def _check_reading(reading: ReadingOptions, scores: tuple[Path, ...]) -> None:
    """Refuse options for a kind of file that was not given."""
    tables = [path.suffix.lower() in (".csv", ".parquet") for path in scores]
    if reading.score and not any(tables):
        raise UsageError("--score has no effect, because JSON detections have one score each. Remove it.")
    for name in ("format", "box_mode", "units"):
        if getattr(reading, name) is not None and all(tables):
            raise UsageError(
                f"{option_name(name)} has no effect, because it is for detections in JSON. Remove it."
            )


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
        if found.unit is None:
            raise TableError(
                f"{path}: has no positions. Add x_mm and y_mm (or _px, _percent), or boxes, "
                "or give the table that has them: --candidates"
            )
        return found
    placed = read_positions(reading.candidates, spacing=spacing)
    keys = ["image_id", "candidate_id"]
    joined = found.scores[keys].merge(placed.candidates, on=keys, how="left", indicator=True)
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


def _image_table(path: Path, splits: tuple[str, ...]) -> pd.DataFrame:
    """Read the images table, or the images of some splits; patient ids must be complete or absent."""
    from overread.tables import read_table

    table = read_table(path, "images")
    if splits:
        if "split" not in table.columns:
            raise TableError(f"{path}: has no column split. Add it, or remove --split.")
        for split in splits:
            if split not in set(table["split"]):
                raise TableError(
                    f"{path}: no image has split {split!r}; the splits are {sorted(set(table['split']))}"
                )
        table = table[table["split"].isin(splits)].reset_index(drop=True)
    if "patient_id" in table.columns:
        empty = (table["patient_id"] == "").to_numpy()
        if empty.all():
            return table.drop(columns="patient_id")
        if empty.any():
            row = int(empty.nonzero()[0][0])
            raise TableError(
                f"{path}, image {table['image_id'][row]!r}: patient_id is empty. Fill it in, or delete the column."
            )
    return table


def _table_spacing(table: pd.DataFrame) -> Spacing | None:
    """Pixel size of each image, if the images table has it."""
    if "mm_per_px_x" not in table or "mm_per_px_y" not in table or table["mm_per_px_x"].isna().all():
        return None
    columns = table[["image_id", "mm_per_px_x", "mm_per_px_y"]]
    return {image: (float(x), float(y)) for image, x, y in columns.itertuples(index=False)}


def _list_images(
    table: pd.DataFrame | None,
    truth: ForeignTruth,
    found: list[Detections],
    models: dict[str, pd.DataFrame],
    reading: ReadingOptions,
) -> tuple[pd.DataFrame, str]:
    """All images that were read, and the source of the list; it is never guessed from the detections."""
    import pandas as pd

    if table is not None:
        if reading.n_images is not None:
            raise UsageError("give --images or --n-images, not both")
        return table, f"{reading.images}"
    named = set(truth.truth["image_id"]).union(*(candidates["image_id"] for candidates in models.values()))
    if reading.n_images is not None:
        if reading.n_images > MAX_IMAGES:
            raise UsageError(f"--n-images {reading.n_images}: more than {MAX_IMAGES:,} images")
        if reading.n_images < len(named):
            raise UsageError(f"--n-images {reading.n_images}: the files already name {len(named)} images")
        unnamed = [f"(unnamed image {i + 1})" for i in range(reading.n_images - len(named))]
        return pd.DataFrame({"image_id": [*sorted(named), *unnamed]}), "--n-images"
    listed = truth.images
    if listed is None:
        listed = next((part.images for part in found if part.images), None)
    if listed is None:
        raise UsageError(
            f"how many images did the detector read? The files name {len(named)}, but not images without detections "
            "and objects, so that FP per image would come out too high. Give --images (a table "
            "with image_id) or --n-images"
        )
    return pd.DataFrame({"image_id": list(listed)}), "the ground truth" if truth.images else "the detections"


def _rows_in(table: pd.DataFrame, images: set[str] | None) -> pd.DataFrame:
    """Rows of the images of a split; all rows without --split."""
    return table if images is None else table[table["image_id"].isin(images)].reset_index(drop=True)
