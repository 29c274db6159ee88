"""All tables of a study after its images were worked on, and the parts that models are fitted to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import Bags, ReaderBags, make_bags, reader_bags
from overread.errors import InvalidInputError, TableError
from overread.froc import Counting, Matching, match
from overread.truth import HitRule

__all__ = ["KEYS", "Cohort", "Part", "features_in_order"]

KEYS = ["image_id", "candidate_id"]


def features_in_order(features: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """Rows of a features table in the order of the candidates; rows of others are dropped.

    Raises
    ------
    TableError
        If a candidate has no row.
    """
    rows = pd.MultiIndex.from_frame(features[KEYS]).get_indexer(pd.MultiIndex.from_frame(candidates[KEYS]))
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        image, candidate = candidates[KEYS].iloc[missing[0]]
        raise TableError(f"features: no row for candidate {candidate!r} of image {image!r}")
    return features.iloc[rows].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Part:
    """Some images of a study with everything that belongs to them.

    Attributes
    ----------
    images, readings, marks, truth, candidates
        Tables; readers and patients are codes.
    features
        Keys and one column a feature, a row a candidate, in the order of ``candidates``.
    rule, n_max, single_reader
        How hits are found, weights computed, and candidates on GTs of one reader counted.
    """

    images: pd.DataFrame
    readings: pd.DataFrame
    marks: pd.DataFrame
    truth: pd.DataFrame
    candidates: pd.DataFrame
    features: pd.DataFrame
    rule: HitRule
    n_max: int
    single_reader: Any

    def soft_bags(self) -> Bags:
        """Bags with soft labels, and the readers' weights."""
        return make_bags(
            self.candidates,
            self.features,
            self.truth,
            rule=self.rule,
            readings=self.readings,
            n_max=self.n_max,
            images=self.images,
        )

    def golden_bags(self) -> Bags:
        """Bags of golden GTs; candidates on others are negative."""
        return make_bags(
            self.candidates, self.features, self.truth, rule=self.rule, labels="golden", images=self.images
        )

    def reader_bags(self) -> ReaderBags:
        """Bags of each reader, for B2."""
        return reader_bags(
            self.candidates, self.features, self.marks, self.readings, rule=self.rule, images=self.images
        )

    @cached_property
    def matching(self) -> Matching:
        """Hits of all candidates, with scores of 0."""
        return match(
            self.candidates,
            self.truth,
            self.images,
            scores=np.zeros(len(self.candidates)),
            counting=Counting(rule=self.rule, single_reader=self.single_reader),
        )

    def scores(self, model: Any) -> NDArray[np.float64]:
        """Score of each candidate by a fitted model, or of each candidate and penalty by a path."""
        matrix = self.features.drop(columns=KEYS)
        return np.asarray(model.decision_instance_function(matrix), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Cohort(Part):
    """The whole study, without the images that were given up; ``images`` has a column split."""

    def part(self, *names: str) -> Part:
        """Images of one or more of training, validation and test."""
        chosen = self.images.loc[self.images["split"].isin(names), "image_id"]
        part = self.of_images(chosen)
        if part.candidates.empty:
            raise InvalidInputError(f"the {' and '.join(names)} images have no candidates at all")
        return part

    def of_images(self, image_ids: Iterable[str]) -> Part:
        """Return some images, in the cohort's order."""
        chosen = set(image_ids)
        tables = {
            name: (table := getattr(self, name))[table["image_id"].isin(chosen)].reset_index(drop=True)
            for name in ("images", "readings", "marks", "truth", "candidates", "features")
        }
        return Part(**tables, rule=self.rule, n_max=self.n_max, single_reader=self.single_reader)
