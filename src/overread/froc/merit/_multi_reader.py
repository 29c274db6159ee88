"""Obuchowski-Rockette inference on the differences of modalities, from figures of merit and their covariance.

Conventions: I modalities (say, without and with CAD), J readers; theta_ij is the figure of merit of reader j
with modality i. The model is theta_ij = mu + tau_i + R_j + (tau R)_ij + e_ij, where the errors of two cells
share Cov1 (same reader, other modality), Cov2 (same modality, other reader) or Cov3 (both differ), and have
variance Var within a cell; each is a mean over the cells. MS_T and MS_TR are the mean squares of modality and
interaction in the I x J table.

=====================  ====================================  =================  =========================
what is random         error term D                          test               degrees of freedom
=====================  ====================================  =================  =========================
readers and cases      MS_TR + J max(Cov2 - Cov3, 0)         F = MS_T / D       D^2 (I-1)(J-1) / MS_TR^2
readers only           MS_TR                                 F = MS_T / D       (I-1)(J-1)
cases only             Var - Cov1 + (J-1) max(Cov2-Cov3, 0)  X2 = (I-1) MS_T/D  chi-square, I-1
=====================  ====================================  =================  =========================

In all three a difference of two modalities has standard error sqrt(2 D / J). References: Obuchowski and
Rockette 1995 (Commun. Stat. Simul. 24:285); Hillis 2007 (Stat. Med. 26:596) for the degrees of freedom.

Readers x modalities on the same cases: AFROC figures of every reader, compared by Obuchowski-Rockette.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, fdtrc, ndtr, ndtri, stdtr, stdtrit

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import ROUNDING, check_level
from overread.froc._defaults import LEVEL
from overread.froc.merit._figures_of_merit import (
    CaseRatings,
    FigureOfMerit,
    figure_of_merit,
    jackknife_figures,
    patient_groups,
)

FloatArray = NDArray[np.float64]
RandomEffects = Literal["readers and cases", "readers", "cases"]
"""What the conclusion is to hold for, beyond the data: new readers, new cases, or both."""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variance components of the model; the estimates of the first two may be negative."""

    reader: float
    modality_reader: float
    error: float
    cov1: float
    cov2: float
    cov3: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Modality a minus modality b, averaged over readers; ``df`` is infinite where readers are fixed.

    Interval and p-value are NaN where the data give no estimate of error.
    """

    modality_a: str
    modality_b: str
    estimate: float
    standard_error: float
    df: float
    lower: float
    upper: float
    p_value: float


@dataclass(frozen=True, slots=True)
class ModalityMean:
    """Mean over readers of one modality, with an interval from the data of that modality alone."""

    modality: str
    estimate: float
    standard_error: float
    df: float
    lower: float
    upper: float


@short_repr("figure", "random", "modalities", "readers", "p_value", "n_cases")
@dataclass(frozen=True, slots=True, eq=False)
class ReaderStudy:
    """Result of a reader study: theta_ij (I, J) as `figures`, a test that all modalities are equal, and differences.

    The test is F(df1, df2), or chi-square(df1) with infinite ``df2`` where only cases are random; NaN where the data
    give no estimate of error, as identical modalities do. `components` is None where cases are fixed and no covariance
    was given, `n_cases` (patients, where these were given) where only covariances were.
    """

    figure: str
    random: RandomEffects
    level: float
    modalities: tuple[str, ...]
    readers: tuple[str, ...]
    figures: FloatArray
    components: VarianceComponents | None
    statistic: float
    df1: float
    df2: float
    p_value: float
    differences: tuple[Difference, ...]
    means: tuple[ModalityMean, ...]
    n_cases: int | None = None


def obuchowski_rockette(
    figures: ArrayLike,
    covariance: ArrayLike | None,
    *,
    modalities: Sequence[str] | None = None,
    readers: Sequence[str] | None = None,
    figure: str = "figure of merit",
    random: RandomEffects = "readers and cases",
    level: float = LEVEL,
    n_cases: int | None = None,
) -> ReaderStudy:
    """Infer from any table of figures of merit and the covariance of its cells.

    Parameters
    ----------
    figures : array-like
        theta_ij, shape (I, J) with I >= 2; J >= 2 unless only cases are random.
    covariance : array-like
        Covariance of theta_ij and theta_kl over cases, shape (I, J, I, J); None only for random="readers".
    modalities, readers : sequence of str, optional
        Names; default "1", "2", ...
    figure, random, level, n_cases
        Carried into the result; ``random`` and ``level`` as in `reader_study`.
    """
    theta = _check_figures(figures, random, level)
    n_modalities, n_readers = theta.shape
    names = _check_names(modalities, n_modalities, "modalities")
    by_modality, by_reader, grand = theta.mean(axis=1), theta.mean(axis=0), theta.mean()
    residual = theta - by_modality[:, None] - by_reader[None, :] + grand
    df1, df = n_modalities - 1, (n_modalities - 1) * (n_readers - 1)
    of_modality = float(n_readers * np.sum((by_modality - grand) ** 2) / df1)
    # A single reader has no reader terms.
    of_reader, interaction = np.nan, np.nan
    if n_readers > 1:
        of_reader = float(n_modalities * np.sum((by_reader - grand) ** 2) / (n_readers - 1))
        interaction = float(np.sum(residual**2) / df)
    components, cells = None, None
    if covariance is not None:
        cells = np.asarray(covariance, dtype=np.float64)
        if cells.shape != theta.shape * 2 or not np.all(np.isfinite(cells)):
            raise InvalidInputError(
                f"covariance needs finite numbers with shape {theta.shape * 2}, not {cells.shape}"
            )
        error, cov1, cov2, cov3 = _mean_covariances(cells)
        shared = max(cov2 - cov3, 0.0)
        reader_variance = (of_reader - interaction) / n_modalities - cov1 + cov3
        interaction_variance = interaction - error + cov1 + shared
        components = VarianceComponents(reader_variance, interaction_variance, error, cov1, cov2, cov3)
    elif random != "readers":
        raise InvalidInputError(f"random={random!r} needs the covariance over cases")
    if random == "readers" or components is None:
        error_term, df2 = interaction, float(df)
    elif random == "cases":
        error_term, df2 = error - cov1 + (n_readers - 1) * shared, np.inf
    else:
        error_term = interaction + n_readers * shared
        df2 = np.inf if interaction == 0 else error_term**2 * df / interaction**2
    statistic, p_value = np.nan, np.nan
    if error_term > ROUNDING**2:
        ratio = of_modality / error_term
        chi_square = df1 * of_modality / error_term if random == "cases" else df1 * ratio
        statistic = chi_square if random == "cases" else ratio
        p_value = float(chdtrc(df1, chi_square) if np.isinf(df2) else fdtrc(df1, df2, ratio))
    return ReaderStudy(
        figure=figure,
        random=random,
        level=level,
        modalities=names,
        readers=_check_names(readers, n_readers, "readers"),
        figures=theta,
        components=components,
        statistic=statistic,
        df1=float(df1),
        df2=df2,
        p_value=p_value,
        differences=_pairwise_differences(theta, names, error_term, df2, level),
        means=_modality_means(theta, names, cells, random, level),
        n_cases=n_cases,
    )


def _mean_covariances(cells: FloatArray) -> tuple[float, float, float, float]:
    """Var, Cov1, Cov2 and Cov3: means of the covariance over the cells that share what each one shares."""
    n_modalities, n_readers = cells.shape[:2]
    same_modality = np.eye(n_modalities, dtype=bool)[:, None, :, None]
    same_reader = np.eye(n_readers, dtype=bool)[None, :, None, :]

    def mean_where(mask: NDArray[np.bool_]) -> float:
        chosen = cells[np.broadcast_to(mask, cells.shape)]
        return float(chosen.mean()) if chosen.size else 0.0

    return (
        mean_where(same_modality & same_reader),
        mean_where(~same_modality & same_reader),
        mean_where(same_modality & ~same_reader),
        mean_where(~same_modality & ~same_reader),
    )


def _pairwise_differences(
    theta: FloatArray, names: tuple[str, ...], error_term: float, df: float, level: float
) -> tuple[Difference, ...]:
    """Differences of the reader-averaged figures of every two modalities."""
    error = float(np.sqrt(2 * max(error_term, 0.0) / theta.shape[1]))
    half_width = _find_half_width(error, df, level)
    results = []
    for (a, first), (b, second) in combinations(zip(names, theta, strict=True), 2):
        estimate, p_value = float(first.mean() - second.mean()), np.nan
        if error > ROUNDING:
            distance = -abs(estimate) / error
            p_value = float(2 * (ndtr(distance) if np.isinf(df) else stdtr(df, distance)))
        ends = estimate - half_width, estimate + half_width
        results.append(Difference(a, b, estimate, error, df, *ends, p_value))
    return tuple(results)


def _modality_means(
    theta: FloatArray, names: tuple[str, ...], cells: FloatArray | None, random: RandomEffects, level: float
) -> tuple[ModalityMean, ...]:
    """Means of the modalities, each with the error of its data alone (Hillis 2007)."""
    n_readers = theta.shape[1]
    results = []
    for i, name in enumerate(names):
        error_term = float(theta[i].var(ddof=1)) if n_readers > 1 else np.nan
        df = n_readers - 1.0
        if random != "readers" and cells is not None:
            own = cells[i, :, i, :]
            shared = max(own[~np.eye(n_readers, dtype=bool)].mean(), 0.0) if n_readers > 1 else 0.0
            if random == "cases":
                error_term, df = np.diag(own).mean() + (n_readers - 1) * shared, np.inf
            else:
                of_readers, error_term = error_term, error_term + n_readers * shared
                df = np.inf if of_readers == 0 else df * (error_term / of_readers) ** 2
        estimate, error = float(theta[i].mean()), float(np.sqrt(error_term / n_readers))
        half_width = _find_half_width(error, df, level)
        results.append(ModalityMean(name, estimate, error, df, estimate - half_width, estimate + half_width))
    return tuple(results)


def _find_half_width(error: float, df: float, level: float) -> float:
    """Half of an interval; NaN where the data give no estimate of error, for an interval without width is a claim."""
    return t_quantile((1 + level) / 2, df) * error if error > ROUNDING else np.nan


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t; of the normal distribution where the degrees of freedom are infinite."""
    return float(ndtri(probability) if np.isinf(df) else stdtrit(df, probability))


