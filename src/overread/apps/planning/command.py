"""`overread plan`: how many images and consensus objects a study needs.

There are three kinds of plan: from a run, from expectations, and of a reader study. Each has its options and a function
that prints its result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread._commands import Flag, Resampling, emit, option_name, print_plain, print_table
from overread._text import percent
from overread.errors import InvalidInputError, UsageError
from overread.froc import OPERATING_FP

if TYPE_CHECKING:
    from overread.apps.planning._reader_sizes import ReaderPilot
    from overread.study import Run


# Half-widths and differences of the default table.
TABLE = (0.1, 0.075, 0.05, 0.03)
# With fewer, the size planned from a pilot has a standard deviation above 30 % (docs/how-to/plan.md).
FEW_PATIENTS = 20


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The aim of the planned study.

    Parameters
    ----------
    half_width
        Wanted half-width of the interval, as a share: 0.05 is 5 points. Without --half-width and --difference, a table
        of several.
    difference
        Difference to detect, as a share.
    power
        Probability of detecting the difference.
    """

    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8

    def of_half_widths(self, plan: Callable[[float], dict[str, Any]]) -> list[dict[str, Any]]:
        """Plan for the wanted half-width, or for several by default."""
        return self._rows("half_width", self.half_width, plan)

    def of_differences(self, plan: Callable[[float], dict[str, Any]]) -> list[dict[str, Any]]:
        """Plan for the difference to detect, or for several by default."""
        return self._rows("difference", self.difference, plan)

    def _rows(
        self, name: str, asked: float | None, plan: Callable[[float], dict[str, Any]]
    ) -> list[dict[str, Any]]:
        table = TABLE if self.half_width is None and self.difference is None else ()
        return [{name: value, **plan(value)} for value in (table if asked is None else (asked,))]


