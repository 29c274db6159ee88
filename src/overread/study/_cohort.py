"""All tables of a study after its images were worked on, and the splits that models are fitted to.

Hits are looked for once, in the whole cohort; a split takes its part of them. The features stay on disk: the bags of
a split read their rows when they are asked for, or leave them there where memory is bounded and they do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags import (
    Bags,
    Grouping,
    InstanceMatrix,
    ReaderBags,
    StoredInstances,
    group_candidates,
    reader_bags,
)
from overread.errors import InvalidInputError
from overread.files import ColumnFile
from overread.froc import Counting, Matching, match_detections
from overread.models import ROWS_PER_BLOCK, fits_in_memory
from overread.study.executors._dask import share_client
from overread.truth import HitRule

KEYS = ["image_id", "candidate_id"]
# Of features that are scored at once: 64 MB of float32. Set by judgement.
CELLS_AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class Features:
    """Features of the candidates at hand (``rows``), in a file of all candidates of the cohort (``keys``).

    Those that do not fit in ``memory_mb`` stay on disk (None: all are read); the workers of the Dask cluster at
    ``scheduler`` read them there if they are ``is_spread``.
    """

    names: tuple[str, ...]
    store: ColumnFile
    rows: NDArray[np.int64]
    keys: pd.MultiIndex
    memory_mb: float | None = None
    scheduler: str | None = None
    is_spread: bool = False

    def find_rows(
        self, image_ids: NDArray[np.object_], candidate_ids: NDArray[np.object_]
    ) -> NDArray[np.int64]:
        """Return the row of the store of each of some candidates."""
        return self.keys.get_indexer(pd.MultiIndex.from_arrays([image_ids, candidate_ids])).astype(np.int64)

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return rows of the store, in the order asked for: read, or where they are if they do not fit in memory."""
        if self.memory_mb is None or fits_in_memory(
            self.memory_mb, len(rows), len(self.names), self.store.dtype.itemsize
        ):
            return InstanceMatrix(self.store.take(rows), self.names)
        client = share_client(self.scheduler) if self.is_spread and self.scheduler is not None else None
        stored = StoredInstances(self.store.path, feature_names=self.names, rows=rows, client=client)
        return InstanceMatrix(stored, self.names)

    def of_candidates(self, chosen: NDArray[np.bool_]) -> Features:
        """Return the features of some of the candidates at hand."""
        return replace(self, rows=self.rows[chosen])

    def read_blocks(self, columns: NDArray[np.integer]) -> Iterator[NDArray[np.floating]]:
        """Give some columns of the candidates at hand, many candidates at a time, in their order."""
        # Whole blocks of a product: scores are then the same numbers as those of all candidates at once.
        n_rows = max(1, CELLS_AT_ONCE // max(1, len(columns)) // ROWS_PER_BLOCK) * ROWS_PER_BLOCK
        for first in range(0, len(self.rows), n_rows):
            yield self.store.take(self.rows[first : first + n_rows], columns)

    def read_columns(self, columns: NDArray[np.integer]) -> Iterator[NDArray[np.floating]]:
        """Give some columns of the candidates at hand, one by one."""
        for column in columns:
            yield self.store.take(self.rows, [int(column)])[:, 0]

    def read(self, names: Iterable[str]) -> pd.DataFrame:
        """Read some columns of the candidates at hand."""
        wanted = list(names)
        place = {name: column for column, name in enumerate(self.names)}
        return pd.DataFrame(self.store.take(self.rows, [place[name] for name in wanted]), columns=wanted)


class NoFeatures:
    """Stands for features where only labels and weights of bags are wanted."""

    def find_rows(
        self, image_ids: NDArray[np.object_], candidate_ids: NDArray[np.object_]
    ) -> NDArray[np.int64]:
        """Return a row for each candidate."""
        return np.zeros(len(image_ids), dtype=np.int64)

    def take(self, rows: NDArray[np.int64]) -> InstanceMatrix:
        """Return a column of zeros."""
        return InstanceMatrix(np.zeros((len(rows), 1)), None)


@dataclass(frozen=True, eq=False)
class Split:
    """Some images of a study with everything that belongs to them; readers and patients are codes.

    ``hits`` is `overread.truth.candidate_hits` of these tables, ``n_max`` the most readings of an image, by which
    readers' weights are divided, and ``parent`` what it is a part of (None: it is the whole).
    """

    images: pd.DataFrame
    readings: pd.DataFrame
    marks: pd.DataFrame
    truth: pd.DataFrame
    candidates: pd.DataFrame
    features: Features
    hits: pd.DataFrame
    counting: Counting
    n_max: int
    weighs_readers: bool = True
    parent: Split | None = None

    @property
    def rule(self) -> HitRule:
        """What a hit is."""
        assert self.counting.rule is not None
        return self.counting.rule

    @cached_property
    def grouping(self) -> Grouping:
        """Candidates by the GT that they hit."""
        found = group_candidates(self.candidates, self.truth, rule=self.rule, hits=self.hits)
        return replace(found, feature_rows=self.features.rows)

    def bags(self, labels: Literal["soft", "golden"], *, spread: bool = False) -> Bags:
        """Read the features into bags: soft labels with readers' weights, or hard golden ones, other GTs negative.

        With spread, features that stay on disk are read by the workers of the run's Dask cluster, if it has one.
        """
        readings = self.readings if labels == "soft" and self.weighs_readers else None
        return self.grouping.make_bags(
            replace(self.features, is_spread=spread),
            labels=labels,
            readings=readings,
            n_max=self.n_max,
            images=self.images,
            with_ids=False,
        )

    @cached_property
    def weight(self) -> float:
        """Sum of the weights of its bags with soft labels; their features are not read."""
        readings = self.readings if self.weighs_readers else None
        bags = self.grouping.make_bags(
            NoFeatures(), readings=readings, n_max=self.n_max, images=self.images, with_ids=False
        )
        return float(len(bags) if bags.reader_weight is None else bags.reader_weight.sum())

    @cached_property
    def reader_bags(self) -> ReaderBags:
        """Bags of each reader, for the mixture of readers; hits on marks are looked for once in the cohort."""
        if self.parent is not None:
            return self.parent.reader_bags.of_images(self.images["image_id"])
        return reader_bags(
            self.candidates,
            self.features,
            self.marks,
            self.readings,
            rule=self.rule,
            images=self.images,
            feature_rows=self.features.rows,
            with_ids=False,
        )

    @cached_property
    def matching(self) -> Matching:
        """Hits of all candidates, with scores of 0."""
        return match_detections(
            self.candidates,
            self.truth,
            self.images,
            scores=np.zeros(len(self.candidates)),
            counting=self.counting,
            hits=self.hits,
        )

    @cached_property
    def _splits(self) -> dict[tuple[str, ...], Split]:
        return {}

    def split(self, *names: str) -> Split:
        """Images of one or more of training, validation and test; made once."""
        if names not in self._splits:
            chosen = self.images.loc[self.images["split"].isin(names), "image_id"]
            split = self.of_images(chosen)
            if split.candidates.empty:
                raise InvalidInputError(f"the {' and '.join(names)} images have no candidates at all")
            self._splits[names] = split
        return self._splits[names]

    def of_images(self, image_ids: Iterable[str]) -> Split:
        """Return some images, in their order."""
        chosen = set(image_ids)
        inside = {
            name: getattr(self, name)["image_id"].isin(chosen).to_numpy()
            for name in ("images", "readings", "marks", "truth", "candidates")
        }
        tables = {name: getattr(self, name)[rows].reset_index(drop=True) for name, rows in inside.items()}
        return Split(
            **tables,
            features=self.features.of_candidates(inside["candidates"]),
            hits=_select_hits(self.hits, inside["candidates"], inside["truth"]),
            counting=self.counting,
            n_max=self.n_max,
            weighs_readers=self.weighs_readers,
            parent=self,
        )


@dataclass(frozen=True, eq=False)
class Cohort(Split):
    """The whole study, without skipped images; nested: without a test set, cross-validated."""

    is_nested: bool = False

    @property
    def unseen(self) -> Split:
        """Images of the evaluation: the test set, or all images if there is none, each scored unseen."""
        return self.split("training", "validation") if self.is_nested else self.split("test")


def _select_hits(hits: pd.DataFrame, candidates: NDArray[np.bool_], truth: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the hits between the chosen candidates and the chosen GTs, by their rows among the chosen."""
    kept = candidates[hits["candidate_row"]] & truth[hits["truth_row"]]
    chosen = hits[kept]
    return chosen.assign(
        candidate_row=(np.cumsum(candidates) - 1)[chosen["candidate_row"]],
        truth_row=(np.cumsum(truth) - 1)[chosen["truth_row"]],
    ).reset_index(drop=True)