def _check_figures(figures: ArrayLike, random: RandomEffects, level: float) -> FloatArray:
    """Figures as floats, with enough modalities and readers for the question asked."""
    theta = np.asarray(figures, dtype=np.float64)
    if random not in get_args(RandomEffects):
        raise InvalidInputError(
            f"unknown random={random!r}: one of {', '.join(map(repr, get_args(RandomEffects)))}"
        )
    check_level(level)
    if theta.ndim != 2 or not np.all(np.isfinite(theta)):
        raise InvalidInputError("figures needs finite numbers with shape (modalities, readers)")
    if theta.shape[0] < 2:
        raise InvalidInputError(f"a reader study compares at least two modalities, not {theta.shape[0]}")
    if theta.shape[1] < (1 if random == "cases" else 2):
        raise InvalidInputError(
            f"{theta.shape[1]} reader(s) cannot stand for others: use at least two, or random='cases', "
            "which speaks of these readers only"
        )
    return theta


def _check_names(names: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    """Names, all different, as many as there are rows or columns."""
    chosen = tuple(str(i + 1) for i in range(count)) if names is None else tuple(names)
    if len(chosen) != count or len(set(chosen)) != count:
        raise InvalidInputError(f"{what} needs {count} different names, not {chosen}")
    return chosen


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
    (K - 1)^2 / K. The inference is that of `obuchowski_rockette`. Figures are areas: the
    intervals of means are cut at 0 and 1, those of differences at -1 and 1.

    Parameters
    ----------
    ratings : mapping
        ``ratings[modality][reader]``: every reader read every case with every modality.
    figure : str, default='wAFROC'
        Figure of merit.
    random : str, default='readers and cases'
        What the conclusion extends to: other readers and other cases, other readers on these cases, or other
        cases read by these readers.
    patients : array-like, optional
        Patient of each case; the jackknife then leaves out patients instead of cases.
    level : float, default=LEVEL
        Level of the intervals.
    """
    modalities, readers = _check_crossed(ratings)
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
    means = (replace(one, lower=max(one.lower, 0.0), upper=min(one.upper, 1.0)) for one in study.means)
    differences = (
        replace(one, lower=max(one.lower, -1.0), upper=min(one.upper, 1.0)) for one in study.differences
    )
    return replace(study, means=tuple(means), differences=tuple(differences))


def _check_crossed(
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