@Parameter(name="*", group="From a run")
@dataclass(frozen=True)
class RunPlan:
    """A run whose test set is the pilot.

    Parameters
    ----------
    run
        Folder of a finished run, whose test set is the pilot: my_study/runs/main.
    model
        Model of the run; by default the first.
    compare
        Two models of the run, to plan their comparison.
    fp
        False positives per image.
    locked
        Plan for the run's locked threshold instead of one chosen on the test images.
    of
        Sensitivity for consensus objects (gt), or for images that have one (image).
    images
        Number of planned images, to see their half-width and power (for a reader study use --cases).
    """

    run: Path | None = None
    model: str | None = field(default=None, kw_only=True)
    compare: Annotated[tuple[str, str] | None, Parameter(negative=())] = field(default=None, kw_only=True)
    fp: float = field(default=OPERATING_FP, kw_only=True)
    locked: Flag = field(default=False, kw_only=True)
    of: Literal["gt", "image"] = field(default="gt", kw_only=True)
    images: int | None = field(default=None, kw_only=True)

    @property
    def measure(self) -> str:
        """Name of the planned sensitivity."""
        return f"{self.of}_sensitivity"

    def report(self, wanted: Wanted, draws: Resampling) -> dict[str, Any]:
        """Plan the sensitivity of one model, or the comparison of two."""
        from overread.study import open_run

        alone = self.compare is None
        kind = "one model (for two: --compare A B)" if alone else "--compare"
        given = {"--model": self.model, "--locked": self.locked}
        for name, value in ({"--difference": wanted.difference} if alone else given).items():
            if value not in (None, False):
                raise UsageError(f"{name} cannot be combined with {kind}")
        assert self.run is not None
        return {
            "plan": "sensitivity" if alone else "difference",
            "run": str(self.run),
            "fp_target": self.fp,
            "measure": self.measure,
            "level": draws.level,
            "n_bootstrap": draws.n_bootstrap,
            "seed": draws.seed,
            **(self._sensitivity if alone else self._difference)(open_run(self.run), wanted, draws),
        }

    def _sensitivity(self, run: Run, wanted: Wanted, draws: Resampling) -> dict[str, Any]:
        from overread.froc import pilot_sensitivity

        name = _known_model(run, self.model)
        matched, level, threshold = run.matched(name), draws.level, None
        if self.locked:
            threshold = float(matched.thresholds([self.fp])[0])
            if not isfinite(threshold):
                raise InvalidInputError(
                    f"no threshold gives {self.fp:g} FP per image or less. Give a larger --fp."
                )
        pilot = pilot_sensitivity(
            matched.test,
            fp_target=None if self.locked else self.fp,
            threshold=threshold,
            measure=self.measure,
            **vars(draws),
        )
        return {
            "model": name,
            "threshold": threshold,
            "has_patients": matched.test.patient_ids is not None,
            "pilot": asdict(pilot) | {"half_width": pilot.half_width(level=level)},
            "cautious_sensitivity": pilot.worst_estimate,
            "plans": wanted.of_half_widths(
                lambda h: {
                    "size": asdict(pilot.size_for(h, level=level)),
                    "cautious_size": asdict(pilot.cautious_size_for(h, level=level)),
                }
            ),
            **self._planned(pilot, level),
        }

    def _difference(self, run: Run, wanted: Wanted, draws: Resampling) -> dict[str, Any]:
        from overread.froc import pilot_difference

        assert self.compare is not None
        names, level = self.compare, draws.level
        if names[0] == names[1]:
            raise UsageError(f"--compare: both models are {names[0]!r}. Give two different ones.")
        first, second = (run.matched(_known_model(run, name)).test for name in names)
        drawn = {"n_bootstrap": draws.n_bootstrap, "seed": draws.seed}
        pilot = pilot_difference(first, second, fp_target=self.fp, measure=self.measure, **drawn)
        planned = self._planned(pilot, level)
        if planned:
            planned["planned"]["powers"] = wanted.of_differences(
                lambda d: {"power": pilot.power(d, images=self.images, level=level)}
            )
        return {
            "first": names[0],
            "second": names[1],
            "has_patients": first.patient_ids is not None,
            "power": wanted.power,
            "pilot": asdict(pilot) | {"half_width": pilot.half_width(level=level)},
            "widths": wanted.of_half_widths(lambda h: {"size": asdict(pilot.size_for(h, level=level))}),
            "powers": wanted.of_differences(
                lambda d: {"size": asdict(pilot.size_for_power(d, power=wanted.power, level=level))}
            ),
            **planned,
        }

    def _planned(self, pilot: Any, level: float) -> dict[str, Any]:
        """Return the half-width and power of the planned images, if any."""
        if self.images is None:
            return {}
        size = pilot.size.times(pilot.size.growth(images=self.images))
        width = pilot.half_width(images=self.images, level=level)
        return {"planned": {"size": asdict(size), "half_width": width}}


@Parameter(name="*", group="Without a run")
@dataclass(frozen=True, kw_only=True)
class AssumedStudy:
    """Expected values, if there is no run.

    Parameters
    ----------
    sensitivity
        Expected sensitivity.
    golden_per_image
        Consensus objects per image, to convert objects to images.
    design_effect
        Factor for the similarity of one patient's consensus objects and for the threshold; 1: none.
    disagree
        Share of consensus objects that only one of two models finds. By default the models are independent.
    """

    sensitivity: float | None = None
    golden_per_image: float | None = None
    design_effect: float = 1.0
    disagree: float | None = None

    def report(self, wanted: Wanted, draws: Resampling) -> dict[str, Any]:
        """Plan without data."""
        from overread.froc import gts_for_half_width, gts_needed

        expected, per_image, level = self.sensitivity, self.golden_per_image, draws.level
        assert expected is not None
        if per_image is not None and not 0 < per_image < float("inf"):
            raise InvalidInputError(f"golden_per_image={per_image}: give a number above 0")

        def size(gts: int) -> dict[str, int | None]:
            return {"gts": gts, "images": None if per_image is None else ceil(gts / per_image)}

        effect = {"design_effect": self.design_effect}
        how: dict[str, Any] = {"discordant": self.disagree, "power": wanted.power, "level": level}
        return {
            "plan": "assumed",
            "level": level,
            "power": wanted.power,
            **asdict(self),
            "widths": wanted.of_half_widths(
                lambda h: size(gts_for_half_width(expected, h, level=level, **effect))
            ),
            "powers": []
            if wanted.difference is None
            else wanted.of_differences(lambda d: size(gts_needed(expected, expected + d, **how, **effect))),
        }


