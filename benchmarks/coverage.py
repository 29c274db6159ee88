"""Coverage of the intervals and size of the paired tests, by simulation.

    python -m benchmarks.coverage [--datasets 5000] [--scenario NAME] [--what coverage|size|figures] [--json FILE]

Every data set is drawn from a population whose sensitivities are known from a formula: per patient a random
effect on the scores of its lesions and another on those of its false positives, Gamma-distributed rates of
both, normal scores. Seeds are (scenario, number of the data set), fixed in advance.
``docs/explanation/froc_statistics.md`` has the figures; ``tests/froc/test_statistics.py`` asserts them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from overread.froc import Matching, bootstrap, compare_models, estimate_figures, proportion_interval

Floats = NDArray[np.float64]

FP_TARGETS = np.array([0.5, 2.0])
LEVEL = 0.95
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A population of patients and two equally good models, the second used only for comparisons."""

    name: str
    seed: int
    n_patients: int
    images_per_patient: tuple[int, int] = (1, 1)
    gts_per_image: float
    fps_per_image: float = 10.0
    shift: float
    gt_patient_sd: float = 0.0
    fp_patient_sd: float = 0.0
    dispersion: float = 0.0
    missed: float = 0.05
    score_step: float = 0.0
    correlation: float = 0.5

    def threshold(self, fp_target: ArrayLike) -> Floats:
        """Lowest threshold with at most ``fp_target`` false positives per image in the population.

        Scores rounded to a step s allow only thresholds half-way between two of their values.
        """
        exact = norm.isf(np.asarray(fp_target) / self.fps_per_image) * np.sqrt(1 + self.fp_patient_sd**2)
        if not self.score_step:
            return exact
        return (np.ceil(exact / self.score_step + 0.5) - 0.5) * self.score_step

    def fp_per_image(self, threshold: Floats) -> Floats:
        """Mean number of false positives per image at a threshold."""
        return self.fps_per_image * norm.sf(threshold / np.sqrt(1 + self.fp_patient_sd**2))

    def gt_sensitivity(self, threshold: Floats) -> Floats:
        """P(a GT is found)."""
        above = norm.sf((threshold - self.shift) / np.sqrt(1 + self.gt_patient_sd**2))
        return (1 - self.missed) * above

    def image_sensitivity(self, threshold: Floats) -> Floats:
        """P(a GT of the image is found) / P(the image has a GT), integrated over the patient's effect."""
        effect = self.gt_patient_sd * NODES
        found = (1 - self.missed) * norm.sf(np.asarray(threshold)[:, None] - self.shift - effect)
        some = self.chance_of_some(self.gts_per_image * found)
        weights = NODE_WEIGHTS / NODE_WEIGHTS.sum()
        return some @ weights / self.chance_of_some(np.array(self.gts_per_image))

    def afroc(self) -> float:
        """P(a lesion is rated above the highest false positive of an image without lesions), ties counting half.

        AFROC and wAFROC alike, since ratings do not depend on the number of lesions. Continuous scores only.
        """
        weights = NODE_WEIGHTS / NODE_WEIGHTS.sum()
        lesion = self.shift + np.sqrt(1 + self.gt_patient_sd**2) * NODES
        above = norm.sf(lesion[:, None] - self.fp_patient_sd * NODES)
        none_above = 1 - self.chance_of_some(self.fps_per_image * above)
        none_at_all = 1 - self.chance_of_some(np.array(self.fps_per_image))
        return float((1 - self.missed) * weights @ none_above @ weights + self.missed * none_at_all / 2)

    def chance_of_some(self, rate: Floats) -> Floats:
        """P(at least one) of a Poisson number whose rate varies by a Gamma factor of mean 1."""
        if not self.dispersion:
            return -np.expm1(-rate)
        return 1 - (1 + self.dispersion * rate) ** (-1 / self.dispersion)

    def draw(self, number: int) -> list[Matching]:
        """Two models on data set ``number``."""
        rng = np.random.default_rng([self.seed, number])
        low, high = self.images_per_patient
        patients = np.repeat(np.arange(self.n_patients), rng.integers(low, high + 1, self.n_patients))
        fp_images = self.events(rng, patients, self.fps_per_image)
        gt_images = self.events(rng, patients, self.gts_per_image)
        fps = self.scores(rng, patients[fp_images], 0.0, self.fp_patient_sd)
        gts = self.scores(rng, patients[gt_images], self.shift, self.gt_patient_sd)
        gts[rng.random(len(gts)) < self.missed] = -np.inf
        return [
            Matching.from_events(
                n_images=len(patients),
                fp_scores=fps[:, model],
                fp_images=fp_images,
                gt_scores=gts[:, model],
                gt_images=gt_images,
                patients=patients,
            )
            for model in (0, 1)
        ]

    def events(self, rng: np.random.Generator, patients: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        """Image of each event."""
        factor = np.ones(self.n_patients)
        if self.dispersion:
            factor = rng.gamma(1 / self.dispersion, self.dispersion, self.n_patients)
        return np.repeat(np.arange(len(patients)), rng.poisson(rate * factor[patients]))

    def scores(self, rng: np.random.Generator, patients: NDArray[np.int64], mean: float, sd: float) -> Floats:
        """Scores of both models, one column each."""
        shared = np.sqrt(self.correlation) * rng.standard_normal((len(patients), 1))
        own = np.sqrt(1 - self.correlation) * rng.standard_normal((len(patients), 2))
        effect = sd * rng.standard_normal((self.n_patients, 2))
        values = mean + shared + own + effect[patients]
        return np.round(values / self.score_step) * self.score_step if self.score_step else values


SCENARIOS = (
    Scenario(name="the paper's test set", seed=1, n_patients=660, gts_per_image=0.158, shift=1.5),
    Scenario(name="small", seed=2, n_patients=100, gts_per_image=0.5, shift=1.8, gt_patient_sd=0.5),
    Scenario(
        name="clustered",
        seed=3,
        n_patients=150,
        images_per_patient=(1, 4),
        gts_per_image=0.5,
        fps_per_image=8,
        shift=1.8,
        gt_patient_sd=1.0,
        fp_patient_sd=0.5,
        dispersion=0.5,
    ),
    Scenario(name="high sensitivity", seed=4, n_patients=300, gts_per_image=0.4, shift=3.0),
    Scenario(name="ties", seed=5, n_patients=300, gts_per_image=0.3, shift=1.6, score_step=0.02),
    Scenario(name="low sensitivity", seed=6, n_patients=300, gts_per_image=0.4, shift=0.3, gt_patient_sd=0.3),
)


@dataclass(frozen=True)
class Share:
    """Share of data sets, in per cent, with its Monte Carlo standard error."""

    scenario: str
    statistic: str
    fp_target: float
    method: str
    percent: float
    standard_error: float


def coverage(scenario: Scenario, n_datasets: int, n_bootstrap: int = 500) -> list[Share]:
    """Share of data sets whose 95 % interval holds the population's value."""
    threshold = scenario.threshold(FP_TARGETS)
    truths = {
        "gt_sensitivity": scenario.gt_sensitivity(threshold),
        "image_sensitivity": scenario.image_sensitivity(threshold),
        "fp_per_image": scenario.fp_per_image(threshold),
    }

    def covered(number: int) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
        model, _ = scenario.draw(number)
        for kind, fixed in (("at FP", None), ("locked", threshold)):
            result = bootstrap(
                model, fp_targets=FP_TARGETS, thresholds=fixed, n_bootstrap=n_bootstrap, seed=number
            )
            for measure, value in truths.items():
                for method in ("score", "percentile"):
                    if measure == "fp_per_image" and kind == "at FP":
                        continue
                    lower, upper = result.interval_of(measure, LEVEL, method=method)
                    yield f"{measure}, {kind}", method, (lower <= value) & (value <= upper)
            estimate = result.points["gt_sensitivity"].to_numpy()
            lower, upper = proportion_interval(estimate * model.n_gts, model.n_gts, LEVEL)
            value = truths["gt_sensitivity"]
            yield f"gt_sensitivity, {kind}", "independent lesions", (lower <= value) & (value <= upper)

    return shares(scenario, n_datasets, covered)


def coverage_of_figures(scenario: Scenario, n_datasets: int, n_bootstrap: int = 500) -> list[Share]:
    """Share of data sets whose 95 % interval holds the population's AFROC and wAFROC; the FP column says nothing."""
    value = scenario.afroc()

    def covered(number: int) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
        model, _ = scenario.draw(number)
        for found in estimate_figures(model, n_bootstrap=n_bootstrap, seed=number, level=LEVEL):
            yield found.figure, "score", np.full(len(FP_TARGETS), found.lower <= value <= found.upper)

    return shares(scenario, n_datasets, covered)[:: len(FP_TARGETS)]


def size_of_tests(scenario: Scenario, n_datasets: int, n_replicates: int = 300) -> list[Share]:
    """Share of data sets in which two equally good models differ at the 5 % level."""

    def rejected(number: int) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
        first, second = scenario.draw(number)
        result = compare_models(
            first,
            second,
            fp_targets=FP_TARGETS,
            n_bootstrap=n_replicates,
            n_permutations=n_replicates,
            seed=number,
        )
        for measure in ("gt_sensitivity", "image_sensitivity"):
            yield measure, "bootstrap", result.interval_of(measure, LEVEL).p_value < 1 - LEVEL
            yield measure, "permutation", result.permutation_p_values(measure) < 1 - LEVEL

    return shares(scenario, n_datasets, rejected)


def shares(
    scenario: Scenario,
    n_datasets: int,
    outcomes: Callable[[int], Iterator[tuple[str, str, NDArray[np.bool_]]]],
) -> list[Share]:
    """Average the outcomes of all data sets."""
    counts: dict[tuple[str, str], NDArray[np.int64]] = {}
    for number in range(n_datasets):
        for statistic, method, happened in outcomes(number):
            total = counts.setdefault((statistic, method), np.zeros(len(FP_TARGETS), dtype=np.int64))
            total += happened
    rows = []
    for (statistic, method), total in counts.items():
        for fp_target, count in zip(FP_TARGETS, total, strict=True):
            p = count / n_datasets
            error = 100 * np.sqrt(p * (1 - p) / n_datasets)
            rows.append(Share(scenario.name, statistic, float(fp_target), method, 100 * p, error))
    return rows


SIMULATIONS = (("coverage", coverage), ("size", size_of_tests), ("figures", coverage_of_figures))


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of intervals and size of tests.")
    parser.add_argument("--datasets", type=int, default=5000, help="data sets a scenario")
    parser.add_argument("--scenario", action="append", help="name of a scenario; all by default")
    parser.add_argument("--what", choices=["coverage", "size", "figures"], help="one of them; all by default")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    found = []
    for scenario in SCENARIOS:
        if arguments.scenario and scenario.name not in arguments.scenario:
            continue
        for title, simulate in SIMULATIONS:
            if arguments.what not in (None, title) or (title == "figures" and scenario.score_step):
                continue
            for row in simulate(scenario, arguments.datasets):
                found.append({"what": title, **asdict(row)})
                print(
                    f"{title:8s}  {row.scenario:22s}  {row.statistic:28s}  FP {row.fp_target:g}  "
                    f"{row.method:20s} {row.percent:6.2f} +- {row.standard_error:.2f}",
                    flush=True,
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
