"""A scenario from its design to its page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from overread.scenario.answer import give_answers
from overread.scenario.design import Design
from overread.scenario.material import prepare_material
from overread.scenario.page import write_scenario
from overread.scenario.points import claim_folder, list_points, run_points
from overread.scenario.results import ScenarioResults, sum_up_points
from overread.scenario.sets import tabulate_skills

__all__ = ["ScenarioReport", "run_scenario"]


@dataclass(frozen=True, eq=False)
class ScenarioReport:
    """How a scenario ended: the page, its sentences, all tables, and how many points could not be fitted."""

    page: Path
    answers: list[str]
    results: ScenarioResults
    n_missing: int


def run_scenario(design: Design, folder: Path, *, fit: bool = True) -> ScenarioReport:
    """Measure the points of a design that are not there yet, and write tables and page.

    Parameters
    ----------
    design
        What is wanted.
    folder
        Gets everything; a new folder, or one that the same design began.
    fit
        Whether to measure; else the page is of the points that are there.
    """
    claim_folder(folder, design)
    material = prepare_material(design, folder)
    points = run_points(design, material, folder) if fit else list_points(design, folder)
    results = sum_up_points(points, design, tabulate_skills(material, design))
    page = write_scenario(results, design, material.words, folder)
    leading = next(name for name in design.fit.models if name in set(results.sensitivity["model"]))
    return ScenarioReport(page, give_answers(results, leading), results, len(results.missing))
