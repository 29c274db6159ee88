"""Choice among settings of a model by cross-validation over patients.

Every setting scores every candidate by models that did not see its patient. A setting is judged by its GT sensitivity,
averaged over a few numbers of false positives per image, on these out-of-fold scores. The best one is not simply
taken: of all settings whose shortfall against it is at most one standard error of that paired difference, patients
resampled, the one with the fewest features is (Breiman et al., Classification and Regression Trees, 1984, section
3.4.3, for the rule; paired, because the same patients judge all settings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.froc.bootstraps import (
    SortedEvents,
    estimates_at,
    needed_fps,
    patient_counts,
    replicate_sensitivities,
    stack_blocks,
)
from overread.froc.choice_plots import plot_settings
from overread.froc.curve import check_targets
from overread.froc.defaults import CHOICE_FP_TARGETS, N_CHOICE_BOOTSTRAP
from overread.froc.matching import Matching
from overread.froc.score_columns import Scores, read_score_columns
from overread.one_line import print_as_one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SettingChoice", "choose_setting"]

Floats = NDArray[np.float64]
ROUNDING = 1e-9


@print_as_one_line("position", "best", "fp_targets", "n_standard_errors", "table")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SettingChoice:
    """The chosen setting and why.

    Attributes
    ----------
    position, best
        Of the chosen setting, and of the one with the highest sensitivity.
    fp_targets
        FP per image over which sensitivities are averaged.
    n_standard_errors
        Accepted shortfall.
    table
        One row a setting: n_features, sensitivity, standard_error (of the sensitivity), difference (to the best),
        difference_error (its standard error), accepted, chosen, frequency (share of resamplings that choose it).
    """

    position: int
    best: int
    fp_targets: tuple[float, ...]
    n_standard_errors: float
    table: pd.DataFrame

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw the sensitivity of every setting over its number of features, the chosen one marked."""
        return plot_settings(self.table, self.position, self.best, axes)


def choose_setting(
    matching: Matching,
    scores: Scores,
    n_features: ArrayLike,
    *,
    fp_targets: Sequence[float] = CHOICE_FP_TARGETS,
    n_standard_errors: float = 1.0,
    n_bootstrap: int = N_CHOICE_BOOTSTRAP,
    seed: int = 0,
) -> SettingChoice:
    """Choose the sparsest setting that cannot be told from the best.

    Parameters
    ----------
    matching
        Matched candidates; their own scores are not used.
    scores
        Out-of-fold scores: one row a candidate, one column a setting, or `ScoreColumns`.
    n_features
        Features of each setting, on the average of its folds.
    fp_targets
        FP per image over which GT sensitivities are averaged.
    n_standard_errors
        Accepted shortfall against the best; 0 takes the best itself.
    n_bootstrap, seed
        Resamplings of patients for the standard errors.
    """
    targets = check_targets(fp_targets)
    sparsity = np.atleast_1d(np.asarray(n_features, dtype=np.float64))
    if not len(sparsity):
        raise InvalidInputError("n_features: there is no setting to choose from")
    columns = read_score_columns(scores, len(sparsity), "scores")
    values, replicates = np.empty(len(sparsity)), []
    # One setting after the other: what is known of all candidates under each of them would be many times the scores.
    for place, column in enumerate(columns):
        scored = matching.with_scores(column)
        values[place] = estimates_at(scored, targets)["gt_sensitivity"].mean()
        if np.isnan(values[place]):
            raise InvalidInputError("choose_setting: there is no target to find")
        replicates.append(_replicate(scored, targets, n_bootstrap, seed))
    return _make_choice(values, np.column_stack(replicates), sparsity, targets, n_standard_errors)


def _make_choice(
    values: Floats, replicates: Floats, sparsity: Floats, targets: Floats, n_standard_errors: float
) -> SettingChoice:
    position, best, errors = _choose(values, replicates, sparsity, n_standard_errors)
    difference = values - values[best]
    table = pd.DataFrame(
        {
            "n_features": sparsity,
            "sensitivity": values,
            "standard_error": np.nanstd(replicates, axis=0, ddof=1) if len(replicates) > 1 else np.nan,
            "difference": difference,
            "difference_error": errors,
            "accepted": difference >= -n_standard_errors * errors - ROUNDING,
            "chosen": np.arange(len(values)) == position,
            "frequency": _frequencies(replicates, sparsity, errors, n_standard_errors),
        }
    )
    return SettingChoice(
        position=position,
        best=best,
        fp_targets=tuple(float(target) for target in targets),
        n_standard_errors=float(n_standard_errors),
        table=table,
    )


def _replicate(matching: Matching, targets: Floats, n_bootstrap: int, seed: int) -> Floats:
    """Mean GT sensitivity of the replicates, the same patients for every setting."""
    events = SortedEvents.of(matching, needed_fps(matching, targets))
    counts = patient_counts(matching.n_patients, n_bootstrap, seed)
    values = stack_blocks([replicate_sensitivities(events, block, targets) for block in counts])
    return np.asarray(values["gt_sensitivity"].mean(axis=1))


def _choose(
    values: Floats, replicates: Floats, sparsity: Floats, n_standard_errors: float
) -> tuple[int, int, Floats]:
    """Return the choice, the best, and the standard error of each paired difference."""
    best = int(np.lexsort((sparsity, -np.round(values, 9)))[0])
    differences = replicates - replicates[:, [best]]
    usable = differences[~np.isnan(differences).any(axis=1)]
    errors = usable.std(axis=0, ddof=1) if len(usable) > 1 else np.zeros(len(values))
    return _sparsest(values, sparsity, errors, n_standard_errors), best, errors


def _sparsest(values: Floats, sparsity: Floats, errors: Floats, n_standard_errors: float) -> int:
    """Of the settings within reach of the best, take the sparsest; of equally sparse ones the better."""
    accepted = np.flatnonzero(values - values.max() >= -n_standard_errors * errors - ROUNDING)
    order = np.lexsort((-np.round(values[accepted], 9), sparsity[accepted]))
    return int(accepted[order[0]])


def _frequencies(replicates: Floats, sparsity: Floats, errors: Floats, n_standard_errors: float) -> Floats:
    """Share of resamplings in which the rule, with the errors found, takes each setting."""
    usable = replicates[~np.isnan(replicates).any(axis=1)]
    chosen = [_sparsest(one, sparsity, errors, n_standard_errors) for one in usable]
    return np.bincount(chosen, minlength=len(sparsity)) / max(len(chosen), 1)
