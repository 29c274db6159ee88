"""The CLAIM checklist: which of its items a run can fill.

Mongan, Moy and Kahn (2020), Checklist for Artificial Intelligence in Medical Imaging (CLAIM), Radiology: Artificial
Intelligence 2(2):e200029. The subjects are given in our words under the checklist's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CLAIM_ITEMS", "claim_rows"]

CLAIM_ITEMS: Mapping[int, str] = {
    7: "where the data came from",
    9: "processing of the images before use",
    10: "choice of parts of the data",
    13: "missing data",
    14: "definition of the reference standard",
    15: "why this reference standard",
    16: "who annotated",
    18: "differences between readers and how they were settled",
    19: "size of the sample",
    20: "assignment to parts",
    21: "level at which the parts are disjoint",
    22: "the model",
    23: "software and versions",
    24: "start of the parameters",
    25: "training and its settings",
    26: "choice of the final model",
    28: "measures of performance",
    29: "uncertainty and significance",
    31: "explanation of single answers",
    32: "external data",
    33: "flow of images",
    34: "patients in each part",
    35: "performance on the test part",
    36: "intervals of accuracy",
    37: "analysis of errors",
    38: "limits of the study",
}
BY_THE_AUTHORS = "for the authors to say"


def claim_rows(filled: Mapping[int, str]) -> list[tuple[str, str, str]]:
    """Rows of the table: number, subject, what the run says."""
    unknown = sorted(set(filled) - set(CLAIM_ITEMS))
    if unknown:
        raise ValueError(f"no such items of the checklist here: {unknown}")
    return [
        (str(number), subject, filled.get(number, BY_THE_AUTHORS)) for number, subject in CLAIM_ITEMS.items()
    ]
