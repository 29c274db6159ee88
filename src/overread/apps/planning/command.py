"""`overread plan`: how many images and golden objects a wanted width or power needs.

Plans as records, for `overread plan`: from a run, from expectations, or from a pilot reader study.

Sentences and tables for people: `overread plan`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.table import Table

from overread._commands import fold_cells, print_plain
from overread._terminal import make_console, print_json
from overread._text import percent
from overread.apps.planning._reader_sizes import ReaderPilot, pilot_readers, read_reader_study
from overread.errors import InvalidInputError, UsageError
from overread.froc import (
    LEVEL,
    N_BOOTSTRAP,
    VarianceComponents,
    gts_for_half_width,
    gts_needed,
    pilot_difference,
    pilot_sensitivity,
    reader_study,
)

if TYPE_CHECKING:
    from overread.study import Run


@dataclass(frozen=True, kw_only=True)
class AssumedStudy:
    """What is expected, where there is no run to measure it.

    Parameters
    ----------
    sensitivity
        Sensitivity that is expected.
    golden_per_image
        Golden objects an image, to turn objects into images.
    design_effect
        Factor for golden objects of one patient being alike and for the threshold; 1 is none.
    disagree
        Share of golden objects that just one of two models finds; without it they miss independently.
    """

    sensitivity: float | None = None
    golden_per_image: float | None = None
    design_effect: float = 1.0
    disagree: float | None = None


@dataclass(frozen=True, kw_only=True)
class PilotReaders:
    """A reader study to plan, and the pilot that it is planned from: two tables, or its variance components.

    Parameters
    ----------
    readers
        Readers that are planned.
    cases
        Cases that are planned, to see what they give.
    ratings
        Ratings of the pilot: modality, reader, case_id, lesion_id (empty: false positive), rating.
    lesions
        Cases of the pilot: case_id, lesion_id (empty where a case has none).
    merit
        Figure of merit of the pilot's tables.
    random
        What the study shall speak of: other readers and cases, other readers, or other cases.
    pilot_cases
        Cases of the pilot, with its variance components instead of tables.
    var
        Error variance, Var.
    cov1
        Covariance of one reader in two modalities, Cov1.
    cov2
        Covariance of two readers in one modality, Cov2.
    cov3
        Covariance of two readers in two modalities, Cov3.
    var_tr
        Variance of the interaction of modality and reader.
    """

    readers: int | None = None
    cases: int | None = None
    ratings: Path | None = None
    lesions: Path | None = None
    merit: Literal["AFROC", "wAFROC", "AFROC1", "wAFROC1"] = "wAFROC"
    random: Literal["readers and cases", "readers", "cases"] = "readers and cases"
    pilot_cases: int | None = None
    var: float | None = None
    cov1: float | None = None
    cov2: float | None = None
    cov3: float | None = None
    var_tr: float | None = None


def plan(
    run: Path | None = None,
    *,
    model: str | None = None,
    compare: Annotated[tuple[str, str] | None, Parameter(negative=())] = None,
    fp: float = 1.0,
    locked: Annotated[bool, Parameter(negative=())] = False,
    of: Literal["gt", "image"] = "gt",
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    images: int | None = None,
    level: float = LEVEL,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    json: Annotated[bool, Parameter(negative=())] = False,
    assumed: Annotated[AssumedStudy | None, Parameter(name="*", group="Without a run")] = None,
    reading: Annotated[PilotReaders | None, Parameter(name="*", group="Reader studies")] = None,
) -> None:
    """Say how many images and golden objects a wanted width or power needs.

    Parameters
    ----------
    run
        Folder of a finished run, whose test set is the pilot: my_study/runs/main.
    model
        Model of the run; without it the first.
    compare
        Two models of the run, to plan their comparison.
    fp
        False positives per image.
    locked
        Plan for a threshold that is fixed beforehand (that of the run's out-of-fold scores) rather than taken from
        the images of the test.
    of
        Sensitivity for golden objects (GTs), or for images that have one.
    half_width
        Half the width of the interval that is wanted, as a share: 0.05 is 5 points. Without it, and without a
        difference: a table.
    difference
        Difference that is to be found, as a share.
    power
        Probability with which it is to be found.
    images
        Images that are planned, to see what they give.
    level
        Level of the intervals; models are told apart where p is below 1 - level.
    n_bootstrap
        Resamplings of patients.
    seed
        Same seed, same answer.
    json
        Print JSON instead of sentences.
    assumed
        What is expected, where there is no run.
    reading
        A reader study.
    """
    from overread._commands import check_seed
    from overread.files import json_text

    check_seed(seed)
    question = Question(
        fp=fp,
        locked=locked,
        measure=f"{of}_sensitivity",
        half_width=half_width,
        difference=difference,
        power=power,
        images=images,
        level=level,
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    report = _report_plan(run, model, compare, question, assumed or AssumedStudy(), reading or PilotReaders())
    if json:
        print_json(json_text(report))
    else:
        print_plan(report)


def _report_plan(
    run: Path | None,
    model: str | None,
    compare: tuple[str, str] | None,
    question: Question,
    assumed: AssumedStudy,
    reading: PilotReaders,
) -> dict[str, Any]:
    """Plan from what was given: a run, expectations, or a reader study."""
    _check_one_kind(run, assumed, reading)
    if run is None:
        _refuse(
            "a plan without RUN",
            {
                "--model": model is not None,
                "--compare": compare is not None,
                "--locked": question.locked,
                "--images (a reader study has --cases)": question.images is not None,
            },
        )
        if assumed.sensitivity is not None:
            return report_assumed(assumed, question)
        return report_readers(reading, question)
    if compare is not None:
        _refuse("--compare", {"--model": model is not None, "--locked": question.locked})
        return report_difference(run, compare, question)
    _refuse("one model (for two: --compare A B)", {"--difference": question.difference is not None})
    return report_sensitivity(run, model, question)


def _check_one_kind(run: Path | None, assumed: AssumedStudy, reading: PilotReaders) -> None:
    """Refuse options of more than one kind of plan, or of none."""
    from overread.errors import UsageError

    kinds = {
        "RUN": run is not None,
        "--sensitivity": assumed.sensitivity is not None,
        "--readers": reading.readers is not None,
    }
    given = [name for name, present in kinds.items() if present]
    if len(given) != 1:
        raise UsageError(
            f"plan needs one of RUN, --sensitivity and --readers; given: {', '.join(given) or 'none'}"
        )
    for options, name in ((assumed, "--sensitivity"), (reading, "--readers")):
        unused = [one.name for one in fields(options) if getattr(options, one.name) != one.default]
        if name not in given and unused:
            raise UsageError(f"--{unused[0].replace('_', '-')} goes with {name}")


def _refuse(kind: str, options: dict[str, bool]) -> None:
    """Refuse options that mean nothing for a kind of plan."""
    from overread.errors import UsageError

    for name, present in options.items():
        if present:
            raise UsageError(f"{name} does not go with {kind}")


# Half-widths, and differences, of the table that is shown where none is asked for.
TABLE = (0.1, 0.075, 0.05, 0.03)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the study to come shall reach, and where.

    Attributes
    ----------
    fp, locked, measure
        Operating point, whether its threshold is fixed beforehand, and the sensitivity that is meant.
    half_width, difference, power, images
        What is wanted, or how many images are planned; None where it is not asked for.
    level, n_bootstrap, seed
        Of the intervals.
    """

    fp: float
    locked: bool
    measure: str
    half_width: float | None
    difference: float | None
    power: float
    images: int | None
    level: float
    n_bootstrap: int
    seed: int

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Half-widths to plan for."""
        if self.half_width is not None:
            return (self.half_width,)
        return TABLE if self.difference is None else ()

    @property
    def differences(self) -> tuple[float, ...]:
        """Differences to plan for."""
        if self.difference is not None:
            return (self.difference,)
        return TABLE if self.half_width is None else ()

    @property
    def resampling(self) -> dict[str, int]:
        """How patients are resampled."""
        return {"n_bootstrap": self.n_bootstrap, "seed": self.seed}

    def record(self, kind: str, run: Path) -> dict[str, Any]:
        """Return what every plan from a run repeats of the question."""
        asked = {"fp_target": self.fp, "measure": self.measure, "level": self.level}
        return {"plan": kind, "run": str(run), **asked, **self.resampling}


def report_sensitivity(folder: Path, model: str | None, wanted: Question) -> dict[str, Any]:
    """Plan the sensitivity of one model of a run."""
    run = _open(folder)
    name = _known_model(run, model)
    matched = run.matched(name)
    point: dict[str, float] = {"fp_target": wanted.fp}
    if wanted.locked:
        (threshold,) = matched.thresholds("out_of_fold", [wanted.fp])
        if not isfinite(threshold):
            raise InvalidInputError(
                f"no threshold has at most {wanted.fp:g} FP per image: the best score has more"
            )
        point = {"threshold": float(threshold)}
    pilot = pilot_sensitivity(
        matched.test,
        fp_target=point.get("fp_target"),
        threshold=point.get("threshold"),
        measure=wanted.measure,
        level=wanted.level,
        **wanted.resampling,
    )
    plans = [
        {
            "half_width": width,
            "size": asdict(pilot.size_for(width, level=wanted.level)),
            "cautious_size": asdict(pilot.cautious_size_for(width, level=wanted.level)),
        }
        for width in wanted.half_widths
    ]
    report = wanted.record("sensitivity", folder) | {
        "model": name,
        "threshold": point.get("threshold"),
        "has_patients": matched.test.patient_ids is not None,
        "pilot": asdict(pilot) | {"half_width": pilot.half_width(level=wanted.level)},
        "cautious_sensitivity": pilot.worst_estimate,
        "plans": plans,
    }
    if wanted.images is not None:
        planned = pilot.size.times(pilot.size.growth(images=wanted.images))
        width = pilot.half_width(images=wanted.images, level=wanted.level)
        report["planned"] = {"size": asdict(planned), "half_width": width}
    return report


def report_difference(folder: Path, names: tuple[str, str], wanted: Question) -> dict[str, Any]:
    """Plan the comparison of two models of a run."""
    run = _open(folder)
    if names[0] == names[1]:
        raise UsageError(f"--compare: both models are {names[0]!r}")
    first, second = (run.matched(_known_model(run, name)).test for name in names)
    pilot = pilot_difference(first, second, fp_target=wanted.fp, measure=wanted.measure, **wanted.resampling)
    level = wanted.level
    report = wanted.record("difference", folder) | {
        "first": names[0],
        "second": names[1],
        "has_patients": first.patient_ids is not None,
        "power": wanted.power,
        "pilot": asdict(pilot) | {"half_width": pilot.half_width(level=level)},
        "widths": [
            {"half_width": width, "size": asdict(pilot.size_for(width, level=level))}
            for width in wanted.half_widths
        ],
        "powers": [
            {"difference": d, "size": asdict(pilot.size_for_power(d, power=wanted.power, level=level))}
            for d in wanted.differences
        ],
    }
    if wanted.images is not None:
        report["planned"] = {
            "size": asdict(pilot.size.times(pilot.size.growth(images=wanted.images))),
            "half_width": pilot.half_width(images=wanted.images, level=level),
            "powers": [
                {"difference": d, "power": pilot.power(d, images=wanted.images, level=level)}
                for d in wanted.differences
            ],
        }
    return report


def report_assumed(assumed: AssumedStudy, wanted: Question) -> dict[str, Any]:
    """Plan from a sensitivity that is expected, without data."""
    assert assumed.sensitivity is not None
    per_image = assumed.golden_per_image
    if per_image is not None and not 0 < per_image < float("inf"):
        raise InvalidInputError(f"golden_per_image={per_image}: need a number above 0")

    def size(gts: int) -> dict[str, int | None]:
        return {"gts": gts, "images": None if per_image is None else ceil(gts / per_image)}

    sensitivity, design_effect = assumed.sensitivity, assumed.design_effect
    widths = [
        {"half_width": h}
        | size(gts_for_half_width(sensitivity, h, level=wanted.level, design_effect=design_effect))
        for h in wanted.half_widths
    ]
    powers = [
        {"difference": d}
        | size(
            gts_needed(
                sensitivity,
                sensitivity + d,
                discordant=assumed.disagree,
                power=wanted.power,
                level=1 - wanted.level,
                design_effect=design_effect,
            )
        )
        for d in (() if wanted.difference is None else wanted.differences)
    ]
    return {
        "plan": "assumed",
        "level": wanted.level,
        "power": wanted.power,
        **asdict(assumed),
        "widths": widths,
        "powers": powers,
    }


def report_readers(reading: PilotReaders, wanted: Question) -> dict[str, Any]:
    """Plan a reader study from a pilot one."""
    pilot, figure, modalities = _pilot_of(reading)
    options: dict[str, Any] = {"random": reading.random, "level": wanted.level}
    readers = reading.readers
    assert readers is not None
    report = {
        "plan": "readers",
        "readers": readers,
        "figure": figure,
        "modalities": modalities,
        "power": wanted.power,
        **options,
        "pilot": {"n_cases": pilot.n_cases, **asdict(pilot.components)},
        "widths": [
            {"half_width": width, "cases": pilot.cases_for_half_width(readers, width, **options)}
            for width in wanted.half_widths
        ],
        "powers": [
            {"difference": d, "cases": pilot.cases_for_power(readers, d, power=wanted.power, **options)}
            for d in wanted.differences
        ],
    }
    if reading.cases is not None:
        report["planned"] = {
            "cases": reading.cases,
            "half_width": pilot.half_width(readers, reading.cases, **options),
            "powers": [
                {"difference": d, "power": pilot.power(readers, reading.cases, d, **options)}
                for d in wanted.differences
            ],
        }
    return report


def _pilot_of(reading: PilotReaders) -> tuple[ReaderPilot, str | None, list[str] | None]:
    """Pilot, figure of merit and modalities, as far as known."""
    numbers = (reading.var_tr, reading.var, reading.cov1, reading.cov2, reading.cov3)
    known = [number for number in numbers if number is not None]
    if reading.ratings and reading.lesions and not known and reading.pilot_cases is None:
        study = reader_study(read_reader_study(reading.ratings, reading.lesions), reading.merit)
        return pilot_readers(study), reading.merit, list(study.modalities)
    if reading.ratings or reading.lesions or len(known) < len(numbers) or reading.pilot_cases is None:
        raise UsageError(
            "--readers needs the pilot: --ratings and --lesions, or all of --pilot-cases, --var, --cov1, --cov2, "
            "--cov3 and --var-tr"
        )
    # The variance of the readers themselves cancels in differences.
    return ReaderPilot(VarianceComponents(float("nan"), *known), reading.pilot_cases), None, None


def _open(folder: Path) -> Run:
    from overread.study import open_run

    return open_run(folder)


def _known_model(run: Run, name: str | None) -> str:
    """Name of a model of the run; the first without one."""
    known = [model.name for model in run.results.models]
    if name is not None and name not in known:
        raise UsageError(f"the run has no model {name!r}; it has {', '.join(known)}")
    return name or known[0]


# With so few the size that a pilot asks for has a standard deviation of 30 % (docs/how-to/plan.md).
FEW_PATIENTS = 20

THINGS = {"gt_sensitivity": "golden objects", "image_sensitivity": "images with a golden object"}
SPOKEN_OF = {
    "readers and cases": "other readers and other cases",
    "readers": "other readers on the same cases",
    "cases": "these readers on other cases",
}


def print_plan(report: dict[str, Any]) -> None:
    """Print a plan of any kind."""
    PRINTERS[report["plan"]](report)


def _print_sensitivity(report: dict[str, Any]) -> None:
    pilot, things = report["pilot"], THINGS[report["measure"]]
    point = (
        f"at {report['fp_target']:g} FP per image"
        if report["threshold"] is None
        else f"at the threshold {report['threshold']:.4g} locked for {report['fp_target']:g} FP per image"
    )
    print_plain(
        f"{report['model']} finds {percent(pilot['estimate'])} % of the {things} {point}, "
        f"{100 * report['level']:g} % interval {percent(pilot['lower'])} to {percent(pilot['upper'])} %: "
        f"half-width {_points(pilot['half_width'])}."
    )
    print_plain(
        f"That rests on {_size(pilot['size'], report)}, unseen by the models; the {things} are worth "
        f"{pilot['worth']:.0f} independent ones (design effect {pilot['design_effect']:.2f})."
    )
    _warn_of_few(pilot)
    plans = report["plans"]
    if len(plans) == 1:
        print_plain(
            f"A half-width of {_points(plans[0]['half_width'])} takes {_size(plans[0]['size'], report)}."
        )
    else:
        _print_sizes("half-width", [(_points(one["half_width"]), one["size"]) for one in plans], report)
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{_size(planned['size'], report)} give a half-width of {_points(planned['half_width'])}."
        )
    # Of the table, the row of 5 points says enough about how much the expected sensitivity matters.
    shown = plans[0] if len(plans) == 1 else plans[2]
    print_plain(
        f"If the sensitivity is really {percent(report['cautious_sensitivity'])} %, the worst that its interval "
        f"allows, a half-width of {_points(shown['half_width'])} takes {_size(shown['cautious_size'], report)}."
    )
    _print_assumptions()


def _print_difference(report: dict[str, Any]) -> None:
    pilot = report["pilot"]
    first, second = report["first"], report["second"]
    print_plain(
        f"Of the {THINGS[report['measure']]}, {first} finds {percent(pilot['first'])} % and {second} "
        f"{percent(pilot['second'])} % at {report['fp_target']:g} FP per image: a difference of "
        f"{100 * pilot['difference']:+.1f} points, half-width {_points(pilot['half_width'])}."
    )
    print_plain(f"That rests on {_size(pilot['size'], report)}, unseen by the models.")
    _warn_of_few(pilot)
    widths, powers = report["widths"], report["powers"]
    if len(widths) > 1:
        _print_sizes("half-width", [(_points(one["half_width"]), one["size"]) for one in widths], report)
    for one in widths if len(widths) == 1 else ():
        print_plain(f"A half-width of {_points(one['half_width'])} takes {_size(one['size'], report)}.")
    if len(powers) > 1:
        title = f"difference, power {report['power']:g}"
        _print_sizes(title, [(_points(one["difference"]), one["size"]) for one in powers], report)
    for one in powers if len(powers) == 1 else ():
        print_plain(
            f"To find a difference of {_points(one['difference'])} with a power of {report['power']:g} takes "
            f"{_size(one['size'], report)}."
        )
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{_size(planned['size'], report)} give a half-width of {_points(planned['half_width'])}"
            + _power_words(planned["powers"])
        )
    _print_assumptions()


def _print_assumed(report: dict[str, Any]) -> None:
    print_plain(
        f"Expected: a sensitivity of {percent(report['sensitivity'])} % and a design effect of "
        f"{report['design_effect']:g}."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {_points(one['half_width'])} takes {_objects(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To find a difference of {_points(one['difference'])} between two models with a power of "
            f"{report['power']:g} takes {_objects(one)}."
        )
    print_plain(
        "These are sizes of the test set alone. A run measures what is assumed here: overread plan RUN"
    )


def _print_readers(report: dict[str, Any]) -> None:
    pilot = report["pilot"]
    of = f", {report['figure']}" if report["figure"] else ""
    print_plain(
        f"{report['readers']} readers, from a pilot of {pilot['n_cases']} cases{of}; to speak of "
        f"{SPOKEN_OF[report['random']]}. Widths and differences are in units of the figure of merit."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {one['half_width']:g} takes {_cases(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To find a difference of {one['difference']:g} with a power of {report['power']:g} takes {_cases(one)}."
        )
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{planned['cases']} cases give a half-width of {planned['half_width']:.3g}"
            + _power_words(planned["powers"], scale=1, unit="")
        )
    print_plain(
        "Assumed: cases with and without lesions in the pilot's proportion, readers and modalities like its own."
    )


PRINTERS = {
    "sensitivity": _print_sensitivity,
    "difference": _print_difference,
    "assumed": _print_assumed,
    "readers": _print_readers,
}


def _print_sizes(title: str, rows: list[tuple[str, dict[str, int]]], report: dict[str, Any]) -> None:
    """Table of sizes, one row for each width or difference."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    columns = ["golden objects", "images"] + (["patients"] if report["has_patients"] else [])
    for name in (title, *columns):
        table.add_column(name, justify="right")
    for points, size in rows:
        cells = [size["gts"], size["images"]] + ([size["patients"]] if report["has_patients"] else [])
        table.add_row(points, *(f"{n:,}" for n in cells))
    make_console().print(fold_cells(table))


def _warn_of_few(pilot: dict[str, Any]) -> None:
    if pilot["patients_with_gts"] < FEW_PATIENTS:
        print_plain(
            f"Only {pilot['patients_with_gts']} patients have a golden object: take the sizes as a first guess."
        )


def _print_assumptions() -> None:
    print_plain(
        "Assumed: patients, images and golden objects in the same mix, the same model. These are sizes of the "
        "test set alone; what the model learns from comes on top."
    )


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def _size(size: dict[str, int], report: dict[str, Any]) -> str:
    patients = f" of {size['patients']:,} patients" if report["has_patients"] else ""
    return f"{size['gts']:,} golden objects in {size['images']:,} images{patients}"


def _objects(size: dict[str, Any]) -> str:
    images = "" if size["images"] is None else f" in {size['images']:,} images"
    return f"{size['gts']:,} golden objects{images}"


def _cases(plan: dict[str, Any]) -> str:
    return "more readers, whatever the cases" if plan["cases"] is None else f"{plan['cases']:,} cases"


def _power_words(powers: list[dict[str, float]], *, scale: float = 100, unit: str = " points") -> str:
    if not powers:
        return "."
    said = ", ".join(f"{one['power']:.2f} for {scale * one['difference']:.3g}{unit}" for one in powers)
    return f", and these powers: {said}."
