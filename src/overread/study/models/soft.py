"""Soft: the paper's model, its penalty chosen along a path for each normalization (paper, sections 4 and 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from overread._sections import FpTargets, Fraction, Positive, Section
from overread.files import from_json
from overread.froc import ALPHA_FP_TARGETS, AlphaChoice, AlphaRule, PathModels, ScoredSplit, choose_alpha
from overread.models import MIN_RATIO, SoftMILLogisticRegression, SoftMILPath
from overread.study._cohort import Features, Split
from overread.study.models.base import Fold, Parameters, StudyModel, Trial, score_linearly

if TYPE_CHECKING:
    from overread.study._settings import Settings

Normalization = Literal["none", "bags", "class"]
PAPER_FILE = "tuning/paper.json"
NORMALIZATIONS: tuple[Normalization, ...] = ("bags", "class")


class SoftSettings(Section):
    """Soft: its path of penalties, and the paper's rule, which the report shows next to our choice.

    Attributes
    ----------
    normalizations
        Any of none, bags and class. The penalty is chosen among those of all of them.
    n_lambdas
        Number of penalties on the path.
    min_ratio
        Smallest penalty of the path, as a share of the largest (at which all weights are 0).
    lambdas
        Penalties of the path, instead of n_lambdas and min_ratio.
    divide_by_features
        Whether the penalty is divided by the number of features.
    intercept
        Whether to fit an intercept, which is not penalized. The paper has none.
    standardize
        Whether to scale features before penalizing their coefficients. The paper does not say.
    choice_fp_targets
        For the paper's rule (section 6.1): numbers of false positives per image at which it must hold.
    tolerance
        For the paper's rule: accepted loss of sensitivity relative to the best penalty, or [models] standard_errors of
        this loss if they are larger.
    max_gap
        For the paper's rule: accepted difference between training and validation, or [models] standard_errors of it if
        they are larger.
    pick
        For the paper's rule: which accepted penalty is chosen, sparsest or best.
    n_init
        Number of starts of the final fit.
    rule
        cross_validation, or paper (the penalty that the paper's rule chooses).
    """

    normalizations: Annotated[list[Normalization], Field(min_length=1)] = Field(
        default_factory=lambda: list(NORMALIZATIONS)
    )
    n_lambdas: Annotated[int, Field(ge=1, le=1000)] = 30
    min_ratio: Annotated[float, Field(gt=0, lt=1)] = MIN_RATIO
    lambdas: Annotated[list[Positive], Field(min_length=1)] | None = Field(
        default=None, examples=[[0.2, 0.06]]
    )
    divide_by_features: bool = False
    intercept: bool = True
    standardize: bool = True
    choice_fp_targets: FpTargets = Field(default_factory=lambda: [*ALPHA_FP_TARGETS])
    tolerance: Fraction = 0.02
    max_gap: Fraction = 0.05
    pick: Literal["sparsest", "best"] = "sparsest"
    n_init: Annotated[int, Field(ge=1, le=100)] = 1
    rule: Literal["cross_validation", "paper"] = "cross_validation"

    @field_validator("normalizations")
    @classmethod
    def _once(cls, normalizations: list[Normalization]) -> list[Normalization]:
        if len(set(normalizations)) < len(normalizations):
            raise ValueError("a normalization is named twice")
        return normalizations


class Soft(StudyModel):
    """The soft multiple-instance logistic regression with L1."""

    name = "soft"
    title = "Soft"
    summary = "Logistic regression on bags of candidates with an L1 penalty, trained on the soft labels."
    settings = SoftSettings
    labels = "soft"
    grid_settings = ("soft", "seed", "evaluation.n_bootstrap", "models.standard_errors")
    grid_reads = (PAPER_FILE,)
    fits_from_disk = True
    fits_on_cluster = True
    build_settings = (
        *(f"soft.{key}" for key in ("divide_by_features", "intercept", "standardize", "n_init")),
        "seed",
    )

    def grid(self, split: Split, settings: Settings) -> list[Parameters]:
        """Penalties of each normalization, from the largest that matters to a share of it; or the paper's choice."""
        soft = settings.soft
        if soft.rule == "paper":
            return _list_choice(choose_by_paper(split, settings), split)
        bags = self.take_bags(split)
        alphas = {
            name: make_path(split, settings, name, **list_penalties(soft)).make_grid(bags, bags.labels)
            for name in soft.normalizations
        }
        return [
            {"lam": float(alpha), "normalization": name}
            for name, values in alphas.items()
            for alpha in values
        ]

    def take_grid(self, files: Mapping[str, object], split: Split, settings: Settings) -> list[Parameters]:
        """Take the paper's choice from the stage that made it for the report."""
        if settings.soft.rule == "paper":
            return _list_choice(from_json(AlphaChoice, files[PAPER_FILE], PAPER_FILE), split)
        return self.grid(split, settings)

    def build(self, parameters: Parameters, settings: Settings) -> SoftMILLogisticRegression:
        """Make the model of a penalty and a normalization."""
        return SoftMILLogisticRegression(
            parameters["lam"],
            normalization=parameters["normalization"],
            divide_by_features=settings.soft.divide_by_features,
            fit_intercept=settings.soft.intercept,
            standardize=settings.soft.standardize,
            n_init=settings.soft.n_init,
            random_state=settings.seed,
        )

    def try_settings(self, grid: Sequence[Parameters], fold: Fold, settings: Settings) -> Trial:
        """Fit one path a normalization, on the common penalties, which are those of the whole."""
        bags = self.take_bags(fold.rest)
        whole = (fold.rest, fold.held_out)
        columns, counts = [], []
        for name, group in groupby(grid, key=lambda one: one["normalization"]):
            alphas = [carry_penalty(one["lam"], name, whole, fold.rest) for one in group]
            path = make_path(fold.rest, settings, name, alphas=alphas)
            path.fit(bags, bags.labels)
            columns.append(score_linearly(path.coef_path_.T, path.intercept_path_, fold.held_out.features))
            counts += path.n_features_.tolist()
        return Trial(np.column_stack(columns), counts)


def _list_choice(choice: AlphaChoice, whole: Split) -> list[Parameters]:
    """Return a grid of the one setting that was chosen on training, for the fit to the whole."""
    name = choice.normalization
    alpha = carry_penalty(choice.alpha, name, [whole.split("training")], whole)
    return [{"lam": alpha, "normalization": name}]


def carry_penalty(alpha: float, normalization: str | None, judged: Sequence[Split], fitted: Split) -> float:
    """Return the penalty of a fit that corresponds to the penalty evaluated on all these splits.

    A loss that is a sum over the bags grows with them, and the penalty has to grow with it; normalized ones do not.
    """
    if normalization != "none":
        return alpha
    return alpha * fitted.weight / sum(one.weight for one in judged)


def make_path(split: Split, settings: Settings, normalization: Normalization, **grid: Any) -> SoftMILPath:
    """Make the unfitted path of a normalization, for a split."""
    return SoftMILPath(
        **grid,
        normalization=normalization,
        divide_by_features=settings.soft.divide_by_features,
        fit_intercept=settings.soft.intercept,
        standardize=settings.soft.standardize,
        random_state=settings.seed,
        memory_mb=split.features.memory_mb,
    )


def fit_path(split: Split, settings: Settings, normalization: Normalization) -> SoftMILPath:
    """Fit a path of the settings' penalties to a split."""
    bags = split.bags("soft", spread=True)
    return make_path(split, settings, normalization, **list_penalties(settings.soft)).fit(bags, bags.labels)


def list_penalties(soft: SoftSettings) -> dict[str, Any]:
    """Return the penalties of a path as its parameters."""
    if soft.lambdas is not None:
        return {"alphas": soft.lambdas}
    return {"n_alphas": soft.n_lambdas, "min_ratio": soft.min_ratio}


class PathScores:
    """Scores of candidates by the models of paths (``shape``), computed path by path when they are asked for."""

    def __init__(self, paths: Sequence[SoftMILPath], features: Features) -> None:
        self._paths, self._features = paths, features
        self.shape = (len(features.rows), sum(len(path.alphas_) for path in paths))

    def read_columns(self) -> Iterator[NDArray[np.float64]]:
        """Give the scores by one model after the other."""
        for path in self._paths:
            yield from score_linearly(path.coef_path_.T, path.intercept_path_, self._features).T


def choose_by_paper(
    whole: Split, settings: Settings, paths: Mapping[str, SoftMILPath] | None = None
) -> AlphaChoice:
    """Choose penalty and normalization by the paper's rule (section 6.1): paths on training, judged on validation."""
    soft = settings.soft
    training, validation = whole.split("training"), whole.split("validation")
    paths = paths or {name: fit_path(training, settings, name) for name in soft.normalizations}
    training_scores, validation_scores = (
        ScoredSplit(split.matching, PathScores(list(paths.values()), split.features))
        for split in (training, validation)
    )
    rule = AlphaRule(
        fp_targets=soft.choice_fp_targets,
        tolerance=soft.tolerance,
        max_gap=soft.max_gap,
        n_standard_errors=settings.models.standard_errors,
        pick=soft.pick,
    )
    return choose_alpha(
        PathModels.of_paths(paths),
        training_scores,
        validation_scores,
        rule,
        n_bootstrap=settings.evaluation.n_bootstrap,
        seed=settings.seed,
    )
