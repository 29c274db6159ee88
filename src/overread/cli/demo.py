"""`overread demo`: the whole chain on an embedded cohort without pixels, ending in a page to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from overread.bags import Bags
    from overread.froc import LambdaChoice, Matching, PerformanceTable
    from overread.models import SoftMILLogisticRegression, SoftMILPath
    from overread.simulate import CandidateCohort

__all__ = ["demo"]

PARTS = ("training", "validation", "test")


def demo(
    *,
    output: Path = Path("demo-output"),
    n_images: int = 900,
    seed: int = 0,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> None:
    """Merge simulated readers' marks, fit the soft model, choose lambda, and measure it on unseen patients.

    Nothing is downloaded. The cohort has no pixels: candidates come with made-up features, a tenth of which
    say something.

    Parameters
    ----------
    output
        Folder for the page, index.html.
    n_images
        Images of the cohort.
    seed
        Seed of everything random.
    open_page
        Open the page in a browser.
    """
    from rich.console import Console

    from overread.cli.demo_page import demo_page, path_table
    from overread.cli.mark_tables import said_warnings
    from overread.cli.seed import checked_seed

    console = Console()
    with said_warnings():
        run = run_demo(n_images, checked_seed(seed), console)
    console.print(path_table(run.path, run.choice))
    page = output / "index.html"
    demo_page(run).write(page)
    console.print(f"\nThe report: [bold]{page}[/bold]", highlight=False)
    console.print("Next: put the command on your path with  source .venv/bin/activate", highlight=False)
    console.print("Your own marks:  overread import FILE --mm-per-px 0.143 --out my_study", highlight=False)
    console.print("                 overread merge my_study -o truth.csv", highlight=False)
    console.print("Your own scores: overread froc scores.csv truth.csv --n-images 300", highlight=False)
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


@dataclass(frozen=True)
class DemoRun:
    """Everything the page shows."""

    cohort: CandidateCohort
    truth: pd.DataFrame
    parts: dict[str, Bags]
    path: SoftMILPath
    choice: LambdaChoice
    model: SoftMILLogisticRegression
    matchings: dict[str, Matching]
    table: PerformanceTable


def run_demo(n_images: int, seed: int, console: Any) -> DemoRun:
    """Run the chain: marks, truth, bags, path, choice of lambda, refit, test."""
    with console.status("making a cohort and merging its readers' marks"):
        import pandas as pd

        from overread.bags import make_bags, split_by_patient
        from overread.simulate import candidate_cohort
        from overread.truth import merge_marks

        cohort = candidate_cohort(n_images, seed=seed)
        truth = merge_marks(cohort.marks, cohort.readings)
        split = split_by_patient(cohort.images, truth, random_state=seed)
        bags = make_bags(
            cohort.candidates, cohort.features, truth, readings=cohort.readings, images=cohort.images
        )
    console.print(
        f"{len(cohort.marks)} marks of {cohort.readings['reader_id'].nunique()} readers on {n_images} images"
        f" -> {len(truth)} objects, {int(truth['golden'].sum())} golden -> {len(bags)} bags"
    )
    image_of_bag = pd.Series([bag_id[0] for bag_id in bags.bag_ids])
    part_of_bag = image_of_bag.map(split.set_axis(cohort.images["image_id"])).to_numpy()
    parts = {part: bags[part_of_bag == part] for part in PARTS}
    parts["training + validation"] = bags[part_of_bag != "test"]
    with console.status("fitting the path of penalties (the first run compiles, which takes a minute)"):
        from overread.models import SoftMILPath

        path = SoftMILPath(n_lambdas=25, min_ratio=0.02).fit(parts["training"], parts["training"].labels)
    with console.status("choosing lambda, refitting, measuring on the test set"):
        cases = Cases(cohort, truth, split)
        choice = choose(path, parts, cases)
        both = parts["training + validation"]
        model = path.model(choice.position).fit(both, both.labels)
        matchings = {
            part: cases.matching(part, parts[part], model.decision_instance_function(parts[part]))
            for part in ("training + validation", "test")
        }
        table = table_of(model, matchings)
    return DemoRun(cohort, truth, parts, path, choice, model, matchings, table)


@dataclass(frozen=True)
class Cases:
    """The images, candidates and truth of each part, to match scores against."""

    cohort: CandidateCohort
    truth: pd.DataFrame
    split: pd.Series[Any]

    def matching(self, part: str, bags: Bags, scores: NDArray[np.float64]) -> Matching:
        """Match the scores of a part's instances."""
        from overread.bags import score_table
        from overread.froc import match

        images = self.cohort.images[self.split.isin(part.split(" + "))]
        inside = images["image_id"]
        return match(
            self.cohort.candidates[self.cohort.candidates["image_id"].isin(inside)],
            self.truth[self.truth["image_id"].isin(inside)],
            images,
            scores=score_table(bags, soft=scores),
            single_reader="ignore",
        )


def choose(path: SoftMILPath, parts: dict[str, Bags], cases: Cases) -> LambdaChoice:
    """Choose lambda by the paper's rule from training and validation scores."""
    from overread.froc import choose_lambda

    matchings, scores = [], []
    for part in ("training", "validation"):
        columns = path.decision_instance_function(parts[part])
        matchings.append(cases.matching(part, parts[part], columns[:, 0]))
        scores.append(in_candidate_order(parts[part], columns))
    return choose_lambda(
        *matchings,
        training_scores=scores[0],
        validation_scores=scores[1],
        lambdas=path.lambdas_,
        n_features=path.n_features_,
    )


def in_candidate_order(bags: Bags, columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores by candidate instead of by bag: bags gather what was apart."""
    return columns[bags.source_rows.argsort()]


def table_of(model: SoftMILLogisticRegression, matchings: dict[str, Matching]) -> PerformanceTable:
    """Table 1 for the one model of the demo."""
    from overread.froc import performance_table

    return performance_table(
        {"Soft": (matchings["training + validation"], matchings["test"])},
        n_features={"Soft": model.fit_report_.n_features},
        notes={"Soft": f"lambda={model.lam_:.3g}"},
    )
