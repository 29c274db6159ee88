"""Plans as records, for `overread plan`: from a run, from expectations, or from a pilot reader study."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
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
    "Resampling",
    "Wanted",
    "report_assumed",
    "report_difference",
    "report_readers",
    "report_sensitivity",
]

# Half-widths, and differences, of the table that is shown where none is asked for.
TABLE = (0.1, 0.075, 0.05, 0.03)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the study to come shall reach."""

    half_width: float | None
    difference: float | None
    power: float
    images: int | None
    level: float

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
    def is_table(self) -> bool:
        """Whether nothing was asked for, so that a table is shown."""
        return self.half_width is None and self.difference is None


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How patients are resampled."""

    n_bootstrap: int
    seed: int


def report_sensitivity(
    folder: Path, model: str | None, where: dict[str, Any], wanted: Wanted, resampling: Resampling
) -> dict[str, Any]:
    """Plan the sensitivity of one model of a run."""
    run = _open(folder)
    name = _known_model(run, model)
    matched = run.matched(name)
    point = {"fp_target": where["fp"]}
    if where["locked"]:
        from overread.froc import lock_operating_point

        point = {"threshold": lock_operating_point(matched.out_of_fold, fp_target=where["fp"]).threshold}
    pilot = pilot_sensitivity(
        matched.test, measure=where["measure"], level=wanted.level, **point, **asdict(resampling)
    )
    plans = [
        {
            "half_width": width,
            "size": asdict(pilot.size_for(width, level=wanted.level)),
            "cautious_size": asdict(pilot.cautious_size_for(width, level=wanted.level)),
        }
        for width in wanted.half_widths
    ]
    report = _common("sensitivity", folder, where, wanted, resampling) | {
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


def report_difference(
    folder: Path, names: tuple[str, str], where: dict[str, Any], wanted: Wanted, resampling: Resampling
) -> dict[str, Any]:
    """Plan the comparison of two models of a run."""
    run = _open(folder)
    if names[0] == names[1]:
        raise UsageError(f"--compare: both models are {names[0]!r}")
    first, second = (run.matched(_known_model(run, name)).test for name in names)
    pilot = pilot_difference(
        first, second, fp_target=where["fp"], measure=where["measure"], **asdict(resampling)
    )
    level = wanted.level
    report = _common("difference", folder, where, wanted, resampling) | {
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


def report_assumed(assumed: AssumedStudy, wanted: Wanted) -> dict[str, Any]:
    """Plan from a sensitivity that is expected, without data."""
    assert assumed.sensitivity is not None
    per_image = assumed.golden_per_image
    if per_image is not None and not 0 < per_image < float("inf"):
        raise InvalidInputError(f"golden_per_image={per_image}: need a number above 0")
    if wanted.images is not None:
        raise UsageError("--images needs a run, whose mix of images and golden objects it grows")

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
        for d in ([] if wanted.is_table else wanted.differences)
    ]
    return {
        "plan": "assumed",
        "level": wanted.level,
        "power": wanted.power,
        **asdict(assumed),
        "widths": widths,
        "powers": powers,
    }


def report_readers(reading: PilotReaders, wanted: Wanted) -> dict[str, Any]:
    """Plan a reader study from a pilot one."""
    if wanted.images is not None:
        raise UsageError("--images: a reader study is planned by --cases")
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
    components = {
        "var": reading.var,
        "cov1": reading.cov1,
        "cov2": reading.cov2,
        "cov3": reading.cov3,
        "var_tr": reading.var_tr,
        "pilot_cases": reading.pilot_cases,
    }
    given = [name for name, value in components.items() if value is not None]
    tables = [table for table in (reading.ratings, reading.lesions) if table is not None]
    if len(tables) == 2 and not given:
        assert reading.ratings is not None
        assert reading.lesions is not None
        study = reader_study(read_reader_study(reading.ratings, reading.lesions), reading.figure)
        return pilot_readers(study), reading.figure, list(study.modalities)
    if len(given) == len(components) and not tables:
        known = {name: value for name, value in components.items() if value is not None}
        return (
            ReaderPilot(
                VarianceComponents(
                    reader=float("nan"),
                    modality_reader=known["var_tr"],
                    error=known["var"],
                    cov1=known["cov1"],
                    cov2=known["cov2"],
                    cov3=known["cov3"],
                ),
                int(known["pilot_cases"]),
            ),
            None,
            None,
        )
    raise UsageError(
        "--readers needs the pilot: --ratings and --lesions, or all of --pilot-cases, --var, --cov1, --cov2, "
        "--cov3 and --var-tr"
    )


def _open(folder: Path) -> Run:
    from overread.study import open_run

    return open_run(folder)


def _known_model(run: Run, name: str | None) -> str:
    """Name of a model of the run; the first without one."""
    known = [model.name for model in run.results.models]
    if name is not None and name not in known:
        raise UsageError(f"the run has no model {name!r}; it has {', '.join(known)}")
    return name or known[0]


def _common(
    kind: str, folder: Path, where: dict[str, Any], wanted: Wanted, resampling: Resampling
) -> dict[str, Any]:
    return {
        "plan": kind,
        "run": str(folder),
        "fp_target": where["fp"],
        "measure": where["measure"],
        "level": wanted.level,
        **asdict(resampling),
    }
