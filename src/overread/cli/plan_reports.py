"""Plans as records, for `overread plan`: from a run, from expectations, or from a pilot reader study."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread.errors import InvalidInputError, UsageError
from overread.froc.merit import (
    ReaderPilot,
    gts_for_half_width,
    gts_needed,
    pilot_difference,
    pilot_readers,
    pilot_sensitivity,
    read_reader_study,
    reader_study,
)
from overread.froc.merit.obuchowski_rockette import VarianceComponents

if TYPE_CHECKING:
    from overread.cli.plan import AssumedStudy, PilotReaders
    from overread.study import Run

__all__ = [
    "Question",
    "report_assumed",
    "report_difference",
    "report_readers",
    "report_sensitivity",
]

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
