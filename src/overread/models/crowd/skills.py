"""What a fitted crowd model knows of its readers, and how that is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.models.crowd.em import EMResult, LabelStep, run_em, warn_about_crowd
from overread.models.crowd.expectation import Priors
from overread.models.crowd.intervals import Information, LabelPart, logit_interval, observed_information
from overread.models.crowd.votes import Votes
from overread.models.fields import Field, Flag, FloatArray, Integer, IntegerArray, Names
from overread.models.persistence import SavedModel

__all__ = ["ReaderSkills"]

Floats = NDArray[np.float64]

FEWEST_READERS, FEWEST_VOTES = 3, 2
INTERVAL_ROUNDS, INTERVAL_TOL = 2000, 1e-9


class ReaderSkills(SavedModel):
    """Skills of readers with their intervals, kept as arrays and shown as a table."""

    skill_fields: ClassVar[Mapping[str, Field]] = {
        "posterior_": FloatArray("n"),
        "objectives_": FloatArray("k"),
        "n_iter_": Integer(),
        "converged_": Flag(),
        "determined_": Flag(),
        "reader_ids_": Names("R"),
        "n_votes_": IntegerArray("R"),
        "n_marked_": IntegerArray("R"),
        "expected_positives_": FloatArray("R"),
        "sensitivity_": FloatArray("R"),
        "sensitivity_interval_": FloatArray("R", 2),
        "specificity_": FloatArray("R"),
        "specificity_interval_": FloatArray("R", 2),
    }

    posterior_: Floats
    sensitivity_: Floats
    sensitivity_interval_: Floats
    specificity_: Floats
    specificity_interval_: Floats

    @property
    def reader_skills_(self) -> pd.DataFrame:
        """One row a reader: counts, expected positives, either skill with its 95 % interval."""
        columns: dict[str, Any] = {
            "reader_id": pd.Series(self.reader_ids_, dtype="str"),
            "n_votes": self.n_votes_,
            "n_marked": self.n_marked_,
            "expected_positives": self.expected_positives_,
        }
        for name in ("sensitivity", "specificity"):
            columns[name] = getattr(self, f"{name}_")
            columns[f"{name}_low"], columns[f"{name}_high"] = getattr(self, f"{name}_interval_").T
        return pd.DataFrame(columns)

    def _keep_skills(
        self,
        votes: Votes,
        result: EMResult,
        priors: Priors,
        label_step: Callable[[Floats], LabelStep],
        label_part: Callable[[Floats], LabelPart],
    ) -> Information:
        """Keep the result of EM with intervals, and warn; return the information that the intervals are from."""
        read = ~np.isnan(votes.matrix)
        self.posterior_, self.objectives_ = result.posterior, result.objectives
        self.n_iter_, self.converged_ = len(result.objectives) - 1, result.converged
        self.reader_ids_ = _as_text(votes.reader_ids)
        self.n_votes_, self.n_marked_ = read.sum(axis=0), (votes.matrix == 1).sum(axis=0)
        self.expected_positives_ = result.posterior @ read
        self.sensitivity_, self.specificity_ = result.skills.sensitivity, result.skills.specificity
        at_estimate = observed_information(
            votes.matrix, result.posterior, result.skills, priors, label_part(result.posterior)
        )
        shrunk_priors = priors.with_half_a_vote()
        shrunk = run_em(
            votes.matrix,
            result.posterior,
            shrunk_priors,
            label_step,
            tol=INTERVAL_TOL,
            max_rounds=INTERVAL_ROUNDS,
        )
        information = observed_information(
            votes.matrix, shrunk.posterior, shrunk.skills, shrunk_priors, label_part(shrunk.posterior)
        )
        for name in ("sensitivity", "specificity"):
            estimate, centre = getattr(self, f"{name}_"), getattr(shrunk.skills, name)
            low, high = logit_interval(centre, getattr(information, name))
            limits = np.column_stack([np.minimum(low, estimate), np.maximum(high, estimate)])
            setattr(self, f"{name}_interval_", limits)
        has_priors = min(priors.sensitivity.weight, priors.specificity.weight) > 0
        self.determined_ = at_estimate.determined and (has_priors or _can_be_determined(read))
        warn_about_crowd(result, self.reader_skills_, determined=self.determined_)
        return information


def _can_be_determined(read: NDArray[np.bool_]) -> bool:
    """Whether there are three readers and a bag that two of them read, without which there is always another fit.

    Where estimates are 0 or 1 the information does not show this.
    """
    return bool(read.shape[1] >= FEWEST_READERS and read.sum(axis=1).max() >= FEWEST_VOTES)


def _as_text(ids: pd.Index[Any]) -> NDArray[Any]:
    """Ids as strings, which is what a file and a table hold."""
    names = np.array([str(reader) for reader in ids], dtype=object)
    if len(set(names)) < len(names):
        raise InvalidInputError("votes: two readers have the same name when written as text; rename one")
    return names