@Parameter(name="*", group="Reader studies")
@dataclass(frozen=True, kw_only=True)
class PilotReaders:
    """A planned reader study, and its pilot: two tables, or the variance components.

    Parameters
    ----------
    readers
        Number of planned readers.
    cases
        Number of planned cases, to see their half-width and power.
    ratings
        Ratings of the pilot: modality, reader, case_id, lesion_id (empty: false positive), rating.
    lesions
        Cases of the pilot: case_id, lesion_id (empty where a case has none).
    merit
        Figure of merit of the pilot's tables.
    random
        To what the study should generalize: other readers and cases, other readers, or other cases.
    pilot_cases
        Number of cases of the pilot, for variance components instead of tables.
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

    def report(self, wanted: Wanted, draws: Resampling) -> dict[str, Any]:
        """Plan a reader study from a pilot."""
        pilot, figure, modalities = self._pilot()
        options: dict[str, Any] = {"random": self.random, "level": draws.level}
        readers = self.readers
        assert readers is not None
        report = {
            "plan": "readers",
            "readers": readers,
            "figure": figure,
            "modalities": modalities,
            "power": wanted.power,
            **options,
            "pilot": {"n_cases": pilot.n_cases, **asdict(pilot.components)},
            "widths": wanted.of_half_widths(
                lambda width: {"cases": pilot.cases_for_half_width(readers, width, **options)}
            ),
            "powers": wanted.of_differences(
                lambda d: {"cases": pilot.cases_for_power(readers, d, power=wanted.power, **options)}
            ),
        }
        if (cases := self.cases) is not None:
            report["planned"] = {
                "cases": cases,
                "half_width": pilot.half_width(readers, cases, **options),
                "powers": wanted.of_differences(
                    lambda d: {"power": pilot.power(readers, cases, d, **options)}
                ),
            }
        return report

    def _pilot(self) -> tuple[ReaderPilot, str | None, list[str] | None]:
        """Return pilot, figure of merit and modalities, as far as known."""
        from overread.apps.planning._reader_sizes import ReaderPilot, pilot_readers, read_reader_study
        from overread.froc import VarianceComponents, reader_study

        numbers = (self.var_tr, self.var, self.cov1, self.cov2, self.cov3)
        known = [number for number in numbers if number is not None]
        if self.ratings and self.lesions and not known and self.pilot_cases is None:
            study = reader_study(read_reader_study(self.ratings, self.lesions), self.merit)
            return pilot_readers(study), self.merit, list(study.modalities)
        if self.ratings or self.lesions or len(known) < len(numbers) or self.pilot_cases is None:
            raise UsageError(
                "--readers needs the pilot: --ratings and --lesions, or all of --pilot-cases, --var, --cov1, --cov2, "
                "--cov3 and --var-tr"
            )
        # The variance of the readers cancels in differences.
        components = VarianceComponents(float("nan"), *known)
        return ReaderPilot(components, self.pilot_cases), None, None


def plan(
    of_run: RunPlan | None = None,
    *,
    wanted: Wanted | None = None,
    resampling: Resampling | None = None,
    json: Flag = False,
    assumed: AssumedStudy | None = None,
    reading: PilotReaders | None = None,
) -> None:
    """Compute how many images and consensus objects a study needs for an interval width or a power.

    Parameters
    ----------
    of_run
        A run whose test set is the pilot.
    wanted
        The aim of the planned study.
    resampling
        How intervals are made.
    json
        Print JSON instead of sentences.
    assumed
        Expected values, if there is no run.
    reading
        A reader study.
    """
    from overread._commands import check_seed

    draws = resampling or Resampling()
    check_seed(draws.seed)
    kind = _only_kind(of_run or RunPlan(), assumed or AssumedStudy(), reading or PilotReaders())
    report = kind.report(wanted or Wanted(), draws)
    emit(report, PRINTERS[report["plan"]], as_json=json)


def _only_kind(*kinds: RunPlan | AssumedStudy | PilotReaders) -> RunPlan | AssumedStudy | PilotReaders:
    """Return the kind of plan whose first option is given; refuse options of several kinds, or of none."""
    named = dict(zip(("RUN", "--sensitivity", "--readers"), kinds, strict=True))
    given = [name for name, kind in named.items() if getattr(kind, fields(kind)[0].name) is not None]
    if len(given) != 1:
        raise UsageError(
            f"plan needs one of RUN, --sensitivity and --readers; given: {', '.join(given) or 'none'}"
        )
    for name, kind in named.items():
        used = [one.name for one in fields(kind) if getattr(kind, one.name) != one.default]
        if used and name != given[0]:
            raise UsageError(f"{option_name(used[0])} needs {name}")
    return named[given[0]]


def _known_model(run: Run, name: str | None) -> str:
    """Name of a model of the run; by default the first."""
    known = [model.name for model in run.results.models]
    if name is not None and name not in known:
        raise UsageError(f"the run has no model {name!r}; it has {', '.join(known)}")
    return name or known[0]


THINGS = {"gt_sensitivity": "consensus objects", "image_sensitivity": "images with a consensus object"}
SPOKEN_OF = {
    "readers and cases": "other readers and other cases",
    "readers": "other readers on the same cases",
    "cases": "these readers on other cases",
}


ASSUMED = (
    "Assumed: the same mix of patients, images and consensus objects, and the same model. These are sizes of the "
    "test set alone, without training images."
)


def _print_sensitivity(report: dict[str, Any]) -> None:
    pilot, things = report["pilot"], THINGS[report["measure"]]
    point = f"{report['fp_target']:g} FP per image"
    if report["threshold"] is not None:
        point = f"the threshold {report['threshold']:.4g} locked for {point}"
    print_plain(
        f"{report['model']} finds {percent(pilot['estimate'])} % of the {things} at {point}, "
        f"{100 * report['level']:g} % interval {percent(pilot['lower'])} to {percent(pilot['upper'])} %, "
        f"half-width {_points(pilot['half_width'])}."
    )
    worth = f"{pilot['worth']:.0f} independent ones (design effect {pilot['design_effect']:.2f})"
    _rests_on(report, f"; the {things} are equivalent to {worth}")
    plans = report["plans"]
    _print_sizes("half-width", plans, report, "A half-width of {} needs {}.")
    _print_planned(report)
    # The row of 5 points is enough to show how much the expected sensitivity matters.
    shown = plans[0] if len(plans) == 1 else plans[2]
    print_plain(
        f"If the sensitivity is really {percent(report['cautious_sensitivity'])} %, the worst value in its "
        f"interval, a half-width of {_points(shown['half_width'])} needs {_size(shown['cautious_size'], report)}."
    )
    print_plain(ASSUMED)


def _print_difference(report: dict[str, Any]) -> None:
    pilot, power = report["pilot"], f"{report['power']:g}"
    print_plain(
        f"Of the {THINGS[report['measure']]}, {report['first']} finds {percent(pilot['first'])} % and "
        f"{report['second']} {percent(pilot['second'])} % at {report['fp_target']:g} FP per image: a difference of "
        f"{100 * pilot['difference']:+.1f} points, half-width {_points(pilot['half_width'])}."
    )
    _rests_on(report)
    _print_sizes("half-width", report["widths"], report, "A half-width of {} needs {}.")
    sentence = f"To detect a difference of {{}} with a power of {power}, you need {{}}."
    _print_sizes(f"difference, power {power}", report["powers"], report, sentence)
    _print_planned(report)
    print_plain(ASSUMED)


def _print_assumed(report: dict[str, Any]) -> None:
    def size(plan: dict[str, Any]) -> str:
        images = "" if plan["images"] is None else f" in {plan['images']:,} images"
        return f"{plan['gts']:,} consensus objects{images}"

    print_plain(
        f"Expected: a sensitivity of {percent(report['sensitivity'])} % and a design effect of "
        f"{report['design_effect']:g}."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {_points(one['half_width'])} needs {size(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To detect a difference of {_points(one['difference'])} between two models with a power of "
            f"{report['power']:g}, you need {size(one)}."
        )
    print_plain(
        "These are sizes of the test set alone. To use measured values, plan from a run: overread plan RUN"
    )


def _print_readers(report: dict[str, Any]) -> None:
    def cases(plan: dict[str, Any]) -> str:
        return (
            "more readers, with any number of cases" if plan["cases"] is None else f"{plan['cases']:,} cases"
        )

    pilot = report["pilot"]
    of = f", {report['figure']}" if report["figure"] else ""
    print_plain(
        f"{report['readers']} readers, from a pilot of {pilot['n_cases']} cases{of}; generalizing to "
        f"{SPOKEN_OF[report['random']]}. Widths and differences are in units of the figure of merit."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {one['half_width']:g} needs {cases(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To detect a difference of {one['difference']:g} with power {report['power']:g}, you need {cases(one)}."
        )
    if planned := report.get("planned"):
        powers = _power_words(planned["powers"], scale=1, unit="")
        print_plain(f"{planned['cases']} cases give a half-width of {planned['half_width']:.3g}{powers}")
    print_plain(
        "Assumed: cases with and without lesions in the pilot's proportion, and similar readers and modalities."
    )


PRINTERS = {
    "sensitivity": _print_sensitivity,
    "difference": _print_difference,
    "assumed": _print_assumed,
    "readers": _print_readers,
}


def _print_sizes(title: str, plans: list[dict[str, Any]], report: dict[str, Any], sentence: str) -> None:
    """Print one size as a sentence, several as a table with one row per width or difference."""
    from rich.box import SIMPLE_HEAD

    shares = [_points(one["half_width" if "half_width" in one else "difference"]) for one in plans]
    if len(plans) == 1:
        print_plain(sentence.format(shares[0], _size(plans[0]["size"], report)))
    elif plans:
        names = {"gts": "consensus objects", "images": "images", "patients": "patients"}
        if not report["has_patients"]:
            del names["patients"]
        rows = [
            (share, *(f"{one['size'][name]:,}" for name in names))
            for share, one in zip(shares, plans, strict=True)
        ]
        print_table((title, *names.values()), rows, right=slice(None), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def _print_planned(report: dict[str, Any]) -> None:
    if planned := report.get("planned"):
        width, powers = _points(planned["half_width"]), _power_words(planned.get("powers", []))
        print_plain(f"{_size(planned['size'], report)} give a half-width of {width}{powers}")


def _rests_on(report: dict[str, Any], worth: str = "") -> None:
    """Print the size of the pilot, with a caution if it is small."""
    pilot = report["pilot"]
    print_plain(f"This is based on {_size(pilot['size'], report)}, unseen by the models{worth}.")
    if pilot["patients_with_gts"] < FEW_PATIENTS:
        print_plain(
            f"Only {pilot['patients_with_gts']} patients have a consensus object. Take the sizes as a first guess."
        )


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def _size(size: dict[str, int], report: dict[str, Any]) -> str:
    patients = f" of {size['patients']:,} patients" if report["has_patients"] else ""
    return f"{size['gts']:,} consensus objects in {size['images']:,} images{patients}"


def _power_words(powers: list[dict[str, float]], *, scale: float = 100, unit: str = " points") -> str:
    said = ", ".join(f"{one['power']:.2f} for {scale * one['difference']:.3g}{unit}" for one in powers)
    return f", and these powers: {said}." if said else "."
