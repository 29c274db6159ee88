"""From files to parts: what each step took and what it left out, as a flow chart and in words.

The chart, CLAIM 13 and CLAIM 33 are made of the same steps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from overread.report.results import StudyResults
from overread.report.words import count

__all__ = ["FlowStep", "lay_out_flow", "tell_exclusions", "tell_flow"]

# More reasons than this are counted together: the chart has to be read.
MOST_REASONS = 6


@dataclass(frozen=True)
class FlowStep:
    """A box of the chart.

    Attributes
    ----------
    label
        What is counted.
    n
        How many; None where nobody recorded it.
    note
        What else is to be said, or empty.
    left_out
        Numbers and reasons of what goes no further.
    """

    label: str
    n: int | None
    note: str = ""
    left_out: list[tuple[int, str]] = field(default_factory=list)


def lay_out_flow(results: StudyResults) -> list[FlowStep]:
    """List the steps from the files that were found to the images that were used."""
    study = results.study
    n_used = study.n_images - len(study.quarantined)
    reasons = Counter(one.reason for one in study.quarantined)
    return [
        *([] if study.is_simulated else [_found_step(results)]),
        FlowStep(
            "images in the study",
            study.n_images,
            f"of {count(study.n_patients, 'patient')}",
            _shorten(dict(reasons.most_common())),
        ),
        FlowStep("images used", n_used),
    ]


def _found_step(results: StudyResults) -> FlowStep:
    found = results.study.found
    if found is None:
        return FlowStep("image files found", None, "not recorded: the images table was not made by init")
    left_out = _shorten(found.left_out)
    if found.n_taken_out:
        left_out.append((found.n_taken_out, "taken out of the images table after init"))
    added = (
        f"{count(found.n_added, 'more file')} put into the images table after init" if found.n_added else ""
    )
    return FlowStep("image files found by init", found.n_found, added, left_out)


def _shorten(reasons: dict[str, int]) -> list[tuple[int, str]]:
    """Count the rarest reasons together where there are many."""
    told = [(n, reason) for reason, n in reasons.items()]
    if len(told) <= MOST_REASONS:
        return told
    kept, others = told[: MOST_REASONS - 1], told[MOST_REASONS - 1 :]
    return [*kept, (sum(n for n, _ in others), f"{len(others)} other reasons")]


def tell_exclusions(results: StudyResults) -> str:
    """Say how many files and images were left out, and where."""
    *before, study, _ = lay_out_flow(results)
    told = [
        f"before the run {step.note}" if step.n is None else _tell_left_out(step, "by init or by hand")
        for step in before
    ]
    return "; ".join([*told, _tell_left_out(study, "in the run")])


def tell_flow(results: StudyResults) -> str:
    """Say the numbers of the whole chart in a line."""
    steps = [step for step in lay_out_flow(results) if step.n is not None]
    boxes = [
        f"{step.n} {step.label}" + (f" ({_tell_left_out(step, '')})" if step.left_out else "")
        for step in steps
    ]
    return f"{'; '.join(boxes)}: {', '.join(f'{part.name} {part.n_images}' for part in results.study.splits)}"


def _tell_left_out(step: FlowStep, where: str) -> str:
    total = sum(n for n, _ in step.left_out)
    told = f"{total} of {step.n} {step.label} left out{f' {where}' if where else ''}"
    return told + (
        f" ({'; '.join(f'{n} {reason}' for n, reason in step.left_out)})" if step.left_out and where else ""
    )
