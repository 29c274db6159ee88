"""`overread plan`: how many images and golden objects a wanted width or power needs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread.froc.defaults import LEVEL, N_BOOTSTRAP
from overread.screen import print_json

if TYPE_CHECKING:
    from overread.cli.plan_reports import Question

__all__ = ["AssumedStudy", "PilotReaders", "plan"]


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
    from overread.cli.conventions import check_seed
    from overread.cli.plan_output import print_plan
    from overread.cli.plan_reports import Question
    from overread.files.strict_json import json_text

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
    from overread.cli import plan_reports

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
            return plan_reports.report_assumed(assumed, question)
        return plan_reports.report_readers(reading, question)
    if compare is not None:
        _refuse("--compare", {"--model": model is not None, "--locked": question.locked})
        return plan_reports.report_difference(run, compare, question)
    _refuse("one model (for two: --compare A B)", {"--difference": question.difference is not None})
    return plan_reports.report_sensitivity(run, model, question)


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
