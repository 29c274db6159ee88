"""Readers x modalities on the same cases: AFROC figures of every reader, compared by Obuchowski-Rockette."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from overread.errors import InvalidInputError
from overread.froc.defaults import LEVEL
from overread.froc.merit.figures_of_merit import (
    CaseRatings,
    FigureOfMerit,
    figure_of_merit,
    jackknife_figures,
    patient_groups,
)
from overread.froc.merit.obuchowski_rockette import RandomEffects, ReaderStudy, obuchowski_rockette

__all__ = ["reader_study"]


def reader_study(
    ratings: Mapping[str, Mapping[str, CaseRatings]],
    figure: FigureOfMerit = "wAFROC",
    *,
    random: RandomEffects = "readers and cases",
    patients: ArrayLike | None = None,
    level: float = LEVEL,
) -> ReaderStudy:
    """Compare modalities that the same readers used on the same cases.

    The covariance of the figures is a jackknife over the K cases: that of the left-out figures, times
    (K - 1)^2 / K. The inference is that of :func:`overread.froc.merit.obuchowski_rockette`. Figures are areas: the
    intervals of means are cut at 0 and 1, those of differences at -1 and 1.

    Parameters
    ----------
    ratings
        ``ratings[modality][reader]``: every reader read every case with every modality.
    figure
        Figure of merit.
    random
        What the conclusion extends to: other readers and other cases, other readers on these cases, or other
        cases read by these readers.
    patients
        Patient of each case; the jackknife then leaves out patients instead of cases.
    level
        Level of the intervals.
    """
    modalities, readers = check_crossed(ratings)
    cells = [ratings[modality][reader] for modality in modalities for reader in readers]
    check_same_cases(cells, [(modality, reader) for modality in modalities for reader in readers])
    shape = (len(modalities), len(readers))
    figures = np.array([figure_of_merit(cell, figure) for cell in cells]).reshape(shape)
    left_out = np.stack([jackknife_figures(cell, figure, patients=patients) for cell in cells])
    n_cases = patient_groups(patients, cells[0].n_cases)[1]
    covariance = np.cov(left_out) * (n_cases - 1) ** 2 / n_cases
    study = obuchowski_rockette(
        figures,
        covariance.reshape(shape + shape),
        modalities=modalities,
        readers=readers,
        figure=figure,
        random=random,
        level=level,
        n_cases=n_cases,
    )
    return replace(
        study,
        means=tuple(
            replace(one, lower=max(one.lower, 0.0), upper=min(one.upper, 1.0)) for one in study.means
        ),
        differences=tuple(
            replace(one, lower=max(one.lower, -1.0), upper=min(one.upper, 1.0)) for one in study.differences
        ),
    )


def check_crossed(
    ratings: Mapping[str, Mapping[str, CaseRatings]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of modalities and readers; every reader must have used every modality."""
    modalities = tuple(ratings)
    if not modalities:
        raise InvalidInputError("a reader study needs at least two modalities, and there are none")
    readers = tuple(ratings[modalities[0]])
    for modality in modalities:
        odd = set(ratings[modality]) ^ set(readers)
        if odd:
            raise InvalidInputError(
                f"reader {sorted(odd)[0]!r} did not use every modality (see {modality!r}): "
                "leave out readers or modalities until every reader used every one"
            )
    return modalities, readers


def check_same_cases(cells: Sequence[CaseRatings], names: Sequence[tuple[str, str]]) -> None:
    """Every cell must be about the same cases with the same lesions and weights."""
    for cell, (modality, reader) in zip(cells, names, strict=True):
        same = (
            cell.n_cases == cells[0].n_cases
            and np.array_equal(cell.lesion_case, cells[0].lesion_case)
            and np.array_equal(cell.weights(), cells[0].weights())
        )
        if not same:
            raise InvalidInputError(
                f"modality {modality!r}, reader {reader!r}: other cases or lesions than {names[0][0]!r}, "
                f"reader {names[0][1]!r}; every reader reads the same cases with every modality"
            )
