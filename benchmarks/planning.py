"""Planned half-widths and powers against simulated studies.

    python -m benchmarks.planning [--studies 200] [--scenario NAME]

The populations are those of ``benchmarks/coverage.py``. Every simulated study has a pilot of its own, of the
scenario's size, which says how large the study has to be for a wanted half-width; the study is drawn with that many
patients, and its half-width is set against the wanted one. Seeds are fixed in advance. ``docs/how-to/plan.md`` has the
figures; ``tests/froc/merit/test_pilots.py`` asserts them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import SCENARIOS, Scenario
from overread._text import markdown_table
from overread.froc import Matching, compare_models, pilot_difference, pilot_sensitivity

HALF_WIDTH = 0.05
FP_TARGET = 1.0
# Enough to know the population's variance to a per cent or two.
LARGE = 20_000


@dataclass(frozen=True)
class Outcome:
    """What 200 planned studies gave.

    Attributes
    ----------
    ratios
        Half-width of each study over the wanted one.
    patients
        Patients that each was planned with.
    pilot_patients
        Mean number of the pilots' patients with something to find.
    """

    ratios: NDArray[np.float64]
    patients: NDArray[np.int64]
    pilot_patients: float

    @property
    def mean(self) -> float:
        """Mean of the ratios."""
        return float(self.ratios.mean())

    @property
    def within_a_tenth(self) -> float:
        """Share of the studies whose half-width is within 10 % of the wanted one."""
        return float((np.abs(self.ratios - 1) <= 0.1).mean())

    @property
    def spread_of_size(self) -> float:
        """Standard deviation of the planned size over its mean: what the pilots do not know."""
        return float(self.patients.std() / self.patients.mean())


def plan_and_run(
    scenario: Scenario,
    n_studies: int,
    *,
    locked: bool = False,
    measure: str = "gt_sensitivity",
    known: bool = False,
    n_bootstrap: int = 1000,
) -> Outcome:
    """Plan studies for ``HALF_WIDTH`` from pilots, draw them, and measure.

    With ``known``, all are planned from one pilot that is so large that it knows the population.
    """
    where: dict[str, Any] = {"measure": measure, "n_bootstrap": n_bootstrap}
    where |= {"threshold": float(scenario.threshold(FP_TARGET))} if locked else {"fp_target": FP_TARGET}
    pilots = replace(scenario, seed=scenario.seed + 100, n_patients=LARGE if known else scenario.n_patients)
    ratios, patients, with_gts = [], [], []
    for number in range(n_studies):
        if not known or number == 0:
            pilot = pilot_sensitivity(pilots.draw(number)[0], seed=number, **where)
        size = pilot.size_for(HALF_WIDTH)
        study = replace(scenario, seed=scenario.seed + 200, n_patients=size.patients).draw(number)[0]
        ratios.append(pilot_sensitivity(study, seed=number, **where).half_width() / HALF_WIDTH)
        patients.append(size.patients)
        with_gts.append(pilot.patients_with_gts)
    return Outcome(np.array(ratios), np.array(patients), float(np.mean(with_gts)))


def make_weaker(pair: list[Matching], shift: float) -> list[Matching]:
    """Lower the second model's scores of all lesions."""
    return [pair[0], replace(pair[1], gt_scores=pair[1].gt_scores - shift)]


@dataclass(frozen=True)
class PowerOutcome:
    """Planned power, the share of studies that found the difference, and the mean of half-width over planned."""

    planned: float
    reached: float
    width_ratio: float


def plan_and_compare(
    scenario: Scenario, n_studies: int, *, shift: float = 0.4, power: float = 0.8, n_bootstrap: int = 300
) -> PowerOutcome:
    """Plan comparisons of a model with a weaker one from a large pilot, run them, and count the findings.

    The difference that they are planned for is that of the populations, known from a formula.
    """
    threshold, weaker = scenario.threshold([FP_TARGET]), replace(scenario, shift=scenario.shift - shift)
    difference = float((weaker.gt_sensitivity(threshold) - scenario.gt_sensitivity(threshold))[0])
    large = make_weaker(replace(scenario, seed=scenario.seed + 300, n_patients=LARGE).draw(0), shift)
    pilot = pilot_difference(*large, fp_target=FP_TARGET, n_bootstrap=1000)
    size = pilot.size_for_power(difference, power=power)
    found, widths = [], []
    for number in range(n_studies):
        drawn = replace(scenario, seed=scenario.seed + 400, n_patients=size.patients).draw(number)
        one, two = make_weaker(drawn, shift)
        result = compare_models(
            one, two, fp_targets=[FP_TARGET], n_bootstrap=n_bootstrap, n_permutations=1, seed=number
        )
        interval = result.interval_of("gt_sensitivity")
        found.append(interval.p_value[0] < 0.05)
        widths.append(float(interval.upper[0] - interval.lower[0]) / 2)
    planned = pilot.half_width(patients=size.patients)
    return PowerOutcome(power, float(np.mean(found)), float(np.mean(widths)) / planned)


def main() -> None:
    """Print the tables of docs/how-to/plan.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--scenario", action="append")
    arguments = parser.parse_args()
    rows, powers = [], []
    for scenario in SCENARIOS[:4]:
        if arguments.scenario and scenario.name not in arguments.scenario:
            continue
        for locked in (False, True):
            own, known = (
                plan_and_run(scenario, arguments.studies, locked=locked, known=known)
                for known in (False, True)
            )
            cells = [scenario.name, "locked" if locked else "at FP", f"{own.pilot_patients:.0f}"]
            cells += [f"{own.mean:.3f}", f"{100 * own.within_a_tenth:.0f}", f"{100 * own.spread_of_size:.0f}"]
            rows.append([*cells, f"{known.mean:.3f}", f"{100 * known.within_a_tenth:.0f}"])
        compared = plan_and_compare(scenario, arguments.studies)
        powers.append([scenario.name, f"{100 * compared.reached:.0f}", f"{compared.width_ratio:.3f}"])
    header = [
        "scenario",
        "threshold",
        "pilot's patients with a GT",
        "mean ratio",
        "within 10 %, %",
        "size +- %",
    ]
    print(markdown_table([*header, "mean ratio, known", "within 10 %, known, %"], rows))
    print()
    print(markdown_table(["scenario", "found, % (planned 80)", "half-width over planned"], powers))
    print()
    small = SCENARIOS[1]
    sizes = []
    for n_patients in (30, 60, 120, 240):
        own = plan_and_run(replace(small, n_patients=n_patients), arguments.studies)
        cells = [f"{own.pilot_patients:.0f}", f"{own.mean:.3f}", f"{100 * own.within_a_tenth:.0f}"]
        sizes.append([*cells, f"{100 * own.spread_of_size:.0f}"])
    print(markdown_table(["pilot's patients with a GT", "mean ratio", "within 10 %, %", "size +- %"], sizes))


if __name__ == "__main__":
    main()
